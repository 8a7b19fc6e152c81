// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of the control path: nonblocking, framed, with a bounded send buffer.
//
// CONNECTING (opener only) -> GREETING (HELLO not yet received) -> OPEN. It reports frames and its
// end to the control path and is destroyed by it.
#ifndef UFX_UCP_CONTROL_CONN_H
#define UFX_UCP_CONTROL_CONN_H

#include "ucp/control_frame.h"
#include "ucp/core/types.h"
#include "ucs/fd.h"
#include "ucs/result.h"

#include <sys/socket.h>
#include <vector>

namespace ufx::ucp {

class control_link;
class control_path;

class control_conn {
public:
    enum class phase : std::uint8_t { CONNECTING, GREETING, OPEN };

    // `rail`: local rail whose address it uses, or -1.
    control_conn(control_path &path, ucs::fd socket, phase start, int rail,
                 const sockaddr_storage &remote, core::time_ns now);
    ~control_conn();
    control_conn(const control_conn &) = delete;
    control_conn &operator=(const control_conn &) = delete;

    // Puts it into the event loop.
    ufx_status_t begin();
    // Queues a frame; false if the buffer is full (the message is resent later).
    bool send(std::span<const std::uint8_t> frame);
    // Writes what is queued, as far as the kernel takes it.
    void flush();
    // No more input is wanted: close as soon as what is queued has gone.
    void close_after_flush() { closing_ = true; }
    // Closes it by RST, as a cut link that comes back would.
    void reset();

    phase where() const { return phase_; }
    void set_open() { phase_ = phase::OPEN; }
    bool opened_here() const { return opener_; }
    int rail() const { return rail_; }
    const sockaddr_storage &remote() const { return remote_; }
    core::time_ns since() const { return since_; }
    core::time_ns heard() const { return heard_; }
    // 0 until the end is reported; then errno, or -1 for EOF.
    int error() const { return error_; }
    bool ended() const { return ended_; }
    // The control link that it belongs to; nullptr while the other side is not known.
    control_link *link = nullptr;
    std::size_t target = 0; // which of the link's targets it tries

private:
    static void on_ready(void *arg, std::uint32_t events);
    void finish_connect();
    void read_some();
    void parse();
    void write_some();
    void end(int error);
    void watch();

    control_path &path_;
    ucs::fd socket_;
    phase phase_;
    bool opener_;
    int rail_;
    sockaddr_storage remote_;
    core::time_ns since_;
    core::time_ns heard_ = 0;
    int error_ = 0;
    bool ended_ = false;
    bool closing_ = false;
    bool watching_out_ = false;
    bool in_loop_ = false;
    std::vector<std::uint8_t> in_;
    std::vector<std::uint8_t> out_;
    std::size_t out_done_ = 0;
};

} // namespace ufx::ucp

#endif
