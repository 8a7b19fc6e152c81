// SPDX-License-Identifier: BSD-3-Clause
// The fields of every control message in wire order, once for the encoder, the decoder and the
// explorer.
#ifndef UFX_UCP_CORE_CONTROL_FIELDS_H
#define UFX_UCP_CORE_CONTROL_FIELDS_H

#include "ucp/core/control_msg.h"

namespace ufx::ucp::core {

// A visitor V has operator() for integers, bool, blobs and windows, epoch() for the epoch of a
// lane, choice() for enums (with the number of values), and bytes()/list() for bounded vectors. M
// is the message, const for readers of it.
template <class V, class M>
void lane_name_fields(V &v, M &lane)
{
    v(lane.src_ep);
    v(lane.dst_ep);
    v(lane.rail);
    v.epoch(lane.epoch);
}

template <class V, class M>
void ep_pair_fields(V &v, M &m)
{
    v(m.src_ep);
    v(m.dst_ep);
}

// clang-format off
template <class V> void fields(V &v, auto &m, hello_msg *)
{
    v(m.min_version); v(m.max_version); v(m.is_reply); v.bytes(m.address, max_hello_bytes);
}
template <class V> void fields(V &v, auto &m, suspect_hint_msg *) { v(m.rail); }
template <class V> void fields(V &v, auto &m, seal_msg *)
{
    v(m.seal_id); lane_name_fields(v, m.lane);
    v.choice(m.scope, 2); v.choice(m.why, static_cast<unsigned>(cause::COUNT));
    v(m.own_error); v(m.ep_gone);
    v.choice(m.landed.grade, 3); v(m.landed.nothing); v(m.landed.rx); v(m.window);
}
template <class V> void fields(V &v, auto &m, seal_ack_msg *) { v(m.seal_id); }
template <class V> void fields(V &v, auto &m, lane_want_msg *)
{
    lane_name_fields(v, m.lane); v(m.connection); v.choice(m.mode, 3);
}
template <class V> void fields(V &v, auto &m, lane_req_msg *)
{
    lane_name_fields(v, m.lane); v(m.connection); v.choice(m.mode, 3); v(m.address); v(m.tx);
}
template <class V> void fields(V &v, auto &m, lane_rep_msg *)
{
    lane_name_fields(v, m.lane); v(m.address); v(m.tx);
}
template <class V> void fields(V &v, auto &m, lane_ready_msg *) { lane_name_fields(v, m.lane); }
template <class V> void fields(V &v, auto &m, lane_refused_msg *)
{
    lane_name_fields(v, m.lane); v.choice(m.code, static_cast<unsigned>(refusal::COUNT));
    v(m.of_want); v.epoch(m.highest); v(m.retry_after_ms);
}
template <class V> void fields(V &v, auto &m, probe_ok_msg *)
{
    v(m.rail); v(m.epoch); v(m.is_answer);
}
template <class V> void fields(V &v, auto &m, addr_msg *) { v(m.serial); v(m.rail); v(m.address); }
template <class V> void fields(V &v, auto &m, addr_ack_msg *) { v(m.serial); }
template <class V> void fields(V &v, auto &m, rkey_req_msg *)
{
    v(m.memory_id); v(m.rail); v(m.generation);
}
template <class V> void fields(V &v, auto &m, rkey_rep_msg *)
{
    v(m.memory_id); v(m.rail); v(m.asked); v(m.generation); v(m.found); v(m.rkey);
}
template <class V> void fields(V &v, auto &m, revoke_msg *) { ep_pair_fields(v, m); v(m.rendezvous); }
template <class V> void fields(V &v, auto &m, revoke_ack_msg *)
{
    ep_pair_fields(v, m); v(m.rendezvous);
}
template <class V> void fields(V &v, auto &m, window_req_msg *) { ep_pair_fields(v, m); }
template <class V> void fields(V &v, auto &m, window_ack_msg *)
{
    ep_pair_fields(v, m); v(m.window);
    v.list(m.taken, max_wire_rails, [](V &w, auto &t) { w(t.rail); w(t.epoch); w(t.count); });
}
template <class V> void fields(V &v, auto &m, admin_msg *)
{
    v(m.serial); v(m.rail); v.choice(m.action, 2);
}
template <class V> void fields(V &v, auto &m, admin_ack_msg *) { v(m.serial); v(m.rail); }
template <class V> void fields(V &v, auto &m, ep_close_msg *)
{
    ep_pair_fields(v, m); v(m.is_cut); v(m.window);
}
template <class V> void fields(V &v, auto &m, ep_close_ack_msg *)
{
    ep_pair_fields(v, m); v(m.window);
}
// clang-format on

} // namespace ufx::ucp::core

#endif
