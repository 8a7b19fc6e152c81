// SPDX-License-Identifier: BSD-3-Clause
// next<>: the function that an interposed one stands before.
#ifndef UFX_SWHCA_SHIM_NEXT_H
#define UFX_SWHCA_SHIM_NEXT_H

#include <atomic>
#include <dlfcn.h>

namespace ufx::swhca::shim {

// A constant-initialized variable for each interposed function; looked up at the first call.
// Threads that race find the same.
template <class Function>
class next_function {
public:
    explicit constexpr next_function(const char *name) noexcept : name_(name) {}

    [[nodiscard]] Function get() noexcept
    {
        // Relaxed: the pointer is all that is published.
        Function found = found_.load(std::memory_order_relaxed);
        if (found == nullptr) {
            found = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name_));
            found_.store(found, std::memory_order_relaxed);
        }
        return found;
    }

private:
    const char *name_;
    std::atomic<Function> found_{nullptr};
};

} // namespace ufx::swhca::shim

#endif
