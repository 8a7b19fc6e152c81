// SPDX-License-Identifier: BSD-3-Clause
// uct_device: a transport opened on a device, with memory that the peer may use.
#ifndef UFX_TOOLS_PERFTEST_UCT_DEVICE_H
#define UFX_TOOLS_PERFTEST_UCT_DEVICE_H

#include <string>
#include <ufx/uct.h>
#include <vector>

namespace ufx::tools::perftest {

/** Which transport on which device is wanted; an empty name matches all. */
struct uct_choice {
    std::string transport, device;
    bool own_process = false; ///< both ends are this process
    std::string near;         ///< interface that is tried first
    // The peer's addresses: a device that does not reach them is not taken. Empty: not known yet.
    std::string peer_device_address, peer_iface_address;
    std::string peer_name; ///< of the peer's device, for the error
};

class uct_device {
public:
    /** Opens the first one that fits. The error lists what there is. */
    uct_device(const uct_choice &wanted, size_t memory);
    uct_device(const uct_device &) = delete;
    uct_device &operator=(const uct_device &) = delete;
    ~uct_device();

    /** What was opened. */
    const std::string &transport() const noexcept { return transport_; }
    const std::string &device() const noexcept { return device_; }

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
    struct candidate {
        const ufx_uct_component_t *component = nullptr;
        std::string md, transport, device;
        ufx_uct_device_type_t type = UFX_UCT_DEVICE_NET;
    };

    static std::vector<candidate> list_all();
    static std::vector<candidate> list_domain(const ufx_uct_component_t *component,
                                              const char *md_name);
    static std::vector<candidate> choose(const uct_choice &wanted,
                                         const std::vector<candidate> &all);
    void open(const uct_choice &wanted);
    bool open_one(const candidate &one);
    bool reaches(const uct_choice &wanted) const;
    void map_memory();
    void close_iface();
    void close();

    static ufx_status_t error_cb(void *arg, ufx_uct_ep_h ep, const ufx_uct_error_t *error) noexcept;

    std::string transport_, device_;
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
