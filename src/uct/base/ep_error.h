// SPDX-License-Identifier: BSD-3-Clause
// A copy of why an ep failed, kept until it can be delivered from progress.
#ifndef UFX_UCT_BASE_EP_ERROR_H
#define UFX_UCT_BASE_EP_ERROR_H

#include <ufx/uct_types.h>

#include <array>
#include <string_view>

namespace ufx::uct {

// An error that is about no single operation, without an errno.
[[nodiscard]] inline ufx_uct_error_t error_of(ufx_status_t status, ufx_uct_error_cause_t cause,
                                              const char *text) noexcept
{
    return {0, status, cause, 0, text, 0};
}

class ep_error {
public:
    ep_error() = default;

    explicit ep_error(const ufx_uct_error_t &error) noexcept : error_(error)
    {
        const std::string_view text = error.text == nullptr ? "" : error.text;
        text.copy(text_.data(), text_.size() - 1); // the rest is zeros
    }

    [[nodiscard]] ufx_status_t status() const noexcept { return error_.status; }

    // Valid as long as this object stays in place.
    [[nodiscard]] ufx_uct_error_t view() const noexcept
    {
        ufx_uct_error_t error = error_;
        error.text = text_.data();
        return error;
    }

private:
    ufx_uct_error_t error_{};
    std::array<char, 256> text_{};
};

} // namespace ufx::uct

#endif
