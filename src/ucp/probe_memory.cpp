// SPDX-License-Identifier: BSD-3-Clause
// Blocks of probe places, and which are taken.
#include "ucp/probe_memory.h"

#include <algorithm>
#include <utility>

namespace ufx::ucp {

void probe_memory::open(ufx_uct_md_h md, bool registers)
{
    close();
    md_ = md;
    registers_ = registers;
}

probe_memory::~probe_memory()
{
    close();
}

void probe_memory::close() noexcept
{
    for (const auto &one : blocks_) {
        if (registers_) {
            (void)ufx_uct_md_mem_dereg(md_, one->memh);
        }
    }
    blocks_.clear();
    taken_.clear();
}

ufx_status_t probe_memory::add_block()
{
    auto made = std::make_unique<block>();
    blocks_.reserve(blocks_.size() + 1);
    taken_.reserve(taken_.size() + places_per_block);
    if (registers_) {
        ufx_uct_mem_params_t params{};
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        params.address = made->bytes.data();
        params.length = made->bytes.size();
        const ufx_status_t status = ufx_uct_md_mem_reg(md_, &params, &made->memh);
        if (status != UFX_OK) {
            return status;
        }
    }
    blocks_.push_back(std::move(made));
    taken_.resize(taken_.size() + places_per_block);
    return UFX_OK;
}

ucs::result<unsigned> probe_memory::take()
{
    auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) {
        const auto next = static_cast<std::ptrdiff_t>(taken_.size());
        if (const ufx_status_t status = add_block(); status != UFX_OK) {
            return status;
        }
        free = taken_.begin() + next;
    }
    *free = true;
    return static_cast<unsigned>(free - taken_.begin());
}

void probe_memory::give_back(unsigned place) noexcept
{
    taken_[place] = false;
}

std::uint8_t *probe_memory::target(unsigned place) const
{
    return blocks_[place / places_per_block]->bytes.data() +
           place % places_per_block * place_bytes;
}

std::uint8_t *probe_memory::scratch(unsigned place) const
{
    return target(place) + half;
}

ufx_uct_mem_h probe_memory::memh(unsigned place) const
{
    return blocks_[place / places_per_block]->memh;
}

} // namespace ufx::ucp
