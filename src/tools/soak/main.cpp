// SPDX-License-Identifier: BSD-3-Clause
// Random operations while random faults come and go, for a given time.
#include "tools/soak/main.h"

#include "tools/common/command_line.h"
#include "tools/common/error.h"
#include "tools/common/signals.h"
#include "tools/common/units.h"
#include "tools/soak/lockstep.h"
#include "tools/soak/oracle.h"
#include "tools/soak/repeat.h"
#include "tools/soak/trouble.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <ufx/ucs.h>

namespace ufx::tools::soak {

namespace {

constexpr const char *LOOPBACK_RAILS = "lo:127.0.0.1,lo:127.0.0.2";
constexpr double SECONDS_MAX = 7 * 86400;
constexpr uint64_t S = 1'000'000'000;
constexpr uint64_t PATIENCE_NS = 60 * S; ///< after the last fault, for what is open
constexpr uint64_t RETURN_NS = 180 * S;  ///< of all rails: UFX_RAIL_HOLDOFF_MAX is 60 s
constexpr uint64_t REPORT_NS = 10 * S;
constexpr uint64_t CHECK_NS = 5 * S; ///< between two looks at all memory
constexpr uint64_t LIMIT_NS = S / 10; ///< so long at most the same number at a time
constexpr unsigned CELLS = 2048;

constexpr const char *FOOTER = R"(
Puts, gets, lists with notifications, messages, rendezvous, atomics and flushes of random sizes go both
ways between two workers of this process, while their rails fail and come back at random. What must be
in memory, what must have come and in which order is known to the byte, at both ends; the first thing
that is not so ends the run. The seed gives the sequence of faults, and that of operations as far as what
was done before is over in time; the moments are the machine's. With --lockstep time is stepped, and the
seed gives all of it.

  ufx_perftest soak --seconds 60
      over lo:127.0.0.1 and lo:127.0.0.2, whose connections are cut
  ufx_swhca run --hca 4 -- ufx_perftest soak -d mlx5_0:1,mlx5_1:1 --peer-dev mlx5_2:1,mlx5_3:1
      over devices of the software ConnectX, with its faults
  ufx_swhca run --hca 4 --rate 100Mb/s --engine step -- ufx_perftest soak --lockstep --seed 7 \
          -d mlx5_0:1,mlx5_1:1 --peer-dev mlx5_2:1,mlx5_3:1
      the same in lockstep: each run with that seed is like the other

Exit status: 0 nothing was wrong; 1 something was; 2 what was given is wrong; 3 the machine stopped it.)";

struct options {
    std::array<std::string, 2> rails;
    double seconds = 60;
    uint64_t seed = 0;
    unsigned outstanding = 32;
    tamper broken = tamper::NONE;
    bool lockstep = false;
    bool calm = false;
    bool storm = false;
    bool quiet = false;
};

options parse(int argc, char **argv)
{
    options o;
    command_line line("ufx_perftest soak", "Random operations under random faults, judged to the byte.");
    line.list("-d,--dev", o.rails[0], "rails, comma separated", "DEVICES");
    line.list("--peer-dev", o.rails[1], "rails of the other end; the same", "DEVICES");
    line.seconds("--seconds", o.seconds, SECONDS_MAX, "how long (60)");
    line.number("--seed", o.seed, {0, UINT64_MAX}, "what is done and what fails (random)");
    line.number("--outstanding", o.outstanding, {1, 1024}, "operations at a time (32)");
    std::string broken;
    line.text("--break", broken, "dup, lose or corrupt: tampers with what is sent, to see it found");
    line.flag("--lockstep", o.lockstep,
              "time is stepped, and a seed repeats everything (with ufx_swhca run --engine step)");
    line.flag("--calm", o.calm, "no faults");
    line.flag("--storm", o.storm, "faults of more kinds, several at once, some for long");
    line.flag("--quiet", o.quiet, "only the end");
    line.footer(FOOTER);
    line.parse(argc, argv);
    const std::map<std::string, tamper> ways = {{"", tamper::NONE},
                                                {"dup", tamper::DUPLICATE},
                                                {"lose", tamper::LOSE},
                                                {"corrupt", tamper::CORRUPT}};
    if (ways.count(broken) == 0) {
        throw usage_error("--break: '" + broken + "' is not dup, lose or corrupt");
    }
    o.broken = ways.at(broken);
    if (!line.given("--seed")) {
        o.seed = std::random_device{}();
    }
    if (o.rails[0].empty()) {
        o.rails[0] = LOOPBACK_RAILS;
    }
    if (o.rails[1].empty()) {
        o.rails[1] = o.rails[0];
    }
    return o;
}

class run {
public:
    explicit run(const options &wanted)
        : wanted_(wanted), limit_(wanted.outstanding), chance_(wanted.seed),
          misfortune_(wanted.seed + 1),
          time_(wanted.lockstep ? std::make_unique<lockstep>(wanted.seed) : nullptr),
          oracle_(wanted.rails, CELLS, wanted.broken, time_.get())
    {
        if (!wanted.calm) {
            trouble_ = std::make_unique<trouble>(oracle_.session(0), oracle_.session(1),
                                                 wanted.rails, wanted.storm);
        }
    }

