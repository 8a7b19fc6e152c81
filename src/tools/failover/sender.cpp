// SPDX-License-Identifier: BSD-3-Clause
// The sending side.
#include "tools/failover/sender.h"

#include "tools/common/crc32.h"
#include "tools/common/error.h"
#include "tools/common/rails.h"
#include "tools/common/units.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <ufx/version.h>

namespace ufx::tools::failover {

namespace {

// With --break, chunk 3 of every 64 is tampered with: often enough for the shortest run.
constexpr uint64_t TAMPER_EVERY = 64;
constexpr uint64_t TAMPER_AT = 3;

// Chunks that are read and summed up before progress has its turn again: all of a window at once
// would leave the rails idle meanwhile.
constexpr unsigned BURST = 8;

constexpr int HANDSHAKE_MS = 10000;

} // namespace

input_file::input_file(const std::string &path) : path_(path)
{
    fd_ = fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (!fd_ || ::fstat(fd_.get(), &info) != 0) {
        throw usage_error(system_error("cannot read " + path, errno).what());
    }
    if (!S_ISREG(info.st_mode)) {
        throw usage_error("cannot read " + path + ": it is not a regular file");
    }
    bytes_ = static_cast<uint64_t>(info.st_size);
    if (bytes_ == 0) {
        throw usage_error(path + " is empty: there is nothing to send");
    }
    std::vector<unsigned char> buffer(1 << 20);
    for (uint64_t at = 0; at < bytes_; at += buffer.size()) {
        const size_t length = static_cast<size_t>(std::min<uint64_t>(buffer.size(), bytes_ - at));
        read(at, buffer.data(), length);
        crc_ = crc32(buffer.data(), length, crc_);
    }
}

void input_file::read(uint64_t offset, void *buffer, size_t length) const
{
    char *to = static_cast<char *>(buffer);
    while (length > 0) {
        const ssize_t n = ::pread(fd_.get(), to, length, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            throw tool_error("cannot read " + path_ + ": " +
                             (n == 0 ? "it became shorter" : std::strerror(errno)));
        }
        to += n;
        offset += static_cast<uint64_t>(n);
        length -= static_cast<size_t>(n);
    }
}

sender::sender(const options &wanted, const input_file &input, ucp_session &session)
    : wanted_(wanted), input_(input), session_(session), items_(wanted.window)
{
    shape_.file_bytes = input.bytes();
    shape_.chunk = wanted.chunk;
    for (uint32_t i = 0; i < items_.size(); i++) {
        items_[i].owner = this;
        items_[i].index = i;
        items_[i].buffer.resize(SLOT_HEADER + wanted.chunk);
        free_.push_back(&items_[i]);
    }
    check(ufx_ucp_worker_set_am_handler(session.worker(), AM_CREDIT, credit_cb, this),
          "cannot receive credits");
    check(ufx_ucp_worker_set_am_handler(session.worker(), AM_RESULT, result_cb, this),
          "cannot receive the result");
}

void sender::handshake(channel &peer)
{
    fields hello = {{"tool", "failover"},
                    {"version", UFX_VERSION_STRING},
                    {"file_bytes", shape_.file_bytes},
                    {"chunk", shape_.chunk},
                    {"window", wanted_.window}};
    write_rails(places_of(session_.rails()), hello);
    peer.send(frame_type::HELLO, hello);
    const fields ready = peer.expect(frame_type::READY, HANDSHAKE_MS);
    landing_ = ready.number("landing");
    session_.connect(from_hex(ready.text("address")));
    key_ = std::make_unique<ucp_remote_key>(session_.ep(), from_hex(ready.text("key")));
}

void sender::begin()
{
    last_done_ns_ = now_ns();
}

void sender::pump(bool more)
{
    while (!blocked_.empty()) {
        item *one = blocked_.front();
        blocked_.pop_front();
        post(*one);
        if (!blocked_.empty() && blocked_.front() == one) {
            return;
        }
    }
    for (unsigned n = 0; n < BURST && more && !free_.empty() && blocked_.empty(); n++) {
        item *one = free_.back();
        free_.pop_back();
        start(*one);
    }
}

void sender::start(item &one)
{
    const bool tampered = wanted_.broken != tamper::NONE && next_seq_ % TAMPER_EVERY == TAMPER_AT;
    if (tampered && wanted_.broken == tamper::LOSE) {
        next_seq_++;
        free_.push_back(&one);
        return;
    }
    chunk_header &header = one.header;
    header.seq = next_seq_;
    header.kind = wanted_.mix[next_seq_ % wanted_.mix.size()];
    header.stamp_ns = now_ns();
    header.offset = shape_.offset(header.seq);
    header.length = shape_.length(header.seq);
    header.slot = one.index;
    unsigned char *payload = one.buffer.data() + SLOT_HEADER;
    input_.read(header.offset, payload, header.length);
    header.crc = crc32(payload, header.length);
    if (tampered && wanted_.broken == tamper::CORRUPT) {
        payload[header.length / 2] ^= 0x10;
    }
    if (tampered && wanted_.broken == tamper::DUPLICATE && doubled_ != next_seq_) {
        doubled_ = next_seq_;
    } else {
        next_seq_++;
    }
    one.at = step::MAIN;
    one.waits_for_credit = header.kind != chunk_kind::AM;
    post(one);
}

void sender::post(item &one)
{
    const ufx_status_t status = try_post(one);
    if (status == UFX_OK) {
        done(one);
    } else if (status == UFX_ERR_NO_RESOURCE) {
        blocked_.push_front(&one);
    } else if (status < 0) {
        fail(std::string("cannot send: ") + ufx_ucs_status_name(status) + " (" +
             ufx_ucs_status_string(status) + ")");
    }
}

ufx_status_t sender::try_post(item &one)
{
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_CB | UFX_UCP_OP_PARAM_FLAGS;
    params.cb = op_cb;
    params.cb_arg = &one;
    const bool announces = one.at == step::ANNOUNCE;
    if (announces || one.header.kind == chunk_kind::AM) {
        params.flags = UFX_UCP_OP_AM_EAGER;
        return post_am(one, params, announces ? 0 : one.header.length);
    }
    const chunk_bytes bytes = encode(one.header);
    std::memcpy(one.buffer.data(), bytes.data(), bytes.size());
    if (one.header.kind == chunk_kind::LIST) {
        return post_list(one, params);
    }
    const uint64_t slot = landing_ + uint64_t{one.index} * (SLOT_HEADER + shape_.chunk);
    return ufx_ucp_put(session_.ep(), one.buffer.data(), SLOT_HEADER + one.header.length, slot,
                       key_->handle(), &params, nullptr);
}

ufx_status_t sender::post_am(item &one, const ufx_ucp_op_params_t &params, size_t payload)
{
    one.header.order = next_order_;
    const chunk_bytes bytes = encode(one.header);
    const ufx_status_t status = ufx_ucp_am_send(
        session_.ep(), AM_CHUNK, bytes.data(), bytes.size(),
        payload == 0 ? nullptr : one.buffer.data() + SLOT_HEADER, payload, &params, nullptr);
    if (status >= 0) {
        next_order_++;
    }
    return status;
}

ufx_status_t sender::post_list(item &one, const ufx_ucp_op_params_t &params)
{
    const uint64_t slot = landing_ + uint64_t{one.index} * (SLOT_HEADER + shape_.chunk);
    ufx_ucp_transfer_t transfers[2] = {};
    transfers[0].local = one.buffer.data();
    transfers[0].remote_addr = slot;
    transfers[0].length = SLOT_HEADER;
    transfers[0].rkey = key_->handle();
    transfers[1].local = one.buffer.data() + SLOT_HEADER;
    transfers[1].remote_addr = slot + SLOT_HEADER;
    transfers[1].length = one.header.length;
    transfers[1].rkey = key_->handle();
    ufx_ucp_notify_t notify = {};
    notify.tag = one.header.seq;
    notify.data = one.buffer.data();
    notify.length = CHUNK_HEADER;
    return ufx_ucp_put_list(session_.ep(), transfers, 2, &notify, &params, nullptr);
}

void sender::done(item &one)
{
    const uint64_t now = now_ns();
    longest_silence_ns_ = std::max(longest_silence_ns_, now - last_done_ns_);
    last_done_ns_ = now;
    if (one.at == step::MAIN) {
        bytes_done_ += one.header.length;
    }
    if (one.at == step::MAIN && one.header.kind == chunk_kind::PUT) {
        one.at = step::ANNOUNCE;
        post(one);
        return;
    }
    one.at = step::LAST;
    release_if_over(one);
}

void sender::release_if_over(item &one)
{
    if (one.at == step::LAST && !one.waits_for_credit) {
        free_.push_back(&one);
    }
}

void sender::fail(const std::string &text)
{
    if (failure_.empty()) {
        failure_ = text;
    }
}

void sender::throw_if_failed() const
{
    if (!failure_.empty()) {
        throw tool_error(failure_);
    }
}

void sender::end()
{
    end_text_ = fields{{"chunks", next_seq_}, {"file_crc", input_.crc()}}.dump();
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_FLAGS;
    params.flags = UFX_UCP_OP_AM_EAGER;
    const uint64_t deadline = now_ns() + uint64_t{HANDSHAKE_MS} * 1000000u;
    ufx_status_t status = UFX_ERR_NO_RESOURCE;
    while (status == UFX_ERR_NO_RESOURCE && now_ns() < deadline) {
        status = ufx_ucp_am_send(session_.ep(), AM_END, nullptr, 0, end_text_.data(),
                                 end_text_.size(), &params, nullptr);
        session_.progress(-1, 1);
    }
    check(status, "cannot send the end");
}

void sender::op_cb(void *arg, ufx_ucp_request_h request,
                   const ufx_ucp_completion_t *completion) noexcept
{
    item &one = *static_cast<item *>(arg);
    if (request != nullptr) {
        ufx_ucp_request_free(request);
    }
    if (completion->status != UFX_OK) {
        one.owner->fail("chunk " + std::to_string(one.header.seq) + " ended with " +
                        ufx_ucs_status_name(completion->status) + " (" +
                        ufx_ucs_status_string(completion->status) + ")");
        return;
    }
    one.owner->done(one);
}

ufx_status_t sender::credit_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<sender *>(arg);
    for (size_t at = 0; at + sizeof(uint32_t) <= am->header_length; at += sizeof(uint32_t)) {
        uint32_t slot = 0;
        std::memcpy(&slot, static_cast<const char *>(am->header) + at, sizeof(slot));
        if (slot >= self->items_.size() || !self->items_[slot].waits_for_credit) {
            self->fail("the receiver gave back a slot that it does not hold");
            return UFX_OK;
        }
        self->items_[slot].waits_for_credit = false;
        self->release_if_over(self->items_[slot]);
    }
    return UFX_OK;
}

ufx_status_t sender::result_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<sender *>(arg);
    const char *text = static_cast<const char *>(am->data);
    self->result_ = fields::parse(std::string(text, am->length));
    if (!self->result_) {
        self->fail("the receiver's result does not parse");
    }
    return UFX_OK;
}

} // namespace ufx::tools::failover
