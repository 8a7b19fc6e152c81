// SPDX-License-Identifier: BSD-3-Clause
// registration_cache: memory that was registered with a device for one operation stays registered
// for the next one that uses the same pages, until they go or others need the room.
#ifndef UFX_UCS_REGISTRATION_CACHE_H
#define UFX_UCS_REGISTRATION_CACHE_H

#include "memory_watch.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace ufx::ucs {

// Any thread may call it. Entries are whole pages and may overlap. An entry is in use from get() to
// put(), and never dropped meanwhile; idle ones are dropped, the longest idle first.
class registration_cache {
public:
    class entry;

    // How the device registers; called without a lock, from any thread.
    struct device {
        void *arg;
        // NO_MEMORY: it may succeed when something else was given back.
        result<void *> (*enter)(void *arg, void *address, size_t length, uint64_t access,
                                entry &in) noexcept;
        void (*leave)(void *arg, void *handle) noexcept;
    };

    // Of what is kept; more may be in use.
    struct limits {
        size_t entries;
        size_t bytes;
    };

    class entry : public list_node<> {
    public:
        [[nodiscard]] void *handle() const noexcept { return handle_; }

    private:
        friend class registration_cache;

        entry(uintptr_t start, uintptr_t end, uint64_t access) noexcept
            : pages_(start, end), access_(access)
        {
        }

        [[nodiscard]] size_t bytes() const noexcept { return pages_.end() - pages_.start(); }

        memory_watch::range pages_;
        uint64_t access_;
        void *handle_ = nullptr;
        bool is_watched_ = false;
        bool is_kept_ = false; // in entries_; it and the next are guarded by the cache's lock
        unsigned users_ = 1;
    };

    // UNSUPPORTED: memory cannot be watched here.
    [[nodiscard]] static result<owner<registration_cache>> create(const device &on,
                                                                  const limits &most);

    // No entry is in use.
    ~registration_cache();

    // Registered memory that includes the bytes, with at least that access; a bit of `access` more
    // is a right more. NO_MEMORY: even without any idle entry. Throws bad_alloc.
    [[nodiscard]] result<entry *> get(void *address, size_t length, uint64_t access);
    void put(entry &one) noexcept;

    // Drops the entry that is idle for longest; false: there is none.
    bool evict() noexcept;

    // Drops idle entries whose pages have gone.
    void collect() noexcept;

    // How many are kept, in use or idle.
    [[nodiscard]] size_t size() const noexcept;

private:
    friend struct owner_access;
    using map = std::multimap<uintptr_t, entry *>; // by their starts; owns them

    registration_cache(const device &on, const limits &most,
                       std::shared_ptr<memory_watch> watch) noexcept;

    [[nodiscard]] entry *find(uintptr_t start, uintptr_t end, uint64_t access) noexcept;
    [[nodiscard]] ufx_status_t enter(entry &one) noexcept;
    void keep(map::node_type &&made) noexcept;
    void take_out_gone(list<entry> &dead) noexcept;
    void take_out(entry &one) noexcept;
    void drop(list<entry> &dead) noexcept;
    void drop(owner<entry> one) noexcept;

    device device_;
    limits limits_;
    std::shared_ptr<memory_watch> watch_;
    mutable std::mutex lock_; // guards what follows
    map entries_;
    list<entry> idle_;   // of entries_, longest idle first
    size_t bytes_ = 0;   // of entries_
    size_t longest_ = 0; // entry there ever was
    uint64_t changes_seen_ = 0;
};

} // namespace ufx::ucs

#endif
