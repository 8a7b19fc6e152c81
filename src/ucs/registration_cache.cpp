// SPDX-License-Identifier: BSD-3-Clause
// Keeps registrations. The device is called without the lock: it may take long, and what it
// allocates and frees may take watched pages away.
#include "registration_cache.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace ufx::ucs {

namespace {

uintptr_t page_size() noexcept
{
    static const auto size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

} // namespace

result<owner<registration_cache>> registration_cache::create(const device &on, const limits &most)
{
    auto watch = memory_watch::share();
    if (!watch) {
        return watch.error();
    }
    return make_owner<registration_cache>(on, most, *std::move(watch));
}

registration_cache::registration_cache(const device &on, const limits &most,
                                       std::shared_ptr<memory_watch> watch) noexcept
    : device_(on), limits_(most), watch_(std::move(watch))
{
}

registration_cache::~registration_cache()
{
    for (const auto &[start, one] : entries_) {
        one->unlink();
        drop(owner<entry>(one));
    }
}

result<registration_cache::entry *> registration_cache::get(void *address, size_t length,
                                                            uint64_t access)
{
    const auto first = reinterpret_cast<uintptr_t>(address);
    const uintptr_t start = first & ~(page_size() - 1);
    const uintptr_t end = (first + length + page_size() - 1) & ~(page_size() - 1);
    list<entry> dead;
    entry *found = nullptr;
    {
        const std::lock_guard guard(lock_);
        take_out_gone(dead);
        found = find(start, end, access);
        if (found != nullptr && found->users_++ == 0) {
            idle_.erase(*found);
        }
    }
    drop(dead);
    if (found != nullptr) {
        return found;
    }
    map place; // all that may throw comes first
    owner<entry> made(new entry(start, end, access));
    const auto at = place.emplace(start, made.get());
    // Watched before it is registered: what goes in between is noticed.
    made->is_watched_ = watch_->add(made->pages_);
    if (const ufx_status_t status = enter(*made); status != UFX_OK) {
        if (made->is_watched_) {
            watch_->remove(made->pages_);
        }
        return status;
    }
    if (made->is_watched_) {
        keep(place.extract(at));
    }
    return made.release();
}

// With the lock held. No entry that starts earlier than the longest one could reaches the end.
registration_cache::entry *registration_cache::find(uintptr_t start, uintptr_t end,
                                                    uint64_t access) noexcept
{
    for (auto at = entries_.upper_bound(start); at != entries_.begin();) {
        --at;
        if (at->first + longest_ < end) {
            return nullptr;
        }
        entry &one = *at->second;
        if (one.pages_.end() >= end && (one.access_ & access) == access &&
            watch_->is_there(one.pages_)) {
            return &one;
        }
    }
    return nullptr;
}

ufx_status_t registration_cache::enter(entry &one) noexcept
{
    for (;;) {
        auto *address = reinterpret_cast<void *>(one.pages_.start());
        const result<void *> handle =
            device_.enter(device_.arg, address, one.bytes(), one.access_, one);
        if (handle) {
            one.handle_ = *handle;
            return UFX_OK;
        }
        if (handle.error() != UFX_ERR_NO_MEMORY || !evict()) {
            return handle.error();
        }
    }
}

// What finds no place, because all others are in use, is given back after its use.
void registration_cache::keep(map::node_type &&made) noexcept
{
    list<entry> dead;
    {
        const std::lock_guard guard(lock_);
        entry &one = *made.mapped();
        const auto fits = [&] {
            return entries_.size() < limits_.entries && bytes_ + one.bytes() <= limits_.bytes;
        };
        while (one.bytes() <= limits_.bytes && !fits() && !idle_.empty()) {
            entry &oldest = idle_.front();
            take_out(oldest);
            dead.push_back(oldest);
        }
        if (fits()) {
            one.is_kept_ = true;
            bytes_ += one.bytes();
            longest_ = std::max(longest_, one.bytes());
            entries_.insert(std::move(made));
        }
    }
    drop(dead);
}

void registration_cache::put(entry &one) noexcept
{
    bool dead = false;
    {
        const std::lock_guard guard(lock_);
        dead = --one.users_ == 0 && !one.is_kept_;
        if (one.users_ == 0 && one.is_kept_) {
            idle_.push_back(one);
        }
    }
    if (dead) {
        drop(owner<entry>(&one));
    }
}

bool registration_cache::evict() noexcept
{
    entry *oldest = nullptr;
    {
        const std::lock_guard guard(lock_);
        if (idle_.empty()) {
            return false;
        }
        oldest = &idle_.front();
        take_out(*oldest);
    }
    drop(owner<entry>(oldest));
    return true;
}

void registration_cache::collect() noexcept
{
    list<entry> dead;
    {
        const std::lock_guard guard(lock_);
        take_out_gone(dead);
    }
    drop(dead);
}

size_t registration_cache::size() const noexcept
{
    const std::lock_guard guard(lock_);
    return entries_.size();
}

// With the lock held. Who uses one of them gives it back for good.
void registration_cache::take_out_gone(list<entry> &dead) noexcept
{
    const uint64_t changes = watch_->changes();
    if (std::exchange(changes_seen_, changes) == changes) {
        return;
    }
    for (auto at = entries_.begin(); at != entries_.end();) {
        entry &one = *(at++)->second;
        if (watch_->has_gone(one.pages_)) {
            take_out(one);
            if (one.users_ == 0) {
                dead.push_back(one);
            }
        }
    }
}

// With the lock held.
void registration_cache::take_out(entry &one) noexcept
{
    one.unlink(); // of the idle ones
    one.is_kept_ = false;
    bytes_ -= one.bytes();
    auto [at, end] = entries_.equal_range(one.pages_.start());
    while (at != end && at->second != &one) {
        ++at;
    }
    entries_.erase(at);
}

void registration_cache::drop(list<entry> &dead) noexcept
{
    while (!dead.empty()) {
        drop(owner<entry>(dead.pop_front()));
    }
}

void registration_cache::drop(owner<entry> one) noexcept
{
    device_.leave(device_.arg, one->handle_);
    if (one->is_watched_) {
        watch_->remove(one->pages_);
    }
}

} // namespace ufx::ucs
