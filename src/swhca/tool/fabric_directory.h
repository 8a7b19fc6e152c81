// SPDX-License-Identifier: BSD-3-Clause
// fabric_directory: the directory of a fabric, which is there as long as somebody uses it.
#ifndef UFX_SWHCA_TOOL_FABRIC_DIRECTORY_H
#define UFX_SWHCA_TOOL_FABRIC_DIRECTORY_H

#include "swhca/fabric/fabric.h"
#include "ucs/fd.h"

#include <filesystem>

namespace ufx::swhca::tool {

// Each user - a launcher and the programs that inherit from it - holds a shared lock of DIR/lock,
// and a process that has a device open lives in the image, also if it has closed what it inherited.
// The last launcher removes the files. A process that is left behind, the cleaner, waits for the
// exclusive lock, which it gets when the last user has ended in whatever way, and does so too. If
// it is killed, the next user leaves another one; it holds DIR/cleaner locked while it lives.
class fabric_directory {
public:
    ~fabric_directory() { leave(); }

    fabric_directory(fabric_directory &&) = default;
    fabric_directory &operator=(fabric_directory &&) = delete;

    // Uses the fabric in `path`, or makes it; an empty path is a new directory of its own. Throws
    // failure.
    [[nodiscard]] static fabric_directory use(std::filesystem::path path,
                                              const fabric_options &options);

    // Only one that is there: for `ctl` and `show`.
    [[nodiscard]] static fabric_directory look_at(std::filesystem::path path);

    [[nodiscard]] const std::filesystem::path &path() const noexcept { return path_; }

    [[nodiscard]] image &shared() noexcept { return fabric_->shared(); }

private:
    fabric_directory() = default;

    // By a user that is about to end: removes the files if it is the last, else sees to it that
    // there is a cleaner.
    void leave() noexcept;

    std::filesystem::path path_;
    ucs::fd lock_;
    ucs::owner<fabric> fabric_;
};

} // namespace ufx::swhca::tool

#endif
