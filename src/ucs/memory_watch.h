// SPDX-License-Identifier: BSD-3-Clause
// memory_watch: tells when pages of this process are unmapped, moved or dropped. Not by holes and cuts
// in what shared memory maps, nor by shmat with SHM_REMAP (docs/rdma.md).
//
// The kernel says it (userfaultfd): a call that takes watched pages away does not return before it
// was heard here. So nothing is patched or interposed, and it does not matter who makes the call:
// the program, its allocator, libc's own free.
#ifndef UFX_UCS_MEMORY_WATCH_H
#define UFX_UCS_MEMORY_WATCH_H

#include "fd.h"
#include "list.h"
#include "owner.h"
#include "result.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <sys/types.h>
#include <thread>

namespace ufx::ucs {

// Any thread may call it. Whoever takes pages away waits for the thread of this object, which for
// that reason takes one lock and never allocates; and while that lock is held, nobody does.
class memory_watch {
public:
    // Whole pages. Stays where it is while it is watched.
    class range : public list_node<> {
    public:
        range(uintptr_t start, uintptr_t end) noexcept : start_(start), end_(end) {}

        [[nodiscard]] uintptr_t start() const noexcept { return start_; }

        [[nodiscard]] uintptr_t end() const noexcept { return end_; }

    private:
        friend class memory_watch;

        [[nodiscard]] bool meets(uintptr_t start, uintptr_t end) const noexcept
        {
            return start_ < end && start < end_;
        }

        uintptr_t start_;
        uintptr_t end_;
        bool gone_ = false; // guarded by the watch's lock
    };

    // The process has one, which lives as long as somebody has it: a page can have only one
    // watcher. UNSUPPORTED: the kernel has no such thing, or does not allow it.
    [[nodiscard]] static result<std::shared_ptr<memory_watch>> share();

    ~memory_watch();

    memory_watch(const memory_watch &) = delete;
    memory_watch &operator=(const memory_watch &) = delete;

    // False: those pages cannot be watched. They are ordinary and shared memory; not mapped files,
    // SysV segments or huge pages of hugetlbfs, nor anything in a child after fork.
    [[nodiscard]] bool add(range &pages) noexcept;
    void remove(range &pages) noexcept;

    // Whether the pages are the same ones as when they were added, for sure: false also while some
    // watched memory is just being taken away.
    [[nodiscard]] bool is_there(const range &pages) noexcept;

    // Whether some of them went since they were added.
    [[nodiscard]] bool has_gone(const range &pages) noexcept;

    // Grows when pages have gone, and sometimes when none have.
    [[nodiscard]] uint64_t changes() const noexcept
    {
        return changes_.load(std::memory_order_relaxed);
    }

private:
    friend struct owner_access;

    memory_watch(fd events, fd stop);

    [[nodiscard]] bool is_own_process() const noexcept;
    [[nodiscard]] bool is_changing() const noexcept;
    void run() noexcept;
    void read_events() noexcept;
    void take_away(uintptr_t start, uintptr_t end) noexcept;
    void disarm(uintptr_t start, uintptr_t end) noexcept;

    fd events_;
    fd stop_;
    pid_t process_;
    std::mutex lock_;
    list<range> ranges_; // guarded by lock_
    std::atomic<uint64_t> changes_ = 0;
    owner<std::thread> thread_;
};

} // namespace ufx::ucs

#endif
