// SPDX-License-Identifier: BSD-3-Clause
// Cases of the probe with memory: registered anew, and pieces that are too long.
#include "probe.h"

#include <cstring>

namespace ufx::test {

namespace {

constexpr size_t page = 4096;
constexpr int full_access =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct buffer {
    alignas(page) std::array<uint8_t, page> bytes{};

    [[nodiscard]] uint64_t at() const { return reinterpret_cast<uintptr_t>(bytes.data()); }
};

// A pair that writes into a region of its own, once: it may fail by that.
class writer {
public:
    writer()
    {
        one_.connect_pair();
        region_ = ibv_reg_mr(one_.domain(), first_.bytes.data(), page, full_access);
    }

    ~writer()
    {
        ibv_dereg_mr(region_);
        if (other_domain_ != nullptr) {
            ibv_dealloc_pd(other_domain_);
        }
    }

    writer(const writer &) = delete;
    writer &operator=(const writer &) = delete;

    // What the region becomes.
    [[nodiscard]] bool change_access(int access)
    {
        return ibv_rereg_mr(region_, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, access) == 0;
    }

    [[nodiscard]] bool move()
    {
        return ibv_rereg_mr(region_, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, second_.bytes.data(),
                            page, 0) == 0;
    }

    [[nodiscard]] bool change_domain()
    {
        other_domain_ = ibv_alloc_pd(one_.context());
        return other_domain_ != nullptr &&
               ibv_rereg_mr(region_, IBV_REREG_MR_CHANGE_PD, other_domain_, nullptr, 0, 0) == 0;
    }

    // The status of a write.
    [[nodiscard]] int to_first() { return write(first_); }

    [[nodiscard]] int to_second() { return write(second_); }

    [[nodiscard]] bool landed_in_second() const { return second_.bytes[0] != 0; }

    [[nodiscard]] bool first_is_untouched() const { return first_.bytes[0] == 0; }

    [[nodiscard]] ibv_mr *region() { return region_; }

private:
    int write(const buffer &to)
    {
        std::memset(reinterpret_cast<void *>(one_.address()), 1, sizeof(uint64_t));
        return one_.post_write(one_.first(), to.at(), region_->rkey) ? one_.wait() : -1;
    }

    probe one_;
    buffer first_, second_;
    ibv_mr *region_ = nullptr;
    ibv_pd *other_domain_ = nullptr;
};

verdict registered_anew()
{
    writer rights;
    if (rights.to_first() != IBV_WC_SUCCESS || !rights.change_access(IBV_ACCESS_REMOTE_READ)) {
        return "the rights of a region could not be changed";
    }
    if (rights.to_first() != IBV_WC_REM_ACCESS_ERR) {
        return "a region grants what was taken away";
    }
    writer moved;
    if (!moved.move() || moved.to_second() != IBV_WC_SUCCESS || !moved.landed_in_second()) {
        return "a region did not move";
    }
    if (moved.to_first() != IBV_WC_REM_ACCESS_ERR || !moved.first_is_untouched()) {
        return "a region that has moved is still where it was";
    }
    writer given_away;
    if (!given_away.change_domain() || given_away.to_first() != IBV_WC_REM_ACCESS_ERR) {
        return "a region is not in the other protection domain";
    }
    return nullptr;
}

// What cannot be leaves the region as it was.
verdict not_registered_anew()
{
    writer one;
    if (one.change_access(IBV_ACCESS_REMOTE_WRITE)) { // without a local write
        return "a region took rights that there are not";
    }
    auto *nowhere = reinterpret_cast<void *>(page);
    if (ibv_rereg_mr(one.region(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, page, 0) ==
            0 ||
        ibv_rereg_mr(one.region(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nowhere, page, 0) ==
            0) {
        return "a region moved to where no memory is";
    }
    return one.to_first() == IBV_WC_SUCCESS ? nullptr : "a region is not what it was";
}

// The provider writes the length as it is, with the bit that means inline data.
verdict two_gigabytes()
{
    probe one;
    one.connect_pair();
    constexpr uint32_t bytes = 1u << 31;
    return one.post_write(one.first(), one.address(), one.key(), bytes) &&
                   one.wait() == IBV_WC_LOC_LEN_ERR
               ? nullptr
               : "a request of 2 GB did not fail by its length";
}

} // namespace

const std::array<probe_case, 3> region_cases = {{
    {"registered-anew", registered_anew},
    {"not-registered-anew", not_registered_anew},
    {"two-gigabytes", two_gigabytes},
}};

} // namespace ufx::test
