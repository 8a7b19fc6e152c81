// SPDX-License-Identifier: BSD-3-Clause
// event_pipe: the pipe by which a program reads events, and taking back what it has not read.
#ifndef UFX_SWHCA_ABI_EVENT_PIPE_H
#define UFX_SWHCA_ABI_EVENT_PIPE_H

#include "ucs/fd.h"
#include "ucs/result.h"

#include <cstddef>
#include <cstdint>

namespace ufx::swhca {

// The program owns the read end and closes it; the write end is kept here, out of its way.
class event_pipe {
public:
    [[nodiscard]] static ucs::result<event_pipe> create();

    [[nodiscard]] int read_end() const noexcept { return read_end_; }

    [[nodiscard]] int write_end() const noexcept { return write_end_.get(); }

    // Removes the unread events whose first eight bytes are `element`, each of `size` bytes;
    // returns how many there were. The kernel counts an event when it is read, so these do not
    // count.
    uint32_t withdraw(uint64_t element, size_t size) noexcept;

private:
    int read_end_ = -1;
    ucs::fd write_end_;
};

} // namespace ufx::swhca

#endif
