// SPDX-License-Identifier: BSD-3-Clause
// guard(): runs the body of a C entry point and turns exceptions into statuses.
#ifndef UFX_UCS_ENTRY_H
#define UFX_UCS_ENTRY_H

#include "result.h"

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace ufx::ucs {

// Logs an exception that is not about memory.
[[gnu::cold]] void log_exception(const char *what) noexcept;

// `body` returns void, ufx_status_t or result<void>. No exception leaves it.
template <class F>
[[nodiscard]] ufx_status_t guard(F &&body) noexcept
{
    using answer = std::invoke_result_t<F>;
    try {
        if constexpr (std::is_void_v<answer>) {
            std::forward<F>(body)();
            return UFX_OK;
        } else if constexpr (std::is_same_v<answer, ufx_status_t>) {
            return std::forward<F>(body)();
        } else {
            return std::forward<F>(body)().status();
        }
    } catch (const std::bad_alloc &) {
        return UFX_ERR_NO_MEMORY;
    } catch (const std::exception &error) {
        log_exception(error.what());
        return UFX_ERR_IO;
    } catch (...) {
        log_exception("an unknown exception");
        return UFX_ERR_IO;
    }
}

} // namespace ufx::ucs

#endif
