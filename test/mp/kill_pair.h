// SPDX-License-Identifier: BSD-3-Clause
// kill_pair: two kill_child processes, one of which stops at a trace point; then one of them is
// killed, or stopped for a while, and what the survivors say is judged.
#ifndef UFX_TEST_MP_KILL_PAIR_H
#define UFX_TEST_MP_KILL_PAIR_H

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace ufx::test {

/** A row of the table. */
struct kill_case {
    const char *phase; ///< trace point
    bool kill;         ///< else SIGSTOP for 5 s
    bool near;         ///< it happens to the process at the point, else to its partner
    std::string name() const;
};

class kill_pair {
public:
    /** Starts both. @param child path of kill_child */
    kill_pair(const kill_case &what, const std::string &child);
    kill_pair(const kill_pair &) = delete;
    kill_pair &operator=(const kill_pair &) = delete;
    ~kill_pair();

    /** Looks at it; true when it is over. */
    bool advance();

    /** After the end: empty if it went as it must, else what went wrong. */
    const std::string &complaint() const noexcept { return complaint_; }

    /** Both did all they had to, and neither came to the point: chance did not lead there. */
    bool has_missed() const noexcept { return missed_; }

    const kill_case &what() const noexcept { return what_; }

private:
    enum class stage { RUNNING, HELD, ENDING, OVER };

    struct process {
        pid_t pid = -1;
        int output = -1;
        bool ended = false;
        int status = 0;
        std::string text;
    };

    void start(process &to, const std::string &child, int socket, bool starts);
    process &partner_of(process &one)
    {
        return &one == &processes_[0] ? processes_[1] : processes_[0];
    }
    void stopped(process &one, uint64_t now);
    void strike(process &at_point, uint64_t now);
    bool collect(process &one);
    void judge(uint64_t now);
    void complain(const std::string &text);

    kill_case what_;
    process processes_[2];      // the one that makes the endpoint, the other
    process *victim_ = nullptr; ///< once a process has reached the point
    stage stage_ = stage::RUNNING;
    uint64_t since_ms_ = 0; // begin of the stage
    std::string complaint_;
    bool missed_ = false;
};

uint64_t clock_ms();

} // namespace ufx::test

#endif
