// SPDX-License-Identifier: BSD-3-Clause
// The sending half of an ep: which fragment goes next over which lane.
//
// An accepted request waits behind a fence, then in one of two queues: AM (until the window gives
// it numbers) and RMA (until all its fragments are cut and posted). Each turn posts, as far as open
// lanes have room: the core's frozen list, AM fragments by number (replays and SKIPs included),
// then new fragments of puts and gets. No decision about failover is made here.
#ifndef UFX_UCP_EP_TX_H
#define UFX_UCP_EP_TX_H

#include "ucp/core/action.h"
#include "ucp/core/ep.h"
#include "ucp/core/flush_gate.h"
#include "ucp/fragment.h"
#include "ucp/request.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace ufx::ucp {

class lane;

class ep_tx {
public:
    explicit ep_tx(ep &owner) : ep_(owner) {}
    ~ep_tx();
    ep_tx(const ep_tx &) = delete;
    ep_tx &operator=(const ep_tx &) = delete;

    // ---- From the posting calls -------------------------------------------------------------
    // Takes a request whose parts are counted; posts what can be posted.
    void submit(request &r);
    // Ends `r` when everything submitted before is complete. True: that is so now, `r` is not
    // taken.
    bool flush(request &r);
    void fence();
    // Drops what is not posted; the rest finishes first.
    void cancel(request &r);
    void expire(request &r);
    // One part of a request is final.
    void part_final(request &r, ufx_status_t status, core::cause why = core::cause::NONE,
                    bool remote_final = true);
    // The peer's answer came, or will not come.
    void answered(request &r, ufx_status_t status, bool remote_final = true);
    // What one frame of a message, and one put or get, carries on every rail of the worker.
    struct frame_limits {
        std::size_t bcopy = 0;  // stream bytes
        std::size_t zcopy = 0;  // payload bytes; 0: not on every rail
        std::size_t header = 0; // bytes before the payload of a zcopy frame
        std::size_t put = 0;
        std::size_t get = 0;
    };
    const frame_limits &limits() { return limits_.bcopy != 0 ? limits_ : find_limits(); }
    // Below this a transfer is not worth a second lane.
    static constexpr std::size_t min_chunk = 64 * 1024;
    // A put or get of that length is one fragment, whatever lane it takes.
    bool is_small(std::size_t length, bool is_put)
    {
        return length <= std::min(min_chunk, is_put ? limits().put : limits().get);
    }
    // How puts and gets of that length are cut.
    std::size_t chunk_of(std::size_t length, bool is_put) const;

    // ---- From the executor ------------------------------------------------------------------
    // Something may be posted now.
    void wake();
    unsigned progress();
    void on_fragment_done(const core::act::fragment_done &done);
    // One op of outstanding_purge; not for operations whose completion the spine owns.
    core::purged_op on_purge(lane &over, const ufx_uct_op_desc_t *op, core::verdict verdict,
                             std::uint64_t bytes);
    // The ep has failed or is closed by force: everything that is not posted ends now.
    void abandon(ufx_status_t status);
    // Nothing is open, of the user or of ucp.
    bool idle() { return open_.empty() && flushes_.empty(); }
    void lane_gone(lane &over);
    std::size_t queued() const { return queued_; }
    // Puts, gets and messages without a copy that are posted there and not complete.
    template <class F>
    void each_posted(const core::lane_ref &where, F use)
    {
        for (const fragment &f : fragments_) {
            if (f.where == where) {
                use(f);
            }
        }
    }

    // ---- From the rest of the data path ---------------------------------------------------
    void completed(fragment &f, ufx_status_t status);
    // Acks what has arrived, by a frame without a number.
    void send_ack();
    // The peer's answer to RKEY_REQ.
    void on_rkey(const core::rkey_rep_msg &msg);

    // Keys that were unpacked for this ep.
    ucs::list<rkey> keys;

private:
    static constexpr std::size_t place_count = 2 * core::window::bits;
    // Where an AM fragment was posted last.
    struct am_place {
        core::lane_ref where;
        std::size_t bytes = 0;
    };

