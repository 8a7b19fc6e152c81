// SPDX-License-Identifier: BSD-3-Clause
// The kinds of operations.
#include "operations.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ufx::matrix {

namespace {

constexpr std::size_t kb = 1024;
constexpr std::uint16_t message_id = 3;
constexpr std::byte junk{0xee};

// A byte that depends on where it is and on a seed.
std::byte pattern(std::size_t at, unsigned seed)
{
    return static_cast<std::byte>((at * 131 + at / 251 + seed * 29) & 0xff);
}

void fill(std::byte *to, std::size_t length, unsigned seed)
{
    for (std::size_t i = 0; i < length; ++i) {
        to[i] = pattern(i, seed);
    }
}

std::string difference(const char *what, const std::byte *from, std::size_t length, unsigned seed)
{
    for (std::size_t i = 0; i < length; ++i) {
        if (from[i] != pattern(i, seed)) {
            return std::string(what) + ": wrong from byte " + std::to_string(i) + " of " +
                   std::to_string(length);
        }
    }
    return "";
}

template <class T>
std::unique_ptr<operation> make(world &where, unsigned seed)
{
    return std::make_unique<T>(where, seed);
}

// Puts of `Count` pieces of `Bytes`.
template <std::size_t Bytes, unsigned Count>
class puts : public operation {
public:
    puts(world &where, unsigned seed) : operation(where, seed), local_(Bytes * Count)
    {
        fill(local_.data(), local_.size(), seed);
        std::fill_n(where.receiver.memory, local_.size() + 64, std::byte{});
    }
    void start() override
    {
        for (std::size_t at = 0; at < local_.size(); at += Bytes) {
            put(at, Bytes);
        }
    }
    void reuse_buffers() override { std::fill(local_.begin(), local_.end(), junk); }
    std::string what_is_wrong() const override
    {
        const std::byte *there = world_.receiver.memory;
        std::string wrong = operation::what_is_wrong();
        if (wrong.empty()) {
            wrong = difference("the target", there, local_.size(), seed_);
        }
        if (wrong.empty() && there[local_.size()] != std::byte{}) {
            wrong = "bytes behind the target were written";
        }
        return wrong;
    }

protected:
    void put(std::size_t at, std::size_t length)
    {
        side &from = world_.sender;
        waiter &w = next();
        w.posted(ufx_ucp_put(from.ep, local_.data() + at, length, from.peer_address + at,
                             from.peer_key, &w.params, nullptr));
    }

    std::vector<std::byte> local_;
};

template <std::size_t Bytes, unsigned Count>
class gets : public operation {
public:
    gets(world &where, unsigned seed) : operation(where, seed), local_(Bytes * Count)
    {
        fill(where.receiver.memory, local_.size(), seed);
    }
    void start() override
    {
        side &from = world_.sender;
        for (std::size_t at = 0; at < local_.size(); at += Bytes) {
            waiter &w = next();
            w.posted(ufx_ucp_get(from.ep, local_.data() + at, Bytes, from.peer_address + at,
                                 from.peer_key, &w.params, nullptr));
        }
    }
    void reuse_buffers() override { std::fill_n(world_.receiver.memory, local_.size(), junk); }
    std::string what_is_wrong() const override
    {
        const std::string wrong = operation::what_is_wrong();
        return wrong.empty() ? difference("what was read", local_.data(), local_.size(), seed_)
                             : wrong;
    }

protected:
    std::vector<std::byte> local_;
};

// Lists of 8 transfers with a notification each.
template <bool IsPut>
class lists : public operation {
public:
    lists(world &where, unsigned seed) : operation(where, seed), local_(count * list_bytes)
    {
        fill(IsPut ? local_.data() : where.receiver.memory, local_.size(), seed);
        std::fill_n(IsPut ? where.receiver.memory : local_.data(), local_.size(), std::byte{});
        (void)ufx_ucp_worker_set_notify_handler(where.receiver.worker, &on_notify, this);
    }
    ~lists() override
    {
        (void)ufx_ucp_worker_set_notify_handler(world_.receiver.worker, nullptr, nullptr);
    }
    void start() override
    {
        for (std::size_t i = 0; i < count; ++i) {
            post(i);
        }
    }
    bool is_done() override
    {
        return operation::is_done() &&
               std::all_of(told_.begin(), told_.end(), [](unsigned times) { return times != 0; });
    }
    void reuse_buffers() override
    {
        std::fill_n(IsPut ? local_.data() : world_.receiver.memory, local_.size(), junk);
    }
    std::string what_is_wrong() const override
    {
        std::string wrong = operation::what_is_wrong();
        for (std::size_t i = 0; i < count && wrong.empty(); ++i) {
            if (told_[i] != 1) {
                wrong = "the notification came " + std::to_string(told_[i]) + " times";
            }
        }
        if (wrong.empty() && early_ != 0) {
            wrong = "a notification came before its list";
        }
        const std::byte *at = IsPut ? world_.receiver.memory : local_.data();
        return wrong.empty() ? difference("the list", at, local_.size(), seed_) : wrong;
    }

private:
    static constexpr std::size_t count = 2;
    static constexpr std::size_t piece_bytes = 8 * kb;
    static constexpr std::size_t list_bytes = 8 * piece_bytes;

