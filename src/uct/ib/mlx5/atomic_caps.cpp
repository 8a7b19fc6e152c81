// SPDX-License-Identifier: BSD-3-Clause
// The command QUERY_HCA_CAP for the capabilities of atomics, as the ConnectX programmer's manual
// lays it out; the kernel puts queue pairs into the extended mode where the device has it.
#include "atomic_caps.h"

#include "ucs/bytes.h"

#include <infiniband/mlx5dv.h>

#include <array>
#include <cstddef>

namespace ufx::uct::ib::mlx5 {

namespace {

constexpr uint16_t query_hca_cap = 0x100;
constexpr uint16_t current_atomic_caps = 3 << 1 | 1;
constexpr size_t answer_header = 16;
constexpr size_t caps_size = 4096;
constexpr size_t operations_at = answer_header + 0x90 / 8;
constexpr size_t sizes_at = answer_header + 0xb0 / 8;
constexpr uint16_t masked_both = 1 << 2 | 1 << 3;      // compare-and-swap, fetch-and-add
constexpr uint16_t words_of_4_and_8 = 1 << 2 | 1 << 3; // a bit is a size, by its logarithm

} // namespace

bool has_extended_atomics(ibv_context *context) noexcept
{
    std::array<std::byte, 16> command{};
    std::array<std::byte, answer_header + caps_size> answer{};
    ucs::store_be<uint16_t>(command.data(), query_hca_cap);
    ucs::store_be<uint16_t>(command.data() + 6, current_atomic_caps);
    if (mlx5dv_devx_general_cmd(context, command.data(), command.size(), answer.data(),
                                answer.size()) != 0) {
        return false;
    }
    const auto has = [&answer](size_t at, uint16_t bits) {
        return (ucs::load_be<uint16_t>(answer.data() + at) & bits) == bits;
    };
    return has(operations_at, masked_both) && has(sizes_at, words_of_4_and_8);
}

} // namespace ufx::uct::ib::mlx5
