// SPDX-License-Identifier: BSD-3-Clause
// Finds an ep by the number of its queue pair.
#ifndef UFX_UCT_IB_COMMON_QP_TABLE_H
#define UFX_UCT_IB_COMMON_QP_TABLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ufx::uct::ib {

// 24-bit numbers in two levels.
template <class T>
class qp_table {
public:
    // Throws bad_alloc.
    void add(uint32_t qpn, T &object)
    {
        auto &page = pages_[qpn >> page_bits];
        if (page == nullptr) {
            page = std::make_unique<page_type>();
        }
        (*page)[qpn & page_mask] = &object;
    }

    void remove(uint32_t qpn) noexcept
    {
        if (pages_[qpn >> page_bits] != nullptr) {
            (*pages_[qpn >> page_bits])[qpn & page_mask] = nullptr;
        }
    }

    // nullptr: none of that number. `qpn` has at most 24 bits.
    [[nodiscard]] T *find(uint32_t qpn) const noexcept
    {
        const page_type *page = pages_[qpn >> page_bits].get();
        return page == nullptr ? nullptr : (*page)[qpn & page_mask];
    }

private:
    static constexpr unsigned page_bits = 12;
    static constexpr uint32_t page_mask = (1u << page_bits) - 1;

    using page_type = std::array<T *, size_t{1} << page_bits>;

    std::array<std::unique_ptr<page_type>, size_t{1} << (24 - page_bits)> pages_;
};

} // namespace ufx::uct::ib

#endif
