// SPDX-License-Identifier: BSD-3-Clause
// The two kinds of commands: plain ones, whose body begins with the address of the reply, and
// extended ones, whose second header has it and the lengths of the driver's parts.
#include "command.h"

#include <cerrno>

namespace ufx::swhca {

int command_reader::open(std::span<const std::byte> bytes) noexcept
{
    ib_uverbs_cmd_hdr header{};
    if (bytes.size() < sizeof(header)) {
        return EINVAL;
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    number_ = header.command & IB_USER_VERBS_CMD_COMMAND_MASK;
    extended_ = (header.command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
    body_ = bytes.subspan(sizeof(header));
    if (!extended_) {
        core_room_ = header.out_words * 4u;
        driver_room_ = 0;
        return header.in_words * 4u == bytes.size() ? 0 : EINVAL;
    }
    ib_uverbs_ex_cmd_hdr more{};
    if (body_.size() < sizeof(more)) {
        return EINVAL;
    }
    std::memcpy(&more, body_.data(), sizeof(more));
    body_ = body_.subspan(sizeof(more));
    response_ = more.response;
    core_room_ = header.out_words * 8u;
    driver_room_ = more.provider_out_words * 8u;
    return (header.in_words + more.provider_in_words) * 8u == body_.size() ? 0 : EINVAL;
}

int command_reader::reply_bytes(process_memory &memory, std::span<const std::byte> core,
                                std::span<const std::byte> driver) const noexcept
{
    size_t core_size = std::min(core.size(), core_room_);
    // A plain reply has one room for both, an extended one keeps the driver's part apart.
    size_t driver_at = extended_ ? core_room_ : core_size;
    size_t driver_size = std::min(driver.size(), extended_ ? driver_room_ : core_room_ - core_size);
    bool written = memory.write(memory.self(), response_, core.data(), core_size) &&
                   memory.write(memory.self(), response_ + driver_at, driver.data(), driver_size);
    return written ? 0 : EFAULT;
}

} // namespace ufx::swhca
