// SPDX-License-Identifier: BSD-3-Clause
// The receiving side.
#include "tools/failover/receiver.h"

#include "tools/common/crc32.h"
#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/rails.h"
#include "tools/common/signals.h"
#include "tools/common/ucp_session.h"
#include "tools/common/units.h"
#include "tools/failover/inspector.h"
#include "tools/failover/timeline.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

namespace ufx::tools::failover {

namespace {

constexpr int GOODBYE_MS = 5000;
constexpr size_t CREDITS_A_MESSAGE = 1024; // 4096 bytes of AM header
constexpr uint64_t LANDING_MAX = uint64_t{1} << 30;
/** A chunk number this far ahead of what is known is garbage, not a chunk. */
constexpr uint64_t SEQ_MAX = uint64_t{1} << 28;
constexpr size_t LOG_BUFFER = 64 * 1024;
const char *const KIND_NAMES[] = {"am", "put", "list"};

geometry shape_of(const fields &hello, uint32_t *window)
{
    geometry shape;
    shape.file_bytes = hello.number("file_bytes");
    shape.chunk = static_cast<uint32_t>(hello.number("chunk", UINT32_MAX));
    *window = static_cast<uint32_t>(hello.number("window", UINT32_MAX));
    if (shape.file_bytes == 0 || shape.chunk == 0 || *window == 0 ||
        (SLOT_HEADER + uint64_t{shape.chunk}) * *window > LANDING_MAX) {
        throw tool_error("the peer asks for a landing zone that is too large");
    }
    return shape;
}

/** A server that was given no rails uses those that fit the sender's. */
std::string devices_of(const options &wanted, const fields &hello)
{
    return wanted.devices.empty() ? devices_for(read_rails(hello)) : wanted.devices;
}

class receiver {
public:
    receiver(const options &wanted, channel &peer, const fields &hello, geometry shape,
             uint32_t window)
        : peer_(peer), shape_(shape), window_(window), checked_(shape), output_(wanted.output),
          session_(devices_of(wanted, hello), "failover-receiver"),
          landing_(session_.context(), (SLOT_HEADER + size_t{shape.chunk}) * window)
    {
        check_rails(places_of(session_.rails()), read_rails(hello), true);
        story_.start(now_ns(), session_.rails());
        session_.on_rail_event([this](const rail_event &event) { story_.add(event); });
        if (!wanted.log.empty()) {
            log_ = std::make_unique<output_file>(wanted.log);
            log_text_ = "# ufx-failover-log 1 " + std::to_string(shape.file_bytes) + " " +
                        std::to_string(shape.chunk) + "\n";
        }
        check(ufx_ucp_worker_set_am_handler(session_.worker(), AM_CHUNK, chunk_cb, this),
              "cannot receive chunks");
        check(ufx_ucp_worker_set_am_handler(session_.worker(), AM_END, end_cb, this),
              "cannot receive the end");
        const ufx_status_t notify =
            ufx_ucp_worker_set_notify_handler(session_.worker(), notify_cb, this);
        if (notify != UFX_ERR_UNSUPPORTED) {
            check(notify, "cannot receive notifications");
        }
    }

    int run();

private:
    void step();
    void handle(const frame &message);
    void arrived(const void *header, size_t header_length, const void *data, size_t length,
                 bool ordered);
    void landed(const chunk_header &header);
    void keep(const chunk_header &header, const void *payload);
    void send_credits();
    fields finish();
    void send_result(const std::string &text);

    static ufx_status_t chunk_cb(void *arg, const ufx_ucp_am_t *am) noexcept;
    static ufx_status_t end_cb(void *arg, const ufx_ucp_am_t *am) noexcept;
    static void notify_cb(void *arg, ufx_ucp_ep_h ep, uint64_t tag, const void *data,
                          size_t length) noexcept;

