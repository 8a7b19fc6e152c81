// SPDX-License-Identifier: BSD-3-Clause
// Opening a transport.
#include "tools/perftest/uct_device.h"

#include "tools/common/error.h"

#include <sys/mman.h>

namespace ufx::tools::perftest {

uct_device::uct_device(const std::string &transport, const std::string &device, size_t memory)
    : length_(memory)
{
    check(ufx_uct_worker_create(&worker_), "cannot make a worker");
    try {
        std::string known;
        if (!open(transport, device, known)) {
            throw usage_error("no transport '" + transport + "' on device '" + device +
                              "'; choose by -x and -d from\n" + known);
        }
        check(ufx_uct_iface_query(iface_, &attr_), "cannot query the transport");
        void *mapped = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (mapped == MAP_FAILED) {
            throw tool_error("no memory for the messages");
        }
        memory_ = static_cast<unsigned char *>(mapped);
        ufx_uct_mem_params_t params = {};
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        params.address = memory_;
        params.length = length_;
        check(ufx_uct_md_mem_reg(md_, &params, &memh_), "cannot register memory");
        registered_ = true;
    } catch (...) {
        close();
        throw;
    }
}

uct_device::~uct_device()
{
    close();
}

void uct_device::close()
{
    if (iface_ != nullptr) {
        ufx_uct_iface_close(iface_);
    }
    if (registered_) {
        // Nothing can be done about a failure here: the process is about to end.
        static_cast<void>(ufx_uct_md_mem_dereg(md_, memh_));
    }
    if (memory_ != nullptr) {
        ::munmap(memory_, length_);
    }
    if (md_ != nullptr) {
        ufx_uct_md_close(md_);
    }
    ufx_uct_worker_destroy(worker_);
}

bool uct_device::open(const std::string &transport, const std::string &device, std::string &known)
{
    const ufx_uct_component_t **components = nullptr;
    size_t count = 0;
    check(ufx_uct_query_components(&components, &count), "cannot list the transports");
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        size_t mds = 0;
        static_cast<void>(ufx_uct_component_query_mds(components[i], nullptr, &mds));
        std::vector<ufx_uct_md_resource_t> names(mds);
        if (mds == 0 || ufx_uct_component_query_mds(components[i], names.data(), &mds) != UFX_OK) {
            continue;
        }
        for (size_t k = 0; k < mds && !found; k++) {
            found = open_on(components[i], names[k].md_name, transport, device, known);
        }
    }
    ufx_uct_release_component_list(components);
    return found;
}

bool uct_device::open_on(const ufx_uct_component_t *component, const char *md_name,
                         const std::string &transport, const std::string &device,
                         std::string &known)
{
    if (ufx_uct_md_open(component, md_name, nullptr, &md_) != UFX_OK) {
        md_ = nullptr;
        return false;
    }
    size_t count = 0;
    static_cast<void>(ufx_uct_md_query_resources(md_, nullptr, &count));
    std::vector<ufx_uct_resource_t> resources(count);
    if (ufx_uct_md_query_resources(md_, resources.data(), &count) != UFX_OK) {
        count = 0;
    }
    bool named = false;
    for (size_t i = 0; i < count; i++) {
        known +=
            std::string("  -x ") + resources[i].tl_name + " -d " + resources[i].dev_name + "\n";
        named = named || resources[i].tl_name == transport;
    }
    for (size_t i = 0; i < count; i++) {
        if ((!transport.empty() && transport != resources[i].tl_name) ||
            (!device.empty() && device != resources[i].dev_name)) {
            continue;
        }
        if (!open_iface(resources[i].tl_name, resources[i].dev_name)) {
            throw tool_error(std::string("cannot open ") + resources[i].tl_name + " on " +
                             resources[i].dev_name);
        }
        return true;
    }
    // A device such as lo:127.0.0.2 is not listed, but may be opened.
    if (named && !device.empty() && open_iface(transport.c_str(), device.c_str())) {
        return true;
    }
    ufx_uct_md_close(md_);
    md_ = nullptr;
    return false;
}

bool uct_device::open_iface(const char *transport, const char *device)
{
    ufx_uct_iface_params_t params = {};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_WORKER | UFX_UCT_IFACE_PARAM_ERR_HANDLER;
    params.tl_name = transport;
    params.dev_name = device;
    params.worker = worker_;
    params.err_handler = error_cb;
    params.err_handler_arg = this;
    return ufx_uct_iface_open(md_, &params, &iface_) == UFX_OK;
}

ufx_status_t uct_device::error_cb(void *arg, ufx_uct_ep_h, const ufx_uct_error_t *error) noexcept
{
    static_cast<uct_device *>(arg)->broken_ =
        error->text != nullptr ? error->text : ufx_ucs_status_name(error->status);
    return UFX_OK;
}

std::string uct_device::packed_key() const
{
    ufx_uct_md_attr_t attr = {};
    check(ufx_uct_md_query(md_, &attr), "cannot query the memory domain");
    std::string key(attr.rkey_packed_size, '\0');
    check(ufx_uct_md_mkey_pack(md_, memh_, key.data()), "cannot pack a memory key");
    return key;
}

} // namespace ufx::tools::perftest
