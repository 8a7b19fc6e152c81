// SPDX-License-Identifier: BSD-3-Clause
// companion: another process of the fabric of a test, and words between the two, so that neither
// waits by the clock.
#ifndef UFX_TEST_SWHCA_COMPANION_H
#define UFX_TEST_SWHCA_COMPANION_H

#include "rig.h"

#include "ucs/fd.h"

#include <cstdint>
#include <functional>
#include <sys/types.h>

namespace ufx::test {

// One end. Who hears waits; it hears 0 when the other end has gone.
class line {
public:
    explicit line(int number) noexcept : socket_(number) {}

    void say(uint64_t word) const noexcept;
    [[nodiscard]] uint64_t hear() const noexcept;

private:
    ucs::fd socket_;
};

class companion {
public:
    // `prepare` runs in the child before it joins the fabric, `live` afterwards; when that is over
    // the child leaves the fabric and ends.
    companion(rig &of, const std::function<void(rig &, line &)> &live,
              const std::function<void()> &prepare = {});
    // Kills it if it has not ended.
    ~companion();

    companion(const companion &) = delete;
    companion &operator=(const companion &) = delete;

    // What waitpid() says at its end.
    int wait();
    int kill();

    [[nodiscard]] const line &talk() const noexcept { return line_; }

    // Its place among the processes of the fabric.
    [[nodiscard]] uint32_t slot() const noexcept { return slot_; }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    line line_{-1};
    pid_t pid_ = 0;
    uint32_t slot_ = 0;
};

// What a companion may do: opens device 1, says 1 if that was well, and waits to be killed.
void open_second_device(rig &mine, line &to);

} // namespace ufx::test

#endif
