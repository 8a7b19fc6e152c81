// SPDX-License-Identifier: BSD-3-Clause
// Classes of the scripted transport.
#ifndef UFX_UCT_FAKE_FAKE_IMPL_H
#define UFX_UCT_FAKE_FAKE_IMPL_H

#include "fake.h"

#include "uct/base/failover_ep.h"
#include "uct/base/iface_base.h"
#include "uct/base/md_base.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace ufx::uct::fake {

class fake_ep;
class fake_iface;

struct device {
    std::string name;
    device_options options;
    uint64_t id;
    std::vector<fake_iface *> ifaces;
};

struct region {
    const class fake_md *owner;
    uintptr_t address;
    size_t length;
    uint64_t flags;
};

// All that the process shares: devices, eps by number, registered memory by key.
struct fabric {
    std::vector<ucs::owner<device>> devices;
    std::map<uint64_t, fake_ep *> eps;
    std::map<uint64_t, region> regions;
    uint64_t next_id = 1;
    bool needs_memh = false;
    bool refuses_registration = false;
    size_t cacheable = 0; // registrations that might have been kept

    // The pieces are registered, where they must be.
    [[nodiscard]] bool takes(const ufx_uct_iov_t *iov, size_t count) const noexcept;
    [[nodiscard]] device *find(std::string_view name) const noexcept;
    [[nodiscard]] device *find(uint64_t id) const noexcept;
    // True if the key allows `flags` on that range.
    [[nodiscard]] bool allows(uint64_t rkey, uint64_t address, size_t length,
                              uint64_t flags) const noexcept;
};

[[nodiscard]] fabric &the_fabric();

// One packet of an operation.
struct packet {
    uint64_t to;       // ep
    uint64_t position; // of this packet in the stream of its ep
    uint64_t index;    // of the operation
    uint64_t steps;    // positions that it takes: a read takes all its responses
    op_record op;      // copied; its data pointers are not used
    size_t offset;     // of `bytes` in a put
    bool last;
    std::vector<std::byte> bytes; // of a put: this piece; of an am, with the last: all of it
};

// What comes back: everything before `position` was applied, or the operation was refused.
struct reply {
    uint64_t to;
    uint64_t position;
    uint64_t index;
    bool refused;
    std::vector<std::byte> bytes; // of a read or fetch
};

class fake_md : public md_base<fake_md> {
public:
    static constexpr size_t rkey_len = 8;

    static ufx_status_t query_md_resources(ufx_uct_md_resource_t *resources, size_t *count);
    static ucs::result<ucs::owner<fake_md>> open(const char *md_name,
                                                 const ufx_uct_md_params_t &params);
    static const ufx_uct_config_row_t *config_rows(size_t *count) noexcept;

    ufx_status_t query(ufx_uct_md_attr_t *attr) noexcept;
    ufx_status_t query_resources(ufx_uct_resource_t *resources, size_t *count);
    ufx_status_t query_netdevs(const char *dev_name, ufx_uct_netdev_t *netdevs, size_t *count);
    ufx_status_t mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh);
    ufx_status_t mem_dereg(ufx_uct_mem_h memh) noexcept;
    ufx_status_t mem_alloc(const ufx_uct_mem_params_t *params, ufx_uct_allocated_memory_t *mem);
    ufx_status_t mem_free(const ufx_uct_allocated_memory_t *mem) noexcept;
    ufx_status_t mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept;
    ufx_status_t rkey_unpack(const void *buffer, size_t length,
                             ufx_uct_rkey_bundle_t *rkey) noexcept;
    void rkey_release(const ufx_uct_rkey_bundle_t *rkey) noexcept;

    ucs::result<ucs::owner<fake_iface>> open_iface(const ufx_uct_iface_params_t &params);

private:
    friend struct ucs::owner_access;
    friend class side;
    fake_md() noexcept;

    bool is_lost_ = false;
};

class fake_iface : public iface_base<fake_iface, fake_ep>, public side {
public:
    static constexpr size_t addr_len = 8;
    static constexpr size_t token_len = 8;

    ~fake_iface();

    ufx_status_t query(ufx_uct_iface_attr_t *attr) noexcept;
    ufx_status_t get_device_address(void *addr) noexcept;
    ufx_status_t get_address(void *addr) noexcept;
    int is_reachable(const void *device_addr, const void *iface_addr) noexcept;
    ufx_status_t event_arm(unsigned events) noexcept;
    ufx_status_t fence() noexcept;
    ufx_status_t query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                             size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept;
    ufx_status_t set_link(int up);

    unsigned poll() noexcept;
    ucs::result<ucs::owner<fake_ep>> create_ep(const ufx_uct_ep_params_t &params);

    [[nodiscard]] const device_options &options() const noexcept { return device_.options; }

