// SPDX-License-Identifier: BSD-3-Clause
// The tables.
#include "tables.h"

namespace ufx::matrix {

namespace {

constexpr const char *broken_pair = "hca %d qp-error";
constexpr const char *port_down = "hca %d port-down";

constexpr step all_steps[] = {
    {.name = "queued", .is_before = true},
    {.name = "posted"},
    {.name = "in the middle of its data", .wait_us = 200},
    {.name = "landed, not acknowledged", .wait_us = 1500, .answers_lost = true},
    {.name = "completion not polled", .wait_us = 1500, .sender_sleeps = true},
    {.name = "suspect", .first_fault = port_down, .trace = "suspect", .count = 1},
    {.name = "frozen", .first_fault = broken_pair, .trace = "sealing", .count = 1},
    {.name = "seal sent", .first_fault = broken_pair, .trace = "seal_sent", .count = 1},
    {.name = "peer's seal came", .first_fault = broken_pair, .trace = "peer_seal_received", .count = 1},
    {.name = "purging the first", .first_fault = broken_pair, .trace = "mid_purge", .count = 1},
    {.name = "purging the third", .first_fault = broken_pair, .trace = "mid_purge", .count = 3},
    {.name = "replay posted", .first_fault = broken_pair, .trace = "replay_posted", .count = 1},
    {.name = "replay not acknowledged",
     .first_fault = broken_pair,
     .trace = "replay_posted",
     .count = 1,
     .wait_us = 1000,
     .answers_lost = true},
    {.name = "probing", .first_fault = port_down, .trace = "probing", .count = 1, .starts_there = true},
};

} // namespace

const char *name_of(place where)
{
    switch (where) {
    case place::SENDER:
        return "at the sender";
    case place::RECEIVER:
        return "at the receiver";
    case place::OTHER_RAIL:
        return "on the other rail";
    }
    return "";
}

std::span<const step> steps()
{
    return all_steps;
}

} // namespace ufx::matrix
