// SPDX-License-Identifier: BSD-3-Clause
// Two workers of this process with rails between them, and memory that each has the other's key of.
#ifndef UFX_TEST_MATRIX_WORLD_H
#define UFX_TEST_MATRIX_WORLD_H

#include <ufx/ucp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ufx::matrix {

// One operation: how it ended, and how often it said so.
struct waiter {
    waiter();
    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;

    // A posting call's answer; done at once counts as one callback.
    void posted(ufx_status_t answer);
    bool is_done() const { return calls != 0; }

    ufx_ucp_op_params_t params{};
    unsigned calls = 0;
    ufx_status_t status = UFX_INPROGRESS;
};

struct side {
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h worker = nullptr;
    ufx_ucp_ep_h ep = nullptr;
    ufx_ucp_mem_h mem = nullptr;
    std::byte *memory = nullptr;
    ufx_ucp_rkey_h peer_key = nullptr;
    std::uint64_t peer_address = 0;
    unsigned errors = 0; // of the ep
    std::string error;
};

class world {
public:
    static constexpr std::size_t memory_bytes = 4 << 20;

    // Devices of each side, comma separated; with short times, so that a case takes a few of them and
    // no more, or with those that users have. Throws std::runtime_error.
    enum class times { SHORT, USUAL };
    world(const std::string &senders_rails, const std::string &receivers_rails,
          times which = times::SHORT);
    ~world();
    world(const world &) = delete;
    world &operator=(const world &) = delete;

    void progress();
    void progress_receiver() { (void)ufx_ucp_worker_progress(receiver.worker); }
    void progress_for(unsigned microseconds);
    // False after some seconds.
    bool until(const std::function<bool()> &what);
    // Every rail carries traffic again, on both sides.
    bool is_whole() const;
    // Another ep, in place of one that was closed. Throws std::runtime_error.
    void connect();
    // One more from the sender, the receiver's end of which nobody asks for.
    ufx_ucp_ep_h make_ep();
    std::string state() const;

    side sender;
    side receiver;

private:
    void open(side &s, const std::string &rails, times which);
    static void share(side &owner, side &user);
    static void close(side &s);
};

} // namespace ufx::matrix

#endif
