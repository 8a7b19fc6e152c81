// SPDX-License-Identifier: BSD-3-Clause
// One TCP connection of the control path.
#include "ucp/control_conn.h"

#include "ucp/control_path.h"
#include "ucp/worker.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace ufx::ucp {

namespace {

// More than this in one turn would starve the data path.
constexpr std::size_t read_chunk = 16 * 1024;
constexpr std::size_t max_unsent = 1 << 20;

} // namespace

control_conn::control_conn(control_path &path, ucs::fd socket, phase start, int rail,
                           const sockaddr_storage &remote, core::time_ns now)
    : path_(path), socket_(std::move(socket)), phase_(start), opener_(start == phase::CONNECTING),
      rail_(rail), remote_(remote), since_(now), heard_(now)
{
    const int one = 1;
    (void)setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

control_conn::~control_conn()
{
    if (in_loop_) {
        (void)path_.home().loop().remove(socket_.get());
    }
}

ufx_status_t control_conn::begin()
{
    watching_out_ = phase_ == phase::CONNECTING;
    const std::uint32_t events = watching_out_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
    const auto added = path_.home().loop().add(socket_.get(), events, &on_ready, this);
    in_loop_ = added.ok();
    return added.status();
}

bool control_conn::send(std::span<const std::uint8_t> frame)
{
    if (ended_ || out_.size() - out_done_ + frame.size() > max_unsent) {
        return false;
    }
    out_.insert(out_.end(), frame.begin(), frame.end());
    // A connecting one writes when it is connected; much is written along the way.
    const bool is_much = out_.size() - out_done_ > read_chunk;
    if (phase_ != phase::CONNECTING && (is_much || !path_.gather(*this))) {
        flush();
    }
    return true;
}

void control_conn::flush()
{
    if (!ended_ && phase_ != phase::CONNECTING) {
        write_some();
    }
}

void control_conn::reset()
{
    const linger hard{1, 0};
    (void)setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    end(ECONNRESET);
}

void control_conn::on_ready(void *arg, std::uint32_t events)
{
    auto &self = *static_cast<control_conn *>(arg);
    if (self.ended_) {
        return;
    }
    if (self.phase_ == phase::CONNECTING) {
        self.finish_connect();
    }
    if (!self.ended_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        self.read_some();
    }
    if (!self.ended_ && (events & EPOLLOUT) != 0) {
        self.write_some();
    }
}

void control_conn::finish_connect()
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    if (error != 0) {
        end(error);
        return;
    }
    phase_ = phase::GREETING;
    write_some();
}

void control_conn::read_some()
{
    const std::size_t had = in_.size();
    in_.resize(had + read_chunk);
    const ssize_t got = ::recv(socket_.get(), in_.data() + had, read_chunk, MSG_DONTWAIT);
    const int error = errno;
    in_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got > 0) {
        heard_ = path_.home().now();
        parse();
    } else if (got == 0) {
        end(-1);
    } else if (error != EAGAIN && error != EWOULDBLOCK && error != EINTR) {
        end(error);
    }
}

void control_conn::parse()
{
    std::size_t at = 0;
    while (!ended_ && in_.size() - at >= control_frame_size) {
        const auto length = parse_frame(std::span(in_).subspan(at, control_frame_size));
        if (!length) {
            path_.on_garbage(*this);
            end(EPROTO);
            return;
        }
        if (in_.size() - at - control_frame_size < *length) {
            break;
        }
        path_.on_frame(*this, std::span(in_).subspan(at + control_frame_size, *length));
        at += control_frame_size + *length;
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at));
}

void control_conn::write_some()
{
    while (out_done_ < out_.size()) {
        const ssize_t sent = ::send(socket_.get(), out_.data() + out_done_, out_.size() - out_done_,
                                    MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            out_done_ += static_cast<std::size_t>(sent);
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            end(errno);
            return;
        }
        break;
    }
    if (out_done_ == out_.size()) {
        out_.clear();
        out_done_ = 0;
        if (closing_) {
            end(-1);
            return;
        }
    }
    watch();
}

void control_conn::watch()
{
    const bool want_out = !out_.empty();
    if (want_out != watching_out_ && in_loop_) {
        watching_out_ = want_out;
        (void)path_.home().loop().modify(socket_.get(), want_out ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

void control_conn::end(int error)
{
    if (ended_) {
        return;
    }
    ended_ = true;
    error_ = error;
    if (in_loop_) {
        in_loop_ = false;
        (void)path_.home().loop().remove(socket_.get());
    }
    // The object may be on the stack of its own caller: the path sweeps it in its next turn.
    path_.on_end(*this);
}

} // namespace ufx::ucp
