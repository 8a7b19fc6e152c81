// SPDX-License-Identifier: BSD-3-Clause
// An ep that can close its side for good and hand out what is outstanding with verdicts.
#ifndef UFX_UCT_BASE_FAILOVER_EP_H
#define UFX_UCT_BASE_FAILOVER_EP_H

#include "ep_base.h"

namespace ufx::uct {

// The transport gives, besides what ep_base asks for:
//   ufx_status_t make_quiet(ufx_uct_completion_t *quiet) noexcept
//       for invalidate (uct.h); quiesce() was called before
//   ucs::result<my_position> parse_token(const void *token, size_t length) const noexcept
//       from the peer's rx token, whose bytes are not trusted
//   extent judge(const op_record &, uint64_t index, const my_position &, size_t &partial) const
//       noexcept; never asked for a flush; `partial` is written for extent::partial
template <class Ep, class Iface>
class failover_ep : public ep_base<Ep, Iface> {
public:
    ufx_status_t invalidate(ufx_uct_completion_t *quiet)
    {
        this->defer_silently(error_of(UFX_ERR_SHUTDOWN, UFX_UCT_CAUSE_INVALIDATED, "invalidated"));
        return self().make_quiet(quiet);
    }

    ufx_status_t outstanding_purge(ufx_uct_token_grade_t grade, const void *rx_token,
                                   size_t rx_token_length, ufx_uct_purge_cb_t cb, void *arg)
    {
        if (this->state() != UFX_UCT_EP_DEFERRED || cb == nullptr) {
            return UFX_ERR_INVALID_PARAM;
        }
        ufx_status_t status = purge_by(grade, rx_token, rx_token_length, cb, arg);
        if (status == UFX_OK && this->state() == UFX_UCT_EP_DEFERRED) {
            this->set_purged();
        }
        return status;
    }

protected:
    using ep_base<Ep, Iface>::ep_base;
    ~failover_ep() = default;

private:
    Ep &self() noexcept { return static_cast<Ep &>(*this); }

    ufx_status_t purge_by(ufx_uct_token_grade_t grade, const void *rx_token, size_t rx_token_length,
                          ufx_uct_purge_cb_t cb, void *arg)
    {
        auto same_for_all = [&](ufx_uct_verdict_t verdict) {
            return this->queue_.purge(
                [verdict](const op_record &, uint64_t, size_t &) { return verdict; }, cb, arg);
        };
        if (grade != UFX_UCT_GRADE_EXACT) {
            return same_for_all(UFX_UCT_VERDICT_UNKNOWN);
        }
        if (rx_token_length == 0) {
            return same_for_all(UFX_UCT_VERDICT_NOT_LANDED);
        }
        auto position = self().parse_token(rx_token, rx_token_length);
        if (!position) {
            return position.error();
        }
        auto judge = [&](const op_record &record, uint64_t index, size_t &bytes) {
            size_t partial = 0;
            extent done = gap_ ? extent::none : extent::whole;
            if (!record.is_flush()) {
                done = self().judge(record, index, *position, partial);
                gap_ = gap_ || done != extent::whole;
            }
            ufx_uct_verdict_t verdict = verdict_of(record, done);
            bytes = verdict == UFX_UCT_VERDICT_PARTIAL ? partial : 0;
            return verdict;
        };
        return this->queue_.purge(judge, cb, arg);
    }

    // Something that was handed out has not landed: so no flush behind it is over either.
    bool gap_ = false;
};

} // namespace ufx::uct

#endif
