// SPDX-License-Identifier: BSD-3-Clause
// Moving bytes between an ep and its socket.
#include "iface.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace ufx::uct::tcp {

namespace {

// Bounds of one turn, so that one ep cannot keep the others waiting.
constexpr int reads_per_turn = 4;
constexpr size_t send_per_turn = 1 << 20;
constexpr size_t send_per_call = 256 * 1024;

// Turns after traffic in which the socket is read without waiting for an event: an answer is
// likely, and a read costs less than an event and a read.
constexpr unsigned hot_turns = 64;

// Ops after which an acknowledgement does not wait for a frame that it could travel with.
constexpr uint64_t ack_at = 16;

} // namespace

unsigned ep::turn() noexcept
{
    if (phase_ != phase::open) {
        return 0;
    }
    // Own ops leave before anything is read: somebody waits for them.
    unsigned count = stream_.unsent_bytes() > 0 ? send_some(send_per_turn, false) : 0;
    count += receive();
    if (phase_ != phase::open) {
        return count;
    }
    // Alone, an ack leaves one turn late: an answer posted meanwhile carries it for nothing.
    uint64_t owed = receiver_.applied() - ack_sent_;
    bool lone = owed >= ack_at || (owed > 0 && ack_waited_);
    count += send_some(send_per_turn, lone);
    ack_waited_ = ack_owed();
    return count;
}

bool ep::busy() noexcept
{
    if (phase_ != phase::open) {
        return false;
    }
    return readable_ || hot_ > 0 ||
           (writable_ && (next_source(false) != source::none || ack_owed()));
}

bool ep::settle() noexcept
{
    if (phase_ != phase::open) {
        return true;
    }
    (void)send_some(send_per_turn, true);
    hot_ = 0;
    return phase_ != phase::open ||
           (!readable_ && (!writable_ || next_source(true) == source::none));
}

// ---- Receiving -------------------------------------------------------------------------------

unsigned ep::receive() noexcept
{
    if (!readable_ && hot_ > 0) {
        hot_--;
        readable_ = true;
    }
    unsigned count = 0;
    for (int i = 0; i < reads_per_turn && phase_ == phase::open && readable_; i++) {
        count += read_once() ? 1 : 0;
    }
    return count;
}

bool ep::read_once() noexcept
{
    std::array<iovec, receiver::max_pieces> pieces;
    region_reader::section access(iface().regions_here(), receiver_.places_put());
    size_t used = receiver_.prepare(pieces);
    size_t space = 0;
    for (const iovec &piece : std::span(pieces).first(used)) {
        space += piece.iov_len;
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = used;
    ssize_t got = recvmsg(socket_.get(), &message, 0);
    access.end();
    if (got > 0) {
        // Less than there was space for: nothing is left, unless an end of stream waits.
        readable_ = static_cast<size_t>(got) == space || hung_up_;
        hot_ = hot_turns;
        receiver_.filled(static_cast<size_t>(got));
        receiver_.process();
        if (quiet_ != nullptr && !is_destroyed()) {
            finish(std::exchange(quiet_, nullptr), UFX_OK);
        }
        return true;
    }
    if (got == 0) {
        lost(0);
    } else if (errno == EAGAIN) {
        readable_ = false;
        if (send_error_ != 0) {
            lost(send_error_);
        }
    } else if (errno == EFAULT) {
        receiver_.unwritable();
    } else if (errno != EINTR) {
        lost(errno);
    }
    return false;
}

void ep::lost(int error) noexcept
{
    break_with(classify(error), error,
               error == 0 ? "the peer closed the connection" : "the connection broke");
}

// ---- Sending ---------------------------------------------------------------------------------

bool ep::ack_owed() const noexcept
{
    return receiver_.applied() != ack_sent_;
}

// A frame that was begun goes on; else ops and replies take turns.
ep::source ep::next_source(bool lone_ack) noexcept
{
    if (ack_offset_ > 0) {
        return source::ack;
    }
    if (stream_.mid_frame()) {
        return source::ops;
    }
    bool has_reply = !replies_.empty();
    bool has_op = stream_.unsent_bytes() > 0;
    if (has_reply && (replies_.mid_frame() || !has_op || !replies_last_)) {
        return source::replies;
    }
    if (has_op) {
        return source::ops;
    }
    return lone_ack && ack_owed() ? source::ack : source::none;
}

unsigned ep::send_some(size_t budget, bool lone_ack) noexcept
{
    unsigned count = 0;
    batch &out = iface().tx_batch();
    while (writable_ && send_error_ == 0 && budget > 0 && phase_ == phase::open) {
        source from = next_source(lone_ack);
        if (from == source::none) {
            one_by_one_ = false;
            break;
        }
        region_reader::section access(iface().regions_here(), from == source::replies);
        if (from == source::replies && replies_.broken()) {
            access.end();
            break_with({UFX_ERR_NO_MEMORY, UFX_UCT_CAUSE_OWN_QP}, 0,
                       "the data of a get could not be kept when its region was deregistered");
            break;
        }
        uint64_t ack = receiver_.applied();
        size_t fresh = gather(from, out, ack);
        msghdr message{};
        message.msg_iov = out.pieces().data();
        message.msg_iovlen = out.pieces().size();
        ssize_t done = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (done < 0) {
            const int error = errno;
            access.end();
            send_failed(from, error);
            continue;
        }
        auto bytes = static_cast<size_t>(done);
        ack_sent_ = bytes > fresh ? ack : ack_sent_;
        sent(from, bytes);
        budget -= std::min(budget, bytes);
        count++;
    }
    return count;
}

// Fills `out`. @return where in it the first header with `ack` lies
size_t ep::gather(source from, batch &out, uint64_t ack) noexcept
{
    out.reset();
    auto low = static_cast<uint32_t>(ack);
    const size_t limit = one_by_one_ ? 1 : send_per_call;
    switch (from) {
    case source::ops:
        return stream_.gather(out, limit, low);
    case source::replies:
        return replies_.gather(out, limit, low);
    default:
        break;
    }
    size_t fresh = 0;
    if (ack_offset_ == 0) {
        wire::encode(wire::header{.ack = low}, ack_frame_.data());
    } else {
        fresh = SIZE_MAX; // the rest of an older one
    }
    out.add(ack_frame_.data() + ack_offset_, ack_frame_.size() - ack_offset_);
    return fresh;
}

void ep::sent(source from, size_t bytes) noexcept
{
    hot_ = hot_turns;
    switch (from) {
    case source::ops:
        iface().count_sent(stream_.advance(bytes));
        replies_last_ = false;
        break;
    case source::replies:
        replies_.advance(bytes);
        replies_last_ = true;
        break;
    default:
        ack_offset_ = (ack_offset_ + bytes) % ack_frame_.size();
    }
}

void ep::send_failed(source from, int error) noexcept
{
    if (error == EAGAIN) {
        writable_ = false;
    } else if (error == EFAULT) {
        unreadable(from);
    } else if (error != EINTR) {
        send_error_ = error; // what the peer sent before is read first
        readable_ = true;
        hung_up_ = true;
    }
}

// The kernel does not say of which frame: so the next call takes one.
void ep::unreadable(source from) noexcept
{
    if (!one_by_one_) {
        one_by_one_ = true;
    } else if (from == source::ops) {
        local_fault(stream_.sending(), "a local buffer cannot be read");
    } else {
        replies_.unreadable(); // the peer that asks again is refused
        break_with({UFX_ERR_LOCAL_PROT, UFX_UCT_CAUSE_LOCAL_PROT}, EFAULT,
                   "registered memory that a peer reads is gone");
    }
}

} // namespace ufx::uct::tcp
