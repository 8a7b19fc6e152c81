// SPDX-License-Identifier: BSD-3-Clause
// RTM_GETROUTE by libnl. The entry of the table is asked for (RTM_F_FIB_MATCH): where there is none
// the kernel would otherwise take an address for a neighbour, since an interface is given.
#include "route.h"

#include "owner.h"

#include <cerrno>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

namespace ufx::ucs {

namespace {

using route_socket = c_owner<nl_sock, &::nl_socket_free>;
using route_message = c_owner<nl_msg, &::nlmsg_free>;

#ifdef RTM_F_FIB_MATCH
constexpr unsigned ask_for_entry = RTM_F_FIB_MATCH;
#else
constexpr unsigned ask_for_entry = 0x2000;
#endif

route_message make_question(unsigned interface, std::span<const std::byte> from,
                            std::span<const std::byte> to) noexcept
{
    const bool is_ipv4 = to.size() == sizeof(in_addr);
    const auto length = static_cast<int>(to.size());
    rtmsg header{};
    header.rtm_family = is_ipv4 ? AF_INET : AF_INET6;
    header.rtm_dst_len = header.rtm_src_len = static_cast<unsigned char>(length * 8);
    header.rtm_flags = ask_for_entry;
    route_message made(::nlmsg_alloc_simple(RTM_GETROUTE, 0));
    if (made == nullptr || ::nlmsg_append(made.get(), &header, sizeof(header), NLMSG_ALIGNTO) < 0 ||
        ::nla_put(made.get(), RTA_DST, length, to.data()) < 0 ||
        ::nla_put(made.get(), RTA_SRC, length, from.data()) < 0 ||
        ::nla_put_u32(made.get(), RTA_OIF, interface) < 0) {
        return nullptr;
    }
    return made;
}

int on_entry(nl_msg *answer, void *arg) noexcept
{
    const nlmsghdr *header = ::nlmsg_hdr(answer);
    if (header->nlmsg_type == RTM_NEWROUTE && ::nlmsg_valid_hdr(header, sizeof(rtmsg)) != 0) {
        const auto *entry = static_cast<const rtmsg *>(::nlmsg_data(header));
        const bool leads = entry->rtm_type == RTN_UNICAST || entry->rtm_type == RTN_LOCAL;
        *static_cast<route_state *>(arg) = leads ? route_state::there : route_state::none;
    }
    return NL_OK;
}

int on_error(sockaddr_nl *, nlmsgerr *error, void *arg) noexcept
{
    const bool is_missing =
        error->error == -ENETUNREACH || error->error == -EHOSTUNREACH || error->error == -EACCES;
    *static_cast<route_state *>(arg) = is_missing ? route_state::none : route_state::unknown;
    return NL_STOP;
}

} // namespace

route_state find_route(const std::string &interface, std::span<const std::byte> from,
                       std::span<const std::byte> to) noexcept
{
    const unsigned index = ::if_nametoindex(interface.c_str());
    const route_socket socket(::nl_socket_alloc());
    const route_message question = index != 0 ? make_question(index, from, to) : nullptr;
    route_state answer = route_state::unknown;
    if (question == nullptr || socket == nullptr || ::nl_connect(socket.get(), NETLINK_ROUTE) < 0 ||
        ::nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, &on_entry, &answer) < 0 ||
        ::nl_socket_modify_err_cb(socket.get(), NL_CB_CUSTOM, &on_error, &answer) < 0) {
        return answer;
    }
    ::nl_socket_disable_auto_ack(socket.get());
    if (::nl_send_auto(socket.get(), question.get()) >= 0) {
        static_cast<void>(::nl_recvmsgs_default(socket.get()));
    }
    return answer;
}

} // namespace ufx::ucs
