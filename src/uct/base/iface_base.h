// SPDX-License-Identifier: BSD-3-Clause
// What the ifaces of all transports share: progress, eps, handlers, pending requests, flush.
#ifndef UFX_UCT_BASE_IFACE_BASE_H
#define UFX_UCT_BASE_IFACE_BASE_H

#include "am_table.h"
#include "ep_base.h"

#include "ucs/log.h"
#include "ucs/owner.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ufx::uct {

// The fields of the params that every transport keeps.
struct iface_callbacks {
    explicit iface_callbacks(const ufx_uct_iface_params_t &params) noexcept;

    ufx_uct_worker_h worker = nullptr;
    ufx_uct_err_handler_t err_handler = nullptr;
    void *err_handler_arg = nullptr;
    ufx_uct_iface_event_cb_t event_cb = nullptr;
    void *event_cb_arg = nullptr;
};

template <class Iface>
inline constexpr ufx_uct_iface_ops_t iface_ops = make_iface_ops<Iface>();

// A transport derives `class my_iface : public iface_base<my_iface, my_ep>` and gives
//   unsigned poll() noexcept      one bounded round of its own progress
//   ucs::result<ucs::owner<my_ep>> create_ep(const ufx_uct_ep_params_t &)
// and, if it can tell more cheaply that poll() would do nothing:
//   bool is_idle() const noexcept     asked only while attention_ is 0
// and the slots of its own (query, addresses, event fd). Progress is: poll, then errors and cancels
// that wait, then pending requests, then flushes; an ep that is destroyed meanwhile is freed last.
template <class Iface, class Ep>
class iface_base : public ufx_uct_iface {
public:
    iface_base(const iface_base &) = delete;
    iface_base &operator=(const iface_base &) = delete;

    // ---- Slots of the ops table --------------------------------------------------------------

    void close() noexcept
    {
        while (!eps_.empty()) {
            eps_.back()->destroy(); // left over by the user
        }
        if (callbacks_.worker != nullptr) {
            callbacks_.worker->ops->detach(callbacks_.worker, this);
        }
        delete &self();
    }

    unsigned progress() noexcept
    {
        if constexpr (requires { self().is_idle(); }) {
            if (attention_ == 0 && self().is_idle()) [[likely]] {
                return 0;
            }
        }
        return progress_some();
    }

    ufx_status_t flush(unsigned flags, ufx_uct_completion_t *comp)
    {
        if ((flags & ~unsigned{UFX_UCT_FLUSH_REMOTE}) != 0) {
            return UFX_ERR_INVALID_PARAM;
        }
        flush_wait wait{comp, {}};
        for (Ep *ep : eps_) {
            if (!ep->is_failed() && !ep->queue().empty()) {
                wait.until.emplace_back(ep, ep->queue().next());
            }
        }
        if (wait.until.empty()) {
            return UFX_OK;
        }
        if (comp != nullptr) {
            flushes_.push_back(std::move(wait));
            attention_ |= for_base;
        }
        return UFX_INPROGRESS;
    }

    ufx_status_t set_am_handler(uint8_t id, ufx_uct_am_cb_t cb, void *arg) noexcept
    {
        return ams_.set(id, cb, arg);
    }

    ufx_status_t query_stats(ufx_uct_iface_stats_t *stats) noexcept
    {
        *stats = gone_;
        for (const Ep *ep : eps_) {
            add_stats(*stats, ep->queue());
            stats->outstanding_ops += ep->queue().size();
            stats->outstanding_bytes += ep->queue().bytes();
        }
        stats->tx_bytes += tx_bytes_;
        stats->rx_bytes += rx_bytes_;
        stats->rx_ams = ams_.count();
        stats->pending_reqs = pending_.size();
        stats->eps = eps_.size();
        return UFX_OK;
    }

    ufx_status_t ep_create(const ufx_uct_ep_params_t *params, ufx_uct_ep_h *ep)
    {
        static constexpr ufx_uct_ep_params_t none{};
        const size_t need = eps_.size() + graveyard_.size() + 1;
        make_room(eps_, need);
        make_room(attention_eps_, need);
        make_room(graveyard_, need);
        auto created = self().create_ep(params == nullptr ? none : *params);
        if (!created) {
            return created.error();
        }
        Ep *object = std::move(created).value().release();
        object->slot = eps_.size();
        eps_.push_back(object);
        *ep = object;
        return UFX_OK;
    }

    // ---- For the eps -------------------------------------------------------------------------

    [[nodiscard]] bool in_progress() const noexcept { return in_progress_; }

    [[nodiscard]] pending_arbiter &pending() noexcept { return pending_; }

    [[nodiscard]] const std::vector<Ep *> &eps() const noexcept { return eps_; }

    [[nodiscard]] am_table &ams() noexcept { return ams_; }

    // The slow part of the next progress has something to do.
    void need_attention() noexcept { attention_ |= for_base; }

    void add_attention(Ep &ep) noexcept
    {
        attention_eps_.push_back(&ep);
        attention_ |= for_base;
    }

    // Takes a destroyed ep out of all lists and frees it, inside progress only at its end.
    void remove(Ep &ep) noexcept
    {
        add_stats(gone_, ep.queue());
        eps_.back()->slot = ep.slot;
        std::swap(eps_[ep.slot], eps_.back());
        eps_.pop_back();
        std::erase(attention_eps_, &ep);
        for (flush_wait &wait : flushes_) {
            std::erase_if(wait.until, [&](const auto &entry) { return entry.first == &ep; });
        }
        if (in_progress_) {
            graveyard_.push_back(&ep);
            attention_ |= for_base;
        } else {
            delete &ep;
        }
    }

