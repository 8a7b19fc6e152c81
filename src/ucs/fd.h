// SPDX-License-Identifier: BSD-3-Clause
// fd: owner of a file descriptor.
#ifndef UFX_UCS_FD_H
#define UFX_UCS_FD_H

#include "result.h"

#include <utility>

namespace ufx::ucs {

class fd {
public:
    fd() noexcept = default;

    explicit fd(int number) noexcept : number_(number) {}

    fd(fd &&other) noexcept : number_(std::exchange(other.number_, -1)) {}

    fd &operator=(fd &&other) noexcept
    {
        if (this != &other) {
            reset(std::exchange(other.number_, -1));
        }
        return *this;
    }

    ~fd() { reset(); }

    [[nodiscard]] int get() const noexcept { return number_; }

    [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }

    explicit operator bool() const noexcept { return valid(); }

    // Gives the number away; the caller closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

    // Closes what is held and takes `number`; errno is kept.
    void reset(int number = -1) noexcept;

private:
    int number_ = -1;
};

// Nonblocking and close-on-exec.
[[nodiscard]] result<fd> make_eventfd();

// Adds 1 to an eventfd; never blocks.
void eventfd_signal(const fd &event) noexcept;

// Sets an eventfd to 0.
void eventfd_clear(const fd &event) noexcept;

} // namespace ufx::ucs

#endif
