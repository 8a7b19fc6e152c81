// SPDX-License-Identifier: BSD-3-Clause
// Mixed puts and messages from side a to side b, each of which is checked to arrive exactly once.
#ifndef UFX_TEST_UCP_SPINE_TRAFFIC_H
#define UFX_TEST_UCP_SPINE_TRAFFIC_H

#include "data_pair.h"

#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"

#include <memory>

namespace ufx::test {

// Two tcp rails on loopback with short clocks.
inline pair_options quick_rails()
{
    pair_options options;
    options.config = {{"RAIL_GRACE", "100ms"},
                      {"RAIL_HOLDOFF", "50ms"},
                      {"RAIL_HOLDOFF_MAX", "400ms"},
                      {"RAIL_PENALTY_HALF_LIFE", "100ms"}};
    return options;
}

inline ufx_ucp_rail_attr_t rail_of(const side &s, unsigned index)
{
    ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX];
    std::size_t count = UFX_UCP_RAILS_MAX;
    REQUIRE(ufx_ucp_worker_query_rails(s.worker, rails, &count) == UFX_OK);
    REQUIRE(index < count);
    return rails[index];
}
inline ufx_ucp_rail_state_t state_of(const side &s, unsigned index)
{
    return rail_of(s, index).state;
}
inline std::uint64_t posted_on(const side &s, unsigned index)
{
    return rail_of(s, index).posted;
}

// No seal record is left and every rail is UP, on both sides.
inline bool settled(pair &p)
{
    for (const side *s : {&p.a, &p.b}) {
        for (const auto &other : ucp::worker::of(s->worker).peers()) {
            if (!other->machine().book().empty()) {
                return false;
            }
            for (const ucp::core::rail_id id : other->machine().rail_ids()) {
                if (other->machine().find_rail(id)->state() != ucp::core::rail_state::UP) {
                    return false;
                }
            }
        }
    }
    return true;
}

class traffic {
public:
    static constexpr std::size_t slot_bytes = 4096;
    static constexpr std::size_t slots = 64;
    static constexpr std::uint16_t am_id = 7;

    explicit traffic(pair &p) : pair_(p), buffer_(slots * slot_bytes)
    {
        REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, &traffic::on_am, this) == UFX_OK);
    }

    // Fills every slot whose put is over; one message for each put.
    void post_some()
    {
        for (std::size_t i = 0; i < slots; ++i) {
            if (puts_[i] != nullptr && !puts_[i]->is_done()) {
                continue;
            }
            if (!post_slot(i)) {
                return;
            }
        }
    }
    template <class F>
    bool run_until(F &&what)
    {
        return pair_.until([&] {
            post_some();
            reap();
            return what();
        });
    }
    bool finish()
    {
        return pair_.until([&] {
            reap();
            return all_done();
        });
    }
    // Everything posted is complete and has arrived.
    bool over()
    {
        reap();
        return all_done();
    }
    std::uint64_t completed() const { return completed_; }
    bool all_ok() const { return failed_ == 0; }
    // Of all that was posted, which has ended by now. A second callback would come in the turns
    // that this makes, or has come since the first was noted.
    bool each_completed_once()
    {
        for (unsigned i = 0; i < 100; ++i) {
            pair_.progress();
        }
        reap();
        bool once = ams_.empty();
        for (const auto &w : old_) {
            once = once && w->calls == 1;
        }
        for (const auto &w : puts_) {
            once = once && (w == nullptr || w->calls == 1);
        }
        return once;
    }
    // Every message exactly once and in order, every slot as it was last written, each callback
    // once and with OK.
    bool verify()
    {
        bool same = each_completed_once() && all_ok() && in_order_ && received_ == sent_;
        for (const auto &w : puts_) {
            same = same && (w == nullptr || w->status == UFX_OK);
        }
        for (std::size_t i = 0; i < slots; ++i) {
            if (puts_[i] != nullptr) {
                same = same && std::memcmp(buffer_.data() + i * slot_bytes,
                                           pair_.b.memory + i * slot_bytes, slot_bytes) == 0;
            }
        }
        return same;
    }

private:
    bool post_slot(std::size_t i)
    {
        std::byte *from = buffer_.data() + i * slot_bytes;
        fill(from, slot_bytes, static_cast<unsigned>(++stamp_));
        auto w = std::make_unique<waiter>();
        const ufx_status_t put =
            ufx_ucp_put(pair_.a.ep, from, slot_bytes, pair_.a.peer_addr + i * slot_bytes,
                        pair_.a.peer_key, &w->params, nullptr);
        if (put < 0) {
            return false;
        }
        w->posted(put);
        retire(std::move(puts_[i]));
        puts_[i] = std::move(w);
        auto m = std::make_unique<waiter>();
        const std::uint64_t number = sent_;
        const ufx_status_t am = ufx_ucp_am_send(pair_.a.ep, am_id, &number, sizeof(number), nullptr,
                                                0, &m->params, nullptr);
        if (am < 0) {
            return false;
        }
        m->posted(am);
        ++sent_;
        ams_.push_back(std::move(m));
        return true;
    }
    void count(const waiter &w)
    {
        ++completed_;
        failed_ += w.status != UFX_OK ? 1 : 0;
    }
    void retire(std::unique_ptr<waiter> w)
    {
        if (w != nullptr) {
            count(*w);
            old_.push_back(std::move(w));
        }
    }

public:
    void reap()
    {
        std::size_t done = 0;
        while (done < ams_.size() && ams_[done]->is_done()) {
            count(*ams_[done]);
            old_.push_back(std::move(ams_[done]));
            ++done;
        }
        ams_.erase(ams_.begin(), ams_.begin() + static_cast<std::ptrdiff_t>(done));
    }

private:
    bool all_done() const
    {
        for (const auto &w : puts_) {
            if (w != nullptr && !w->is_done()) {
                return false;
            }
        }
        return ams_.empty() && received_ == sent_;
    }
    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<traffic *>(arg);
        std::uint64_t number = 0;
        if (am->header_length == sizeof(number)) {
            std::memcpy(&number, am->header, sizeof(number));
        }
        self.in_order_ = self.in_order_ && number == self.received_;
        ++self.received_;
        return UFX_OK;
    }

    pair &pair_;
    std::vector<std::byte> buffer_;
    std::unique_ptr<waiter> puts_[slots];
    std::vector<std::unique_ptr<waiter>> ams_;
    std::vector<std::unique_ptr<waiter>> old_; // kept, so that a second callback can come
    std::uint64_t stamp_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t completed_ = 0;
    std::uint64_t failed_ = 0;
    bool in_order_ = true;
};

} // namespace ufx::test

#endif
