// SPDX-License-Identifier: BSD-3-Clause
// The failover matrix: every kind of operation x step of its life x fault x place, on the software
// HCA, both sides in this process. Each case is judged by a model (operations.cpp): applied exactly
// once, in order, completed once with OK, and no byte changed afterwards; then every rail must carry
// traffic again before the next case begins.
//
//     ufx_swhca run --hca 4 --rate 2Gb/s -- ./failover_matrix [--sample N] [--seed S] [--case I]
#include "operations.h"
#include "tables.h"
#include "world.h"

#include "tools/failover/fault_line.h"
#include "tools/failover/hca_fault_table.h"

#include <ufx/ucs.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace ufx::matrix {

namespace {

using clock = std::chrono::steady_clock;
using tools::failover::fill_rule;
using tools::failover::hca_fault;
using tools::failover::hca_faults;
using tools::failover::hca_numbers;

constexpr std::chrono::milliseconds fault_lasts{120}; // unless all is done before
constexpr std::chrono::milliseconds first_lasts{30};  // a port that is down is DOWN by then
constexpr unsigned late_us = 3000;

struct settings {
    std::string senders_rails = "mlx5_0:1,mlx5_1:1", receivers_rails = "mlx5_2:1,mlx5_3:1";
    std::size_t sample = 0; // 0: all
    std::size_t seed = 1;
    long only = -1;
    bool list = false;
};

struct one_case {
    const kind &what;
    const step &when;
    const hca_fault &how;
    place where;

    std::string name() const
    {
        return std::string(what.name) + ", " + when.name + ": " + how.name + " " + name_of(where);
    }
};

class matrix {
public:
    explicit matrix(const settings &given)
        : given_(given), senders_(hca_numbers(given.senders_rails)),
          receivers_(hca_numbers(given.receivers_rails))
    {
        if (senders_.empty() || receivers_.empty()) {
            throw std::runtime_error("each side needs a rail that is a device of the fabric");
        }
        ufx_ucs_trace_set_hook(&on_trace, this);
    }
    ~matrix() { ufx_ucs_trace_set_hook(nullptr, nullptr); }
    matrix(const matrix &) = delete;
    matrix &operator=(const matrix &) = delete;

    std::size_t size() const { return kinds().size() * per_kind(); }

    one_case at(std::size_t index) const
    {
        const std::size_t in_kind = index % per_kind();
        const std::size_t in_step = in_kind % (hca_faults().size() * std::size(places));
        return {kinds()[index / per_kind()],
                steps()[in_kind / (hca_faults().size() * std::size(places))],
                hca_faults()[in_step / std::size(places)], places[in_step % std::size(places)]};
    }

    // False: that device is not there, with these rails.
    bool has_place(std::size_t index) const { return device(at(index).where) >= 0; }

    // True if it was as the model says.
    bool run(std::size_t index);

    std::size_t hits() const { return hits_; }

private:
    static std::size_t per_kind() { return steps().size() * hca_faults().size() * std::size(places); }

    std::string judge(operation &op, const one_case &it);
    void begin(operation &op, const one_case &it);
    void after_first_fault(operation &op, const one_case &it);
    void inject();
    void mend(const one_case &it);
    void mend_all();
    int device(place where) const;
    std::string rule(const char *text, place where) const;
    static void on_trace(void *arg, const char *name);

