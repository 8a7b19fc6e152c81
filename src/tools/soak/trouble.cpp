// SPDX-License-Identifier: BSD-3-Clause
// A fault lasts 20 to 220 ms, and the next one comes 50 to 450 ms later, unless there is a storm.
#include "tools/soak/trouble.h"

#include "tools/common/error.h"
#include "tools/failover/hca_fault_table.h"

#include <algorithm>
#include <iterator>

namespace ufx::tools::soak {

namespace {

constexpr uint64_t MS = 1'000'000;
constexpr unsigned AT_ONCE = 3; ///< in a storm
constexpr unsigned BY_UFX = 6;  ///< one fault of so many

/** Beside those of the table. */
constexpr failover::hca_fault OF_STORMS[] = {
    {"packets twice", {"until 60ms hca %d duplicate probability 0.05"}, {}},
    {"packets kept", {"hca %d hold"}, {"hca %d release"}},
    {"packets of the dead", {"hca %d hold", "hca %o qp-error"}, {"hca %d release"}},
    {"completions late", {"until 60ms hca %d hold-cqe 5ms probability 0.1"}, {}},
    {"no change of state", {"hca %d fail-modify-qp EIO count 3", "hca %d qp-error"}, {}},
    {"an old position", {"hca %d stale-query-qp count 2", "hca %d qp-error"}, {}},
    {"numbers again", {"hca %d reuse-qpn", "hca %d qp-error"}, {}},
    {"no device",
     {"until 60ms hca %d fail-open-device ENOMEM", "hca %d device-fatal"},
     {"hca %d device-reset"}},
    {"receive queue broken", {"hca %d event SRQ_ERR"}, {}},
    {"landed, not counted",
     {"until 60ms hca %d stray-write count 3", "until 20ms hca %d drop responses"},
     {}},
    {"far away", {"hca %d latency 2ms"}, {"hca %d latency 0us"}},
    {"no buffers", {"hca %d error-cqe RNR_RETRY_EXC_ERR count 1"}, {}},
};

bool kills_device(const failover::hca_fault &fault)
{
    return std::any_of(std::begin(fault.rules), std::end(fault.rules), [](const char *rule) {
        return rule != nullptr && std::string(rule).find("device-fatal") != std::string::npos;
    });
}

} // namespace

trouble::trouble(ucp_session &first, ucp_session &second, const std::array<std::string, 2> &rails,
                 bool storm)
    : ends_{&first, &second}, storm_(storm)
{
    for (unsigned i = 0; i < rails.size(); ++i) {
        devices_[i] = failover::hca_numbers(rails[i]);
    }
    if (!devices_[0].empty() && !devices_[1].empty()) {
        line_ = std::make_unique<failover::fault_line>();
    }
}

void trouble::step(uint64_t now, std::mt19937_64 &chance)
{
    if (now < due_) {
        return;
    }
    if (ends_now(chance)) {
        mend();
        due_ = now + pause_ms(50, 400, chance) * MS;
    } else if (due_ != 0) {
        begin(chance);
        ++count_;
        due_ = now + pause_ms(20, 200, chance) * MS;
    } else {
        due_ = now + 100 * MS; // something is under way by then
    }
}

bool trouble::ends_now(std::mt19937_64 &chance) const
{
    return under_way_ != 0 && (!storm_ || under_way_ == AT_ONCE || chance() % 2 == 0);
}

/** In a storm as often short as long, whatever that is. */
uint64_t trouble::pause_ms(unsigned least, unsigned span, std::mt19937_64 &chance) const
{
    constexpr unsigned magnitudes = 11; // up to 2^10 ms
    return storm_ ? 1 + chance() % (uint64_t{1} << chance() % magnitudes) : least + chance() % span;
}

void trouble::begin(std::mt19937_64 &chance)
{
    ++under_way_;
    if (line_ == nullptr || (storm_ && chance() % BY_UFX == 0)) {
        if (storm_ && chance() % 2 == 0) {
            drain(chance);
        } else {
            cut(chance);
        }
        return;
    }
    const unsigned end = chance() % 2;
    int hit = devices_[end][chance() % devices_[end].size()];
    const int other = devices_[1 - end][chance() % devices_[1 - end].size()];
    const auto faults = failover::hca_faults();
    const size_t chosen = chance() % (faults.size() + (storm_ ? std::size(OF_STORMS) : 0));
    const failover::hca_fault &fault =
        chosen < faults.size() ? faults[chosen] : OF_STORMS[chosen - faults.size()];
    // What is registered with no device that lives is out of reach, and its operations end so.
    hit = storm_ && kills_device(fault) ? devices_[end].front() : hit;
    for (const char *rule : fault.rules) {
        if (rule != nullptr) {
            line_->apply(failover::fill_rule(rule, hit, other));
        }
    }
    for (const char *rule : fault.mends) {
        if (rule != nullptr) {
            mends_.push_back(failover::fill_rule(rule, hit, other));
        }
    }
}

/** One rail, or all of them. */
void trouble::cut(std::mt19937_64 &chance)
{
    const unsigned end = chance() % 2;
    const auto rails = ends_[end]->rails();
    const size_t chosen = chance() % (rails.size() + 1);
    is_cut_ = true;
    for (size_t i = 0; i < rails.size(); ++i) {
        if (chosen == i || chosen == rails.size()) {
            set_link(end, rails[i].name, 0);
        }
    }
}

/** As an administrator does. */
void trouble::drain(std::mt19937_64 &chance)
{
    const unsigned end = chance() % 2;
    const auto rails = ends_[end]->rails();
    const std::string rail = rails[chance() % rails.size()].name;
    check(ufx_ucp_rail_drain(ends_[end]->worker(), rail.c_str()), "cannot drain " + rail);
    drained_.emplace_back(end, rail);
}

void trouble::set_link(unsigned end, const std::string &rail, int up)
{
    check(ufx_ucp_rail_set_link(ends_[end]->worker(), rail.c_str(), up), "cannot cut " + rail);
}

void trouble::mend()
{
    under_way_ = 0;
    if (line_ != nullptr) {
        mends_.push_back("clear");
        for (const std::string &rule : mends_) {
            line_->apply(rule);
        }
        mends_.clear();
    }
    for (const auto &[end, rail] : drained_) {
        check(ufx_ucp_rail_resume(ends_[end]->worker(), rail.c_str()), "cannot resume " + rail);
    }
    drained_.clear();
    if (!is_cut_) {
        return;
    }
    is_cut_ = false;
    for (unsigned end = 0; end < ends_.size(); ++end) {
        for (const ufx_ucp_rail_attr_t &rail : ends_[end]->rails()) {
            set_link(end, rail.name, 1);
        }
    }
}

} // namespace ufx::tools::soak