    void start(request &r);
    void post_in_turn(request &r);
    bool post_at_once(request &r);
    bool post_am_at_once(request &r);
    void begin(request &r);
    void send_get_notify(request &r);
    void leave_queue(request &r)
    {
        if (r.ucs::list_node<queue_tag>::linked()) {
            r.ucs::list_node<queue_tag>::unlink();
            --queued_;
        }
    }
    void release_fenced();
    void pass_flushes();
    void end(request &r);
    void end_of_others(const request &r);
    void end_part(request &r, ufx_status_t status, core::cause why, bool remote_final);
    void drop_unposted(request &r, ufx_status_t status, core::cause why, bool remote_final);
    void drop_unsent_notify(request &r, ufx_status_t status, bool remote_final);
    void seal_lanes_of(const request &r);
    void last_lane_gone();
    template <class F>
    void each_open(F f);

    // ep_tx_post.cpp
    unsigned post_replays();
    unsigned post_ams();
    unsigned post_rma();
    void admit_ams();
    ufx_status_t post_part(lane &over, fragment &f);
    // No lane will ever take an operation with that key.
    bool serves_no_rail(const rkey &key) const;
    bool end_if_hopeless(request &r, const rkey &key);
    ufx_status_t post_slice(request &r, bool &more);
    // For a fragment of a put or get; nullptr: of a message.
    lane *pick(const transfer *part);
    lane *pick_best(const transfer *part);
    bool holds_back(const lane &over, const transfer &part, const request &r);
    double time_of(const lane &over, std::size_t length) const;
    double weight_of(const lane &over) const;
    std::size_t room_of(const lane &over) const;
    bool is_ready(const lane &over) const;
    bool may_take(const lane &over, const transfer *part) const;
    // No lane of that transport will ever take it.
    static bool is_for_ever(ufx_status_t refused)
    {
        return refused == UFX_ERR_INVALID_PARAM || refused == UFX_ERR_UNSUPPORTED;
    }
    // A post was refused: leaves the lane alone until there is room, or until the next turn.
    void refuse(lane &over, ufx_status_t status);
    static ufx_status_t on_room(ufx_uct_pending_req_t *self) noexcept;
    static void load(lane &over, std::size_t bytes, core::op_kind kind);
    static void unload(lane &over, std::size_t bytes, core::op_kind kind);
    void unload(const core::lane_ref &where, std::size_t bytes, core::op_kind kind);
    void free_fragment(fragment &f);

    // ep_tx_key.cpp
    void ask_fresh_key(rkey &key, lane &over);
    // ep_tx.cpp: the peer does not have that memory any more.
    void end_ops_of(std::uint64_t memory_id);
    bool find_guilty(lane &over, const ufx_uct_op_desc_t &op, bool landed);
    // The operation itself is wrong: it ends, whatever of it is posted.
    void end_guilty(request &r, ufx_status_t status);

    // ep_tx_am.cpp
    [[gnu::cold]] const frame_limits &find_limits();
    ufx_status_t post_am(lane &over, const core::am_tx::entry &entry);
    ufx_status_t post_zcopy(lane &over, const am_header &header, std::span<const std::byte> head,
                            std::span<const std::byte> payload, request &r);
    ufx_status_t post_skip(lane &over, const core::am_tx::entry &entry);
    am_header header_for(const lane &over, am_type type);
    bool admit(request &r);
    void refuse_am(lane &over, ucs::handle handle, ufx_status_t status);
    void note_am(lane &over, core::am_number number, std::size_t bytes, bool local_pending);
    am_place &place_of(core::am_number number)
    {
        if (places_.empty()) {
            places_.resize(place_count);
        }
        return places_[static_cast<std::size_t>(number % place_count)];
    }

    ep &ep_;
    core::flush_gate gate_;
    core::flush_gate::generation fence_at_ = 0;
    bool has_fence_ = false;
    ucs::list<request, queue_tag> fenced_;
    ucs::list<request, queue_tag> am_queue_;
    ucs::list<request, queue_tag> rma_queue_;
    ucs::list<request, queue_tag> flushes_;
    ucs::list<request, open_tag> open_;
    ucs::list<fragment> fragments_;
    std::uint64_t turn_ = 1;        // counts progress()
    std::vector<am_place> places_;  // by number modulo the window
    std::vector<std::byte> header_; // of the zcopy frame that is being posted
    frame_limits limits_;
    std::size_t queued_ = 0;
    const request *called_ = nullptr; // its posting call is under way
    bool posting_ = false;
    bool abandoned_ = false;
    ufx_status_t end_status_ = UFX_OK;
};

} // namespace ufx::ucp

#endif
