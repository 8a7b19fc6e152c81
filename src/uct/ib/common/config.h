// SPDX-License-Identifier: BSD-3-Clause
// Settings of the InfiniBand transports: UFX_IB_* for all, UFX_RC_MLX5_* and UFX_RC_VERBS_* for
// one.
#ifndef UFX_UCT_IB_COMMON_CONFIG_H
#define UFX_UCT_IB_COMMON_CONFIG_H

#include "retry_budget.h"

#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <infiniband/verbs.h>

#include <span>
#include <string>
#include <vector>

namespace ufx::uct::ib {

enum class rc_kind : uint8_t { mlx5, verbs };

// A capability that can be asked for, or taken as given.
enum class wish : uint8_t { no, yes, automatic };

struct rc_config {
    retry_budget budget;
    int gid_index; // -1: chosen
    uint8_t service_level;
    uint8_t traffic_class;
    uint8_t hop_limit;
    size_t path_mtu;        // 0: the port's
    size_t seg_size;        // longest am, and longest bcopy
    unsigned tx_queue;      // operations of an ep
    unsigned tx_moderation; // unsignaled operations in a row, at most
    unsigned tx_cq;         // completions of requests that an iface has room for
    unsigned rx_queue;      // receive buffers of an iface
    unsigned cq_poll;       // completions handled in one progress, of each queue
    unsigned fc_window;     // messages that a peer may send before it hears that they were handled
    unsigned max_reads;     // outstanding reads and atomics of peers here
    unsigned max_own_reads; // outstanding reads and atomics to a peer
    bool asks_routes;       // a RoCE peer is reachable if there is a route to it
    bool blueflame;
    wish extended_atomics;
    bool async_events;  // events of the device are heard at all
    bool fail_on_event; // those that say that a queue pair, a queue or the device broke fail eps
};

struct md_config {
    bool event_thread;    // reads the device's events; else progress does
    bool cache;           // registrations for one operation are kept for the next
    size_t cache_entries; // at most so many
    size_t cache_bytes;
};

// Environment and file, overruled by what the caller of md_open gave.
[[nodiscard]] ucs::result<md_config> read_md_config(std::span<const ufx_uct_config_entry_t> given);

// Environment and file, overruled by what the caller of iface_open gave. A row of the transport
// wins over the row of the same name for all.
[[nodiscard]] ucs::result<rc_config> read_config(rc_kind kind,
                                                 std::span<const ufx_uct_config_entry_t> given);

// Cuts it to what the device can do.
void fit(rc_config &config, const ibv_device_attr &device) noexcept;

// All settings, for ufx_uct_component::config_rows.
[[nodiscard]] const ufx_uct_config_row_t *config_rows(size_t *count);

} // namespace ufx::uct::ib

#endif
