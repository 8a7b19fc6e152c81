// SPDX-License-Identifier: BSD-3-Clause
// environment: sets a variable for the length of a test.
#ifndef UFX_TEST_UCS_ENVIRONMENT_H
#define UFX_TEST_UCS_ENVIRONMENT_H

#include <cstdlib>
#include <optional>
#include <string>

namespace ufx::test {

class environment {
public:
    environment(const char *name, const char *value) : name_(name)
    {
        if (const char *before = std::getenv(name)) {
            before_ = before;
        }
        set(value);
    }

    ~environment()
    {
        if (before_) {
            set(before_->c_str());
        } else {
            unset();
        }
    }

    environment(const environment &) = delete;
    environment &operator=(const environment &) = delete;

    void set(const char *value) { ::setenv(name_, value, 1); }

    void unset() { ::unsetenv(name_); }

private:
    const char *name_;
    std::optional<std::string> before_;
};

} // namespace ufx::test

#endif
