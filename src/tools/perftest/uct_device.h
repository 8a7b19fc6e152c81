// SPDX-License-Identifier: BSD-3-Clause
// uct_device: a transport opened on a device, with memory that the peer may use.
#ifndef UFX_TOOLS_PERFTEST_UCT_DEVICE_H
#define UFX_TOOLS_PERFTEST_UCT_DEVICE_H

#include <string>
#include <ufx/uct.h>
#include <vector>

namespace ufx::tools::perftest {

class uct_device {
public:
    /** Opens the first one that matches; empty names match all. The error lists what there is. */
    uct_device(const std::string &transport, const std::string &device, size_t memory);
    uct_device(const uct_device &) = delete;
    uct_device &operator=(const uct_device &) = delete;
    ~uct_device();

    ufx_uct_worker_h worker() const noexcept { return worker_; }
    ufx_uct_iface_h iface() const noexcept { return iface_; }
    ufx_uct_md_h md() const noexcept { return md_; }
    const ufx_uct_iface_attr_t &attr() const noexcept { return attr_; }

    /** The registered memory: the first half is what is sent from, the second is the peer's. */
    unsigned char *memory() const noexcept { return memory_; }
    ufx_uct_mem_h memh() const noexcept { return memh_; }
    std::string packed_key() const;

    /** Why the connection broke; empty while it has not. */
    const std::string &broken() const noexcept { return broken_; }

private:
    bool open(const std::string &transport, const std::string &device, std::string &known);
    bool open_on(const ufx_uct_component_t *component, const char *md_name,
                 const std::string &transport, const std::string &device, std::string &known);
    bool open_iface(const char *transport, const char *device);
    void close();

    static ufx_status_t error_cb(void *arg, ufx_uct_ep_h ep, const ufx_uct_error_t *error) noexcept;

    ufx_uct_worker_h worker_ = nullptr;
    ufx_uct_md_h md_ = nullptr;
    ufx_uct_iface_h iface_ = nullptr;
    ufx_uct_iface_attr_t attr_ = {};
    unsigned char *memory_ = nullptr;
    size_t length_ = 0;
    ufx_uct_mem_h memh_ = nullptr;
    bool registered_ = false;
    std::string broken_;
};

} // namespace ufx::tools::perftest

#endif