    void post(std::size_t number)
    {
        side &from = world_.sender;
        std::vector<ufx_ucp_transfer_t> list;
        for (std::size_t at = number * list_bytes; at < (number + 1) * list_bytes;
             at += piece_bytes) {
            list.push_back(
                {local_.data() + at, from.peer_address + at, piece_bytes, from.peer_key, nullptr});
        }
        const ufx_ucp_notify_t notify{number, nullptr, 0};
        waiter &w = next();
        const auto call = IsPut ? &ufx_ucp_put_list : &ufx_ucp_get_list;
        w.posted(call(from.ep, list.data(), list.size(), &notify, &w.params, nullptr));
    }
    static void on_notify(void *arg, ufx_ucp_ep_h, std::uint64_t tag, const void *,
                          std::size_t) noexcept
    {
        auto &self = *static_cast<lists *>(arg);
        ++self.told_.at(tag);
        const std::byte *at = IsPut ? self.world_.receiver.memory : self.local_.data();
        for (std::size_t i = tag * list_bytes; i < (tag + 1) * list_bytes; ++i) {
            self.early_ += at[i] == pattern(i, self.seed_) ? 0 : 1;
        }
    }

    std::vector<std::byte> local_;
    std::array<unsigned, count> told_{};
    std::size_t early_ = 0; // bytes
};

// Numbered messages; rendezvous ones are fetched as they come.
template <std::size_t Bytes, unsigned Count, std::uint64_t Flags>
class messages : public operation {
public:
    messages(world &where, unsigned seed) : operation(where, seed), local_(Bytes)
    {
        fill(local_.data(), local_.size(), seed);
        (void)ufx_ucp_worker_set_am_handler(where.receiver.worker, message_id, &on_message, this);
    }
    ~messages() override
    {
        (void)ufx_ucp_worker_set_am_handler(world_.receiver.worker, message_id, nullptr, nullptr);
    }
    void start() override
    {
        for (std::uint32_t number = 0; number < Count; ++number) {
            waiter &w = next();
            w.params.field_mask |= UFX_UCP_OP_PARAM_FLAGS;
            w.params.flags = Flags;
            w.posted(ufx_ucp_am_send(world_.sender.ep, message_id, &number, sizeof(number),
                                     local_.data(), local_.size(), &w.params, nullptr));
        }
    }
    bool is_done() override
    {
        return operation::is_done() && came_ >= Count &&
               std::all_of(fetches_.begin(), fetches_.end(),
                           [](const fetch &each) { return each.w.is_done(); });
    }
    void reuse_buffers() override { std::fill(local_.begin(), local_.end(), junk); }
    std::string what_is_wrong() const override
    {
        std::string wrong = operation::what_is_wrong();
        if (wrong.empty() && (came_ != Count || disorder_ != 0)) {
            wrong = std::to_string(came_) + " messages instead of " + std::to_string(Count) + ", " +
                    std::to_string(disorder_) + " out of order";
        }
        if (wrong.empty() && broken_ != 0) {
            wrong = std::to_string(broken_) + " messages were changed";
        }
        for (const fetch &each : fetches_) {
            if (wrong.empty() && (each.w.calls != 1 || each.w.status != UFX_OK)) {
                wrong = std::string("a fetch ended ") + std::to_string(each.w.calls) + " times: " +
                        ufx_ucs_status_name(each.w.status);
            }
            if (wrong.empty()) {
                wrong = difference("what was fetched", each.buffer.data(), Bytes, seed_);
            }
        }
        return wrong;
    }

private:
    struct fetch {
        waiter w;
        std::vector<std::byte> buffer;
    };

