// SPDX-License-Identifier: BSD-3-Clause
// The explored scenarios: 2 peers, at most 2 eps, 2 rails, 3 ops, 2 faults.
#include "scenario.h"

namespace ufx::explore {

namespace {

constexpr auto PUT = plan_kind::PUT;
constexpr auto GET = plan_kind::GET;
constexpr auto AM = plan_kind::AM;

const std::vector<scenario> table = {
    {"rc-am", wire_kind::RC, 2, {{0, AM}, {0, AM}, {1, AM}}, {step::QP_ERROR, step::CUT}, 2, 1},
    {"rc-notify",
     wire_kind::RC,
     2,
     {{0, PUT, 2, 1}, {0, AM, 1, 1}},
     {step::QP_ERROR, step::CUT},
     2,
     1},
    {"rc-blind",
     wire_kind::RC,
     2,
     {{0, PUT, 1, 1}, {0, AM, 1, 1}},
     {step::FATAL, step::QP_ERROR},
     2,
     1},
    {"rc-polled", wire_kind::RC, 2, {{0, PUT, 1, 0, true}, {0, AM}}, {step::FATAL}, 2, 1},
    {"rc-get",
     wire_kind::RC,
     2,
     {{0, GET}, {0, PUT}, {1, AM}},
     {step::QP_ERROR, step::CUT, step::STALL},
     2,
     1},
    {"rc-single",
     wire_kind::RC,
     1,
     {{0, PUT, 2}, {0, AM}, {0, GET}},
     {step::QP_ERROR, step::CUT, step::RNR_EXC},
     2,
     1},
    {"rc-skip",
     wire_kind::RC,
     2,
     {{0, AM, 2}, {0, AM}},
     {step::CANCEL, step::QP_ERROR, step::DEADLINE},
     2,
     1},
    {"rc-hold",
     wire_kind::RC,
     2,
     {{0, AM}, {0, AM}, {0, AM}},
     {step::CUT, step::QP_ERROR},
     1,
     1,
     0},
    {"rc-flush",
     wire_kind::RC,
     2,
     {{0, PUT, 2}, {0, GET}, {0, AM}},
     {step::QP_ERROR, step::CUT, step::FLUSH},
     2,
     1},
    {.name = "rc-two-eps",
     .wire = wire_kind::RC,
     .rails = 2,
     .ops = {{0, PUT, 2}, {.kind = AM, .ep = 2}, {.side = 1, .kind = AM, .ep = 2}},
     .faults = {step::QP_ERROR, step::CUT, step::FATAL, step::STALL},
     .fault_budget = 2,
     .message_budget = 1,
     .eps = 2},
    {.name = "tcp-two-eps",
     .wire = wire_kind::TCP,
     .rails = 2,
     .ops = {{0, PUT, 2, 1}, {0, AM, 1, 1}, {.side = 1, .kind = AM, .ep = 2}},
     .faults = {step::QP_ERROR, step::CUT, step::DRAIN, step::CLOSE},
     .fault_budget = 2,
     .message_budget = 1,
     .eps = 2},
    {"rc-both",
     wire_kind::RC,
     2,
     {{0, PUT, 2}, {1, PUT, 2}, {1, AM}},
     {step::QP_ERROR, step::CUT},
     2,
     0},
    {"rc-connect",
     wire_kind::RC,
     1,
     {{0, PUT}, {1, AM}},
     {step::QP_ERROR, step::RNR_EXC, step::BROKEN},
     2,
     1,
     1024,
     true},
    {"rc-admin",
     wire_kind::RC,
     2,
     {{0, PUT}, {1, AM}},
     {step::DRAIN, step::RESUME, step::QP_ERROR},
     2,
     1},
    {"rc-close", wire_kind::RC, 2, {{0, AM}, {1, PUT}}, {step::CLOSE, step::QP_ERROR}, 2, 1},
    {"rc-die",
     wire_kind::RC,
     2,
     {{0, PUT}, {0, AM, 1}, {0, GET}},
     {step::DIE, step::QP_ERROR},
     2,
     0},
    {"rc-open", wire_kind::RC, 2, {{0, AM, 2}, {0, PUT}}, {step::QP_ERROR, step::WEDGE}, 2, 0},
    {"rc-probe", wire_kind::RC, 1, {{0, PUT}}, {step::FATAL, step::CUT}, 1, 2},
    {"rc-disown",
     wire_kind::RC,
     2,
     {{0, AM}, {0, PUT}, {0, GET}},
     {step::DISOWN, step::QP_ERROR},
     2,
     1},
    {"tcp-am",
     wire_kind::TCP,
     2,
     {{0, AM}, {0, AM, 2}, {1, AM}},
     {step::QP_ERROR, step::CUT},
     2,
     1},
    {"tcp-put",
     wire_kind::TCP,
     2,
     {{0, PUT, 2, 1}, {0, AM, 1, 1}, {0, GET}},
     {step::QP_ERROR, step::CUT},
     2,
     1},
    {"tcp-single",
     wire_kind::TCP,
     1,
     {{0, PUT, 2}, {0, AM}, {1, AM}},
     {step::QP_ERROR, step::CUT, step::BROKEN},
     2,
     1,
     1024,
     true},
};

} // namespace

std::span<const scenario> all_scenarios()
{
    return table;
}

const scenario *find_scenario(std::string_view name)
{
    for (const scenario &s : table) {
        if (s.name == name) {
            return &s;
        }
    }
    return nullptr;
}

} // namespace ufx::explore