    settings given_;
    tools::failover::fault_line line_;
    std::vector<int> senders_, receivers_;
    std::unique_ptr<world> world_;
    const one_case *current_ = nullptr;
    unsigned passed_ = 0;    // times that the trace point was passed
    bool reached_ = false;   // often enough
    bool injected_ = false;
    std::string line_error_; // in the hook
    std::size_t hits_ = 0;
};

int matrix::device(place where) const
{
    switch (where) {
    case place::SENDER:
        return senders_[0];
    case place::RECEIVER:
        return receivers_[0];
    case place::OTHER_RAIL:
        return senders_.size() > 1 ? senders_[1] : -1;
    }
    return -1;
}

std::string matrix::rule(const char *text, place where) const
{
    const int hit = device(where);
    const int other = where == place::RECEIVER ? senders_[0] : receivers_[0];
    return fill_rule(text, hit, other);
}

void matrix::inject()
{
    injected_ = true;
    for (const char *each : current_->how.rules) {
        if (each != nullptr) {
            line_.apply(rule(each, current_->where));
        }
    }
}

// Inside the library: nothing may be thrown, and nothing of ufx be called.
void matrix::on_trace(void *arg, const char *name)
{
    auto &self = *static_cast<matrix *>(arg);
    const one_case *it = self.current_;
    if (it == nullptr || it->when.trace == nullptr || self.reached_ ||
        std::string(name) != it->when.trace || ++self.passed_ < it->when.count) {
        return;
    }
    self.reached_ = true;
    try {
        if (it->when.answers_lost) {
            self.line_.apply("until 3ms drop responses");
        } else if (!it->when.starts_there) {
            self.inject();
        }
    } catch (const std::exception &error) {
        self.line_error_ = error.what();
    }
}

void matrix::begin(operation &op, const one_case &it)
{
    const step &when = it.when;
    if (when.is_before) {
        inject();
        op.start();
        return;
    }
    op.start();
    if (when.answers_lost) {
        line_.apply("until 3ms drop responses");
    }
    const auto end = clock::now() + std::chrono::microseconds(when.wait_us);
    while (clock::now() < end) {
        when.sender_sleeps ? world_->progress_receiver() : world_->progress();
    }
    inject();
}

// The first fault is at the sender; a port comes up again, so that it is probed.
void matrix::after_first_fault(operation &op, const one_case &it)
{
    const step &when = it.when;
    if (!when.starts_there) {
        op.start();
        world_->progress();
    }
    line_.apply(rule(when.first_fault, place::SENDER));
    const auto up = clock::now() + first_lasts, end = clock::now() + fault_lasts;
    bool is_up = false;
    while (!reached_ && clock::now() < end) {
        world_->progress();
        if (!is_up && clock::now() > up) {
            is_up = true;
            line_.apply("port-up");
        }
    }
    if (when.starts_there) {
        op.start();
    }
    if (reached_ && !injected_) {
        world_->progress_for(when.wait_us);
        inject();
    }
}

void matrix::mend(const one_case &it)
{
    for (const char *each : it.how.mends) {
        if (each != nullptr) {
            line_.apply(rule(each, it.where));
        }
    }
    line_.apply("clear");
    line_.apply("port-up");
}

// Whatever the last case has left.
void matrix::mend_all()
{
    std::vector<int> all = senders_;
    all.insert(all.end(), receivers_.begin(), receivers_.end());
    for (const std::string &each : tools::failover::mend_rules(all)) {
        line_.apply(each);
    }
}

std::string matrix::judge(operation &op, const one_case &it)
{
    it.when.first_fault == nullptr ? begin(op, it) : after_first_fault(op, it);
    const auto end = clock::now() + fault_lasts;
    while (!op.is_done() && clock::now() < end) {
        world_->progress();
    }
    mend(it);
    if (!line_error_.empty()) {
        return line_error_;
    }
    if (!world_->until([&] { return op.is_done(); })) {
        const std::string wrong = op.what_is_wrong();
        return "it does not end" + (wrong.empty() ? "" : ": " + wrong);
    }
    op.reuse_buffers();
    if (!op.closes_endpoint() && !world_->until([&] { return world_->is_whole(); })) {
        return "not every rail carries traffic again";
    }
    world_->progress_for(late_us);
    for (const side *each : {&world_->sender, &world_->receiver}) {
        if (each->errors != 0) {
            return "the endpoint failed: " + each->error;
        }
    }
    return op.what_is_wrong();
}

bool matrix::run(std::size_t index)
{
    const one_case it = at(index);
    std::string wrong;
    try {
        if (world_ == nullptr) {
            mend_all();
            world_ = std::make_unique<world>(given_.senders_rails, given_.receivers_rails);
        }
        const std::unique_ptr<operation> op =
            it.what.make(*world_, static_cast<unsigned>(index % 251 + 1));
        passed_ = 0;
        reached_ = injected_ = false;
        line_error_.clear();
        current_ = &it;
        wrong = judge(*op, it);
        current_ = nullptr;
        hits_ += injected_ ? 1 : 0;
        if (!wrong.empty()) {
            std::printf("WRONG   case %zu: %s: %s\n%s", index, it.name().c_str(), wrong.c_str(),
                        world_->state().c_str());
        } else if (op->closes_endpoint()) {
            world_->connect();
        }
    } catch (const std::exception &error) {
        current_ = nullptr;
        wrong = error.what();
        std::printf("WRONG   case %zu: %s: %s\n", index, it.name().c_str(), wrong.c_str());
    }
    if (!wrong.empty()) {
        std::fflush(stdout);
        mend_all();
        world_.reset(); // the next case has nothing of this one
    }
    return wrong.empty();
}

// Cases in an order that meets every step and fault early.
std::vector<std::size_t> choose(const settings &given, std::size_t all)
{
    if (given.only >= 0) {
        return {static_cast<std::size_t>(given.only) % all};
    }
    const std::size_t count = given.sample == 0 ? all : std::min(given.sample, all);
    std::size_t stride = all / count + (all / count > 1 ? 1 : 0);
    while (std::gcd(stride, all) != 1) {
        ++stride;
    }
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < count; ++i) {
        chosen.push_back((given.seed + i * stride) % all);
    }
    return chosen;
}

