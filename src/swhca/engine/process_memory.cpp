// SPDX-License-Identifier: BSD-3-Clause
// Copies inside the process, and with process_vm_readv and process_vm_writev between two.
#include "process_memory.h"

#include "guarded_copy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>

namespace ufx::swhca {

namespace {

constexpr size_t bounce_bytes = 16384;

iovec piece(uint64_t va, size_t size) noexcept
{
    return {reinterpret_cast<void *>(static_cast<uintptr_t>(va)), size};
}

} // namespace

bool process_memory::reaches(uint32_t process) const noexcept
{
    return process == self_ || (process < max_processes && shared_.processes[process].in_use &&
                                shared_.processes[process].reachable);
}

// The kernel may copy byte by byte, so a word that its owner may be writing is read twice in one
// call until both agree: it counts up, so that nothing torn comes twice.
bool process_memory::read_remote_word(uint32_t process, uint64_t theirs, void *to) noexcept
{
    constexpr int max_tries = 1000;
    for (int tries = 0; tries < max_tries; tries++) {
        std::array<uint32_t, 2> words{};
        std::array<iovec, 2> remote = {piece(theirs, sizeof(uint32_t)),
                                       piece(theirs, sizeof(uint32_t))};
        iovec local{words.data(), sizeof(words)};
        if (!moved(process,
                   ::process_vm_readv(shared_.processes[process].pid, &local, 1, remote.data(),
                                      remote.size(), 0),
                   sizeof(words))) {
            return false;
        }
        if (words[0] == words[1]) {
            std::memcpy(to, words.data(), sizeof(uint32_t));
            return true;
        }
    }
    return false;
}

bool process_memory::moved(uint32_t process, ssize_t bytes, size_t wanted) noexcept
{
    if (bytes < 0 && (errno == ESRCH || errno == EPERM)) {
        shared_.processes[process].reachable = false; // killed, and not yet cleared away
    }
    return bytes == static_cast<ssize_t>(wanted);
}

bool process_memory::transfer(uint32_t process, uint64_t theirs, uint64_t mine, size_t size,
                              bool write) noexcept
{
    if (!reaches(process)) {
        return false;
    }
    if (!write && size == sizeof(uint32_t) && theirs % sizeof(uint32_t) == 0) {
        return read_remote_word(process, theirs,
                                reinterpret_cast<void *>(static_cast<uintptr_t>(mine)));
    }
    int pid = shared_.processes[process].pid;
    // Two pieces, so that the kernel copies the last byte last; but a word of an atomic in one.
    size_t head = size == sizeof(uint64_t) && theirs % sizeof(uint64_t) == 0 ? 0 : size - 1;
    std::array<iovec, 2> remote = {piece(theirs, head), piece(theirs + head, size - head)};
    std::array<iovec, 2> local = {piece(mine, head), piece(mine + head, size - head)};
    unsigned first = head == 0 ? 1 : 0;
    unsigned long count = 2 - first;
    return moved(
        process,
        write
            ? ::process_vm_writev(pid, local.data() + first, count, remote.data() + first, count, 0)
            : ::process_vm_readv(pid, local.data() + first, count, remote.data() + first, count, 0),
        size);
}

bool process_memory::copy(uint32_t to, uint64_t to_va, uint32_t from, uint64_t from_va,
                          size_t size) noexcept
{
    if (size == 0) {
        return true;
    }
    if (to == self_ && from == self_) {
        return guarded_copy(reinterpret_cast<void *>(static_cast<uintptr_t>(to_va)),
                            reinterpret_cast<const void *>(static_cast<uintptr_t>(from_va)), size);
    }
    if (from == self_) {
        return transfer(to, to_va, from_va, size, true);
    }
    if (to == self_) {
        return transfer(from, from_va, to_va, size, false);
    }
    std::array<char, bounce_bytes> bounce;
    auto middle = reinterpret_cast<uintptr_t>(bounce.data());
    for (size_t done = 0; done < size;) {
        size_t now = std::min(size - done, bounce.size());
        if (!transfer(from, from_va + done, middle, now, false) ||
            !transfer(to, to_va + done, middle, now, true)) {
            return false;
        }
        done += now;
    }
    return true;
}

} // namespace ufx::swhca
