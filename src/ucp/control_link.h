// SPDX-License-Identifier: BSD-3-Clause
// The link to one peer: which connections there are, which address is tried next, is it alive.
//
// One connection is enough. Another is opened, over the other addresses in turn, when there is
// none, and (at least once a second) when a message had to be resent and nothing came back since: a
// dead link gives no EOF. While two are open the side with the smaller uuid closes what the larger
// one opened, if its own is heard. Death: the last connection ended and every address refuses
// since; or another uuid answers; or nothing was heard for UFX_PEER_TIMEOUT, of time in which
// progress was called.
#ifndef UFX_UCP_CONTROL_LINK_H
#define UFX_UCP_CONTROL_LINK_H

#include "ucp/address.h"
#include "ucp/control_conn.h"
#include "ucp/core/control_msg.h"
#include "ucs/backoff.h"

#include <ufx/ucp.h>

#include <vector>

namespace ufx::ucp {

class control_path;
class ep;
class peer;

class control_link {
public:
    control_link(control_path &path, std::uint64_t uuid, peer *p);

    // 0 and nullptr for a link by sockaddr that has not been answered yet.
    std::uint64_t uuid() const { return uuid_; }
    peer *remote() const { return peer_; }

    struct target {
        int rail = -1; // local rail to bind to
        sockaddr_storage address{};
        bool refused = false; // since the last open connection
    };
    void set_targets(std::vector<target> targets) { targets_ = std::move(targets); }
    // The peer has moved from one address to another.
    void replace_address(const sockaddr_storage &old, const sockaddr_storage &fresh);

    void send(std::vector<std::uint8_t> frame, unsigned attempt);
    void tick(core::time_ns now);
    bool is_open() const { return primary() != nullptr; }
    bool finished() const { return finished_; }
    void finish() { finished_ = true; }
    // Ends its connections: no one leads to a finished link.
    void cut();
    // Wants a tick within milliseconds.
    bool busy() const { return !finished_ && (!is_open() || unanswered_); }
    std::size_t open_count() const;
    // The eps that wait for it to say who it is fail.
    void fail_waiting(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text);
    void heard();
    // The peer has begun to send over lanes: it may not get what goes by connections.
    void heard_by_lane(core::time_ns now);
    bool wants_lanes(core::time_ns now) const;

    // From the path.
    void add(control_conn &conn) { conns_.push_back(&conn); }
    void opened(control_conn &conn);
    void ended(control_conn &conn);
    void another_uuid();
    void other_version(const control_conn &conn);

    // Eps by sockaddr that wait for the peer's name.
    std::vector<ep *> waiting;

private:
    control_conn *primary() const;
    void attempt(core::time_ns now);
    void close_doubles(core::time_ns now);
    void drop_slow(core::time_ns now);
    void watch_silence(core::time_ns now);
    void try_everything(core::time_ns now);
    void note_refused(std::size_t target);
    void die(const char *why);

    control_path &path_;
    std::uint64_t uuid_;
    peer *peer_;
    bool finished_ = false;
    bool unanswered_ = false; // something was resent since it was last heard
    std::vector<target> targets_;
    std::size_t next_target_ = 0;
    core::time_ns next_attempt_ = 0;
    ucs::backoff backoff_;
    std::vector<control_conn *> conns_;
    std::vector<std::vector<std::uint8_t>> backlog_;
    bool crossed_ = false;        // every port to every address is tried
    core::time_ns closed_at_ = 0; // when the last open connection ended
    core::time_ns heard_at_ = 0;
    core::time_ns lane_until_ = 0;
    core::time_ns next_hello_ = 0;
};

} // namespace ufx::ucp

#endif
