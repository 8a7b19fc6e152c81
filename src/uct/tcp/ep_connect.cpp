// SPDX-License-Identifier: BSD-3-Clause
// Making the one connection of an ep pair.
#include "iface.h"

#include "ucs/clock.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace ufx::uct::tcp {

namespace {

// The kernel repeats a lost SYN after 1, 2, 4 ... seconds, in which a link that has come back would
// lie idle. A fresh attempt needs no more than a round trip, which is shorter than the last delay.
constexpr uint64_t first_retry_ns = 250 * 1'000'000;
constexpr uint64_t last_retry_ns = 1'000 * 1'000'000;

} // namespace

ufx_status_t ep::connect_to_ep(const void *device_addr, const void *iface_addr, const void *ep_addr)
{
    using bytes = const std::byte *;
    std::optional<ip_address> ip =
        decode_device_address(std::span<const std::byte, device_address_size>(
            static_cast<bytes>(device_addr), device_address_size));
    std::optional<uint16_t> port =
        decode_iface_address(std::span<const std::byte, iface_address_size>(
            static_cast<bytes>(iface_addr), iface_address_size));
    std::optional<wire::conn_id> peer =
        wire::decode_conn_id({static_cast<bytes>(ep_addr), wire::token_size});
    if (is_failed()) {
        return failed_status();
    }
    if (!ip || !port || !peer || *peer == own_) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (phase_ != phase::idle) {
        return UFX_ERR_ALREADY_EXISTS;
    }
    peer_ = *peer;
    name_ = iface().local().name + ">" + ip->text() + ":" + std::to_string(*port);
    deadline_ns_ =
        ucs::now_ns() + static_cast<uint64_t>(iface().settings().connect_timeout.count());
    iface().add_connecting(*this);
    if (!iface().link_up()) {
        break_with({UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_INJECTED}, 0, "the link is cut");
        return UFX_OK;
    }
    if (!wire::connects(own_, peer_)) {
        phase_ = phase::waiting;
        iface().admit_waiting(*this);
        return UFX_OK;
    }
    phase_ = phase::connecting;
    peer_ip_ = *ip;
    peer_port_ = *port;
    dial();
    return UFX_OK;
}

void ep::dial() noexcept
{
    retry_delay_ns_ = std::clamp(2 * retry_delay_ns_, first_retry_ns, last_retry_ns);
    retry_ns_ = ucs::now_ns() + retry_delay_ns_;
    ucs::result<ucs::fd> socket =
        start_connect(iface().local(), iface().settings(), peer_ip_, peer_port_);
    if (!socket) {
        int error = errno;
        break_with(classify(error), error, "cannot connect");
        return;
    }
    socket_ = std::move(*socket);
    if (!iface().watch(socket_, own_.id)) {
        break_with({UFX_ERR_IO, UFX_UCT_CAUSE_OWN_QP}, errno, "cannot watch the socket");
    }
}

void ep::on_event(uint32_t epoll_events) noexcept
{
    constexpr uint32_t over = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    readable_ = readable_ || (epoll_events & (EPOLLIN | over)) != 0;
    writable_ = writable_ || (epoll_events & EPOLLOUT) != 0;
    hung_up_ = hung_up_ || (epoll_events & over) != 0;
    if (phase_ == phase::connecting || phase_ == phase::greeting) {
        continue_connecting();
    } else {
        iface().activate(*this);
    }
}

void ep::continue_connecting() noexcept
{
    if (phase_ == phase::connecting) {
        if (int error = socket_error(socket_); error != 0) {
            break_with(classify(error), error, "cannot connect");
            return;
        }
        if (!writable_) {
            return;
        }
        std::array<std::byte, wire::hello_size> hello;
        wire::encode(wire::hello{.am_max = static_cast<uint32_t>(iface().settings().am_max),
                                 .from = own_,
                                 .to = peer_},
                     hello);
        if (send(socket_.get(), hello.data(), hello.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(hello.size())) {
            lost(errno); // a fresh socket has room
            return;
        }
        phase_ = phase::greeting;
        retry_ns_ = UINT64_MAX;
    }
    if (readable_) {
        read_welcome();
    }
}

void ep::read_welcome() noexcept
{
    ssize_t got = recv(socket_.get(), hello_.data() + hello_size_, hello_.size() - hello_size_, 0);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            lost(got == 0 ? 0 : errno);
        }
        return;
    }
    hello_size_ += static_cast<size_t>(got);
    if (hello_size_ < hello_.size()) {
        return;
    }
    std::optional<wire::hello> answer = wire::decode_hello(hello_);
    if (!answer || answer->from != peer_ || answer->to != own_ ||
        answer->kind == wire::hello_kind::hello) {
        break_with({UFX_ERR_BAD_MESSAGE, UFX_UCT_CAUSE_BAD_MESSAGE}, 0,
                   "something else than the peer answered");
        return;
    }
    if (answer->kind == wire::hello_kind::refusal || answer->version != wire::hello_version) {
        bool version =
            answer->reason == wire::refusal::version || answer->version != wire::hello_version;
        break_with({version ? UFX_ERR_VERSION : UFX_ERR_REJECTED, UFX_UCT_CAUSE_CONN_REFUSED}, 0,
                   wire::refusal_text(version ? wire::refusal::version : answer->reason));
        return;
    }
    open();
}

void ep::adopt(ucs::fd socket) noexcept
{
    socket_ = std::move(socket);
    if (!iface().watch(socket_, own_.id)) {
        break_with({UFX_ERR_IO, UFX_UCT_CAUSE_OWN_QP}, errno, "cannot watch the socket");
        return;
    }
    open();
}

void ep::open() noexcept
{
    static_cast<ucs::list_node<connecting_tag> *>(this)->unlink();
    phase_ = phase::open;
    readable_ = true; // what came meanwhile gave no event of its own
    writable_ = true;
    iface().activate(*this);
    iface().need_attention(); // pending requests may run now
    go_live();
}

} // namespace ufx::uct::tcp
