// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: commands that a program writes to a device, and what it leaves in its queues. An
// input is a run of records: a length of two bytes, little-endian, and as many bytes of a command;
// length 0 steps the clock. Words that look like addresses are led into an arena, which holds the
// input too: a program may of course destroy its own memory, but here it is the fuzzer's.
#include "swhca/abi/uverbs_file.h"
#include "swhca/engine/guarded_copy.h"
#include "swhca/engine/membership.h"
#include "swhca/fabric/fabric.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace ufx::swhca;

constexpr size_t arena_bytes = 1 << 16;
// What the upper half of an address of a program is; two small numbers side by side are none.
constexpr uint64_t lowest_half = 0x5000;
constexpr uint64_t highest_half = 0xffff;

struct machine {
    ufx::ucs::owner<fabric> shared;
    uint32_t self = no_index;
    ufx::ucs::owner<engine> runs;
    std::vector<uint8_t> arena = std::vector<uint8_t>(2 * arena_bytes);
    uint64_t now_ns = 1'000'000'000;
};

void on_fault(int, siginfo_t *, void *where)
{
    if (!leave_guarded_copy(where)) {
        std::abort(); // a fault outside of a copy that may fail
    }
}

machine &the_machine()
{
    static machine *made = [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        (void)::sigaction(SIGSEGV, &action, nullptr);
        (void)::sigaction(SIGBUS, &action, nullptr);
        auto *one = new machine; // for all inputs
        fabric_options options;
        options.hcas = 2;
        auto created = fabric::create_private(options);
        if (!created) {
            std::abort();
        }
        one->shared = std::move(*created);
        one->self = join_fabric(one->shared->shared(), one->now_ns);
        one->runs = std::make_unique<engine>(one->shared->shared(), one->self);
        return one;
    }();
    return *made;
}

// Words at odd places too: the reply's address of a plain command is 8 bytes behind its header.
void lead_into_arena(machine &on, std::vector<std::byte> &command)
{
    for (size_t at = 0; at + 8 <= command.size(); at += 4) {
        uint64_t word = 0;
        std::memcpy(&word, &command[at], sizeof(word));
        uint64_t half = word >> 32;
        bool address = half >= lowest_half && half <= highest_half && at >= 8;
        if (address) {
            word = reinterpret_cast<uintptr_t>(on.arena.data()) + (word % arena_bytes & ~7ull);
            std::memcpy(&command[at], &word, sizeof(word));
            at += 4;
        }
    }
}

void step(machine &on)
{
    on.now_ns += 1'000'000;
    (void)on.runs->scan_doorbells();
    (void)on.runs->pass(on.now_ns);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    machine &on = the_machine();
    std::fill(on.arena.begin(), on.arena.end(), uint8_t{0});
    std::memcpy(on.arena.data(), data, std::min(size, arena_bytes));
    uverbs_file file(*on.runs, 0, {});
    while (size >= 2) {
        size_t length = data[0] | static_cast<size_t>(data[1]) << 8;
        data += 2;
        size -= 2;
        length = std::min(length, size);
        std::vector<std::byte> command(length);
        if (length > 0) {
            std::memcpy(command.data(), data, length);
        }
        data += length;
        size -= length;
        if (length > 0) {
            lead_into_arena(on, command);
            (void)file.command(command, on.now_ns);
        }
        step(on);
    }
    return 0;
}
