// SPDX-License-Identifier: BSD-3-Clause
// prng: small seedable generator of pseudo-random numbers; not for secrets.
#ifndef UFX_UCS_PRNG_H
#define UFX_UCS_PRNG_H

#include <cstdint>

namespace ufx::ucs {

// SplitMix64 (Steele, Lea, Flood 2014): every seed gives a full period of 2^64.
class prng {
public:
    explicit constexpr prng(uint64_t seed) noexcept : state_(seed) {}

    constexpr uint64_t next() noexcept
    {
        state_ += 0x9e3779b97f4a7c15u;
        uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return mixed ^ (mixed >> 31);
    }

    // Evenly in [0, bound); 0 for bound 0.
    constexpr uint64_t below(uint64_t bound) noexcept
    {
        return static_cast<uint64_t>(static_cast<uint128>(next()) * bound >> 64);
    }

private:
    __extension__ using uint128 = unsigned __int128;

    uint64_t state_;
};

} // namespace ufx::ucs

#endif
