// SPDX-License-Identifier: BSD-3-Clause
// The registered memory of an md: what remote keys are checked against.
//
// Any thread registers and deregisters; each iface, in its own thread, looks regions up and moves
// bytes of them. An iface does so in sections, under a lock of its own; who changes the table holds
// the locks of all. So ifaces do not wait for each other, and when a region was removed nobody
// touches its memory any more.
#ifndef UFX_UCT_TCP_REGIONS_H
#define UFX_UCT_TCP_REGIONS_H

#include "wire.h"

#include "ucs/list.h"
#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace ufx::uct::tcp {

struct region {
    std::byte *start = nullptr;
    size_t length = 0;
    // Of ufx_uct_mem_flags; 0: nobody is let in any more. Cleared by a reader; relaxed.
    std::atomic<uint64_t> access{0};
    wire::remote_key key;
};

// Something that still reads a region after its check, for instance an answer to a get that waits
// to be sent. It must let go when the region is deregistered.
class region_user : public ucs::list_node<> {
public:
    using leave_fn = void (*)(region_user &self) noexcept;

    explicit region_user(leave_fn leave) noexcept : leave_(leave) {}

    void leave() noexcept { leave_(*this); }

    region *source = nullptr; // while it reads from there

private:
    leave_fn leave_;
};

class region_table;

// An iface's part in the table. Of one thread, but for what the table does to it.
class region_reader {
public:
    explicit region_reader(region_table &table);
    ~region_reader();
    region_reader(const region_reader &) = delete;
    region_reader &operator=(const region_reader &) = delete;

    // While it lives the table stays as it is. Short, nothing waits and no callback runs in it; may
    // be nested.
    class section {
    public:
        explicit section(region_reader &of, bool needed = true) noexcept
            : of_(needed ? &of : nullptr)
        {
            if (needed && of.depth_++ == 0) {
                of.enter();
            }
        }

        ~section() { end(); }

        section(const section &) = delete;
        section &operator=(const section &) = delete;

        void end() noexcept
        {
            if (of_ != nullptr && --of_->depth_ == 0) {
                of_->lock_.unlock();
            }
            of_ = nullptr;
        }

    private:
        region_reader *of_;
    };

    // In a section: `user` reads from that region, until it is unlinked.
    void add_user(region_user &user, region &from) noexcept
    {
        user.source = &from;
        users_.push_back(user);
    }

private:
    friend class region_table;

    void enter() noexcept;
    void lock_from_outside() noexcept;
    void leave(const region &old) noexcept;

    region_table &table_;
    std::mutex lock_;
    std::atomic<unsigned> waiting_{0}; // threads in lock_from_outside(); relaxed, for fairness only
    unsigned depth_ = 0;               // of sections; of the iface's thread
    ucs::list<region_user> users_;     // guarded by lock_
};

// A slot is used again with the next generation, so a key of a region that is gone never opens
// another one. Lookups take any bytes from a peer, and are made in a section of a reader.
class region_table {
public:
    region_table() = default;
    region_table(const region_table &) = delete;
    region_table &operator=(const region_table &) = delete;

    [[nodiscard]] region *add(void *start, size_t length, uint64_t access);

    // Every user of the region leaves it first. When it returns the memory is the caller's alone.
    void remove(region *old) noexcept;

    // nullptr if the key is not valid now, lacks the right, or does not cover the range.
    [[nodiscard]] region *check(const wire::remote_key &key, uint64_t address, uint64_t length,
                                uint64_t access) const noexcept;

    // True if a region that check() gave earlier, with that key, is still registered.
    [[nodiscard]] bool valid(const wire::remote_key &key) const noexcept
    {
        return key.slot < slots_.size() && slots_[key.slot].owned != nullptr &&
               slots_[key.slot].generation == key.generation;
    }

    [[nodiscard]] size_t count() const noexcept;

private:
    friend class region_reader;

    // Keeps all readers out; with lock_ held.
    class quiet;

    struct slot {
        std::unique_ptr<region> owned;
        uint32_t generation = 0;
    };

    mutable std::mutex lock_;              // who changes the table has it, and then each reader's
    std::vector<region_reader *> readers_; // guarded by lock_
    std::vector<slot> slots_;              // read in sections, too
    std::vector<uint32_t> free_;
    size_t count_ = 0;
};

} // namespace ufx::uct::tcp

#endif