    [[nodiscard]] bool link_up() const noexcept { return link_up_; }

private:
    friend class fake_ep;
    friend class fake_md;
    friend class side;
    friend struct ucs::owner_access;

    struct event {
        ufx_uct_iface_event_type_t type;
        ufx_uct_error_cause_t cause;
    };

    fake_iface(fake_md &memory, const ufx_uct_iface_params_t &params, device &on);

    unsigned step();
    unsigned tell_events();
    unsigned pass_packets();
    unsigned pass_replies();

    fake_md &md_;
    device &device_;
    uint64_t id_;
    std::deque<packet> packets_out_;
    std::deque<packet> packets_in_;
    std::deque<reply> replies_out_;
    std::deque<reply> replies_in_;
    std::deque<event> events_;
    bool link_up_ = true;
    bool port_active_ = true;
};

struct fake_position {
    uint64_t expected; // next position at the receiver
};

class fake_ep : public failover_ep<fake_ep, fake_iface> {
public:
    ~fake_ep();

    method_of<&ep_ops::am_short> am_short;
    method_of<&ep_ops::am_bcopy> am_bcopy;
    method_of<&ep_ops::am_zcopy> am_zcopy;
    method_of<&ep_ops::put_short> put_short;
    method_of<&ep_ops::put_bcopy> put_bcopy;
    method_of<&ep_ops::put_zcopy> put_zcopy;
    method_of<&ep_ops::get_bcopy> get_bcopy;
    method_of<&ep_ops::get_zcopy> get_zcopy;
    method_of<&ep_ops::atomic64_post> atomic64_post;
    method_of<&ep_ops::atomic64_fetch> atomic64_fetch;
    method_of<&ep_ops::atomic64_cswap> atomic64_cswap;
    method_of<&ep_ops::check> check;
    method_of<&ep_ops::fence> fence;
    method_of<&ep_ops::get_address> get_address;
    ufx_status_t connect_to_ep(const void *device_addr, const void *iface_addr,
                               const void *ep_addr) noexcept;
    ufx_status_t query(ufx_uct_ep_attr_t *attr) noexcept;

    // Of ep_base and failover_ep.
    void quiesce() noexcept;
    bool can_post() const noexcept;
    ufx_status_t make_quiet(ufx_uct_completion_t *quiet);
    ucs::result<fake_position> parse_token(const void *token, size_t length) const noexcept;
    extent judge(const op_record &record, uint64_t index, const fake_position &position,
                 size_t &partial) const noexcept;

    void script_error(const error &why, const char *text) noexcept;
    void try_connect() noexcept;
    unsigned finish_quiet() noexcept;
    void send_new();
    void receive(packet &&in);
    void receive(const reply &in);

    [[nodiscard]] uint64_t id() const noexcept { return id_; }

    // Number of the peer's ep; 0 before connect_to_ep.
    [[nodiscard]] uint64_t peer() const noexcept { return peer_; }

    // True if progress would send or connect.
    [[nodiscard]] bool has_work() const noexcept
    {
        return (state() == UFX_UCT_EP_LIVE && sent_ < queue_.next()) ||
               (state() == UFX_UCT_EP_INIT && peer_ != 0) || !quiet_.empty();
    }

    [[nodiscard]] uint64_t expected() const noexcept { return expected_; }

private:
    friend struct ucs::owner_access;

    fake_ep(fake_iface &iface, const ufx_uct_ep_params_t &params, uint64_t id);

    [[nodiscard]] ufx_status_t posted(op_record *record, ufx_status_t accepted) noexcept;
    [[nodiscard]] ufx_status_t post_atomic(ufx_uct_atomic_op_t op, uint64_t operand,
                                           uint64_t compare, void *result, uint64_t remote_addr,
                                           ufx_uct_rkey_t rkey,
                                           ufx_uct_completion_t *comp) noexcept;
    [[nodiscard]] uint64_t steps_of(const op_record &record) const noexcept;
    void send(const op_record &record, uint64_t index);
    // Applies a packet; false if the key does not allow it. `answer` gets what a read gives.
    [[nodiscard]] bool apply(const packet &in, std::vector<std::byte> &answer);
    void take_answer(op_record &record, const reply &in) noexcept;

    uint64_t id_;
    uint64_t peer_ = 0;        // ep number; 0: connect_to_ep not called
    uint64_t sent_ = 0;        // index of the next operation to send
    uint64_t tx_position_ = 0; // of the next packet
    uint64_t expected_ = 0;    // of the next packet of the peer
    uint64_t acked_bytes_ = 0;
    bool refusing_ = false; // a key violation: nothing more
    std::vector<ufx_uct_completion_t *> quiet_;
};

} // namespace ufx::uct::fake

#endif
