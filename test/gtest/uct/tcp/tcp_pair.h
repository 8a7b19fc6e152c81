// SPDX-License-Identifier: BSD-3-Clause
// Two tcp ifaces of one process on loopback addresses, with connected eps, for tests.
#ifndef UFX_TEST_UCT_TCP_PAIR_H
#define UFX_TEST_UCT_TCP_PAIR_H

#include <catch2/catch.hpp>

#include <ufx/uct.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ufx::test_tcp {

// Settings of one iface: pairs of name and value.
using tcp_settings = std::vector<ufx_uct_config_entry_t>;

// A completion that remembers what happened.
struct counted : ufx_uct_completion_t {
    explicit counted(int ops = 1) noexcept : ufx_uct_completion_t{&counted::done, ops, UFX_OK} {}

    static void done(ufx_uct_completion_t *self) noexcept { static_cast<counted *>(self)->calls++; }

    int calls = 0;
};

// Memory registered at one side, with its key unpacked for the other.
struct remote_memory {
    std::vector<uint8_t> bytes;
    ufx_uct_mem_h memh = nullptr;
    ufx_uct_rkey_bundle_t rkey{};

    uint64_t at(size_t offset = 0) const
    {
        return reinterpret_cast<uint64_t>(bytes.data() + offset);
    }
};

struct received_am {
    uint8_t id;
    std::string data;
    bool desc;
};

class tcp_side {
public:
    tcp_side(const std::string &dev, const tcp_settings &settings = {});
    ~tcp_side();
    tcp_side(const tcp_side &) = delete;
    tcp_side &operator=(const tcp_side &) = delete;

    ufx_uct_ep_h new_ep();
    void close_ep(ufx_uct_ep_h ep);
    std::array<uint8_t, 20> device_address();
    std::array<uint8_t, 4> iface_address();

    // Registered here; `key_for` unpacks.
    remote_memory memory(size_t size, tcp_side &key_for, uint64_t flags = UFX_UCT_MEM_ACCESS_ALL);
    void release(remote_memory &memory, tcp_side &key_for);

    ufx_uct_md_h md = nullptr;
    ufx_uct_iface_h iface = nullptr;
    std::vector<received_am> ams;
    std::vector<ufx_uct_error_t> errors;
    std::vector<std::string> error_texts;
    std::vector<ufx_uct_iface_event_t> events;
    ufx_status_t error_answer = UFX_INPROGRESS; // what the error handler returns
    bool keep_ams = false;                      // keep data that may be kept
    std::vector<void *> kept;
    void (*on_am)(tcp_side &self) = nullptr; // runs inside the handler
    void *user = nullptr;

private:
    std::vector<ufx_uct_ep_h> eps_;
};

std::array<uint8_t, 16> ep_address(ufx_uct_ep_h ep);
ufx_uct_ep_state_t state_of(ufx_uct_ep_h ep);
std::vector<uint8_t> tx_token(ufx_uct_ep_h ep);

struct rx_token {
    ufx_status_t status;
    uint64_t applied = 0;
    uint64_t partial = 0;
    std::vector<uint8_t> bytes;
    ufx_uct_token_grade_t grade = UFX_UCT_GRADE_OPEN;
};
rx_token rx_token_for(tcp_side &at, ufx_uct_ep_h peer_ep);

struct purged_op {
    ufx_uct_op_desc_t op;
    ufx_uct_verdict_t verdict;
    size_t bytes;
    std::string payload;
    std::string header;
};
std::vector<purged_op> purge(ufx_uct_ep_h ep, ufx_uct_token_grade_t grade,
                             const std::vector<uint8_t> &token);

class tcp_pair {
public:
    explicit tcp_pair(const tcp_settings &a = {}, const tcp_settings &b = {});

    // Makes and connects another pair of eps.
    void connect(ufx_uct_ep_h &ep_a, ufx_uct_ep_h &ep_b);

    void progress();

    // Progresses until the condition holds; fails the test after 10 s.
    template <class Condition>
    void until(Condition &&condition)
    {
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!condition()) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            progress();
        }
    }

    // Nothing more happens: acks are exchanged, buffers drained.
    void settle();

    void flush_a();

    tcp_side a;
    tcp_side b;
    ufx_uct_ep_h ep_a = nullptr;
    ufx_uct_ep_h ep_b = nullptr;
};

// `size` bytes that tell their place.
std::string pattern(size_t size, unsigned seed = 1);

} // namespace ufx::test_tcp

#endif
