// SPDX-License-Identifier: BSD-3-Clause
// fd: owner of a descriptor.
#ifndef UFX_TOOLS_COMMON_FD_H
#define UFX_TOOLS_COMMON_FD_H

#include <unistd.h>
#include <utility>

namespace ufx::tools {

class fd {
public:
    fd() = default;
    explicit fd(int number) noexcept : number_(number) {}
    fd(fd &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    fd &operator=(fd &&other) noexcept
    {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~fd() { reset(); }

    explicit operator bool() const noexcept { return number_ >= 0; }
    int get() const noexcept { return number_; }

    void reset() noexcept
    {
        if (number_ >= 0) {
            ::close(std::exchange(number_, -1));
        }
    }

private:
    int number_ = -1;
};

} // namespace ufx::tools

#endif
