// SPDX-License-Identifier: BSD-3-Clause
// The scripted transport, for tests: rails inside one process whose every packet, ack, error and
// token a test controls.
#ifndef UFX_UCT_FAKE_FAKE_H
#define UFX_UCT_FAKE_FAKE_H

#include <ufx/uct_ops.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// How a test uses it:
//
//     fake::install();                               component "fake" appears in the registry
//     fake::add_device("rail0");                     a network of its own
//     ... open ifaces on it by the uct or ucp API, connect eps, post ...
//     fake::side &a = fake::sides("rail0").at(0);    in the order in which they were opened
//     a.data.hold(); a.data.allow(3);                three more packets leave a, then none
//     a.acks.lose();                                 what a applies is never acknowledged
//     a.fail_eps({UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_RETRY_EXCEEDED});
//
// All is single-threaded and moves only in progress of the ifaces, so a test is deterministic.
// An operation of n bytes is max(1, ceil(n / mtu)) packets, in order, each with a position. A
// packet is applied when it arrives (a put byte for byte, others with their last packet); then its
// ack travels back. Completions come with acks. A token is the position that the receiver expects
// next, so a put can be PARTIAL by whole packets, and a read counts its responses.
namespace ufx::uct::fake {

// What leaves an iface in one direction, in order.
class valve {
public:
    // Everything passes (the state at first); what was held passes with the next progress.
    void open() noexcept
    {
        credit_ = UINT64_MAX;
        lose_ = false;
    }

    // Nothing passes; it is kept and may arrive later.
    void hold() noexcept
    {
        credit_ = 0;
        lose_ = false;
    }

    // `count` more pass, then it holds.
    void allow(uint64_t count) noexcept
    {
        credit_ = count;
        lose_ = false;
    }

    // What is sent from now on, and what is held, never arrives.
    void lose() noexcept
    {
        credit_ = UINT64_MAX;
        lose_ = true;
    }

    [[nodiscard]] bool is_open() const noexcept { return credit_ == UINT64_MAX && !lose_; }

    [[nodiscard]] bool passes() const noexcept { return credit_ != 0; }

    [[nodiscard]] bool loses() const noexcept { return lose_; }

    // Takes the right to pass one.
    [[nodiscard]] bool take() noexcept
    {
        if (credit_ == 0) {
            return false;
        }
        credit_ -= credit_ == UINT64_MAX ? 0 : 1;
        ++passed_;
        return true;
    }

    // Packets or acks that have passed, lost ones too.
    [[nodiscard]] uint64_t passed() const noexcept { return passed_; }

private:
    uint64_t credit_ = UINT64_MAX;
    uint64_t passed_ = 0;
    bool lose_ = false;
};

struct error {
    ufx_status_t status = UFX_ERR_CONNECTION_RESET;
    ufx_uct_error_cause_t cause = UFX_UCT_CAUSE_OWN_QP;
};

// The script's hold on one open iface. Valid until the iface is closed.
class side {
public:
    side(const side &) = delete;
    side &operator=(const side &) = delete;

    valve data; // packets that carry operations, from this iface
    valve acks; // answers that this iface gives, with the data of reads

    // Posts give NO_RESOURCE while set.
    bool no_resource = false;
    // Grade that iface_query_token gives; OPEN makes the query itself fail with IO.
    ufx_uct_token_grade_t token_grade = UFX_UCT_GRADE_EXACT;
    // invalidate() stays in progress while set.
    bool hold_quiet = false;
    // What ep_query(PROGRESS) says beside what is known.
    bool network_unacked = false;
    uint64_t srtt_ns = 0;

    // Every ep of this iface fails with the next progress.
    void fail_eps(const error &why);
    // One ep of it, by handle.
    void fail_ep(ufx_uct_ep_h ep, const error &why);
    // Tells the event callback from the next progress; PORT_DOWN and PORT_UP set port_active,
    // DEVICE_FATAL makes what is registered on its memory domain unreachable; nothing can be
    // registered or opened there any more, only on another one.
    void tell(ufx_uct_iface_event_type_t type,
              ufx_uct_error_cause_t cause = UFX_UCT_CAUSE_PORT_DOWN);

    [[nodiscard]] ufx_uct_iface_h iface_handle() noexcept;
    [[nodiscard]] std::vector<ufx_uct_ep_h> ep_handles();
    // Packets that were posted and have not left the iface.
    [[nodiscard]] size_t held_packets() const noexcept;
    [[nodiscard]] size_t held_acks() const noexcept;

protected:
    side() = default;
    ~side() = default;
};

struct device_options {
    size_t mtu = 1024;
    size_t max_outstanding = 64;
    size_t seg_size = 8192; // am and bcopy limit
    size_t zcopy_less = 0;  // am zcopy takes so much less than bcopy
    double bandwidth = 1e9;
    bool delivery = false;   // COMPLETION_IS_DELIVERY
    bool moderated = false;  // what has no completion ends only with what is behind it and has one
    bool tells_peer = false; // an ep that dies fails its peer, as a socket's EOF does
    uint64_t without_caps = 0; // of UFX_UCT_CAP_*: what it does not claim to have
    std::string netdev = {};   // that shares its cable
    uint64_t network = 0;    // devices of equal networks reach each other; 0: only itself
};

// Adds "fake" to the registry of this process, once.
void install();

void add_device(std::string_view name, const device_options &options = {});

// Forgets all devices; their ifaces are closed before.
void reset();

// Local buffers of zero-copy operations must be registered; until reset().
void require_registration();
// While set, nothing can be registered: NO_MEMORY.
void refuse_registration(bool refused);

// Registrations for one operation, which a device might keep, since the last reset.
[[nodiscard]] size_t cacheable_registrations() noexcept;
[[nodiscard]] size_t registrations() noexcept;

// Open ifaces of a device, in the order in which they were opened.
[[nodiscard]] std::vector<side *> sides(std::string_view device);

// Both directions of every open iface of the device lose what is sent.
void cut(std::string_view device);
void restore(std::string_view device);

} // namespace ufx::uct::fake

#endif
