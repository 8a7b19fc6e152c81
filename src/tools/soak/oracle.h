// SPDX-License-Identifier: BSD-3-Clause
// oracle: random operations between two ends of an endpoint, and what must come of each of them, to
// the byte, at both ends.
#ifndef UFX_TOOLS_SOAK_ORACLE_H
#define UFX_TOOLS_SOAK_ORACLE_H

#include "tools/common/ucp_session.h"
#include "tools/soak/lockstep.h"

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace ufx::tools::soak {

/** Deliberate damage now and then, to see that it is found. */
enum class tamper { NONE, DUPLICATE, LOSE, CORRUPT };

/** How many of each kind ended. */
using tally = std::map<std::string, uint64_t>;

class oracle {
public:
    static constexpr size_t CELL = 4096;

    /**
     * @param rails  of each end, comma separated
     * @param cells  of CELL bytes in the memory of each end, beside the counters of atomics
     * @param time   stepped after each progress, and told what comes; NULL: time goes by itself
     */
    oracle(const std::array<std::string, 2> &rails, size_t cells, tamper how = tamper::NONE,
           lockstep *time = nullptr);
    ~oracle();
    oracle(const oracle &) = delete;
    oracle &operator=(const oracle &) = delete;

    ucp_session &session(unsigned end) { return ends_[end]->session; }

    void progress();
    /** Posts one operation; which, how long and from where, `chance` says. */
    void post(std::mt19937_64 &chance);
    /** Operations that have not ended, or whose message or notification has not come. */
    size_t open() const { return running_.size(); }
    /** Looks at what has ended. Throws what is wrong. */
    void reap();
    /**
     * Closes both ends of the endpoint and makes another one. Once nothing is open.
     * @param turn  progresses; called until all is done
     */
    void reconnect(const std::function<void()> &turn);
    /** All memory, once nothing is open. Throws what is wrong. */
    void check_all() const;
    bool all_rails_up() const;
    /** The rails of both ends, where they are not what they should be. */
    std::string state() const;

    const tally &ended() const { return ended_; }
    uint64_t bytes() const { return bytes_; }

private:
    static constexpr size_t COUNTERS = 8;

    struct end {
        end(const std::string &rails, size_t length);
        ucp_session session;
        ucp_memory memory;
        std::unique_ptr<ucp_remote_key> key; ///< of the other end's memory
        std::vector<unsigned char> expected; ///< of the own memory, for what is not busy
        std::vector<bool> busy;              ///< cells under an operation
        uint64_t next_sent = 0, next_message = 0;
        std::array<uint64_t, COUNTERS> added{}; ///< to the own counters
        std::array<std::set<uint64_t>, COUNTERS> results;
    };

    struct running;
    struct arrival;

    void connect(const std::function<void()> &turn);
    end &other(const end &one) { return &one == ends_[0].get() ? *ends_[1] : *ends_[0]; }
    bool tampers(const running &one, tamper how);
    bool take_cells(running &one, end &target, std::mt19937_64 &chance);
    void post_move(running &one, bool is_put, bool notifies);
    void post_message(running &one, std::mt19937_64 &chance);
    void post_fenced(running &one);
    void post_add(running &one, std::mt19937_64 &chance);
    void retire(running &one);
    void take_message(end &at, const ufx_ucp_am_t &am);
    void take_notice(end &at, uint64_t id);
    void complain(const std::string &text);
    running *find(uint64_t id);

    static ufx_status_t on_message(void *arg, const ufx_ucp_am_t *am) noexcept;
    static void on_notice(void *arg, ufx_ucp_ep_h, uint64_t tag, const void *, size_t) noexcept;
    static void on_done(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *how) noexcept;

    struct hook {
        oracle *self;
        end *at;
    };

    size_t cells_;
    tamper tamper_;
    lockstep *time_;
    std::list<std::unique_ptr<running>> running_; // lives longer than the ends, which may end them
    std::unique_ptr<running> again_;              // what tamper::DUPLICATE sent
    std::array<std::unique_ptr<end>, 2> ends_;
    std::array<hook, 2> hooks_;
    uint64_t next_id_ = 1;
    std::string complaint_; ///< of a callback
    tally ended_;
    uint64_t bytes_ = 0;
};

} // namespace ufx::tools::soak

#endif
