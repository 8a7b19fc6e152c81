// SPDX-License-Identifier: BSD-3-Clause
// One step of the explored world, as a value and as a line of a trace.
#ifndef UFX_EXPLORE_EVENT_H
#define UFX_EXPLORE_EVENT_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ufx::explore {

enum class step : std::uint8_t {
    // Progress of a healthy world.
    DELIVER, // control message `a` (its type) about (rail, epoch) reaches `side`
    TIMER,   // timer `a` (its kind) of (rail, id `epoch`) fires at `side`
    CREATED, // the uct ep of that lane exists, or is connected
    QUIET,   // that lane's QP is quiet
    POST,    // `side` posts a new or replayed fragment of op `a` on that lane
    ARRIVE,  // the next packet on that lane reaches `side`
    POLL,    // `side` polls the receive CQ of that lane
    ACK,     // the oldest op of `side` on that lane completes
    NOP,     // the NOP of `side` on that lane completes
    PROBE,   // the probe of `side` on that rail ends
    IDLE,    // no op of `side` is outstanding on that rail
    // Consequences of faults.
    RETRY_EXC, // `side` gives up that lane: no ACK comes
    RESET,     // `side` sees that the other end of that TCP lane is gone
    PORT_DOWN,
    PORT_UP,
    HEAL, // that rail works again
    PEER_DEAD,
    FORGET, // `side` forgets an ep and a peer that it declared dead
    // Faults, from the scenario's budget.
    LOSE,     // like DELIVER, but the message is gone
    DOUBLE,   // like DELIVER, but a copy stays
    QP_ERROR, // own error of that lane at `side`
    RNR_EXC,  // of that lane at `side`
    CUT,      // that rail carries nothing; a = 1, 2: only towards side a - 1
    FATAL,    // the device of `side` on that rail is dead: no token can be read
    STALL,    // `side` believes that the rail stalls
    CANCEL,   // the user cancels op `a`
    DEADLINE, // op `a` misses its deadline
    DRAIN,    // the administrator of `side` drains that rail
    RESUME,   // and resumes it
    CLOSE,    // the user of `side` closes the ep
    DIE,      // the process of `side` is killed
    DISOWN,   // `side` declares a peer dead that lives
    BROKEN, // making or connecting the uct ep of that lane fails; a = 1: by no fault of the device
    WEDGE,  // the QP of that lane at `side` will not close: it goes on to receive
    FLUSH,  // `side` flushes the ep (no fault, but it takes from the budget)
    COUNT
};

struct event {
    step kind{};
    std::uint8_t side = 0;
    std::uint8_t rail = 0;
    std::uint32_t epoch = 0;
    std::uint32_t a = 0;
    std::uint8_t ep = 1; // 0: a probe lane, or nothing of an ep
    auto operator<=>(const event &) const = default;
};

using trace = std::vector<event>;

std::string to_text(const event &e);
std::optional<event> from_text(const std::string &line);
bool is_fault(step kind);

} // namespace ufx::explore

#endif
