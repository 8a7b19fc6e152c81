// SPDX-License-Identifier: BSD-3-Clause
// The shared image: the state of every device, queue and packet of a fabric, mapped by each
// process. It holds no pointers, only indices. Unless a field says otherwise, it is read and
// written by the holder of `lock`. An address in it belongs to the memory of the process that owns
// the object.
#ifndef UFX_SWHCA_FABRIC_IMAGE_H
#define UFX_SWHCA_FABRIC_IMAGE_H

#include "bitmap.h"

#include "swhca/faults/rule.h"
#include "swhca/wire/cqe.h"
#include "swhca/wire/packet.h"

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <span>

namespace ufx::swhca {

inline constexpr uint32_t max_hcas = 8;
inline constexpr uint32_t max_processes = 64; // one word of bits
inline constexpr uint32_t max_contexts = 256;
inline constexpr uint32_t max_pds = 2048;
inline constexpr uint32_t max_channels = 1024;
inline constexpr uint32_t max_mrs = 16384;
inline constexpr uint32_t max_cqs = 4096;
inline constexpr uint32_t max_srqs = 1024;
inline constexpr uint32_t max_qps = 4096;
inline constexpr uint32_t max_packets = 8192;
inline constexpr uint32_t max_gids = 16;
inline constexpr uint32_t max_pkeys = 8;
inline constexpr uint32_t max_held_cqes = 1024;
inline constexpr uint32_t max_late_events = 256;
inline constexpr uint32_t max_mtu_bytes = 4096;
inline constexpr uint32_t max_rd_atomic = 16;
inline constexpr uint32_t max_outstanding = 256; // WQEs of a QP that are sent and not acknowledged
inline constexpr uint32_t max_nesting = 8;       // of QPs that are worked on at once
inline constexpr uint32_t max_directory_bytes = 512;
inline constexpr uint32_t no_index = UINT32_MAX;
inline constexpr uint64_t held_for_ever = UINT64_MAX; // due time of a packet that a rule holds

// A process with open devices. `alive` is a robust mutex that its helper thread holds while it
// runs: whoever can lock it knows that the process is gone, zombies and reused pids included. See
// fabric/liveness.h.
struct process_slot {
    bool in_use;
    int32_t pid;
    int32_t owner;          // thread that holds `alive`; 0: what it left is being cleared away
    uint64_t pid_namespace; // in which both numbers are
    pthread_mutex_t alive;
    std::atomic<uint32_t> wake;         // futex of its helper thread; any process increments it
    std::atomic<uint64_t> sleeps_until; // written by its helper, read by its engine
    uint64_t probe;                     // address of a word by which others find out the next two
    // Bits of processes that may read and write its memory, and of those to which the kernel
    // refuses it; each finds out for itself. Written under the lock, read by anybody.
    std::atomic<uint64_t> reached_by;
    std::atomic<uint64_t> refused_to;
    shared_bitmap<max_qps> qps;         // its QPs
    shared_bitmap<max_cqs> cqs;         // its CQs that have a completion channel
    shared_bitmap<max_qps> failed;      // its QPs that were in ERR: what is posted is flushed
    shared_bitmap<max_qps> left;        // its QPs whose work another engine could not do
};

struct counters {
    uint64_t sent;
    uint64_t received;
    uint64_t dropped;
    uint64_t retransmitted;
    uint64_t acks;
    uint64_t naks;
    uint64_t rnrs;
    uint64_t timeouts;
    uint64_t duplicates;
    uint64_t inlined; // completions that brought their data
};

struct port {
    uint8_t state; // IBV_PORT_*
    uint8_t phys_state;
    uint8_t link_layer; // IBV_LINK_LAYER_*
    uint8_t mtu;        // IBV_MTU_*
    uint16_t lid;
    uint16_t pkeys[max_pkeys];
    gid gids[max_gids];
    uint64_t rate_bps; // 0: as fast as it goes
    uint64_t latency_ns;
    uint64_t tx_free_ns; // when the last packet that was sent has left
    bool backlogged;     // a sender waits for the port
};

struct hca {
    bool in_use;
    bool dead;           // device fatal: nobody can open it
    bool scatter_to_cqe; // a QP that asks for it gets small data in its CQEs
    uint64_t guid;
    uint32_t next_qpn;
    uint32_t last_qpn;       // of the QP that was destroyed last; 0: none
    uint16_t qp_of[max_qps]; // by the low bits of the QPN: index into qps + 1, 0 if there is none
    struct port port;
    struct counters counters;
};

// An open of a device. Events are written to the write end of a pipe of the process.
struct context {
    bool in_use;
    bool dead; // its device failed: for good, also when the device works again
    uint8_t hca;
    uint32_t process;
    int32_t async_fd; // write end
};

struct pd {
    bool in_use;
    uint32_t context;
    uint32_t users;
};

struct mr {
    bool in_use;
    uint32_t key; // lkey and rkey
    uint32_t pd;
    uint32_t context;
    uint32_t access;
    uint64_t start; // address in the process
    uint64_t length;
    uint64_t iova; // address as requests name it
};

struct channel {
    bool in_use;
    uint32_t context;
    int32_t write_fd;
    uint32_t users;
};

// Events that were written to a pipe. Who is killed while it writes leaves a doubt whether it did.
struct event_count {
    uint32_t written;
    uint32_t doubtful;
    bool writing;
};

// When an event comes that was asked for: see moderate_cq().
struct cq_moderation {
    uint16_t count;
    uint16_t period_us;
};

struct cq {
    bool in_use;
    bool ignore_overrun;
    bool overrun;
    bool stalled;
    uint8_t cqe_bytes; // 64 or 128
    uint8_t log_size;
    uint32_t context;
    uint32_t channel; // or no_index
    uint32_t users;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t user_handle;
    uint32_t produced;
    uint32_t consumed; // as last read from the doorbell record
    uint32_t arm_seen; // arm word that was acted upon
    bool armed;
    bool armed_solicited;
    uint32_t armed_at;     // the consumer index that the arm word named, as `produced` counts
    uint32_t solicited_at; // `produced` after the last solicited CQE
    event_count events;    // completion events
    cq_moderation moderation;
    uint32_t unreported;   // completions since the event that waits could have been raised
    uint64_t event_due_ns; // of that event; 0: none waits
    event_count async_events;
};

// Both in one store.
struct alignas(4) srq_place {
    uint16_t head;     // WQE that is consumed next
    uint16_t consumed; // counts like the doorbell record
};

struct srq {
    bool in_use;
    uint32_t context;
    uint32_t pd;
    uint32_t users;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t user_handle;
    uint32_t uidx;
    uint32_t wqe_shift;
    uint32_t size;
    uint32_t max_wr;
    uint32_t max_sge;
    srq_place place;
    uint32_t limit;    // 0: not armed
    event_count events;
};

// A send WQE between its fetch and its completion.
struct sent_wqe {
    uint16_t index; // of its first basic block
    uint8_t opcode;
    bool signaled;
    bool read_like;   // its response carries data: a read or an atomic
    uint8_t syndrome; // local error that is reported when all before it are done; 0: none
    uint32_t psn;
    uint32_t packets;
    uint32_t length;
    uint32_t received; // packets of the response
};

// A read or an atomic that the responder remembers, so that it answers a duplicate again.
struct resource {
    bool in_use;
    bool pending;  // a response is to be sent
    bool repeated; // it was asked for again
    bool atomic;   // then what follows is all there
    uint32_t psn;
    uint32_t packets;
    uint32_t next; // packet of the response to be sent next
    uint32_t rkey;
    uint32_t length;
    uint64_t va;
    uint64_t old_value; // of an atomic, as it is sent
    uint64_t found;     // by it in the word
    uint64_t left;      // by it in the word
};

// A receive WQE that a message is being scattered into.
struct receive {
    bool held;
    bool from_srq;
    uint16_t counter; // as the CQE names it
    uint32_t sges;
    uint32_t offset; // bytes scattered so far
    uint64_t wqe;    // address of its first data segment
};

struct path {
    gid dgid;
    uint16_t dlid;
    uint8_t sgid_index;
    uint8_t sl;
    uint8_t hop_limit;
    uint8_t traffic_class;
    uint8_t src_path_bits;
    uint8_t static_rate;
    bool global;
    uint8_t port_num;
    uint32_t flow_label;
};

struct qp_attributes {
    uint8_t current; // IBV_QPS_* that the caller takes the QP to be in
    uint8_t mtu;
    uint8_t timeout;
    uint8_t retry_count;
    uint8_t rnr_retry;
    uint8_t min_rnr_timer;
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint8_t port_num;
    uint16_t pkey_index;
    uint32_t access;
    uint32_t qkey;
    uint32_t dest_qpn;
    uint32_t rq_psn;
    uint32_t sq_psn;
    struct path path;
};

// What the requester side of a QP knows. The ring holds WQEs from `head` to `tail`, of which those
// before `next` have been sent at least in part.
struct requester_state {
    uint16_t fetched;  // basic blocks, as the doorbell counts
    uint32_t next_psn; // of a WQE that is fetched next
    uint32_t head;
    uint32_t tail;
    uint32_t next;
    uint32_t next_packet; // within the WQE `next`
    uint32_t unacked_psn; // oldest PSN without an answer
    uint32_t highest_psn; // one past the highest that was ever sent
    uint32_t reads;       // reads and atomics without an answer
    bool implied_nak;     // data was found lost and is asked for again; no progress since
    inline_payload inlined; // of the read or atomic that completes next, if it lands in the CQE
    uint8_t retries_left;
    uint8_t rnr_left;
    uint64_t ack_deadline_ns; // 0: not running
    uint64_t rnr_deadline_ns; // 0: not waiting
    uint64_t resume_ns;       // 0: not waiting for room on the wire
};

// Where the responder was before the packet that it takes, for whoever finds it torn: as long as
// `psn` is the expected one, the packet is not counted.
struct responder_place {
    uint32_t psn;
    uint32_t packets; // of that packet
    bool in_message;
    packet_kind message_kind;
    uint64_t write_va;
    uint32_t write_rkey;
    uint32_t write_left;
    uint32_t offset; // into the receive that is held
    uint32_t resource_tail;
};

struct responder_state {
    responder_place before;
    uint32_t expected_psn;
    bool in_message; // between the first and the last packet of a SEND or WRITE
    packet_kind message_kind;
    uint64_t write_va;
    uint32_t write_rkey;
    uint32_t write_left;
    bool ack_pending;
    bool nak_pending;
    bool nak_sent; // no second NAK until the expected packet has come
    bool closing;  // the QP failed: what is due goes out, and its NAK last
    uint8_t nak_syndrome;
    uint32_t nak_psn;
    uint16_t rq_consumed;
    struct receive receive;
    uint32_t taken; // receives so far
    uint32_t resource_head;
    uint32_t resource_tail;
    resource resources[max_rd_atomic];
};

// The CQE of a QP that was written last, or is being written, and where the QP was: see settle.cpp.
struct completing_cqe {
    bool known; // else there is none
    uint32_t cq;
    uint32_t produced;
    bool of_send;
    uint32_t head;
    uint16_t fetched;
    uint32_t taken;
    completion what;
};

struct qp {
    bool in_use;
    uint8_t hca;
    uint8_t type;  // IBV_QPT_*
    uint8_t state; // IBV_QPS_*
    bool sq_signal_all;
    bool last_wqe_reported;
    bool swallowed; // a rule keeps what is posted from being seen
    bool cq_failed; // a CQ of it has overrun; it fails at its next turn
    bool cqe_failed; // a rule made a completion of it an error; it fails at its next turn
    bool heir;       // has the number of one that was destroyed; what is held for that comes at RTR
    uint32_t qpn;
    uint32_t process;
    uint32_t context;
    uint32_t pd;
    uint32_t send_cq;
    uint32_t recv_cq;
    uint32_t srq; // or no_index
    uint64_t user_handle;
    uint32_t uidx;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t sq_buffer;
    uint32_t sq_blocks;
    uint32_t rq_size;
    uint32_t rq_shift;
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
    // Bytes of a read or atomic, and of a receive, that come in the CQE.
    uint8_t inline_requests, inline_receives;
    std::atomic<uint32_t> sq_doorbell; // see doorbell_count.h; written by the owner's engine
    event_count events;
    qp_attributes attr;
    requester_state req;
    responder_state resp;
    struct counters counters;
    completing_cqe completing;
    sent_wqe ring[max_outstanding];
};

// A CQE that a fault keeps back.
struct held_cqe {
    uint32_t cq;
    uint64_t due_ns;
    completion what;
};

// An event of a process into whose pipe it could not be written by whoever raised it.
struct late_event {
    uint32_t process;
    int32_t write_fd;
    uint32_t size;
    uint8_t bytes[16];
};

// A packet that is under way, in order of its due time.
struct packet_slot {
    bool queued; // else it is free; the links follow from this, the due time and the order
    uint32_t next;
    uint32_t prev;
    uint64_t due_ns;
    uint64_t order; // of packets that are due at the same time
    packet header;
    uint8_t payload[max_mtu_bytes];
};

struct image {
    uint64_t magic;
    uint32_t version;
    uint32_t hca_count;
    std::atomic<bool> ready; // set once by the creator
    char directory[max_directory_bytes]; // of the fabric, once there are files; else empty
    pthread_mutex_t lock;    // robust: the next holder cleans up after one that was killed
    uint64_t lock_namespace; // of the pids, for the thread that holds it
    std::atomic<uint64_t> next_due_ns; // earliest timer or delivery; written by the lock's holder
    // The QPs that the holder of the lock works on, so that its successor knows what may be torn.
    uint32_t working[max_nesting];
    uint32_t working_depth;
    uint64_t seed_state; // of the generator that decides faults
    uint64_t epoch_ns;   // when the fabric was made; times of rules count from it
    // The time of a fabric that its program steps, which nobody else writes; 0: CLOCK_MONOTONIC.
    std::atomic<uint64_t> stepped_ns;

