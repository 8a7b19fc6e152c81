// SPDX-License-Identifier: BSD-3-Clause
// Opening a transport.
#include "tools/perftest/uct_device.h"

#include "tools/common/error.h"
#include "tools/common/nearest.h"

#include <algorithm>
#include <sys/mman.h>

namespace ufx::tools::perftest {

namespace {

std::string interface_of(const std::string &device)
{
    return device.substr(0, device.find(':'));
}

/** "transport tcp on device lo", as far as they are named. */
std::string show(const uct_choice &wanted)
{
    std::string text = "transport";
    text += wanted.transport.empty() ? "" : " '" + wanted.transport + "'";
    text += wanted.device.empty() ? "" : " on device '" + wanted.device + "'";
    return text;
}

} // namespace

uct_device::uct_device(const uct_choice &wanted, size_t memory) : length_(memory)
{
    check(ufx_uct_worker_create(&worker_), "cannot make a worker");
    try {
        open(wanted);
        map_memory();
    } catch (...) {
        close();
        throw;
    }
}

uct_device::~uct_device()
{
    close();
}

void uct_device::map_memory()
{
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
}

void uct_device::close_iface()
{
    if (iface_ != nullptr) {
        ufx_uct_iface_close(iface_);
        iface_ = nullptr;
    }
    if (md_ != nullptr) {
        ufx_uct_md_close(md_);
        md_ = nullptr;
    }
}

void uct_device::close()
{
    if (iface_ != nullptr) {
        ufx_uct_iface_close(iface_);
        iface_ = nullptr;
    }
    if (registered_) {
        // Nothing can be done about a failure here: the process is about to end.
        static_cast<void>(ufx_uct_md_mem_dereg(md_, memh_));
    }
    if (memory_ != nullptr) {
        ::munmap(memory_, length_);
    }
    close_iface();
    ufx_uct_worker_destroy(worker_);
}

std::vector<uct_device::candidate> uct_device::list_all()
{
    const ufx_uct_component_t **components = nullptr;
    size_t count = 0;
    check(ufx_uct_query_components(&components, &count), "cannot list the transports");
    std::vector<candidate> all;
    for (size_t i = 0; i < count; i++) {
        size_t mds = 0;
        static_cast<void>(ufx_uct_component_query_mds(components[i], nullptr, &mds));
        std::vector<ufx_uct_md_resource_t> names(mds);
        if (mds == 0 || ufx_uct_component_query_mds(components[i], names.data(), &mds) != UFX_OK) {
            continue;
        }
        for (size_t k = 0; k < mds; k++) {
            const std::vector<candidate> more = list_domain(components[i], names[k].md_name);
            all.insert(all.end(), more.begin(), more.end());
        }
    }
    ufx_uct_release_component_list(components);
    return all;
}

std::vector<uct_device::candidate> uct_device::list_domain(const ufx_uct_component_t *component,
                                                           const char *md_name)
{
    ufx_uct_md_h md = nullptr;
    if (ufx_uct_md_open(component, md_name, nullptr, &md) != UFX_OK) {
        return {};
    }
    size_t count = 0;
    static_cast<void>(ufx_uct_md_query_resources(md, nullptr, &count));
    std::vector<ufx_uct_resource_t> resources(count);
    if (ufx_uct_md_query_resources(md, resources.data(), &count) != UFX_OK) {
        count = 0;
    }
    ufx_uct_md_close(md);
    std::vector<candidate> found;
    for (size_t i = 0; i < count && i < resources.size(); i++) {
        found.push_back({component, md_name, resources[i].tl_name, resources[i].dev_name,
                         resources[i].dev_type});
    }
    return found;
}

/** Those that fit, the best first. */
std::vector<uct_device::candidate> uct_device::choose(const uct_choice &wanted,
                                                      const std::vector<candidate> &all)
{
    std::vector<candidate> fit;
    std::vector<candidate> extra;
    for (const candidate &one : all) {
        const bool is_own = one.type == UFX_UCT_DEVICE_SELF;
        if (!wanted.transport.empty() && wanted.transport != one.transport) {
            continue;
        }
        if (is_own && !wanted.own_process) {
            if (!wanted.transport.empty()) {
                throw usage_error("-x " + one.transport + ": does not leave its own process; " +
                                  "give -l for both ends in one, or another -x");
            }
            continue;
        }
        if (wanted.device.empty() || wanted.device == one.device) {
            fit.push_back(one);
        } else if (!is_own && interface_of(wanted.device) == interface_of(one.device)) {
            extra.push_back(one);
        }
    }
    if (fit.empty() && !extra.empty()) {
        // A device such as lo:127.0.0.2 is not listed, but may be opened.
        fit.push_back(extra.front());
        fit.front().device = wanted.device;
    }
    const auto rank = [&](const candidate &one) {
        const bool is_own = one.type == UFX_UCT_DEVICE_SELF;
        return is_own == wanted.own_process && (is_own || interface_of(one.device) == wanted.near)
                   ? 0
                   : 1;
    };
    std::stable_sort(fit.begin(), fit.end(),
                     [&](const candidate &a, const candidate &b) { return rank(a) < rank(b); });
    return fit;
}

void uct_device::open(const uct_choice &wanted)
{
    const std::vector<candidate> all = list_all();
    const std::vector<candidate> fit = choose(wanted, all);
    for (const candidate &one : fit) {
        if (!open_one(one)) {
            if (fit.size() == 1) {
                throw tool_error("cannot open " + one.transport + " on " + one.device,
                                 wanted.device.empty() ? EXIT_RUN : EXIT_USAGE);
            }
        } else if (reaches(wanted)) {
            transport_ = one.transport;
            device_ = one.device;
            return;
        }
        close_iface();
    }
    if (!fit.empty() && !wanted.peer_name.empty()) {
        const std::string own = wanted.device.empty()
                                    ? "no device of " + fit[0].transport + " at the server reaches"
                                    : "device " + wanted.device + " of the server does not reach";
        throw tool_error(own + " device " + wanted.peer_name +
                         " of the client: give both ends devices of one network by -d");
    }
    std::string known;
    word_list transports, devices;
    for (const candidate &one : all) {
        known += "  -x " + one.transport + " -d " + one.device + "\n";
        transports.push_back(one.transport);
        devices.push_back(one.device);
    }
    const bool known_transport =
        wanted.transport.empty() ||
        std::find(transports.begin(), transports.end(), wanted.transport) != transports.end();
    const std::string guess = known_transport ? did_you_mean(wanted.device, devices)
                                              : did_you_mean(wanted.transport, transports);
    throw usage_error("no " + show(wanted) +
                      (guess.empty() ? "; choose by -x and -d from\n" + known
                                     : guess + " (ufx_info -d shows all)"));
}

bool uct_device::open_one(const candidate &one)
{
    if (ufx_uct_md_open(one.component, one.md.c_str(), nullptr, &md_) != UFX_OK) {
        md_ = nullptr;
        return false;
    }
    ufx_uct_iface_params_t params = {};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_WORKER | UFX_UCT_IFACE_PARAM_ERR_HANDLER;
    params.tl_name = one.transport.c_str();
    params.dev_name = one.device.c_str();
    params.worker = worker_;
    params.err_handler = error_cb;
    params.err_handler_arg = this;
    if (ufx_uct_iface_open(md_, &params, &iface_) != UFX_OK) {
        iface_ = nullptr;
        return false;
    }
    check(ufx_uct_iface_query(iface_, &attr_), "cannot query the transport");
    return true;
}

bool uct_device::reaches(const uct_choice &wanted) const
{
    if (wanted.peer_name.empty()) {
        return true;
    }
    return wanted.peer_device_address.size() == attr_.device_addr_len &&
           wanted.peer_iface_address.size() == attr_.iface_addr_len &&
           ufx_uct_iface_is_reachable(iface_, wanted.peer_device_address.data(),
                                      wanted.peer_iface_address.data()) != 0;
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
