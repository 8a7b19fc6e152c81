// SPDX-License-Identifier: BSD-3-Clause
// A fault lasts 20 to 220 ms, and the next one comes 50 to 450 ms later.
#include "tools/soak/trouble.h"

#include "tools/common/error.h"
#include "tools/failover/hca_fault_table.h"

namespace ufx::tools::soak {

namespace {

constexpr uint64_t MS = 1'000'000;

} // namespace

trouble::trouble(ucp_session &first, ucp_session &second, const std::array<std::string, 2> &rails)
    : ends_{&first, &second}
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
    if (is_broken_) {
        mend();
        due_ = now + (50 + chance() % 400) * MS;
    } else if (due_ != 0) {
        begin(chance);
        ++count_;
        due_ = now + (20 + chance() % 200) * MS;
    } else {
        due_ = now + 100 * MS; // something is under way by then
    }
}

void trouble::begin(std::mt19937_64 &chance)
{
    is_broken_ = true;
    if (line_ == nullptr) {
        cut(chance);
        return;
    }
    const unsigned end = chance() % 2;
    const int hit = devices_[end][chance() % devices_[end].size()];
    const int other = devices_[1 - end][chance() % devices_[1 - end].size()];
    const auto faults = failover::hca_faults();
    const failover::hca_fault &fault = faults[chance() % faults.size()];
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
    for (size_t i = 0; i < rails.size(); ++i) {
        if (chosen == i || chosen == rails.size()) {
            set_link(end, rails[i].name, 0);
        }
    }
}

void trouble::set_link(unsigned end, const std::string &rail, int up)
{
    check(ufx_ucp_rail_set_link(ends_[end]->worker(), rail.c_str(), up), "cannot cut " + rail);
}

void trouble::mend()
{
    is_broken_ = false;
    if (line_ != nullptr) {
        mends_.push_back("clear");
        for (const std::string &rule : mends_) {
            line_->apply(rule);
        }
        mends_.clear();
        return;
    }
    for (unsigned end = 0; end < ends_.size(); ++end) {
        for (const ufx_ucp_rail_attr_t &rail : ends_[end]->rails()) {
            set_link(end, rail.name, 1);
        }
    }
}

} // namespace ufx::tools::soak
