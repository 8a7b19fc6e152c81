// SPDX-License-Identifier: BSD-3-Clause
// rig: devices in one process, stepped by hand, and endpoints that drive them as a provider does:
// by WQEs in a buffer, doorbell records and CQEs.
#ifndef UFX_TEST_SWHCA_RIG_H
#define UFX_TEST_SWHCA_RIG_H

#include "swhca/engine/engine.h"
#include "swhca/fabric/fabric.h"
#include "swhca/model/verbs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::test {

inline constexpr uint32_t all_access = 0xf; // IBV_ACCESS_*
inline constexpr uint8_t reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, err = 6;

struct cqe {
    uint8_t opcode;
    uint8_t syndrome;
    uint8_t sent_opcode;
    uint16_t counter;
    uint32_t qpn;
    uint32_t bytes;
    uint32_t imm;
    std::vector<uint8_t> inlined; // data that came with it
};

struct event {
    uint64_t element;
    uint32_t type;
};

// Memory with its key.
struct region {
    std::vector<uint8_t> bytes;
    uint32_t key = 0;
    uint64_t start = 0; // of another process, which has the bytes

    [[nodiscard]] uint64_t at(size_t offset = 0) const
    {
        return (start != 0 ? start : reinterpret_cast<uintptr_t>(bytes.data())) + offset;
    }
};

class rig {
public:
    explicit rig(const swhca::fabric_options &options = two_devices());
    // In a child after fork(): another process of the same fabric.
    explicit rig(rig &of);
    ~rig();

    [[nodiscard]] static swhca::fabric_options two_devices();

    [[nodiscard]] swhca::image &shared() { return *shared_; }

    // Its place among the processes of the fabric.
    [[nodiscard]] uint32_t self() const { return engine_->self(); }

    // Lets `ns` pass and runs what is due, in one go.
    void step(uint64_t ns = 0);

    // The same, as a helper does that was woken: others may have left work.
    void step_woken(uint64_t ns);

    // Steps by `step_ns` until `done` or `limit_ns` have passed; what `done` says at the end.
    template <class Done>
    bool until(Done done, uint64_t step_ns = 1000, uint64_t limit_ns = 10'000'000'000)
    {
        for (uint64_t passed = 0; passed <= limit_ns; passed += step_ns) {
            if (done()) {
                return true;
            }
            step(step_ns);
        }
        return done();
    }

    template <class Run>
    int command(Run run)
    {
        return engine_->command(now_ns, run);
    }

    // A rule in the language of schedules; its times count from now.
    void fault(std::string_view rule);
    void clear_faults();

    uint64_t now_ns = 1'000'000'000;

private:
    void join();

    ucs::owner<swhca::fabric> fabric_;
    swhca::image *shared_ = nullptr;
    ucs::owner<swhca::engine> engine_;
};

// An open device with a PD and one CQ.
class device {
public:
    static constexpr uint32_t cq_entries = 1024;

    device(rig &on, uint32_t hca, uint32_t entries = cq_entries, uint32_t entry_bytes = 64);
    ~device();

    [[nodiscard]] region make_region(size_t size, uint32_t access);
    [[nodiscard]] std::optional<cqe> poll();
    [[nodiscard]] std::optional<event> next_event();
    [[nodiscard]] bool next_completion_event();
    void arm(bool solicited = false);

    rig &on;
    uint32_t context = 0;
    uint32_t pd = 0;
    uint32_t cq = 0;

private:
    std::vector<uint8_t> cq_buffer_;
    uint32_t cq_doorbell_[2] = {};
    uint32_t consumed_ = 0;
    uint32_t entries_;
    uint32_t entry_bytes_;
    uint32_t arms_ = 0;
    int async_[2];
    int channel_[2];
};

class shared_queue {
public:
    shared_queue(device &on, uint32_t size, uint32_t limit = 0);
    void post(const region &into, size_t offset, uint32_t length);

