// SPDX-License-Identifier: BSD-3-Clause
// An opened RDMA device: its context, what it can do, its ports and their GID tables.
#ifndef UFX_UCT_IB_COMMON_DEVICE_H
#define UFX_UCT_IB_COMMON_DEVICE_H

#include "address.h"
#include "gid.h"

#include "ucs/owner.h"
#include "ucs/result.h"

#include <infiniband/verbs.h>

#include <string>
#include <vector>

namespace ufx::uct::ib {

using context_owner = ucs::c_owner<ibv_context, ibv_close_device>;

// What a port is now.
struct port_state {
    bool active;
    bool ethernet;
    uint16_t lid;
    uint32_t max_message;
    uint8_t mtu_shift;
    double bandwidth; // bytes per second
};

// Names of the devices of this machine, in the kernel's order; none if there is no RDMA.
[[nodiscard]] std::vector<std::string> device_names();

class device {
public:
    // NO_DEVICE: there is none of that name; IO: it cannot be opened.
    [[nodiscard]] static ucs::result<ucs::owner<device>> open(const std::string &name);

    [[nodiscard]] ibv_context *context() const noexcept { return context_.get(); }

    [[nodiscard]] const std::string &name() const noexcept { return name_; }

    [[nodiscard]] const ibv_device_attr &attr() const noexcept { return attr_; }

    [[nodiscard]] bool is_mlx5() const noexcept;

    // By the kernel, or else by the processors that are near to it. -1 if it is not known.
    [[nodiscard]] int numa_node() const;

    [[nodiscard]] ucs::result<port_state> query_port(uint8_t port) const noexcept;

    // Network interfaces on that port: those of its GIDs, the best one first; if those name none,
    // as with InfiniBand, those that the kernel lists for it.
    [[nodiscard]] std::vector<std::string> netdevs(uint8_t port) const;

    // Entries that are set.
    [[nodiscard]] std::vector<gid_entry> gid_table(uint8_t port) const;

private:
    friend struct ucs::owner_access;

    device(std::string name, context_owner context, const ibv_device_attr &attr) noexcept;

    std::string name_;
    context_owner context_;
    ibv_device_attr attr_;
};

// "mlx5_0:1" in parts; `port` is 0 if the text has none or a wrong one.
struct port_name {
    std::string device;
    uint8_t port;
};
[[nodiscard]] port_name parse_port_name(const std::string &text);

} // namespace ufx::uct::ib

#endif