    void go()
    {
        const uint64_t begin = ufx_ucs_time_ns();
        const uint64_t end = begin + static_cast<uint64_t>(wanted_.seconds * 1e9);
        uint64_t next_report = begin + REPORT_NS, next_check = begin + CHECK_NS;
        for (uint64_t now = begin; now < end && !interrupted(); now = ufx_ucs_time_ns()) {
            choose_limit(now);
            while (oracle_.open() < limit_) {
                oracle_.post(chance_);
            }
            turn(now);
            if (now >= next_report && !wanted_.quiet) {
                std::printf("%4.0f s   %s\n", static_cast<double>(now - begin) / 1e9,
                            summary().c_str());
                std::fflush(stdout);
                next_report += REPORT_NS;
            }
            if (now >= next_check) {
                settle();
                if (wanted_.storm) {
                    reconnect();
                }
                next_check = ufx_ucs_time_ns() + CHECK_NS;
            }
        }
        settle();
        if (time_ != nullptr) {
            await_rails();
        }
    }

    std::string state() const { return oracle_.state(); }

    /** A line, or nothing. */
    std::string digest() const
    {
        if (time_ == nullptr) {
            return "";
        }
        std::array<char, 64> line{};
        std::snprintf(line.data(), line.size(), "digest     %016" PRIx64 "\n", time_->digest());
        return line.data();
    }

    std::string summary() const
    {
        std::string text;
        uint64_t all = 0;
        for (const auto &[name, count] : oracle_.ended()) {
            all += count;
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
        }
        return std::to_string(all) + " operations, " +
               show_size(static_cast<double>(oracle_.bytes())) + ", " +
               std::to_string(trouble_ != nullptr ? trouble_->count() : 0) + " faults (" + text +
               ")";
    }

private:
    /** How many operations at a time; in a storm that changes, and now and then there is nothing.
     */
    void choose_limit(uint64_t now)
    {
        if (wanted_.storm && now >= next_limit_) {
            const auto some = static_cast<unsigned>(misfortune_() % (wanted_.outstanding + 1));
            limit_ = misfortune_() % 4 == 0 ? wanted_.outstanding : some;
            next_limit_ = now + misfortune_() % LIMIT_NS;
        }
    }

    /** As often as not while something fails. */
    void reconnect()
    {
        const uint64_t limit = ufx_ucs_time_ns() + PATIENCE_NS;
        if (trouble_ != nullptr && misfortune_() % 2 == 0) {
            trouble_->hurry();
        }
        oracle_.reconnect([&] {
            turn(ufx_ucs_time_ns());
            if (ufx_ucs_time_ns() > limit) {
                throw tool_error("the endpoint does not close, or not connect again", EXIT_VERDICT);
            }
        });
    }

    void turn(uint64_t now)
    {
        if (trouble_ != nullptr) {
            const uint64_t before = trouble_->count();
            trouble_->step(now, misfortune_);
            if (time_ != nullptr && trouble_->count() != before) {
                time_->note("fault", before);
            }
        }
        oracle_.progress();
        oracle_.reap();
    }

    /** Every rail is used again, once nothing fails any more. */
    void await_rails()
    {
        const uint64_t limit = ufx_ucs_time_ns() + RETURN_NS;
        while (!oracle_.all_rails_up()) {
            oracle_.progress();
            oracle_.reap();
            throw_if_interrupted();
            if (ufx_ucs_time_ns() > limit) {
                throw tool_error("a rail does not come back, though all is mended", EXIT_VERDICT);
            }
        }
    }

    /** All that is open ends, and all memory is looked at. */
    void settle()
    {
        if (trouble_ != nullptr) {
            trouble_->mend();
        }
        const uint64_t limit = ufx_ucs_time_ns() + PATIENCE_NS;
        while (oracle_.open() != 0) {
            oracle_.progress();
            oracle_.reap();
            throw_if_interrupted();
            if (ufx_ucs_time_ns() > limit) {
                throw tool_error(std::to_string(oracle_.open()) +
                                     " operations do not end, though all is mended",
                                 EXIT_VERDICT);
            }
        }
        oracle_.check_all();
    }

    options wanted_;
    unsigned limit_; ///< operations at a time
    uint64_t next_limit_ = 0;
    std::mt19937_64 chance_, misfortune_; ///< operations; faults
    std::unique_ptr<lockstep> time_;      ///< NULL: the machine's
    oracle oracle_;
    std::unique_ptr<trouble> trouble_;
};

} // namespace

int soak_main(int argc, char **argv)
{
    const options wanted = parse(argc, argv);
    catch_signals();
    std::printf("seed %" PRIu64 ", %s to %s\n", wanted.seed, wanted.rails[0].c_str(),
                wanted.rails[1].c_str());
    std::fflush(stdout);
    run soaked(wanted);
    try {
        soaked.go();
    } catch (const tool_error &error) {
        if (error.exit_status() == EXIT_VERDICT) {
            std::printf("%s", soaked.state().c_str());
        }
        std::printf("seed %" PRIu64 ", %s\n", wanted.seed, soaked.summary().c_str());
        std::printf("%s", soaked.digest().c_str());
        if (wanted.lockstep) {
            std::printf("again      %s\n", repeat_command(argc, argv, wanted.seed).c_str());
        }
        throw;
    }
    std::printf("%s\n%sverdict    OK: nothing lost, nothing doubled, nothing changed\n",
                soaked.summary().c_str(), soaked.digest().c_str());
    return EXIT_FINE;
}

} // namespace ufx::tools::soak
