// SPDX-License-Identifier: BSD-3-Clause
// The rows UFX_IB_*, UFX_RC_MLX5_* and UFX_RC_VERBS_*.
#include "config.h"

#include "send_credits.h"

#include "ucs/config.h"
#include "ucs/log.h"
#include "uct/base/config.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ufx::uct::ib {

namespace {

// -1 in the tables of one transport: as in the table for all.
struct shared_rows {
    int timeout;
    int retry_count;
    int rnr_retry;
    int min_rnr_timer;
    int gid_index;
    unsigned service_level;
    unsigned traffic_class;
    unsigned hop_limit;
    bool asks_routes;
    bool async_events;
    bool fail_on_event;
    bool event_thread;
    bool reg_cache;
    unsigned reg_cache_entries;
    size_t reg_cache_size;
};

struct rc_rows {
    int timeout;
    int retry_count;
    int rnr_retry;
    int min_rnr_timer;
    size_t path_mtu;
    size_t seg_size;
    unsigned tx_queue;
    unsigned tx_moderation;
    unsigned tx_cq;
    unsigned rx_queue;
    unsigned cq_poll;
    unsigned fc_window;
    unsigned max_reads;
    bool blueflame;
    wish extended_atomics;
};

constexpr ucs::config_enum wishes[] = {{"n", static_cast<int>(wish::no)},
                                       {"y", static_cast<int>(wish::yes)},
                                       {"auto", static_cast<int>(wish::automatic)}};

constexpr ucs::config_option<shared_rows> shared_options[] = {
    ucs::option<&shared_rows::timeout>("TIMEOUT", "14",
                                       "ACK timeout of RC: 4.096 us times two to this power; 0 "
                                       "waits for ever.")
        .range(0, 31),
    ucs::option<&shared_rows::retry_count>("RETRY_COUNT", "7",
                                           "Times that RC sends again after an ACK timeout.")
        .range(0, 7),
    ucs::option<&shared_rows::rnr_retry>("RNR_RETRY_COUNT", "7",
                                         "Times that RC sends again to a peer that had no receive "
                                         "buffer; 7: for ever.")
        .range(0, 7),
    ucs::option<&shared_rows::min_rnr_timer>("MIN_RNR_TIMER", "12",
                                             "Code of the time that a peer waits after it found no "
                                             "receive buffer here; 12 is 0.64 ms.")
        .range(0, 31),
    ucs::option<&shared_rows::gid_index>("GID_INDEX", "-1",
                                         "Index of the GID to use; -1 chooses the best one.")
        .range(-1, 255),
    ucs::option<&shared_rows::service_level>("SL", "0", "Service level.").range(0, 15),
    ucs::option<&shared_rows::traffic_class>("TRAFFIC_CLASS", "0", "Traffic class of RoCE packets.")
        .range(0, 255),
    ucs::option<&shared_rows::hop_limit>("HOP_LIMIT", "255", "Hop limit of RoCE packets.")
        .range(0, 255),
    ucs::option<&shared_rows::asks_routes>(
        "ROCE_ROUTES", "y",
        "A RoCE peer is reachable only if the kernel has a route "
        "to it by the port's network interface; n: always."),
    ucs::option<&shared_rows::async_events>("ASYNC_EVENTS", "y",
                                            "Act on asynchronous events of the device; n: only log "
                                            "them."),
    ucs::option<&shared_rows::fail_on_event>("FAIL_ON_EVENT", "y",
                                             "An event that says that a queue pair, a queue or the "
                                             "device broke fails the endpoints; n: only log it."),
    ucs::option<&shared_rows::event_thread>("EVENT_THREAD", "y",
                                            "A thread of each device waits for its asynchronous "
                                            "events; n: each progress asks for them, by a system "
                                            "call."),
    ucs::option<&shared_rows::reg_cache>("REG_CACHE", "y",
                                         "Keep the registration of a buffer that the user did not "
                                         "map, until its memory is unmapped; n: each operation "
                                         "registers its buffers."),
    ucs::option<&shared_rows::reg_cache_entries>(
        "REG_CACHE_ENTRIES", "1024", "Registrations that a device keeps, in use or not.")
        .range(1, 1 << 20),
    ucs::option<&shared_rows::reg_cache_size>("REG_CACHE_SIZE", "4gb",
                                              "Bytes of the registrations that a device keeps."),
};

constexpr ucs::config_table<shared_rows> shared_table{"ib", "IB_", shared_options};

// The same for each transport.
constexpr ucs::config_option<rc_rows> rc_options[] = {
    ucs::option<&rc_rows::timeout>("TIMEOUT", "-1", "As UFX_IB_TIMEOUT; -1 takes that one.")
        .range(-1, 31),
    ucs::option<&rc_rows::retry_count>("RETRY_COUNT", "-1",
                                       "As UFX_IB_RETRY_COUNT; -1 takes that one.")
        .range(-1, 7),
    ucs::option<&rc_rows::rnr_retry>("RNR_RETRY_COUNT", "-1",
                                     "As UFX_IB_RNR_RETRY_COUNT; -1 takes that one.")
        .range(-1, 7),
    ucs::option<&rc_rows::min_rnr_timer>("MIN_RNR_TIMER", "-1",
                                         "As UFX_IB_MIN_RNR_TIMER; -1 takes that one.")
        .range(-1, 31),
    ucs::option<&rc_rows::path_mtu>("PATH_MTU", "0",
                                    "Largest packet payload, 256 to 4096; 0 takes the smaller one "
                                    "of both ports.")
        .range(0, 4096),
    ucs::option<&rc_rows::seg_size>("SEG_SIZE", "8kb", "Longest active message, and longest bcopy.")
        .range(1024, 64 << 10),
    ucs::option<&rc_rows::tx_queue>("TX_QUEUE", "256",
                                    "Operations that an endpoint may have outstanding.")
        .range(16, 4096), // more does not fit into the longest queue of ConnectX
    ucs::option<&rc_rows::tx_moderation>("TX_MODERATION", "64",
                                         "Unsignaled operations in a row; at most a quarter of "
                                         "TX_QUEUE is used.")
        .range(1, 1024),
    ucs::option<&rc_rows::tx_cq>("TX_CQ", "16384",
                                 "Completions of operations that an interface has room for; its "
                                 "endpoints share it.")
        .range(64, 1 << 22),
    ucs::option<&rc_rows::rx_queue>("RX_QUEUE", "1024",
                                    "Receive buffers of an interface, of SEG_SIZE each.")
        .range(64, 32768),
    ucs::option<&rc_rows::cq_poll>("CQ_POLL", "16",
                                   "Completions of each queue that one progress handles.")
        .range(1, 1024),
    ucs::option<&rc_rows::fc_window>("FC_WINDOW", "256",
                                     "Active messages that a peer may send before it hears that "
                                     "they were handled; at most half of RX_QUEUE is used.")
        .range(2, 16384),
    ucs::option<&rc_rows::max_reads>("MAX_READS", "16",
                                     "Reads and atomics that a connection may have under way, each "
                                     "direction.")
        .range(1, 128),
    ucs::option<&rc_rows::blueflame>("BLUEFLAME", "n",
                                     "Write small requests to the device together with the "
                                     "doorbell, where it offers that (mlx5 only)."),
    ucs::option<&rc_rows::extended_atomics>("EXTENDED_ATOMICS", "auto",
                                            "Atomics of 4 bytes, and AND, OR, XOR and SWAP (mlx5 "
                                            "only); auto: if the device says that it has them, "
                                            "which it does where DEVX is allowed.")
        .names(wishes),
};

constexpr ucs::config_table<rc_rows> mlx5_table{"rc_mlx5", "RC_MLX5_", rc_options};
constexpr ucs::config_table<rc_rows> verbs_table{"rc_verbs", "RC_VERBS_", rc_options};

uint8_t either(int own, int shared)
{
    return static_cast<uint8_t>(own >= 0 ? own : shared);
}

// Largest power of two that is not above it, of those that are MTUs; 0 stays.
size_t as_mtu(size_t wanted)
{
    size_t mtu = 4096;
    while (mtu > 256 && mtu > wanted) {
        mtu /= 2;
    }
    return wanted == 0 ? 0 : mtu;
}

} // namespace

