// SPDX-License-Identifier: BSD-3-Clause
// Steps as lines of text.
#include "event.h"

#include <iterator>
#include <sstream>

namespace ufx::explore {

namespace {

constexpr const char *names[] = {
    "DELIVER", "TIMER", "CREATED",   "QUIET",  "POST",      "ARRIVE",   "POLL",
    "ACK",     "NOP",   "PROBE",     "IDLE",   "RETRY_EXC", "RESET",    "PORT_DOWN",
    "PORT_UP", "HEAL",  "PEER_DEAD", "FORGET", "LOSE",      "DOUBLE",   "QP_ERROR",
    "RNR_EXC", "CUT",   "FATAL",     "STALL",  "CANCEL",    "DEADLINE", "DRAIN",
    "RESUME",  "CLOSE", "DIE",       "DISOWN", "BROKEN",    "WEDGE",    "FLUSH"};
static_assert(std::size(names) == static_cast<std::size_t>(step::COUNT));

} // namespace

std::string to_text(const event &e)
{
    std::ostringstream text;
    text << names[static_cast<std::size_t>(e.kind)] << " side=" << int{e.side}
         << " rail=" << int{e.rail} << " epoch=" << e.epoch << " a=" << e.a << " ep=" << int{e.ep};
    return text.str();
}

std::optional<event> from_text(const std::string &line)
{
    std::istringstream text(line);
    std::string name;
    text >> name;
    event e;
    bool known = false;
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (name == names[i]) {
            e.kind = static_cast<step>(i);
            known = true;
        }
    }
    std::string word;
    while (text >> word) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) {
            break; // the rest of the line is for people
        }
        const auto value = static_cast<std::uint32_t>(std::stoul(word.substr(equals + 1)));
        const std::string key = word.substr(0, equals);
        if (key == "side") {
            e.side = static_cast<std::uint8_t>(value);
        } else if (key == "rail") {
            e.rail = static_cast<std::uint8_t>(value);
        } else if (key == "epoch") {
            e.epoch = value;
        } else if (key == "a") {
            e.a = value;
        } else if (key == "ep") {
            e.ep = static_cast<std::uint8_t>(value);
        }
    }
    return known ? std::optional(e) : std::nullopt;
}

bool is_fault(step kind)
{
    return kind >= step::LOSE;
}

} // namespace ufx::explore
