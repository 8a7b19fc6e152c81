// SPDX-License-Identifier: BSD-3-Clause
// Receive memory, and how a message is laid out in it; the C calls that set handlers.
#include "ucp/am_handlers.h"

#include "ucp/refuse.h"
#include "ucp/worker.h"

#include <cstdlib>
#include <cstring>

namespace ufx::ucp {

namespace {

// At the start of each block, so that a pointer that the user hands in can be checked.
struct prefix {
    std::uint64_t magic;
    recv_message *message;
};
static_assert(sizeof(prefix) <= recv_message::prefix_size);
constexpr std::uint64_t live_magic = 0x55465852'4d534721u;

prefix *prefix_of(std::byte *block)
{
    return reinterpret_cast<prefix *>(block);
}

} // namespace

recv_message::recv_message(const am_header &header, std::byte *memory, std::size_t memory_class)
    : type(header.type), id(header.id), user_header(header.user_header),
      first(header.number - header.index), count(header.count), total(header.total), block(memory),
      block_class(memory_class)
{
    *prefix_of(block) = {live_magic, this};
}

recv_message *recv_message::of(void *data)
{
    const prefix *p = prefix_of(static_cast<std::byte *>(data) - prefix_size);
    return p->magic == live_magic ? p->message : nullptr;
}

void recv_message::forget_data()
{
    prefix_of(block)->magic = 0;
}

bool recv_message::agrees(const am_header &header) const
{
    // A SKIP knows nothing of the stream.
    const bool same_run = header.count == count;
    return same_run && (header.type == am_type::SKIP || skipped ||
                        (header.type == type && header.total == total && header.id == id &&
                         header.user_header == user_header));
}

void recv_message::store(const am_header &header, std::span<const std::byte> payload)
{
    std::uint64_t at = header.offset;
    whole = at == 0 && payload.size() == total;
    if (at < user_header) {
        const std::size_t part = std::min<std::size_t>(payload.size(), user_header - at);
        std::memcpy(data() + length() + at, payload.data(), part);
        if (!whole) {
            have.add(at, at + part);
        }
        payload = payload.subspan(part);
        at += part;
    }
    if (!payload.empty()) {
        std::memcpy(data() + (at - user_header), payload.data(), payload.size());
        if (!whole) {
            have.add(at, at + payload.size());
        }
    }
}

am_handlers::am_handlers() : table_(UFX_UCP_AM_ID_MAX), messages_("ucp received messages")
{
    for (std::size_t i = 0; i < classes; ++i) {
        ucs::block_pool::params wanted{};
        wanted.name = "ucp receive blocks";
        wanted.block_size = class_bytes(i);
        wanted.chunk = i < 3 ? 64 : 8;
        blocks_[i] = std::make_unique<ucs::block_pool>(wanted);
    }
}

am_handlers::~am_handlers()
{
    while (recv_message *message = kept_.pop_front()) {
        give_back(*message);
    }
}

recv_message *am_handlers::take(const am_header &header)
{
    const std::size_t size = recv_message::block_size(header);
    std::size_t index = 0;
    while (index < classes && class_bytes(index) < size) {
        ++index;
    }
    constexpr std::size_t line = 64;
    void *block = index == from_malloc ? std::aligned_alloc(line, (size + line - 1) / line * line)
                                       : blocks_[index]->take();
    if (block == nullptr) {
        return nullptr;
    }
    recv_message *message = messages_.take(header, static_cast<std::byte *>(block), index);
    if (message == nullptr) {
        give_back_block(block, index);
    }
    return message;
}

void am_handlers::give_back(recv_message &message)
{
    std::byte *block = message.block;
    const std::size_t index = message.block_class;
    message.forget_data();
    messages_.give_back(&message);
    give_back_block(block, index);
}

void am_handlers::give_back_block(void *block, std::size_t index)
{
    if (index == from_malloc) {
        std::free(block);
    } else {
        blocks_[index]->give_back(block);
    }
}

} // namespace ufx::ucp

namespace ucp = ufx::ucp;

extern "C" ufx_status_t ufx_ucp_worker_set_am_handler(ufx_ucp_worker_h worker, uint16_t id,
                                                      ufx_ucp_am_cb_t cb, void *arg) noexcept
{
    if (worker == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    if (id >= UFX_UCP_AM_ID_MAX) {
        return ucp::refuse(__func__, "id is above 1023");
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    w.handlers.set_am(id, {cb, arg});
    return UFX_OK;
}

extern "C" ufx_status_t ufx_ucp_worker_set_notify_handler(ufx_ucp_worker_h worker,
                                                          ufx_ucp_notify_cb_t cb,
                                                          void *arg) noexcept
{
    if (worker == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    w.handlers.set_notify({cb, arg});
    return UFX_OK;
}
