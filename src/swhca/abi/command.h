// SPDX-License-Identifier: BSD-3-Clause
// command_reader: one command that a program writes to a uverbs device, and the reply to it.
// Layouts are those of <rdma/ib_user_verbs.h>. The bytes are not trusted.
#ifndef UFX_SWHCA_ABI_COMMAND_H
#define UFX_SWHCA_ABI_COMMAND_H

#include "swhca/engine/process_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <rdma/ib_user_verbs.h>
#include <span>
#include <type_traits>

namespace ufx::swhca {

// What a command or a reply has where the driver has nothing to say.
struct nothing {};

class command_reader {
public:
    // EINVAL unless the lengths in the header are those of `bytes`.
    [[nodiscard]] int open(std::span<const std::byte> bytes) noexcept;

    [[nodiscard]] uint32_t number() const noexcept { return number_; }

    [[nodiscard]] bool extended() const noexcept { return extended_; }

    // The core struct must be there in full; what is missing of the driver's is 0.
    template <class Core, class Driver>
    [[nodiscard]] bool read(Core &core, Driver &driver) noexcept
    {
        static_assert(std::is_trivially_copyable_v<Core> && std::is_trivially_copyable_v<Driver>);
        if (body_.size() < sizeof(Core)) {
            return false;
        }
        std::memcpy(&core, body_.data(), sizeof(Core));
        if constexpr (!std::is_empty_v<Driver>) {
            std::span<const std::byte> rest = body_.subspan(sizeof(Core));
            driver = {};
            std::memcpy(static_cast<void *>(&driver), rest.data(),
                        std::min(sizeof(Driver), rest.size()));
        }
        if (!extended_ && body_.size() >= sizeof(response_)) {
            std::memcpy(&response_, body_.data(), sizeof(response_));
        }
        return true;
    }

    template <class Core>
    [[nodiscard]] bool read(Core &core) noexcept
    {
        nothing driver;
        return read(core, driver);
    }

    // Writes as much as the program has room for; EFAULT if its memory is missing.
    template <class Core, class Driver>
    [[nodiscard]] int reply(process_memory &memory, const Core &core,
                            const Driver &driver) const noexcept
    {
        size_t driver_size = std::is_empty_v<Driver> ? 0 : sizeof(Driver);
        return reply_bytes(memory, std::as_bytes(std::span(&core, 1)),
                           std::as_bytes(std::span(&driver, 1)).first(driver_size));
    }

    template <class Core>
    [[nodiscard]] int reply(process_memory &memory, const Core &core) const noexcept
    {
        return reply(memory, core, nothing{});
    }

private:
    [[nodiscard]] int reply_bytes(process_memory &memory, std::span<const std::byte> core,
                                  std::span<const std::byte> driver) const noexcept;

    uint32_t number_ = 0;
    bool extended_ = false;
    std::span<const std::byte> body_;
    uint64_t response_ = 0;
    size_t core_room_ = 0;
    size_t driver_room_ = 0;
};

} // namespace ufx::swhca

#endif
