// SPDX-License-Identifier: BSD-3-Clause
// process_memory: reads and writes the memory of the processes of a fabric, this one's or
// another's.
#ifndef UFX_SWHCA_ENGINE_PROCESS_MEMORY_H
#define UFX_SWHCA_ENGINE_PROCESS_MEMORY_H

#include "swhca/fabric/image.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace ufx::swhca {

// A bad address is an answer, not a crash: for another process the kernel says so; for this one
// copies run under guard (see guarded_copy.h).
class process_memory {
public:
    process_memory(image &shared, uint32_t self) noexcept : shared_(shared), self_(self) {}

    [[nodiscard]] uint32_t self() const noexcept { return self_; }

    // False if the memory of `process` cannot be reached from here; its own engine must do the
    // work.
    [[nodiscard]] bool reaches(uint32_t process) const noexcept;

    [[nodiscard]] bool read(uint32_t process, uint64_t va, void *to, size_t size) noexcept
    {
        return copy(self_, reinterpret_cast<uintptr_t>(to), process, va, size);
    }

    [[nodiscard]] bool write(uint32_t process, uint64_t va, const void *from, size_t size) noexcept
    {
        return copy(process, va, self_, reinterpret_cast<uintptr_t>(from), size);
    }

    // The last byte is written after all others, because programs poll on it. An aligned word of 4
    // bytes is never read torn.
    [[nodiscard]] bool copy(uint32_t to, uint64_t to_va, uint32_t from, uint64_t from_va,
                            size_t size) noexcept;

private:
    [[nodiscard]] bool transfer(uint32_t process, uint64_t theirs, uint64_t mine, size_t size,
                                bool write) noexcept;

    [[nodiscard]] bool read_remote_word(uint32_t process, uint64_t theirs, void *to) noexcept;
    // Whether the kernel moved all; a process that is gone is not tried again.
    [[nodiscard]] bool moved(uint32_t process, ssize_t bytes, size_t wanted) noexcept;

    image &shared_;
    uint32_t self_;
    // Between two others; here, because an engine may run on a small stack. Under the lock.
    std::array<char, 16384> bounce_;
};

} // namespace ufx::swhca

#endif
