// SPDX-License-Identifier: BSD-3-Clause
// The control path of a worker: listens on every rail's address, keeps a link to each peer.
#ifndef UFX_UCP_CONTROL_PATH_H
#define UFX_UCP_CONTROL_PATH_H

#include "ucp/address.h"
#include "ucp/control_conn.h"
#include "ucp/control_link.h"
#include "ucs/acceptor.h"
#include "ucs/entry.h"
#include "ucs/owner.h"

#include <functional>
#include <memory>
#include <vector>

namespace ufx::ucp {

class ep;
class listener;
class peer;
class rail;
class worker;

// What a test does to messages on their way out: 0 copies = lost, 2 = doubled.
struct control_filter {
    bool only_lanes = false; // connections swallow everything
    std::function<int(std::uint64_t peer, const core::control_msg &msg)> copies;
};

class control_path {
public:
    explicit control_path(worker &w);
    ~control_path();
    control_path(const control_path &) = delete;
    control_path &operator=(const control_path &) = delete;

    worker &home() const { return worker_; }
    // Opens one listening socket for each rail that has an IP address.
    ufx_status_t listen();
    // The device of a rail has another IP now: listens there, no longer on the old one.
    void move_gate(unsigned rail, const sockaddr_storage &address);
    // The address on which rail `index` listens; AF_UNSPEC: none.
    sockaddr_storage address_of(unsigned rail) const;
    // Another listening socket, for a user's listener.
    ucs::result<int> add_listener(const sockaddr_storage &address, listener &owner);
    void remove_listener(listener &owner);

    // Links.
    control_link &link_to(const worker_address &address, peer &p);
    control_link *find_link(std::uint64_t uuid) const;
    // An ep by sockaddr: it joins its peer when the other side has said HELLO.
    void connect_sockaddr(ep &e, const sockaddr_storage &remote);
    void forget_ep(ep &e);

    // Sends to a peer by its link; from attempt 1 on over every open connection.
    void send(peer &p, const core::control_msg &msg, unsigned attempt);
    // A part of a frame that came over a lane.
    void on_lane_part(std::span<const std::uint8_t> bytes);
    // A rail was cut, or mended, by ufx_ucp_rail_set_link().
    void set_link(unsigned rail, bool up);

    // While one of these lives, what connections send is gathered; its end writes it.
    class gathering {
    public:
        explicit gathering(control_path &path) : path_(path) { path_.gathers_ = true; }
        ~gathering()
        {
            path_.gathers_ = false;
            (void)ucs::guard([&] { path_.flush(); }); // what is left goes with the next message
        }
        gathering(const gathering &) = delete;
        gathering &operator=(const gathering &) = delete;

    private:
        control_path &path_;
    };

    // Attempts, silence, what has ended; soon after something happened, else each tick.
    void tick(core::time_ns now);
    // Connections are being made, or have ended: tick soon.
    bool busy() const;
    std::size_t open_connections(std::uint64_t uuid) const;
    std::size_t link_count() const { return links_.size(); }
    std::size_t connection_count() const { return conns_.size(); }

    // From connections.
    void on_frame(control_conn &conn, std::span<const std::uint8_t> message);
    void on_garbage(control_conn &conn);
    void on_end(control_conn &conn);
    // False: write at once.
    bool gather(control_conn &conn);
    control_conn *open_to(const sockaddr_storage &remote, int rail, control_link *link,
                          std::size_t target, int &error);

    control_filter filter;
    // Peers that came by themselves and have no ep yet; one more is sent away. Fewer in tests.
    std::size_t max_guests = 4096;
    static constexpr std::size_t max_strangers = 64;
    static constexpr core::time_ns stranger_limit_ns = 5'000'000'000;

private:
    struct gate;
    void accept_from(gate &g);
    static void on_acceptable(void *arg, std::uint32_t events);
    ufx_status_t open_gate(const sockaddr_storage &address, int rail, listener *owner);
    void on_hello(control_conn &conn, const core::control_envelope &envelope,
                  const core::hello_msg &hello);
    void refuse_version(control_conn &conn, std::uint64_t from, bool answer);
    bool takes_guest(std::uint64_t uuid);
    void introduce(control_conn &conn, const worker_address &address, bool answer);
    void join_waiting(control_conn &conn, peer &found);
    void greet(control_conn &conn, std::uint64_t dst, bool reply);
    void sweep();
    void flush();

    worker &worker_;
    std::vector<std::unique_ptr<gate>> gates_;
    ucs::acceptor acceptor_;
    std::vector<std::unique_ptr<control_conn>> conns_;
    std::vector<std::unique_ptr<control_link>> links_;
    std::vector<control_conn *> gathered_; // with something to write
    bool gathers_ = false;
    bool swept_ = true;
    bool told_of_guests_ = false; // once
};

} // namespace ufx::ucp

#endif