    channel &peer_;
    geometry shape_;
    uint32_t window_;
    inspector checked_;
    output_file output_;
    timeline story_; ///< of this end's rails
    ucp_session session_;
    ucp_memory landing_;
    std::unique_ptr<output_file> log_;
    std::string log_text_;
    ufx_ucp_ep_h back_ = nullptr; ///< the endpoint that chunks came by
    std::vector<uint32_t> credits_;
    std::string failure_; ///< of a handler, which may not throw
    std::optional<fields> end_;
    bool good_ = false;
};

int receiver::run()
{
    peer_.send(frame_type::READY,
               {{"address", to_hex(session_.address().data(), session_.address().size())},
                {"key", to_hex(landing_.key().data(), landing_.key().size())},
                {"landing", reinterpret_cast<uint64_t>(landing_.data())}});
    while (!end_) {
        step();
    }
    send_result(finish().dump());
    return good_ ? EXIT_FINE : EXIT_VERDICT;
}

void receiver::step()
{
    throw_if_interrupted();
    session_.progress(peer_.native(), 20);
    send_credits();
    if (const std::optional<frame> message = peer_.poll()) {
        handle(*message);
    }
    session_.throw_if_failed();
    if (!failure_.empty()) {
        throw tool_error(failure_);
    }
}

void receiver::handle(const frame &message)
{
    if (message.type != frame_type::FAULT) {
        throw tool_error("the peer sent a message that is not due");
    }
    const std::string rail =
        "rail" + std::to_string(message.body.number("rail", UFX_UCP_RAILS_MAX));
    check(ufx_ucp_rail_set_link(session_.worker(), rail.c_str(), message.body.flag("up") ? 1 : 0),
          "cannot change " + rail);
}

void receiver::arrived(const void *header, size_t header_length, const void *data, size_t length,
                       bool ordered)
{
    const std::optional<chunk_header> chunk = decode(header, header_length);
    if (!chunk || chunk->seq > SEQ_MAX) {
        checked_.damaged();
        return;
    }
    if (ordered) {
        checked_.in_order(chunk->order);
    }
    if (chunk->kind != chunk_kind::AM) {
        landed(*chunk);
    } else if (length == chunk->length) {
        keep(*chunk, data);
    } else {
        checked_.damaged();
    }
}

void receiver::landed(const chunk_header &header)
{
    if (header.slot >= window_ || header.length > shape_.chunk) {
        checked_.damaged();
        return;
    }
    const unsigned char *slot =
        landing_.data() + size_t{header.slot} * (SLOT_HEADER + size_t{shape_.chunk});
    const std::optional<chunk_header> there = decode(slot, CHUNK_HEADER);
    if (!there || there->seq != header.seq || there->length != header.length ||
        there->crc != header.crc) {
        checked_.damaged();
    } else {
        keep(header, slot + SLOT_HEADER);
    }
    credits_.push_back(header.slot);
}

void receiver::keep(const chunk_header &header, const void *payload)
{
    if (log_) {
        char line[160];
        std::snprintf(line, sizeof(line), "%llu %s %llu %u %08x %llu\n",
                      static_cast<unsigned long long>(header.seq),
                      KIND_NAMES[static_cast<size_t>(header.kind)],
                      static_cast<unsigned long long>(header.offset), header.length,
                      crc32(payload, header.length), static_cast<unsigned long long>(header.order));
        log_text_ += line;
        if (log_text_.size() > LOG_BUFFER) {
            log_->append(log_text_);
            log_text_.clear();
        }
    }
    if (checked_.accept(header, payload)) {
        output_.write_at(header.offset, payload, header.length);
    }
}

void receiver::send_credits()
{
    if (back_ == nullptr) {
        return;
    }
    while (!credits_.empty()) {
        const size_t count = std::min(credits_.size(), CREDITS_A_MESSAGE);
        const uint32_t *first = credits_.data() + (credits_.size() - count);
        const ufx_status_t status = ufx_ucp_am_send(back_, AM_CREDIT, first, count * sizeof(*first),
                                                    nullptr, 0, nullptr, nullptr);
        if (status == UFX_ERR_NO_RESOURCE) {
            return;
        }
        check(status, "cannot give slots back");
        credits_.resize(credits_.size() - count);
    }
}

fields receiver::finish()
{
    const uint64_t chunks = end_->number("chunks");
    fields result = checked_.result(chunks);
    bool same = checked_.lost(chunks) == 0 && chunks >= shape_.chunks_per_pass();
    if (same) {
        std::vector<unsigned char> buffer(1 << 20);
        uint32_t crc = 0;
        for (uint64_t at = 0; at < shape_.file_bytes; at += buffer.size()) {
            const auto length =
                static_cast<size_t>(std::min<uint64_t>(buffer.size(), shape_.file_bytes - at));
            output_.read_at(at, buffer.data(), length);
            crc = crc32(buffer.data(), length, crc);
        }
        same = crc == end_->number("file_crc");
    }
    good_ = same && checked_.clean(chunks);
    if (good_) {
        output_.commit();
    }
    if (log_) {
        log_->append(log_text_);
        log_->commit();
    }
    const ufx_ucp_failover_stats_t stats = session_.failover_stats();
    result.set("file_right", same);
    result.set("output", good_ ? output_.path() : std::string());
    result.set("ops_frozen", stats.frozen);
    result.set("ops_landed", stats.landed);
    result.set("ops_replayed", stats.replayed);
    result.set("grace_ns", story_.longest_grace_ns());
    return result;
}

void receiver::send_result(const std::string &text)
{
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_FLAGS;
    params.flags = UFX_UCP_OP_AM_EAGER;
    const uint64_t deadline = now_ns() + uint64_t{GOODBYE_MS} * 1000000u;
    ufx_status_t status = UFX_ERR_NO_RESOURCE;
    while (status == UFX_ERR_NO_RESOURCE && now_ns() < deadline) {
        status = ufx_ucp_am_send(back_, AM_RESULT, nullptr, 0, text.data(), text.size(), &params,
                                 nullptr);
        session_.progress(-1, 1);
    }
    check(status, "cannot send the result");
    // The sender goes away once it has the result: that is how it says goodbye.
    while (!session_.closed_by_peer() && now_ns() < deadline) {
        session_.progress(peer_.native(), 20);
        try {
            peer_.poll();
            session_.throw_if_failed();
        } catch (const tool_error &) {
            return;
        }
    }
}

ufx_status_t receiver::chunk_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<receiver *>(arg);
    try {
        self->back_ = am->ep;
        self->arrived(am->header, am->header_length, am->data, am->length, true);
    } catch (const std::exception &error) {
        self->failure_ = error.what();
    }
    return UFX_OK;
}

ufx_status_t receiver::end_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<receiver *>(arg);
    self->back_ = am->ep;
    const char *text = static_cast<const char *>(am->data);
    self->end_ = fields::parse(std::string(text, am->length));
    if (!self->end_) {
        self->failure_ = "the sender's last message does not parse";
    }
    return UFX_OK;
}

void receiver::notify_cb(void *arg, ufx_ucp_ep_h ep, uint64_t, const void *data,
                         size_t length) noexcept
{
    auto *self = static_cast<receiver *>(arg);
    try {
        self->back_ = ep;
        self->arrived(data, length, nullptr, 0, false);
    } catch (const std::exception &error) {
        self->failure_ = error.what();
    }
}

} // namespace

int run_receiver(const options &wanted, channel &peer, const fields &hello)
{
    try {
        uint32_t window = 0;
        const geometry shape = shape_of(hello, &window);
        receiver side(wanted, peer, hello, shape, window);
        return side.run();
    } catch (const tool_error &error) {
        try {
            peer.send(frame_type::ERROR, {{"text", error.what()}});
        } catch (const tool_error &) {
            // The peer is gone: the first error is the one to tell.
        }
        throw;
    }
}

} // namespace ufx::tools::failover
