// SPDX-License-Identifier: BSD-3-Clause
// Frames from bytes: buffering, direct placement, and what each frame does.
#include "receiver.h"

#include "iface.h"

#include "ucs/guarded_copy.h"
#include "uct/base/atomics.h"

#include <algorithm>
#include <cstring>

namespace ufx::uct::tcp {

namespace {

// An am up to this long that is not there as a whole waits in the buffer for the rest; a longer
// one gets a descriptor, into which the rest is read directly.
constexpr size_t wait_limit = 4096;

// Bytes that one read places directly, so that one ep cannot keep the others waiting.
constexpr size_t direct_limit = 1 << 20;

} // namespace

receiver::receiver(ep &owner, size_t buffer_size)
    : owner_(owner), buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_size)),
      size_(buffer_size)
{
}

receiver::~receiver()
{
    if (am_ != nullptr) {
        owner_.iface().descs().give_back(am_);
    }
}

// ---- Reading ---------------------------------------------------------------------------------

size_t receiver::prepare(std::span<iovec, max_pieces> to) noexcept
{
    if (places_put() && !owner_.iface().regions().valid(put_key_)) {
        refuse(); // deregistered meanwhile: not a byte more
    }
    size_t used = 0;
    bool direct = remaining_ > 0 && sink_ != sink::discard;
    if (direct) {
        size_t budget = direct_limit;
        for (size_t at = piece_; at < piece_end_; at++) {
            size_t length = std::min(pieces_[at].iov_len, budget);
            to[used++] = {pieces_[at].iov_base, length};
            budget -= length;
            if (budget == 0) {
                return used;
            }
        }
    }
    if (buffered() == 0) {
        begin_ = end_ = -(padding_ + (direct ? 0 : remaining_)) & 7; // the next header lies aligned
    } else {
        compact();
    }
    to[used++] = {buffer_.get() + end_, size_ - end_};
    return used;
}

void receiver::compact() noexcept
{
    if (begin_ > 0) {
        std::memmove(buffer_.get(), buffer_.get() + begin_, buffered());
        end_ -= begin_;
        begin_ = 0;
    }
}

void receiver::filled(size_t bytes) noexcept
{
    if (sink_ != sink::discard) {
        size_t direct = std::min(bytes, remaining_);
        consumed(direct);
        bytes -= direct;
    }
    end_ += bytes;
}

void receiver::consumed(size_t bytes) noexcept
{
    remaining_ -= bytes;
    put_landed_ += sink_ == sink::put ? bytes : 0;
    while (bytes > 0) {
        iovec &piece = pieces_[piece_];
        size_t part = std::min(bytes, piece.iov_len);
        piece = {static_cast<std::byte *>(piece.iov_base) + part, piece.iov_len - part};
        bytes -= part;
        piece_ += piece.iov_len == 0 ? 1 : 0;
    }
}

void receiver::set_piece(void *data, size_t length) noexcept
{
    pieces_[0] = {data, length};
    piece_ = 0;
    piece_end_ = 1;
}

void receiver::drain_buffer_into_sink() noexcept
{
    size_t bytes = std::min(remaining_, buffered());
    if (sink_ == sink::discard) {
        remaining_ -= bytes;
        begin_ += bytes;
        return;
    }
    region_reader::section access(owner_.iface().regions_here(), sink_ == sink::put);
    if (sink_ == sink::put && !owner_.iface().regions().valid(put_key_)) {
        access.end();
        refuse();
        return drain_buffer_into_sink();
    }
    while (bytes > 0) {
        const iovec &piece = pieces_[piece_];
        size_t part = std::min(bytes, piece.iov_len);
        if (part > 0 && !place(piece.iov_base, buffer_.get() + begin_, part)) {
            access.end();
            return unwritable();
        }
        begin_ += part;
        bytes -= part;
        if (part == 0) {
            piece_++;
        } else {
            consumed(part);
        }
    }
}

// Whoever registers memory answers for it; the buffer of a get is any memory.
bool receiver::place(void *to, const void *from, size_t length) noexcept
{
    if (sink_ == sink::answer && answer_->form != UFX_UCT_FORM_BCOPY) {
        return ucs::guarded_write(to, from, length);
    }
    std::memcpy(to, from, length);
    return true;
}

void receiver::unwritable() noexcept
{
    if (sink_ == sink::put) {
        refuse(); // the target's memory is gone without being deregistered
    } else {
        owner_.local_fault(owner_.stream().index_of(frame_.seq),
                           "the local buffer of a get cannot be written");
    }
}

void receiver::drop_answer() noexcept
{
    if (sink_ == sink::answer) {
        sink_ = sink::discard;
        answer_ = nullptr;
    }
}

// ---- Frames ----------------------------------------------------------------------------------

