// SPDX-License-Identifier: BSD-3-Clause
// spinner: how long a thread that runs devices looks for work before it sleeps.
#ifndef UFX_SWHCA_ENGINE_SPINNER_H
#define UFX_SWHCA_ENGINE_SPINNER_H

#include <cstdint>

namespace ufx::swhca {

// Work begins a new turn, also after a sleep.
class spinner {
public:
    static constexpr uint32_t looks = 2000;

    // After each look: whether to look again at once.
    [[nodiscard]] bool goes_on(bool found_work) noexcept
    {
        idle_ = found_work ? 0 : idle_ < looks ? idle_ + 1 : looks;
        return idle_ < looks;
    }

private:
    uint32_t idle_ = 0;
};

} // namespace ufx::swhca

#endif