    ufx_status_t tell_error(ufx_uct_ep &ep, const ufx_uct_error_t &error) noexcept
    {
        if (callbacks_.err_handler == nullptr) {
            ufx_warn("ep failed (%s): %s", ufx_ucs_status_name(error.status), error.text);
            return UFX_OK;
        }
        return callbacks_.err_handler(callbacks_.err_handler_arg, &ep, &error);
    }

protected:
    explicit iface_base(const ufx_uct_iface_params_t &params)
        : ufx_uct_iface{&iface_ops<Iface>}, callbacks_(params)
    {
    }

    ~iface_base() = default;

    // The last step of opening: from here on the worker progresses this iface.
    [[nodiscard]] ufx_status_t attach() noexcept
    {
        if (callbacks_.worker == nullptr) {
            return UFX_OK;
        }
        return callbacks_.worker->ops->attach(callbacks_.worker, this);
    }

    // From progress only.
    void tell_event(ufx_uct_iface_event_type_t type, ufx_uct_error_cause_t cause,
                    const char *text) noexcept
    {
        if (callbacks_.event_cb != nullptr) {
            ufx_uct_iface_event_t event{0, type, cause, text};
            callbacks_.event_cb(callbacks_.event_cb_arg, this, &event);
        }
    }

    [[nodiscard]] ufx_uct_worker_h worker() const noexcept { return callbacks_.worker; }

    // Capability bits of the methods; the iface adds its properties and masks what its device
    // lacks.
    [[nodiscard]] static constexpr uint64_t caps() noexcept { return method_caps<Ep, Iface>(); }

    // For event_arm: true if the next progress has something to do that no event announces. What
    // is only blocked (requests without room, flushes of ops that are not over) does not count, or
    // a sleeper would spin.
    [[nodiscard]] bool must_progress() noexcept
    {
        return !attention_eps_.empty() || std::any_of(eps_.begin(), eps_.end(), [](Ep *ep) {
            return ep->may_run_pending();
        }) || std::any_of(flushes_.begin(), flushes_.end(), [](const flush_wait &wait) {
            return wait.is_over();
        });
    }

    // Why the next progress has more to do than an ordinary poll(): bits of attend(), and of the
    // transport, which sets and clears its own.
    static constexpr uint8_t for_base = 1;
    static constexpr uint8_t for_transport = 2;
    uint8_t attention_ = 0;

    am_table ams_;
    uint64_t tx_bytes_ = 0;
    uint64_t rx_bytes_ = 0;

private:
    // Waits until each ep's queue has passed a position.
    struct flush_wait {
        ufx_uct_completion_t *comp;
        std::vector<std::pair<Ep *, uint64_t>> until;

        [[nodiscard]] bool is_over() const noexcept
        {
            return std::all_of(until.begin(), until.end(), [](const auto &entry) {
                return entry.first->is_failed() || entry.first->queue().first() >= entry.second;
            });
        }
    };

    Iface &self() noexcept { return static_cast<Iface &>(*this); }

    [[gnu::noinline]] unsigned progress_some() noexcept
    {
        if (in_progress_) [[unlikely]] {
            return 0; // a handler called progress
        }
        in_progress_ = true;
        unsigned count = self().poll();
        if ((attention_ & for_base) != 0) [[unlikely]] {
            count += attend();
        }
        in_progress_ = false;
        return count;
    }

    static void add_stats(ufx_uct_iface_stats_t &stats, const op_queue &queue) noexcept
    {
        stats.posted += queue.posted();
        stats.completed += queue.completed();
        stats.failed += queue.failed();
    }

    // So that failing and destroying an ep allocate nothing.
    static void make_room(std::vector<Ep *> &eps, size_t need)
    {
        if (eps.capacity() < need) {
            eps.reserve(2 * need);
        }
    }

    [[gnu::cold]] unsigned attend() noexcept
    {
        unsigned count = 0;
        // By index: a handler may fail other eps, which are added behind.
        for (size_t i = attention_eps_.size(); i > 0 && !attention_eps_.empty(); --i) {
            Ep *ep = attention_eps_.front();
            attention_eps_.erase(attention_eps_.begin());
            ep->deliver();
            ++count;
        }
        count += pending_.dispatch([](const pending_group &group, ufx_uct_pending_req_t *req) {
            return Ep::of(group).run_pending(req);
        });
        count += finish_flushes();
        for (Ep *ep : graveyard_) {
            delete ep;
        }
        graveyard_.clear();
        if (attention_eps_.empty() && pending_.empty() && flushes_.empty()) {
            attention_ &= static_cast<uint8_t>(~for_base);
        }
        return count;
    }

    unsigned finish_flushes() noexcept
    {
        unsigned count = 0;
        for (size_t i = 0; i < flushes_.size();) {
            if (!flushes_[i].is_over()) {
                ++i;
                continue;
            }
            ufx_uct_completion_t *comp = flushes_[i].comp;
            flushes_.erase(flushes_.begin() + static_cast<ptrdiff_t>(i));
            finish(comp, UFX_OK);
            ++count;
        }
        return count;
    }

    iface_callbacks callbacks_;
    pending_arbiter pending_;
    std::vector<Ep *> eps_;
    std::vector<Ep *> attention_eps_; // errors and cancels to deliver, oldest first
    std::vector<Ep *> graveyard_;     // destroyed inside progress
    std::vector<flush_wait> flushes_;
    ufx_uct_iface_stats_t gone_{}; // of eps that are gone
    bool in_progress_ = false;
};

} // namespace ufx::uct

#endif