void receiver::process() noexcept
{
    processing_ = true;
    while (owner_.state() != UFX_UCT_EP_DEAD && next_frame()) {
    }
    processing_ = false;
}

bool receiver::next_frame() noexcept
{
    if (remaining_ > 0) {
        drain_buffer_into_sink();
        if (remaining_ > 0) {
            return false;
        }
    }
    if (sink_ != sink::none) {
        return end_frame();
    }
    size_t zeros = std::min(padding_, buffered());
    begin_ += zeros;
    padding_ -= zeros;
    if (padding_ > 0 || buffered() < wire::header_size) {
        return false;
    }
    const std::byte *at = buffer_.get() + begin_;
    auto head =
        wire::decode_header(std::span<const std::byte, wire::header_size>(at, wire::header_size));
    if (!head) {
        return bad("a frame header that does not parse");
    }
    size_t ext = wire::ext_size(static_cast<uint8_t>(head->type)).value_or(0);
    if (buffered() < wire::header_size + ext) {
        return false;
    }
    bool whole = buffered() >= wire::header_size + head->length;
    if (head->type == wire::frame_type::am && !whole && head->length <= wait_limit) {
        return false;
    }
    frame_ = *head;
    begin_ += wire::header_size + ext;
    remaining_ = frame_.length;
    padding_ = wire::padding(frame_.length);
    owner_.iface().count_received(frame_.length);
    if (!owner_.on_ack(frame_.ack)) {
        return bad("an acknowledgement of what was not sent");
    }
    return begin_frame(std::span(at + wire::header_size, ext));
}

bool receiver::begin_frame(std::span<const std::byte> ext) noexcept
{
    switch (frame_.type) {
    case wire::frame_type::ack:
        return true;
    case wire::frame_type::get_data:
        return begin_get_data();
    case wire::frame_type::atomic_reply:
        return take_atomic_reply(ext);
    case wire::frame_type::error:
        return owner_.on_refusal(frame_.seq) || bad("a refusal of what was not sent");
    default:
        return begin_op(ext);
    }
}

bool receiver::begin_op(std::span<const std::byte> ext) noexcept
{
    if (refused_) {
        sink_ = sink::discard; // nothing after a refused op is applied
        return true;
    }
    if (frame_.seq != static_cast<uint32_t>(applied_)) {
        return bad("a frame out of sequence");
    }
    switch (frame_.type) {
    case wire::frame_type::am:
        return begin_am();
    case wire::frame_type::put:
        return begin_put(ext);
    case wire::frame_type::get:
        return run_get(ext);
    case wire::frame_type::atomic:
        return run_atomic(ext);
    default: // check
        applied_++;
        return true;
    }
}

bool receiver::begin_am() noexcept
{
    if (remaining_ <= buffered()) {
        return deliver_in_place();
    }
    if (remaining_ > owner_.iface().settings().am_max) {
        return bad("an active message longer than UFX_TCP_AM_MAX here");
    }
    am_ = owner_.iface().descs().take(remaining_);
    if (am_ == nullptr) {
        return bad("no memory for an active message");
    }
    set_piece(owner_.iface().descs().data(am_), remaining_);
    sink_ = sink::am;
    return true;
}

bool receiver::deliver_in_place() noexcept
{
    std::byte *data = buffer_.get() + begin_;
    size_t length = remaining_;
    begin_ += length;
    remaining_ = 0;
    (void)owner_.iface().ams().call(frame_.aux, data, length, 0);
    applied_++; // only now: the acknowledgement means that the handler ran
    return true;
}

bool receiver::begin_put(std::span<const std::byte> ext) noexcept
{
    wire::put_ext put = wire::decode_put(ext);
    region_reader::section access(owner_.iface().regions_here());
    const region *target = owner_.iface().regions().check(put.key, put.address, frame_.length,
                                                          UFX_UCT_MEM_ACCESS_REMOTE_PUT);
    if (target == nullptr) {
        access.end();
        refuse();
        return true;
    }
    auto *at = reinterpret_cast<std::byte *>(put.address);
    owner_.replies().protect(at, frame_.length);
    put_key_ = put.key;
    put_landed_ = 0;
    set_piece(at, frame_.length);
    sink_ = sink::put;
    return true;
}

bool receiver::run_get(std::span<const std::byte> ext) noexcept
{
    std::optional<wire::get_ext> get = wire::decode_get(ext);
    if (!get) {
        return bad("a get that does not parse");
    }
    region_reader::section access(owner_.iface().regions_here());
    region *source = owner_.iface().regions().check(get->key, get->address, get->length,
                                                    UFX_UCT_MEM_ACCESS_REMOTE_GET);
    if (source == nullptr) {
        access.end();
        refuse();
        return true;
    }
    applied_++;
    if (owner_.is_failed()) {
        return true; // executed; its answer has no way back
    }
    const bool added = owner_.replies().add_data(
        frame_.seq, *source, reinterpret_cast<const std::byte *>(get->address), get->length);
    access.end();
    if (!added) {
        return bad("more gets than can be answered");
    }
    return true;
}

