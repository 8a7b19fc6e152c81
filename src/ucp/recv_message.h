// SPDX-License-Identifier: BSD-3-Clause
// A message that is arriving, waits for its turn, or was kept by the user.
//
// Its memory: a prefix that leads from the user's `data` pointer back here, the payload (aligned to
// 64 bytes), then the user header.
#ifndef UFX_UCP_RECV_MESSAGE_H
#define UFX_UCP_RECV_MESSAGE_H

#include "ucp/am_wire.h"
#include "ucs/list.h"
#include "ucs/range_set.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ufx::ucp {

class request;
struct rendezvous_tag; // RTS messages that were delivered and not finished

class recv_message : public ucs::list_node<>, public ucs::list_node<rendezvous_tag> {
public:
    enum class stage : std::uint8_t { ARRIVING, IN_HANDLER, KEPT, FETCHING, RELEASED };
    static constexpr std::size_t prefix_size = 64;

    // `block` has room for block_size(header).
    recv_message(const am_header &header, std::byte *block, std::size_t block_class);
    static std::size_t block_size(const am_header &header)
    {
        return prefix_size + static_cast<std::size_t>(header.total);
    }
    // The message of a `data` pointer that the user got; nullptr if it is none.
    static recv_message *of(void *data);
    // The user's pointer does not lead here any more.
    void forget_data();

    // Says the same about the message as its first frame.
    bool agrees(const am_header &header) const;
    void store(const am_header &header, std::span<const std::byte> payload);
    bool is_whole() const { return whole || have.covers(0, total); }

    std::byte *data() const { return block + prefix_size; }
    std::size_t length() const { return static_cast<std::size_t>(total) - user_header; }
    const std::byte *user_header_at() const { return data() + length(); }
    std::span<const std::byte> body() const { return {data(), length()}; }

    am_type type;
    std::uint16_t id;
    std::uint16_t user_header;
    stage at = stage::ARRIVING;
    bool skipped = false; // the sender ended it
    bool revoked = false; // RTS
    core::ep_id ep = 0;   // the receiving ep
    core::am_number first;
    std::uint32_t count;
    std::uint64_t total;
    std::uint32_t arrived = 0; // fragments
    std::uint32_t held = 0;    // bytes counted in the core's am_rx
    std::byte *block;
    std::size_t block_class;
    bool whole = false;       // one frame had all of it
    ucs::range_set have;      // else: what came
    request *fetch = nullptr; // FETCHING
};

} // namespace ufx::ucp

#endif