    static ufx_status_t on_message(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<messages *>(arg);
        std::uint32_t number = Count;
        if (am->header_length == sizeof(number)) {
            std::memcpy(&number, am->header, sizeof(number));
        }
        self.disorder_ += number == self.came_ ? 0 : 1;
        ++self.came_;
        if ((am->flags & UFX_UCP_AM_RNDV) != 0) {
            fetch &f = self.fetches_.emplace_back();
            f.buffer.resize(am->length);
            f.w.posted(ufx_ucp_am_recv_data(self.world_.receiver.worker, am->data, f.buffer.data(),
                                            am->length, &f.w.params, nullptr));
            return UFX_INPROGRESS;
        }
        const auto *data = static_cast<const std::byte *>(am->data);
        const bool is_right =
            am->length == Bytes && difference("", data, am->length, self.seed_).empty();
        self.broken_ += is_right ? 0 : 1;
        return UFX_OK;
    }

    std::vector<std::byte> local_;
    std::deque<fetch> fetches_;
    std::uint32_t came_ = 0;
    unsigned disorder_ = 0;
    unsigned broken_ = 0;
};

// Adds, or compare-and-swaps that each follow the one before; results show the order.
template <bool IsAdd>
class atomics : public operation {
public:
    atomics(world &where, unsigned seed) : operation(where, seed)
    {
        const std::uint64_t begin = seed;
        std::memcpy(where.receiver.memory, &begin, sizeof(begin));
    }
    void start() override
    {
        side &from = world_.sender;
        for (std::size_t i = 0; i < count; ++i) {
            waiter &w = next();
            const std::uint64_t before = seed_ + i;
            w.posted(ufx_ucp_atomic(from.ep, IsAdd ? UFX_UCP_ATOMIC_ADD : UFX_UCP_ATOMIC_CSWAP,
                                    IsAdd ? 1 : before + 1, before, sizeof(before), &results_[i],
                                    from.peer_address, from.peer_key, &w.params, nullptr));
        }
    }
    void reuse_buffers() override {}
    std::string what_is_wrong() const override
    {
        std::uint64_t now = 0;
        std::memcpy(&now, world_.receiver.memory, sizeof(now));
        std::string wrong = operation::what_is_wrong();
        if (wrong.empty() && now != seed_ + count) {
            wrong = "executed " + std::to_string(now - seed_) + " times instead of " +
                    std::to_string(count);
        }
        for (std::size_t i = 0; i < count && wrong.empty(); ++i) {
            if (results_[i] != seed_ + i) {
                wrong = "result " + std::to_string(i) + " is " + std::to_string(results_[i] - seed_);
            }
        }
        return wrong;
    }

private:
    static constexpr std::size_t count = 4;
    std::array<std::uint64_t, count> results_{};
};

// A flush says that the puts before it are there.
class flushed : public puts<16 * kb, 4> {
public:
    using puts::puts;
    void start() override
    {
        puts::start();
        flush_.posted(ufx_ucp_ep_flush(world_.sender.ep, &flush_.params, nullptr));
    }
    bool is_done() override
    {
        if (flush_.is_done() && !was_looked_at_) {
            was_looked_at_ = true;
            at_flush_ = difference("at the flush", world_.receiver.memory, local_.size(), seed_);
        }
        return flush_.is_done() && operation::is_done();
    }
    std::string what_is_wrong() const override
    {
        if (flush_.calls != 1 || flush_.status != UFX_OK || !at_flush_.empty()) {
            return std::string("flush ") + ufx_ucs_status_name(flush_.status) + " " + at_flush_;
        }
        return puts::what_is_wrong();
    }

private:
    waiter flush_;
    bool was_looked_at_ = false;
    std::string at_flush_;
};

// Two puts to one place with a fence between them: the second one stays.
class fenced : public operation {
public:
    fenced(world &where, unsigned seed) : operation(where, seed), first_(bytes, junk), second_(bytes)
    {
        fill(second_.data(), bytes, seed);
    }
    void start() override
    {
        put(first_);
        fence_ = ufx_ucp_ep_fence(world_.sender.ep);
        put(second_);
    }
    void reuse_buffers() override
    {
        std::fill(first_.begin(), first_.end(), std::byte{1});
        std::fill(second_.begin(), second_.end(), std::byte{2});
    }
    std::string what_is_wrong() const override
    {
        const std::string wrong =
            fence_ == UFX_OK ? operation::what_is_wrong() : "the fence was refused";
        return wrong.empty() ? difference("the target", world_.receiver.memory, bytes, seed_)
                             : wrong;
    }

private:
    static constexpr std::size_t bytes = 64 * kb;
    void put(const std::vector<std::byte> &from)
    {
        waiter &w = next();
        w.posted(ufx_ucp_put(world_.sender.ep, from.data(), from.size(), world_.sender.peer_address,
                             world_.sender.peer_key, &w.params, nullptr));
    }