bool receiver::run_atomic(std::span<const std::byte> ext) noexcept
{
    std::optional<wire::atomic_ext> what = wire::decode_atomic(ext);
    if (!what) {
        return bad("an atomic that does not parse");
    }
    region_reader::section access(owner_.iface().regions_here());
    const region *target = owner_.iface().regions().check(what->key, what->address, what->size,
                                                          UFX_UCT_MEM_ACCESS_REMOTE_ATOMIC);
    if (target == nullptr || what->address % what->size != 0) {
        access.end();
        refuse();
        return true;
    }
    auto *at = reinterpret_cast<std::byte *>(what->address);
    owner_.replies().protect(at, what->size);
    uint64_t before = apply_atomic(static_cast<ufx_uct_atomic_op_t>(what->op), what->size, at,
                                   what->operand, what->compare);
    access.end();
    applied_++;
    if (frame_.aux == 0 || owner_.is_failed()) {
        return true;
    }
    return owner_.replies().add_value(frame_.seq, before) ||
           bad("more atomics than can be answered");
}

bool receiver::begin_get_data() noexcept
{
    if (owner_.is_failed()) {
        sink_ = sink::discard;
        return true;
    }
    answer_ = owner_.stream().expects_answer(frame_.seq);
    if (answer_ == nullptr || answer_->kind != UFX_UCT_OP_GET || answer_->length != frame_.length ||
        !owner_.stream().acknowledged(*answer_)) {
        return bad("data that no get asked for");
    }
    sink_ = sink::answer;
    switch (answer_->form) {
    case UFX_UCT_FORM_SHORT:
        set_piece(answer_->result, frame_.length);
        break;
    case UFX_UCT_FORM_BCOPY:
        set_piece(answer_->payload(), frame_.length);
        break;
    default:
        piece_ = 0;
        piece_end_ = answer_->iov_count;
        for (size_t i = 0; i < piece_end_; i++) {
            pieces_[i] = {answer_->iov()[i].buffer, answer_->iov()[i].length};
        }
    }
    return true;
}

bool receiver::take_atomic_reply(std::span<const std::byte> ext) noexcept
{
    if (owner_.is_failed()) {
        return true;
    }
    op_record *record = owner_.stream().expects_answer(frame_.seq);
    if (record == nullptr || record->kind != UFX_UCT_OP_ATOMIC_FETCH ||
        !owner_.stream().acknowledged(*record)) {
        return bad("a value that no atomic asked for");
    }
    uint64_t value = ucs::load_le64(ext.data());
    auto narrow = static_cast<uint32_t>(value);
    bool is_narrow = record->atomic_size == sizeof(narrow);
    if (is_narrow ? ucs::guarded_write(record->result, &narrow, sizeof(narrow))
                  : ucs::guarded_write(record->result, &value, sizeof(value))) {
        owner_.on_answer(*record);
    } else {
        owner_.local_fault(owner_.stream().index_of(frame_.seq),
                           "the result of an atomic cannot be written");
    }
    return true;
}

bool receiver::end_frame() noexcept
{
    sink done = std::exchange(sink_, sink::none);
    if (done == sink::put) {
        applied_++;
        put_landed_ = 0;
    } else if (done == sink::am) {
        rx_desc *desc = std::exchange(am_, nullptr);
        if (owner_.iface().ams().call(frame_.aux, owner_.iface().descs().data(desc), frame_.length,
                                      UFX_UCT_AM_CB_DESC) != UFX_INPROGRESS) {
            owner_.iface().descs().give_back(desc);
        }
        applied_++;
    } else if (done == sink::answer) {
        op_record *record = std::exchange(answer_, nullptr);
        if (record->form == UFX_UCT_FORM_BCOPY) {
            record->unpack.cb(record->unpack.arg, record->payload(), record->length);
        }
        if (!owner_.is_failed()) {
            owner_.on_answer(*record);
        }
    }
    return true;
}

// The op of this frame violates key, range or rights, or its region is gone. Its remaining payload
// and all later ops are skipped.
void receiver::refuse() noexcept
{
    refused_ = true;
    sink_ = sink::discard;
    owner_.send_refusal(frame_.seq);
}

bool receiver::bad(const char *what) noexcept
{
    owner_.break_with({UFX_ERR_BAD_MESSAGE, UFX_UCT_CAUSE_BAD_MESSAGE}, 0, what);
    return false;
}

} // namespace ufx::uct::tcp
