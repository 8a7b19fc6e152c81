// SPDX-License-Identifier: BSD-3-Clause
// Table of registered memory with slots, generations and random secrets.
#include "regions.h"

#include "ucs/uuid.h"

#include <utility>

namespace ufx::uct::tcp {

// ---- Readers -----------------------------------------------------------------------------------

region_reader::region_reader(region_table &table) : table_(table)
{
    const std::lock_guard guard(table_.lock_);
    table_.readers_.push_back(this);
}

region_reader::~region_reader()
{
    const std::lock_guard guard(table_.lock_);
    std::erase(table_.readers_, this);
}

// A thread that goes from section to section would keep others waiting for very long.
void region_reader::enter() noexcept
{
    for (unsigned waiting = 0; (waiting = waiting_.load(std::memory_order_relaxed)) != 0;) {
        waiting_.wait(waiting, std::memory_order_relaxed);
    }
    lock_.lock();
}

void region_reader::lock_from_outside() noexcept
{
    waiting_.fetch_add(1, std::memory_order_relaxed);
    lock_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    waiting_.notify_all();
}

void region_reader::leave(const region &old) noexcept
{
    for (auto at = users_.begin(); at != users_.end();) {
        region_user &user = *at++;
        if (user.source == &old) {
            user.unlink();
            user.leave();
        }
    }
}

class region_table::quiet {
public:
    explicit quiet(region_table &of) noexcept : of_(of)
    {
        for (region_reader *reader : of_.readers_) {
            reader->lock_from_outside();
        }
    }

    ~quiet()
    {
        for (region_reader *reader : of_.readers_) {
            reader->lock_.unlock();
        }
    }

    quiet(const quiet &) = delete;
    quiet &operator=(const quiet &) = delete;

private:
    region_table &of_;
};

// ---- The table ---------------------------------------------------------------------------------

region *region_table::add(void *start, size_t length, uint64_t access)
{
    auto made = std::make_unique<region>();
    made->start = static_cast<std::byte *>(start);
    made->length = length;
    made->access.store(access, std::memory_order_relaxed);
    made->key.secret = ucs::random_uuid();
    const std::lock_guard guard(lock_);
    const quiet nobody_reads(*this);
    if (free_.empty()) {
        free_.reserve(slots_.size() + 1); // so that remove() never allocates
        slots_.emplace_back();
        free_.push_back(static_cast<uint32_t>(slots_.size() - 1));
    }
    uint32_t at = free_.back();
    made->key.slot = at;
    made->key.generation = ++slots_[at].generation;
    free_.pop_back();
    slots_[at].owned = std::move(made);
    count_++;
    return slots_[at].owned.get();
}

void region_table::remove(region *old) noexcept
{
    const std::lock_guard guard(lock_);
    const quiet nobody_reads(*this);
    for (region_reader *reader : readers_) {
        reader->leave(*old);
    }
    uint32_t at = old->key.slot;
    slots_[at].owned.reset();
    count_--;
    if (slots_[at].generation != UINT32_MAX) {
        free_.push_back(at);
    }
}

size_t region_table::count() const noexcept
{
    const std::lock_guard guard(lock_);
    return count_;
}

region *region_table::check(const wire::remote_key &key, uint64_t address, uint64_t length,
                            uint64_t access) const noexcept
{
    if (!valid(key)) {
        return nullptr;
    }
    region *found = slots_[key.slot].owned.get();
    auto start = reinterpret_cast<uintptr_t>(found->start);
    bool inside =
        address >= start && length <= found->length && address - start <= found->length - length;
    if (found->key.secret != key.secret || !inside ||
        (found->access.load(std::memory_order_relaxed) & access) != access) {
        return nullptr;
    }
    return found;
}

} // namespace ufx::uct::tcp