    uint32_t handle = 0;

private:
    device &on_;
    std::vector<uint8_t> buffer_;
    uint32_t doorbell_[2] = {};
    uint32_t size_;
    uint32_t posted_ = 0;
};

struct qp_settings {
    uint8_t mtu = 3; // 1024
    uint8_t timeout = 10;
    uint8_t retry_count = 3;
    uint8_t rnr_retry = 3;
    uint8_t max_rd_atomic = 4;
    uint8_t max_dest_rd_atomic = 4;
    uint32_t access = 0xf;
};

// What a QP asks for when it is made: data in its completions, for requests too if all are signaled
// or if it allows it.
struct qp_options {
    bool signal_all = false;
    bool scatter_to_cqe = false;
    bool allow_scatter_to_cqe = false;
};

class endpoint {
public:
    static constexpr uint32_t blocks = 256;
    static constexpr uint32_t receives = 64;

    explicit endpoint(device &on, uint8_t type = 2, const shared_queue *srq = nullptr,
                      const qp_options &options = {});

    // To RTS; both PSNs begin at `psn`.
    void connect(const endpoint &peer, uint32_t psn = 100, const qp_settings &with = {});
    void connect_to(uint32_t hca, uint32_t peer_qpn, uint32_t psn = 100,
                    const qp_settings &with = {});
    void start_datagrams(uint32_t qkey);

    void write(const region &from, uint32_t length, const region &to, size_t offset = 0,
               bool fence = false);
    void write_imm(const region &from, uint32_t length, const region &to, uint32_t imm);
    void send(const region &from, uint32_t length, bool solicited = false);
    void send_inline(std::string_view text);
    void read(const region &into, uint32_t length, const region &from, bool signaled = true);
    void fetch_add(const region &into, const region &at, uint64_t add);
    void compare_swap(const region &into, const region &at, uint64_t compare, uint64_t swap);
    // Opcode 0x14 or 0x15; operands as the WQE has them, big-endian.
    void masked_atomic(uint8_t opcode, uint32_t bytes, const std::vector<uint64_t> &operands,
                       const region &into, const region &at, size_t offset = 0);
    void send_to(const region &from, uint32_t length, const endpoint &peer, uint32_t qkey);
    void receive(const region &into, size_t offset, uint32_t length);
    // Bytes as they are, with a doorbell for one block.
    void raw(const std::vector<uint8_t> &wqe);

    // What a provider does when its QP was reset: begins again at the first WQE.
    void rewind();

    [[nodiscard]] int to_state(uint8_t state, uint32_t mask = 1);
    [[nodiscard]] swhca::qp_attributes query();
    [[nodiscard]] uint8_t state();
    [[nodiscard]] swhca::qp &inside();
    [[nodiscard]] int destroy();

    device &on;
    uint32_t handle = 0;
    uint32_t qpn = 0;

private:
    struct address;

    void post(uint8_t opcode, uint8_t flags, uint32_t imm, const std::vector<uint8_t> &segments,
              uint32_t modifier = 0);
    [[nodiscard]] std::vector<uint8_t> remote(const region &to, size_t offset) const;

    std::vector<uint8_t> buffer_;
    uint32_t doorbell_[2] = {};
    uint16_t posted_ = 0;
    uint16_t received_ = 0;
};

void connect_both(endpoint &one, endpoint &other);

// Why the line is no rule; empty if it is one.
[[nodiscard]] std::string refusal(std::string_view line);

// A datagram endpoint on each of two devices, with the same Q_Key.
struct datagram_pair {
    static constexpr uint32_t qkey = 0x11;

    datagram_pair();

    rig fabric;
    device a{fabric, 0};
    device b{fabric, 1};
    endpoint left{a, 4};
    endpoint right{b, 4};
    region from = a.make_region(2048, all_access);
    region to = b.make_region(4096, all_access);
};

// Two devices with an endpoint each, connected, and a region of 1 MB on either side; that of the
// left one is filled.
struct pair {
    explicit pair(const qp_settings &with = {},
                  const swhca::fabric_options &options = rig::two_devices());

    // The next completion of `of`, stepping until it comes.
    cqe wait(device &of, uint64_t limit_ns = 10'000'000'000);
    // Whether the first bytes of both regions are the same.
    [[nodiscard]] bool same(size_t size) const;

    rig fabric;
    device a{fabric, 0};
    device b{fabric, 1};
    endpoint left{a};
    endpoint right{b};
    region from = a.make_region(1 << 20, all_access);
    region to = b.make_region(1 << 20, all_access);
};

} // namespace ufx::test

#endif
