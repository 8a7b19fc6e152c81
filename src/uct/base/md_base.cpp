// SPDX-License-Identifier: BSD-3-Clause
// Host memory: checks and pages.
#include "md_base.h"

#include <sys/mman.h>
#include <unistd.h>

namespace ufx::uct {

ufx_status_t check_host_memory(const ufx_uct_mem_params_t &params, bool address_needed,
                               uint64_t more_flags) noexcept
{
    const bool has_address = (params.field_mask & UFX_UCT_MEM_PARAM_ADDRESS) != 0;
    if ((params.field_mask & UFX_UCT_MEM_PARAM_LENGTH) == 0 || params.length == 0 ||
        (address_needed && (!has_address || params.address == nullptr))) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (has_address &&
        reinterpret_cast<uintptr_t>(params.address) + params.length < params.length) {
        return UFX_ERR_INVALID_PARAM;
    }
    if ((access_flags(params) & ~(UFX_UCT_MEM_ACCESS_ALL | more_flags)) != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    if ((params.field_mask & UFX_UCT_MEM_PARAM_MEMORY_TYPE) != 0 &&
        params.memory_type != UFX_UCT_MEMORY_TYPE_HOST) {
        return UFX_ERR_UNSUPPORTED;
    }
    if ((params.field_mask & UFX_UCT_MEM_PARAM_DMABUF) != 0) {
        return UFX_ERR_UNSUPPORTED;
    }
    return UFX_OK;
}

void *allocate_pages(size_t &length) noexcept
{
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    if (length > SIZE_MAX - page) {
        return nullptr;
    }
    const size_t rounded = (length + page - 1) / page * page;
    void *address =
        ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) {
        return nullptr;
    }
    length = rounded;
    return address;
}

void free_pages(void *address, size_t length) noexcept
{
    ::munmap(address, length);
}

} // namespace ufx::uct
