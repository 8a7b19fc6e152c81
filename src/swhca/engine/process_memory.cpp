// SPDX-License-Identifier: BSD-3-Clause
// Copies inside the process, and with process_vm_readv and process_vm_writev between two.
#include "process_memory.h"

#include "guarded_copy.h"

#include "swhca/fabric/liveness.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>

namespace ufx::swhca {

namespace {

iovec piece(uint64_t va, size_t size) noexcept
{
    return {reinterpret_cast<void *>(static_cast<uintptr_t>(va)), size};
}

// Whether the kernel lets this process read that one: not if it belongs to another user, or Yama or
// seccomp forbids it. A pid of another namespace is somebody else's here.
bool probe(const process_slot &other) noexcept
{
    uint64_t word = 0;
    iovec local = piece(reinterpret_cast<uintptr_t>(&word), sizeof(word));
    iovec remote = piece(other.probe, sizeof(word));
    return other.pid_namespace == own_pid_namespace() &&
           ::process_vm_readv(other.owner, &local, 1, &remote, 1, 0) ==
               static_cast<ssize_t>(sizeof(word));
}

} // namespace

bool process_memory::reaches(uint32_t process) const noexcept
{
    if (process == self_) {
        return true;
    }
    if (process >= max_processes || !lives(shared_.processes[process])) {
        return false;
    }
    process_slot &other = shared_.processes[process];
    if (self_ >= max_processes) { // not a process of the fabric: nothing is kept
        return probe(other);
    }
    uint64_t mine = 1ull << self_;
    if ((other.reached_by.load(std::memory_order_relaxed) & mine) != 0) {
        return true;
    }
    if ((other.refused_to.load(std::memory_order_relaxed) & mine) != 0) {
        return false;
    }
    bool may = probe(other);
    (may ? other.reached_by : other.refused_to).fetch_or(mine, std::memory_order_relaxed);
    return may;
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
                   ::process_vm_readv(shared_.processes[process].owner, &local, 1, remote.data(),
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
    if (bytes < 0 && errno == EPERM && self_ < max_processes) {
        process_slot &other = shared_.processes[process]; // has closed its memory
        other.reached_by.fetch_and(~(1ull << self_), std::memory_order_relaxed);
        other.refused_to.fetch_or(1ull << self_, std::memory_order_relaxed);
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
    int32_t thread = shared_.processes[process].owner; // the first thread may have ended
    // Two pieces, so that the kernel copies the last byte last; but a word of an atomic in one.
    bool word = (size == sizeof(uint64_t) || size == sizeof(uint32_t)) && theirs % size == 0;
    size_t head = word ? 0 : size - 1;
    std::array<iovec, 2> remote = {piece(theirs, head), piece(theirs + head, size - head)};
    std::array<iovec, 2> local = {piece(mine, head), piece(mine + head, size - head)};
    unsigned first = head == 0 ? 1 : 0;
    unsigned long count = 2 - first;
    return moved(process,
                 write ? ::process_vm_writev(thread, local.data() + first, count,
                                             remote.data() + first, count, 0)
                       : ::process_vm_readv(thread, local.data() + first, count,
                                            remote.data() + first, count, 0),
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
    auto middle = reinterpret_cast<uintptr_t>(bounce_.data());
    for (size_t done = 0; done < size;) {
        size_t now = std::min(size - done, bounce_.size());
        if (!transfer(from, from_va + done, middle, now, false) ||
            !transfer(to, to_va + done, middle, now, true)) {
            return false;
        }
        done += now;
    }
    return true;
}

} // namespace ufx::swhca