ucs::result<md_config> read_md_config(std::span<const ufx_uct_config_entry_t> given)
{
    auto rows = load_config(shared_table, "IB_", given);
    if (!rows) {
        return rows.error();
    }
    // Those are for interfaces; but a wrong one is refused at once.
    for (const auto &[table, prefix] :
         {std::pair(&mlx5_table, "RC_MLX5_"), std::pair(&verbs_table, "RC_VERBS_")}) {
        if (const auto own = load_config(*table, prefix, given); !own) {
            return own.error();
        }
    }
    return md_config{.event_thread = rows->event_thread,
                     .cache = rows->reg_cache,
                     .cache_entries = rows->reg_cache_entries,
                     .cache_bytes = rows->reg_cache_size};
}

ucs::result<rc_config> read_config(rc_kind kind, std::span<const ufx_uct_config_entry_t> given)
{
    auto shared = load_config(shared_table, "IB_", given);
    if (!shared) {
        return shared.error();
    }
    auto own = kind == rc_kind::mlx5 ? load_config(mlx5_table, "RC_MLX5_", given)
                                     : load_config(verbs_table, "RC_VERBS_", given);
    if (!own) {
        return own.error();
    }
    rc_config made{};
    made.budget = {.timeout = either(own->timeout, shared->timeout),
                   .retry_count = either(own->retry_count, shared->retry_count),
                   .rnr_retry = either(own->rnr_retry, shared->rnr_retry),
                   .min_rnr_timer = either(own->min_rnr_timer, shared->min_rnr_timer)};
    made.gid_index = shared->gid_index;
    made.service_level = static_cast<uint8_t>(shared->service_level);
    made.traffic_class = static_cast<uint8_t>(shared->traffic_class);
    made.hop_limit = static_cast<uint8_t>(shared->hop_limit);
    made.asks_routes = shared->asks_routes;
    made.async_events = shared->async_events;
    made.fail_on_event = shared->async_events && shared->fail_on_event;
    made.path_mtu = as_mtu(own->path_mtu);
    made.seg_size = own->seg_size;
    made.tx_queue = own->tx_queue;
    made.tx_moderation = own->tx_moderation;
    made.tx_cq = own->tx_cq;
    made.rx_queue = own->rx_queue;
    made.cq_poll = own->cq_poll;
    made.fc_window = own->fc_window;
    made.max_reads = made.max_own_reads = own->max_reads;
    made.blueflame = own->blueflame;
    made.extended_atomics = own->extended_atomics;
    if (made.budget.timeout == 0) {
        ufx_warn("the ACK timeout is off (TIMEOUT 0): a peer that dies stalls its operations for "
                 "ever; set UFX_IB_TIMEOUT to 1..31");
    }
    return made;
}