    shared_bitmap<max_qps> pending; // QPs with work; any process adds
    shared_bitmap<max_qps> timers;  // QPs with a running timer
    shared_bitmap<max_cqs> moderated; // CQs whose event waits
    shared_bitmap<max_qps> torn;    // QPs whose engine was killed; another makes them whole

    uint32_t qps_used; // of `qps`; what is behind was never in use and has no memory yet
    uint32_t next_mkey;
    uint32_t next_ah;
    uint32_t wire_head, wire_tail, wire_free, wire_fresh, wire_used; // lists of packets
    uint64_t next_order;
    uint16_t sorted[max_packets]; // room for repair_image()

    uint32_t held_cqe_count;
    held_cqe held_cqes[max_held_cqes]; // in order of their completion
    uint32_t late_event_count;
    late_event late_events[max_late_events]; // in their order; written by an engine of the process

    uint32_t rule_count;
    fault_rule rules[max_rules];

    process_slot processes[max_processes];
    hca hcas[max_hcas];
    context contexts[max_contexts];
    pd pds[max_pds];
    channel channels[max_channels];
    cq cqs[max_cqs];
    srq srqs[max_srqs];
    mr mrs[max_mrs];
    qp qps[max_qps];
    packet_slot packets[max_packets];
};

// The QPs that may be in use.
inline std::span<qp> used_qps(image &shared) noexcept
{
    return {shared.qps, shared.qps_used};
}

inline std::span<const qp> used_qps(const image &shared) noexcept
{
    return {shared.qps, shared.qps_used};
}

inline constexpr uint64_t image_magic = 0x6163687773786675; // "ufxswhca" in memory
inline constexpr uint32_t image_version = 13;

} // namespace ufx::swhca

#endif
