// SPDX-License-Identifier: BSD-3-Clause
// result<T>: a value, or the status that says why there is none.
#ifndef UFX_UCS_RESULT_H
#define UFX_UCS_RESULT_H

#include <ufx/status.h>

#include <cassert>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace ufx::ucs {

[[nodiscard]] constexpr bool is_error(ufx_status_t status) noexcept
{
    return status < 0;
}

// Status for an errno of a socket or file call; IO when nothing closer fits.
[[nodiscard]] ufx_status_t status_from_errno(int error) noexcept;

// Holds T, or an error. A function returns a T or a UFX_ERR_*; the caller writes
// `if (!r) { return r.error(); }`.
template <class T>
class [[nodiscard]] result {
    static_assert(!std::is_same_v<T, ufx_status_t> && !std::is_reference_v<T>);

public:
    using value_type = T;

    result(ufx_status_t error) noexcept : status_(error) { assert(error != UFX_OK); }

    template <class U = T>
    requires(std::convertible_to<U &&, T> && !std::same_as<std::remove_cvref_t<U>, ufx_status_t> &&
             !std::same_as<std::remove_cvref_t<U>, result>) result(U &&value)
        : value_(std::forward<U>(value))
    {
    }

    [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }

    explicit operator bool() const noexcept { return ok(); }

    // UFX_OK if there is a value.
    [[nodiscard]] ufx_status_t status() const noexcept { return status_; }

    [[nodiscard]] ufx_status_t error() const noexcept
    {
        assert(!ok());
        return status_;
    }

    [[nodiscard]] T &value() &noexcept
    {
        assert(ok());
        return *value_;
    }

    [[nodiscard]] const T &value() const &noexcept
    {
        assert(ok());
        return *value_;
    }

    [[nodiscard]] T value() &&
    {
        assert(ok());
        return std::move(*value_);
    }

    [[nodiscard]] T &operator*() &noexcept { return value(); }

    [[nodiscard]] const T &operator*() const &noexcept { return value(); }

    [[nodiscard]] T operator*() && { return std::move(*this).value(); }

    [[nodiscard]] T *operator->() noexcept { return &value(); }

    [[nodiscard]] const T *operator->() const noexcept { return &value(); }

    template <class U>
    [[nodiscard]] T value_or(U &&fallback) const &
    {
        return ok() ? *value_ : static_cast<T>(std::forward<U>(fallback));
    }

private:
    std::optional<T> value_;
    ufx_status_t status_ = UFX_OK;
};

// Success, or an error; INPROGRESS counts as success and is kept in status().
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;

    result() noexcept = default;

    result(ufx_status_t status) noexcept : status_(status) {}

    [[nodiscard]] bool ok() const noexcept { return !is_error(status_); }

    explicit operator bool() const noexcept { return ok(); }

    [[nodiscard]] ufx_status_t status() const noexcept { return status_; }

    [[nodiscard]] ufx_status_t error() const noexcept
    {
        assert(!ok());
        return status_;
    }

private:
    ufx_status_t status_ = UFX_OK;
};

} // namespace ufx::ucs

#endif
