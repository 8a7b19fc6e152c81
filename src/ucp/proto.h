// SPDX-License-Identifier: BSD-3-Clause
// What the protocols share: how a message is cut, messages of ucp itself, rendezvous control.
#ifndef UFX_UCP_PROTO_H
#define UFX_UCP_PROTO_H

#include "ucp/core/control_msg.h"
#include "ucp/request_pool.h"

#include <span>

namespace ufx::ucp {

class ep;
class peer;
class recv_message;

// Cuts the stream of an AM or atomic request, and counts its parts.
// The payload is registered as for shape_rma if it will travel without a copy. LOCAL_PROT: it is
// not there. INVALID_PARAM: it has more than max_am_fragments.
[[nodiscard]] ufx_status_t shape_am(ep &e, request &r);
// Counts the parts of the pieces of a put, get or receive, and registers what of them the user did
// not map, where a rail's device needs that. NO_MEMORY: it cannot be registered; LOCAL_PROT: it is
// not there.
[[nodiscard]] ufx_status_t shape_rma(ep &e, request &r);
// A message of ucp to the peer: its `head`, of `size` bytes, is to be filled, then it is to be
// submitted. None if it is too long.
[[nodiscard]] request_pool::draft start_internal(ep &e, am_type type, std::size_t size);

// Rendezvous.
// Makes the request an RTS of that payload.
[[nodiscard]] ufx_status_t make_rts(ep &e, request &r, const void *buffer, std::size_t length);
void send_revoke(ep &e, request &r);
void send_ats(ep &e, const recv_message &rts, ufx_status_t status);

// Control messages that belong to the data path.
void on_revoke(peer &from, const core::revoke_msg &msg);
void on_revoke_ack(peer &from, const core::revoke_ack_msg &msg);
void on_rkey_rep(peer &from, const core::rkey_rep_msg &msg);

} // namespace ufx::ucp

#endif
