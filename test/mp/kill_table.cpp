// SPDX-License-Identifier: BSD-3-Clause
// kill_table [WORD...]: kill -9 and SIGSTOP of either side in 13 phases, 52 cases.
//
// A phase is a trace point at which one process of a pair holds itself. After kill -9 the other
// side must end within UFX_PEER_TIMEOUT with one clear error, each of its operations completed
// once. After 5 s of SIGSTOP nothing may be lost and no rail be left down. With words, only cases
// whose name contains one of them run.
// rows: X09 X13
#include "kill_pair.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

namespace {

using ufx::test::kill_case;
using ufx::test::kill_pair;

constexpr size_t AT_A_TIME = 6; // most of a stop case is waiting
constexpr int LOOK_MS = 10;
constexpr unsigned TRIES = 3; // of a case whose point was missed: what is replayed is chance

constexpr const char *PHASES[] = {
    "connect",       "lane_req_sent", "idle",      "put_mid_frame",      "am_held",
    "suspect",       "sealing",       "seal_sent", "peer_seal_received", "mid_purge",
    "replay_posted", "probing",       "rts_sent"};

std::vector<kill_case> table(int argc, char **argv)
{
    std::vector<kill_case> cases;
    for (const char *phase : PHASES) {
        for (const bool kill : {true, false}) {
            for (const bool near : {true, false}) {
                const kill_case what = {phase, kill, near};
                bool wanted = argc < 2;
                for (int i = 1; i < argc; i++) {
                    wanted = wanted || what.name().find(argv[i]) != std::string::npos;
                }
                if (wanted) {
                    cases.push_back(what);
                }
            }
        }
    }
    return cases;
}

/** Lines for contrib/test_driver. */
void record(const kill_pair &pair)
{
    const char *path = std::getenv("UFX_TEST_RESULTS");
    std::FILE *file = path != nullptr ? std::fopen(path, "ae") : nullptr;
    if (file != nullptr) {
        std::fprintf(file, ":test-result: %s kill table: %s\n",
                     pair.complaint().empty() ? "PASS" : "FAIL", pair.what().name().c_str());
        std::fclose(file);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const std::string self = argv[0];
    const char *build = std::getenv("UFX_TEST_BUILDDIR");
    const std::string child =
        (build != nullptr ? std::string(build) : self.substr(0, self.rfind('/'))) + "/kill_child";
    const std::vector<kill_case> cases = table(argc, argv);
    std::deque<kill_case> left(cases.begin(), cases.end());
    std::map<std::string, unsigned> tries;
    std::vector<std::unique_ptr<kill_pair>> running;
    size_t failed = 0;
    while (!left.empty() || !running.empty()) {
        while (!left.empty() && running.size() < AT_A_TIME) {
            running.push_back(std::make_unique<kill_pair>(left.front(), child));
            left.pop_front();
        }
        ::poll(nullptr, 0, LOOK_MS);
        for (size_t i = 0; i < running.size();) {
            if (!running[i]->advance()) {
                i++;
                continue;
            }
            const kill_pair &pair = *running[i];
            if (pair.has_missed() && ++tries[pair.what().name()] < TRIES) {
                left.push_back(pair.what());
                running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            const bool good = pair.complaint().empty();
            std::printf("%s %s\n%s", good ? "ok    " : "FAILED", pair.what().name().c_str(),
                        pair.complaint().c_str());
            std::fflush(stdout);
            record(pair);
            failed += good ? 0 : 1;
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    std::printf("%zu cases, %zu failed\n", cases.size(), failed);
    return failed == 0 && !cases.empty() ? 0 : 1;
}
