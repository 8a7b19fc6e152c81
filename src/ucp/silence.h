// SPDX-License-Identifier: BSD-3-Clause
// What stands still: operations that were posted and do not move, and those that no rail takes. Who
// holds them up, for dumps; and a line in the log from time to time, so that nothing vanishes
// without a word.
#ifndef UFX_UCP_SILENCE_H
#define UFX_UCP_SILENCE_H

#include "ucp/core/types.h"
#include "ucs/log.h"

#include <string>

namespace ufx::ucp {

class ep;
class lane;
class rail;
class worker;

// As far as this side can tell.
enum class held_up_by : std::uint8_t {
    NOBODY, // nothing is posted, or it moves
    POLLER, // nobody called progress of this worker: what has ended is not known
    PEER,   // the network has delivered it, the peer's program has not taken it
    DEVICE, // progress was called, and the device told of nothing
};

[[nodiscard]] const char *name_of(held_up_by whom);
[[nodiscard]] held_up_by holder_of(const worker &w, const lane &l);
// How long what is posted has stood still; 0 if nothing is.
[[nodiscard]] core::time_ns standing_ns(const lane &l, core::time_ns now);
// Queue pair and its state, or ports, as the transport calls them.
[[nodiscard]] std::string queue_name(const lane &l);

// Of one rail: one line an interval, about the lane that has been silent for longest.
class lane_silence {
public:
    explicit lane_silence(core::time_ns limit) : limit_(limit), rate_(limit) {}
    void look(const rail &of, core::time_ns now);

private:
    core::time_ns limit_;
    ucs::log_rate rate_;
};

// Of one worker: the same about operations of eps that no lane can take.
class queue_silence {
public:
    explicit queue_silence(core::time_ns limit) : limit_(limit), rate_(limit) {}
    void look(const worker &of, core::time_ns now);

private:
    core::time_ns limit_;
    ucs::log_rate rate_;
};

} // namespace ufx::ucp

#endif