    std::vector<std::byte> first_, second_;
    ufx_status_t fence_ = UFX_OK;
};

// A flushing close behind puts; the target closes its end afterwards.
class closed : public puts<16 * kb, 4> {
public:
    using puts::puts;
    void start() override
    {
        puts::start();
        close(world_.sender);
    }
    bool is_done() override
    {
        if (operation::is_done() && world_.receiver.ep != nullptr) {
            close(world_.receiver);
        }
        return operation::is_done();
    }
    bool closes_endpoint() const override { return true; }

private:
    void close(side &s)
    {
        waiter &w = next();
        w.posted(
            ufx_ucp_ep_close(std::exchange(s.ep, nullptr), UFX_UCP_CLOSE_FLUSH, &w.params, nullptr));
    }
};

constexpr std::uint64_t eager = UFX_UCP_OP_AM_EAGER, rendezvous = UFX_UCP_OP_AM_RNDV;

constexpr kind all_kinds[] = {
    {"put of 8 bytes", make<puts<8, 3>>},
    {"put of 4 KB", make<puts<4 * kb, 3>>},
    {"put of 512 KB", make<puts<512 * kb, 1>>},
    {"get of 4 KB", make<gets<4 * kb, 3>>},
    {"get of 512 KB", make<gets<512 * kb, 1>>},
    {"put list with notification", make<lists<true>>},
    {"get list with notification", make<lists<false>>},
    {"message of 8 bytes", make<messages<8, 3, eager>>},
    {"message of 4 KB", make<messages<4 * kb, 3, eager>>},
    {"message of 20 KB", make<messages<20 * kb, 3, eager>>},
    {"message of 100 KB in fragments", make<messages<100 * kb, 2, eager>>},
    {"rendezvous of 256 KB", make<messages<256 * kb, 2, rendezvous>>},
    {"fetch and add", make<atomics<true>>},
    {"compare and swap", make<atomics<false>>},
    {"puts and a flush", make<flushed>},
    {"puts with a fence", make<fenced>},
    {"puts and a close", make<closed>},
};

} // namespace

bool operation::is_done()
{
    return std::all_of(waiters_.begin(), waiters_.end(),
                       [](const waiter &each) { return each.is_done(); });
}

std::string operation::what_is_wrong() const
{
    for (const waiter &each : waiters_) {
        if (each.calls != 1 || each.status != UFX_OK) {
            return "an operation ended " + std::to_string(each.calls) + " times: " +
                   ufx_ucs_status_name(each.status);
        }
    }
    return "";
}

std::span<const kind> kinds()
{
    return all_kinds;
}

} // namespace ufx::matrix