void fit(rc_config &config, const ibv_device_attr &device) noexcept
{
    const auto at_most = [](unsigned &value, int limit, unsigned least) {
        value = std::max(std::min(value, static_cast<unsigned>(std::max(limit, 0))), least);
    };
    at_most(config.tx_queue, device.max_qp_wr - static_cast<int>(send_credits::reserved), 16);
    at_most(config.tx_cq, device.max_cqe, 64);
    at_most(config.rx_queue, std::min(device.max_srq_wr, device.max_cqe), 64);
    at_most(config.max_reads, device.max_qp_rd_atom, 1);
    at_most(config.max_own_reads, device.max_qp_init_rd_atom, 1);
    config.tx_moderation = std::min(config.tx_moderation, config.tx_queue / 4);
    config.fc_window = std::min(config.fc_window, config.rx_queue / 2) & ~1u;
}

const ufx_uct_config_row_t *config_rows(size_t *count)
{
    static const std::vector<ufx_uct_config_row_t> all = [] {
        static const config_row_list lists[] = {config_row_list(shared_table, "IB_"),
                                                config_row_list(mlx5_table, "RC_MLX5_"),
                                                config_row_list(verbs_table, "RC_VERBS_")};
        std::vector<ufx_uct_config_row_t> joined;
        for (const config_row_list &list : lists) {
            size_t length = 0;
            const ufx_uct_config_row_t *rows = list.give(&length);
            joined.insert(joined.end(), rows, rows + length);
        }
        return joined;
    }();
    *count = all.size();
    return all.data();
}

std::array<char, 160> describe(const retry_budget &budget) noexcept
{
    std::array<char, 160> text;
    if (budget.timeout == 0) {
        std::snprintf(text.data(), text.size(), "timeout off, %u RNR retries, RNR timer %u",
                      budget.rnr_retry, budget.min_rnr_timer);
    } else {
        std::snprintf(text.data(), text.size(),
                      "timeout %u (%.3g ms), %u retries: %.4g ms in all (nominal), %u RNR retries, "
                      "RNR timer %u",
                      budget.timeout, 4.096e-3 * static_cast<double>(uint64_t{1} << budget.timeout),
                      budget.retry_count, static_cast<double>(budget.nominal_ns()) / 1e6,
                      budget.rnr_retry, budget.min_rnr_timer);
    }
    return text;
}

} // namespace ufx::uct::ib
