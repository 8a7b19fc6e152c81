// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite's hold on any transport: finds all of them, connects two eps, moves them.
#ifndef UFX_TEST_UCT_CONFORMANCE_HARNESS_H
#define UFX_TEST_UCT_CONFORMANCE_HARNESS_H

#include <ufx/uct.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ufx::test {

struct uct_resource {
    const ufx_uct_component_t *component;
    std::string md;
    std::string tl;
    std::string dev;

    [[nodiscard]] std::string name() const { return tl + "/" + dev; }
};

// Every transport and device that two ifaces of this process can meet on: all of self and of other
// same-host kinds, and of network kinds those on the loopback interface, two scripted ones, and the
// first device of a software ConnectX or of soft-RoCE. UFX_TEST_TRANSPORT: only that transport.
[[nodiscard]] const std::vector<uct_resource> &conformance_resources();

// Runs `body` for each resource that has all of `caps`; the others are named, and if there is none
// the case counts as skipped.
void for_each_transport(uint64_t caps, const std::function<void(const uct_resource &)> &body);

// A completion that remembers how often and with what it was called.
struct counted : ufx_uct_completion_t {
    explicit counted(int operations = 1);

    [[nodiscard]] bool done() const { return calls != 0; }

    int calls = 0;
    ufx_status_t result = UFX_OK;
};

// One opened iface with what its callbacks saw.
struct uct_side {
    uct_side(const uct_resource &resource, ufx_uct_worker_h worker);
    ~uct_side();
    uct_side(const uct_side &) = delete;
    uct_side &operator=(const uct_side &) = delete;

    ufx_uct_md_h md = nullptr;
    ufx_uct_iface_h iface = nullptr;
    ufx_uct_iface_attr_t attr{};
    ufx_uct_md_attr_t md_attr{};

    ufx_status_t error_answer = UFX_OK; // what the error handler returns
    int errors = 0;
    ufx_uct_ep_h failed_ep = nullptr;
    ufx_status_t error_status = UFX_OK;
    ufx_uct_error_cause_t error_cause = UFX_UCT_CAUSE_NONE;
    std::string error_text;
    std::function<void(ufx_uct_ep_h)> on_error;
    std::vector<ufx_uct_iface_event_type_t> events;

    // Where a peer's connect_to_ep, or an ep to this iface, goes.
    [[nodiscard]] std::vector<std::byte> device_address();
    [[nodiscard]] std::vector<std::byte> address();
    [[nodiscard]] ufx_uct_iface_stats_t stats();
};

// Two connected eps. For a transport that only reaches itself both sides are the same iface and ep.
class uct_pair {
public:
    explicit uct_pair(const uct_resource &resource, ufx_uct_worker_h worker = nullptr,
                      bool connected = true);
    // Side b is on another device.
    uct_pair(const uct_resource &resource, const uct_resource &of_b);
    ~uct_pair();
    uct_pair(const uct_pair &) = delete;
    uct_pair &operator=(const uct_pair &) = delete;

    [[nodiscard]] uct_side &a() { return *a_; }
    [[nodiscard]] uct_side &b() { return *b_; }
    [[nodiscard]] bool loopback() const { return a_ == b_; }
    [[nodiscard]] bool has(uint64_t caps) const { return (a_->attr.caps & caps) == caps; }

    // Creates and connects one more pair of eps; they live until the pair does.
    struct connection {
        ufx_uct_ep_h a;
        ufx_uct_ep_h b;
    };
    connection connect();
    void destroy_eps();

    unsigned progress();
    // Progress until `done`; false after 10 s.
    [[nodiscard]] bool wait(const std::function<bool()> &done);
    // Progress `rounds` times.
    void turn(int rounds);
    void flush();

    ufx_uct_ep_h ep = nullptr;   // of a, to b
    ufx_uct_ep_h peer = nullptr; // of b, to a

private:
    void connect_first();

    std::shared_ptr<uct_side> a_;
    std::shared_ptr<uct_side> b_;
    std::vector<connection> connections_;
};

[[nodiscard]] ufx_uct_ep_state_t state_of(ufx_uct_ep_h ep);
[[nodiscard]] uint64_t outstanding(ufx_uct_ep_h ep);

// Memory of side b that side a may write, read and change, with its unpacked key.
class remote_memory {
public:
    remote_memory(uct_pair &pair, size_t size, uint64_t flags = UFX_UCT_MEM_ACCESS_ALL);
    ~remote_memory();
    remote_memory(const remote_memory &) = delete;
    remote_memory &operator=(const remote_memory &) = delete;

    void dereg();

    [[nodiscard]] uint64_t addr(size_t offset = 0) const
    {
        return reinterpret_cast<uint64_t>(bytes + offset);
    }

    std::byte *bytes;
    ufx_uct_rkey_t rkey = 0;

private:
    std::vector<std::byte> storage_;
    ufx_uct_md_h owner_;
    ufx_uct_md_h user_;
    ufx_uct_mem_h memh_ = nullptr;
    ufx_uct_rkey_bundle_t bundle_{};
};

// Local memory of side a, registered if its md wants that.
class local_memory {
public:
    local_memory(uct_pair &pair, size_t size);
    ~local_memory();
    local_memory(const local_memory &) = delete;
    local_memory &operator=(const local_memory &) = delete;

    // Bytes that depend on `seed` and on their place.
    void fill(unsigned seed);
    [[nodiscard]] ufx_uct_iov_t iov(size_t offset, size_t length) const;

    std::vector<std::byte> bytes;

private:
    ufx_uct_md_h md_;
    ufx_uct_mem_h memh_ = nullptr;
};

// Copies `source` in a pack callback; `arg` is this struct.
struct pack_source {
    const void *data;
    size_t length;
    int calls = 0;

    static size_t pack(void *dest, void *arg) noexcept;
};

// Messages that a handler received.
struct inbox {
    inbox(ufx_uct_iface_h iface, uint8_t id);

    std::vector<std::vector<std::byte>> messages;
    std::function<void()> on_message;
};

} // namespace ufx::test

#endif
