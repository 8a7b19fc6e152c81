// SPDX-License-Identifier: BSD-3-Clause
// The AM window.
#include "ucp/core/window.h"

#include "ucp/core/mutant.h"

#include <bit>

namespace ufx::ucp::core {

namespace {

void shift_right(window::map &map, unsigned by)
{
    const unsigned words = by / 64;
    const unsigned rest = by % 64;
    for (unsigned i = 0; i < map.size(); ++i) {
        const unsigned from = i + words;
        std::uint64_t value = from < map.size() ? map[from] >> rest : 0;
        if (rest != 0 && from + 1 < map.size()) {
            value |= map[from + 1] << (64 - rest);
        }
        map[i] = value;
    }
}

unsigned trailing_ones(const window::map &map)
{
    unsigned ones = 0;
    for (const std::uint64_t word : map) {
        const auto here = static_cast<unsigned>(std::countr_one(word));
        ones += here;
        if (here != 64) {
            break;
        }
    }
    return ones;
}

} // namespace

bool window::covers(am_number n) const
{
    if (mutated(mutant::ONE_WATERMARK)) {
        return n < end();
    }
    return n < next_ || (n > next_ && test(n));
}

window::arrival window::enter_ahead(am_number n)
{
    const arrival what = look(n);
    if (what != arrival::FRESH) {
        return what;
    }
    if (n == next_) {
        const unsigned run = trailing_ones(map_);
        next_ += 1 + run;
        ahead_ -= run;
        if (run == bits) {
            map_ = {};
        } else {
            shift_right(map_, run + 1);
        }
    } else {
        const am_number bit = n - next_ - 1;
        map_[bit / 64] |= std::uint64_t{1} << (bit % 64);
        ++ahead_;
    }
    return what;
}

am_number window::end() const
{
    if (ahead_ == 0) {
        return next_;
    }
    for (unsigned i = static_cast<unsigned>(map_.size()); i-- > 0;) {
        if (map_[i] != 0) {
            return next_ + 1 + i * 64 + 64 - static_cast<unsigned>(std::countl_zero(map_[i]));
        }
    }
    return next_;
}

window window::from(am_number next, const map &bits)
{
    window w;
    w.next_ = next;
    w.map_ = bits;
    for (const std::uint64_t word : bits) {
        w.ahead_ += static_cast<unsigned>(std::popcount(word));
    }
    return w;
}

} // namespace ufx::ucp::core
