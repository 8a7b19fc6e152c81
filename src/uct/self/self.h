// SPDX-License-Identifier: BSD-3-Clause
// The transport of an iface to itself: operations wait in the ep's queue until progress runs them.
#ifndef UFX_UCT_SELF_SELF_H
#define UFX_UCT_SELF_SELF_H

#include "uct/base/failover_ep.h"
#include "uct/base/iface_base.h"
#include "uct/base/md_base.h"

#include "ucs/list.h"

#include <array>
#include <memory>

namespace ufx::uct {

struct self_config {
    size_t seg_size;
    unsigned tx_queue;
};

class self_md : public md_base<self_md> {
public:
    static ufx_status_t query_md_resources(ufx_uct_md_resource_t *resources, size_t *count);
    static ucs::result<ucs::owner<self_md>> open(const char *md_name,
                                                 const ufx_uct_md_params_t &params);
    static const ufx_uct_config_row_t *config_rows(size_t *count) noexcept;

    ufx_status_t query(ufx_uct_md_attr_t *attr) noexcept;
    ufx_status_t query_resources(ufx_uct_resource_t *resources, size_t *count) noexcept;
    ufx_status_t mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh) noexcept;
    ufx_status_t mem_dereg(ufx_uct_mem_h memh) noexcept;
    ufx_status_t mem_alloc(const ufx_uct_mem_params_t *params,
                           ufx_uct_allocated_memory_t *mem) noexcept;
    ufx_status_t mem_free(const ufx_uct_allocated_memory_t *mem) noexcept;
    ufx_status_t mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept;
    ufx_status_t rkey_unpack(const void *buffer, size_t length,
                             ufx_uct_rkey_bundle_t *rkey) noexcept;
    void rkey_release(const ufx_uct_rkey_bundle_t *rkey) noexcept;

    ucs::result<ucs::owner<class self_iface>> open_iface(const ufx_uct_iface_params_t &params);

private:
    friend struct ucs::owner_access;
    self_md();
};

class self_ep;

class self_iface : public iface_base<self_iface, self_ep> {
public:
    static constexpr size_t addr_len = 8;
    static constexpr size_t token_len = 8;

    ufx_status_t query(ufx_uct_iface_attr_t *attr) noexcept;
    ufx_status_t get_device_address(void *addr) noexcept;
    ufx_status_t get_address(void *addr) noexcept;
    int is_reachable(const void *device_addr, const void *iface_addr) noexcept;
    ufx_status_t event_arm(unsigned events) noexcept;
    ufx_status_t fence() noexcept;
    ufx_status_t query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                             size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept;
    ufx_status_t set_link(int up) noexcept;

    unsigned poll() noexcept;
    ucs::result<ucs::owner<self_ep>> create_ep(const ufx_uct_ep_params_t &params);

    [[nodiscard]] const self_config &config() const noexcept { return config_; }

    [[nodiscard]] uint64_t address() const noexcept { return address_; }

private:
    friend class self_ep;
    friend class self_md;
    friend struct ucs::owner_access;

    self_iface(const ufx_uct_iface_params_t &params, const self_config &config);

    self_config config_;
    uint64_t address_;
    uint64_t next_ep_id_ = 1;
    ucs::list<self_ep> active_;           // eps with operations to run, oldest first
    std::unique_ptr<std::byte[]> gather_; // a zero-copy message in one piece: header and seg_size bytes
    bool link_up_ = true;
    bool link_told_ = true; // what the event callback knows
};

// The position of a self ep: every operation before it was run.
struct self_position {
    uint64_t ran;
};

class self_ep : public failover_ep<self_ep, self_iface>, public ucs::list_node<> {
public:
    method_of<&ep_ops::am_short> am_short;
    method_of<&ep_ops::am_bcopy> am_bcopy;
    method_of<&ep_ops::am_zcopy> am_zcopy;
    method_of<&ep_ops::put_short> put_short;
    method_of<&ep_ops::put_bcopy> put_bcopy;
    method_of<&ep_ops::put_zcopy> put_zcopy;
    method_of<&ep_ops::get_short> get_short;
    method_of<&ep_ops::get_bcopy> get_bcopy;
    method_of<&ep_ops::get_zcopy> get_zcopy;
    method_of<&ep_ops::atomic32_post> atomic32_post;
    method_of<&ep_ops::atomic64_post> atomic64_post;
    method_of<&ep_ops::atomic32_fetch> atomic32_fetch;
    method_of<&ep_ops::atomic64_fetch> atomic64_fetch;
    method_of<&ep_ops::atomic32_cswap> atomic32_cswap;
    method_of<&ep_ops::atomic64_cswap> atomic64_cswap;
    method_of<&ep_ops::check> check;
    method_of<&ep_ops::fence> fence;
    ufx_status_t connect_to_iface(const void *device_addr, const void *iface_addr) noexcept;
    ufx_status_t query(ufx_uct_ep_attr_t *attr) noexcept;

    // Of ep_base and failover_ep.
    void quiesce() noexcept;
    bool can_post() const noexcept;
    ufx_status_t make_quiet(ufx_uct_completion_t *quiet) noexcept;
    ucs::result<self_position> parse_token(const void *token, size_t length) const noexcept;
    extent judge(const op_record &record, uint64_t index, const self_position &position,
                 size_t &partial) const noexcept;

    // Runs up to `budget` operations of the queue; returns how many.
    unsigned run(unsigned budget) noexcept;

    void fail_link() noexcept;

    [[nodiscard]] uint64_t id() const noexcept { return id_; }

    // Operations that have run; final once the ep is quiet.
    [[nodiscard]] uint64_t ran() const noexcept
    {
        return is_failed() ? final_ran_ : queue_.first();
    }

private:
    friend struct ucs::owner_access;

    self_ep(self_iface &iface, const ufx_uct_ep_params_t &params, uint64_t id);

    [[gnu::noinline]] void run_other(op_record &record) noexcept;
    void run_am_zcopy(op_record &record) noexcept;
    void run_put(const op_record &record) noexcept;
    void run_get(const op_record &record) noexcept;
    void run_atomic(const op_record &record) noexcept;

    [[gnu::noinline]] ufx_status_t am_short_any(uint8_t id, uint64_t header, const void *payload,
                                                size_t length) noexcept;
    [[gnu::noinline]] ufx_status_t put_short_any(const void *buffer, size_t length,
                                                 uint64_t remote_addr,
                                                 ufx_uct_rkey_t rkey) noexcept;

    // What a push gave, as the answer of a post.
    [[nodiscard]] ufx_status_t posted(const op_record *record, ufx_status_t accepted) noexcept;
    [[nodiscard]] ufx_status_t post_atomic(ufx_uct_atomic_op_t op, uint64_t allowed, unsigned size,
                                           uint64_t operand, uint64_t compare, void *result,
                                           uint64_t remote_addr,
                                           ufx_uct_completion_t *comp) noexcept;
    [[nodiscard]] ufx_status_t post_rma(ufx_uct_op_kind_t kind, const ufx_uct_iov_t *iov,
                                        size_t iov_count, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                        ufx_uct_completion_t *comp) noexcept;

    uint64_t id_;
    uint64_t final_ran_ = 0;
};

// Bytes of an iov that one operation may have.
inline constexpr size_t self_max_iov = 16;
inline constexpr size_t self_max_hdr = 256;
inline constexpr size_t self_max_short = 4096;

} // namespace ufx::uct

#endif