// One line a kind, for the driver of tests.
void tell(const std::map<std::string, std::pair<std::size_t, std::size_t>> &by_kind)
{
    const char *path = std::getenv("UFX_TEST_RESULTS");
    std::FILE *results = path != nullptr ? std::fopen(path, "a") : nullptr;
    for (const auto &[name, count] : by_kind) {
        const auto &[right, ran] = count;
        const char *verdict = right == ran ? "PASS" : "FAIL";
        std::printf("%-8s%s: %zu of %zu cases\n", right == ran ? "ok" : "WRONG", name.c_str(), right,
                    ran);
        if (results != nullptr) {
            std::fprintf(results, ":test-result: %s %s: %zu of %zu cases\n", verdict, name.c_str(),
                         right, ran);
        }
    }
    if (results != nullptr) {
        std::fclose(results);
    }
}

int run_all(const settings &given)
{
    matrix all(given);
    if (given.list) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::printf("%zu %s\n", i, all.at(i).name().c_str());
        }
        return 0;
    }
    std::map<std::string, std::pair<std::size_t, std::size_t>> by_kind;
    std::size_t right = 0, ran = 0, left_out = 0;
    const auto begin = clock::now();
    for (const std::size_t index : choose(given, all.size())) {
        if (!all.has_place(index)) {
            ++left_out;
            continue;
        }
        const bool is_right = all.run(index);
        auto &[good, tried] = by_kind[all.at(index).what.name];
        good += is_right ? 1 : 0;
        right += is_right ? 1 : 0;
        ++tried;
        ++ran;
    }
    tell(by_kind);
    const std::chrono::duration<double> took = clock::now() - begin;
    std::printf("%zu kinds x %zu steps x %zu faults x %zu places = %zu cases; ran %zu in %.0f s, the "
                "fault in time in %zu, left out %zu; %zu wrong\n",
                kinds().size(), steps().size(), hca_faults().size(), std::size(places), all.size(), ran,
                took.count(), all.hits(), left_out, ran - right);
    const bool shows = given.only >= 0 || 2 * all.hits() >= ran;
    if (!shows) {
        std::printf("the fault came in time in less than half of the cases: they show nothing\n");
    }
    return right == ran && shows ? 0 : 1;
}

} // namespace

} // namespace ufx::matrix

int main(int argc, char **argv)
{
    ufx::matrix::settings given;
    CLI::App app("Every kind of operation against every fault at every step, on the software HCA");
    app.add_option("--sample", given.sample, "so many cases, spread over all; 0: all");
    app.add_option("--seed", given.seed, "the first case of the sample");
    app.add_option("--case", given.only, "only this one");
    app.add_option("--sender", given.senders_rails, "rails of the sender");
    app.add_option("--receiver", given.receivers_rails, "rails of the receiver");
    app.add_flag("--list", given.list, "print all cases");
    CLI11_PARSE(app, argc, argv);
    try {
        return ufx::matrix::run_all(given);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "failover_matrix: %s\n", error.what());
        return 2;
    }
}
