// SPDX-License-Identifier: BSD-3-Clause
// By the maps of proc(5), which touches nothing of the memory. Those of the calling thread: if the
// first one has ended, /proc/self has none.
#include "address_space.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace ufx::swhca {

bool is_accessible(uint64_t start, uint64_t length, bool write)
{
    std::ifstream maps("/proc/thread-self/maps");
    std::string line;
    uint64_t at = start;
    uint64_t end = start + length;
    while (at < end && std::getline(maps, line)) {
        unsigned long first = 0;
        unsigned long last = 0;
        char rights[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, rights) != 3 || last <= at) {
            continue;
        }
        if (first > at || rights[write ? 1 : 0] == '-') {
            return false;
        }
        at = last;
    }
    return at >= end;
}

} // namespace ufx::swhca
