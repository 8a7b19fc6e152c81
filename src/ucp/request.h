// SPDX-License-Identifier: BSD-3-Clause
// What the user asked for: one accepted operation, until its callback has run and it was given
// back.
//
// Parts: everything that has to become final before the operation is complete: a PUT or GET
// fragment, an AM fragment, or an answer of the peer (ATS, atomic reply). Parts that were not
// handed to uct or to the core's ledger yet count in `unposted`: the operation drops those itself
// when it is canceled, has timed out, or its ep has failed.
//
//   OPEN -> COMPLETE (its last part is final; queued for its callback) -> DONE (callback has run)
//   -> back to the pool, once the user does not hold it
#ifndef UFX_UCP_REQUEST_H
#define UFX_UCP_REQUEST_H

#include "ucp/am_wire.h"
#include "ucp/core/flush_gate.h"
#include "ucp/core/op_state.h"
#include "ucp/core/order_group.h"
#include "ucp/fragment.h"
#include "ucp/handles.h"
#include "ucp/rkey.h"
#include "ucp/transfer.h"
#include "ucs/handle_table.h"
#include "ucs/list.h"
#include "ucs/owner.h"
#include "ucs/timer_wheel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ufx::ucp {

class ep;
class mem;
class recv_message;
class worker;

enum class op : std::uint8_t { PUT, GET, AM, ATOMIC, RECV, FLUSH, CLOSE };

struct queue_tag; // fenced, waiting, or flushing, in ep_tx
struct open_tag;  // all open requests of an ep

// What each operation begins with anew: see request::reset().
struct request_fields {
    ep *target = nullptr;
    op kind = op::PUT;
    am_type type = am_type::USER; // AM, ATOMIC
    bool internal = false; // of ucp itself: not counted by a flush, not stopped by a fence
    bool begun = false;    // has been at the head of its queue
    bool admitted = false; // AM: it has its numbers
    bool revoking = false; // RTS: REVOKE is being sent
    // The user's side.
    bool user_holds = false;
    bool completed = false;
    bool done = false;
    bool in_callback = false;
    std::uint8_t result_size = 0; // ATOMIC
    core::op_state state;
    core::flush_gate::generation generation = 0;
    core::flush_gate::generation fence = 0; // while fenced: waits for that generation
    std::size_t length = 0;                 // of the payload, for the user's completion
    ufx_ucp_op_cb_t cb = nullptr;
    void *cb_arg = nullptr;
    // Runs in progress before the user's callback.
    void (*then)(request &self) = nullptr;
    ucs::handle parent = 0; // for `then`: the request that this one is a part of

    std::uint32_t unposted = 0; // see above
    std::uint32_t answers = 0;  // parts that the peer's answer ends

    // PUT, GET, RECV: how the pieces are cut, and how far that has come.
    std::size_t chunk = 0;
    std::size_t piece = 0;
    std::size_t offset = 0;
    ucs::handle notify = 0;   // PUT, GET: the request that carries the notification
    core::group_id group = 0; // PUT: of a list with a notify. AM: the PUTs that it follows

    // AM, ATOMIC: the stream is the head, then `payload`.
    std::uint16_t am_id = 0;
    std::uint16_t user_header = 0;
    const std::byte *payload = nullptr;
    std::size_t payload_length = 0;
    std::size_t fragment_size = 0;
    core::am_number first = 0;
    std::uint32_t count = 0;
    mem *memory = nullptr;           // registration of `payload`
    mem *own_memories = nullptr;     // made for this operation, end with it: a list by mem::next
    void *result = nullptr;          // ATOMIC
    recv_message *message = nullptr; // RECV
};

// Made once, and used for one operation after the other.
class request : public ufx_ucp_request,
                public request_fields,
                public ucs::list_node<queue_tag>,
                public ucs::list_node<open_tag> {
public:
    explicit request(worker &w) : home(w), timer(&request::on_deadline, this), first_part(*this) {}
    static request &of(ufx_ucp_request_h handle) { return *static_cast<request *>(handle); }

    // For the caller of a posting call; from then on the request is the user's to free.
    ufx_ucp_request_h handle()
    {
        user_holds = true;
        return this;
    }
    // Ends an operation without parts (flush, close): its callback runs in progress.
    void finish(ufx_status_t status);
    // Its last part is final: queue the callback.
    void complete();
    // The operation is over; it is as it was made, but for its id.
    void reset();

    worker &home;
    ucs::handle id = 0;      // names it to the core and on the wire; another one for each operation
    request *next = nullptr; // in a request_queue
    ucs::timer timer;        // the deadline
    transfer_list pieces;    // PUT, GET, RECV
    fragment first_part;     // of them, or one that came later: most have no other
    std::vector<std::byte> head;
    ucs::owner<rkey> own_key; // RECV

    void add_own(mem &memory);
    void release_memories();

    std::size_t stream_length() const { return head.size() + payload_length; }

private:
    static void on_deadline(void *arg, std::uint64_t now_ns);
};

// First in, first out; a request is in one at most.
class request_queue {
public:
    bool empty() const { return first_ == nullptr; }
    void push_back(request &r)
    {
        r.next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = &r;
        last_ = &r;
    }
    // nullptr: it is empty.
    request *pop_front()
    {
        request *r = first_;
        if (r != nullptr) {
            first_ = r->next;
        }
        return r;
    }

private:
    request *first_ = nullptr;
    request *last_ = nullptr;
};

} // namespace ufx::ucp

#endif
