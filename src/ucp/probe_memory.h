// SPDX-License-Identifier: BSD-3-Clause
// Registered memory in which a rail is probed: a place for each probe lane, of its own.
#ifndef UFX_UCP_PROBE_MEMORY_H
#define UFX_UCP_PROBE_MEMORY_H

#include "ucs/result.h"

#include <ufx/uct.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ufx::ucp {

// Grows with the number of probes at a time, and does not shrink. One thread.
class probe_memory {
public:
    static constexpr std::size_t place_bytes = 64;
    static constexpr unsigned places_per_block = 64;

    // `registers`: the domain registers memory; else there are places, but nothing reaches them.
    // Again with another domain while no place is taken.
    void open(ufx_uct_md_h md, bool registers);
    void close() noexcept;
    probe_memory() = default;
    ~probe_memory();
    probe_memory(const probe_memory &) = delete;
    probe_memory &operator=(const probe_memory &) = delete;

    // The lowest that is free. Throws bad_alloc.
    [[nodiscard]] ucs::result<unsigned> take();
    void give_back(unsigned place) noexcept;

    // Where the peer writes and reads.
    [[nodiscard]] std::uint8_t *target(unsigned place) const;
    // For own writes and reads of that probe.
    [[nodiscard]] std::uint8_t *scratch(unsigned place) const;
    [[nodiscard]] ufx_uct_mem_h memh(unsigned place) const;

private:
    static constexpr std::size_t half = place_bytes * places_per_block;
    struct block {
        alignas(64) std::array<std::uint8_t, 2 * half> bytes{}; // targets, then scratches
        ufx_uct_mem_h memh = nullptr;
    };
    ufx_status_t add_block();

    ufx_uct_md_h md_ = nullptr;
    bool registers_ = false;
    std::vector<std::unique_ptr<block>> blocks_;
    std::vector<bool> taken_;
};

} // namespace ufx::ucp

#endif
