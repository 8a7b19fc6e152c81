// SPDX-License-Identifier: BSD-3-Clause
// mmap() and munmap() behind mapping.
#include "mapping.h"

#include "log.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace ufx::ucs {

mapping::~mapping()
{
    if (data_ != nullptr) {
        ::munmap(data_, size_);
    }
}

result<mapping> mapping::anonymous(size_t size)
{
    size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    if (size == 0 || size > SIZE_MAX - page) {
        return UFX_ERR_INVALID_PARAM;
    }
    size_t whole = (size + page - 1) / page * page;
    void *data = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        ufx_warn("mmap of %zu bytes failed: %s", whole, std::strerror(errno));
        return UFX_ERR_NO_MEMORY;
    }
    return mapping(data, whole);
}

result<mapping> mapping::file(int fd, size_t size, bool writable)
{
    if (size == 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *data = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        int error = errno;
        ufx_warn("mmap of %zu bytes of a file failed: %s", size, std::strerror(error));
        return status_from_errno(error);
    }
    return mapping(data, size);
}

} // namespace ufx::ucs
