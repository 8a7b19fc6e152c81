// SPDX-License-Identifier: BSD-3-Clause
// Posting: fragments of active messages by number, SKIPs, and lone acks.
#include "ucp/ep.h"
#include "ucp/ep_tx.h"
#include "ucp/mem_table.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>
#include <cstring>

namespace ufx::ucp {

namespace {

// A frame to be packed by a bcopy post: header, then two pieces of the stream.
struct frame {
    am_header header;
    const std::byte *first = nullptr;
    std::size_t first_length = 0;
    const std::byte *second = nullptr;
    std::size_t second_length = 0;

    std::size_t stream() const { return first_length + second_length; }
};

std::size_t pack_frame(void *dest, void *arg) noexcept
{
    const auto &f = *static_cast<const frame *>(arg);
    auto *to = static_cast<std::byte *>(dest);
    encode(f.header, to);
    to += am_header_size;
    if (f.first_length != 0) {
        std::memcpy(to, f.first, f.first_length);
    }
    if (f.second_length != 0) {
        std::memcpy(to + f.first_length, f.second, f.second_length);
    }
    return am_header_size + f.stream();
}

ufx_status_t post_bcopy(const lane &over, frame &f)
{
    const ssize_t sent = ufx_uct_ep_am_bcopy(over.uct(), uct_am_data, pack_frame, &f, 0);
    return sent < 0 ? static_cast<ufx_status_t>(sent) : UFX_OK;
}

// [at, at + length) of the request's stream.
void cut_stream(const request &r, std::size_t at, std::size_t length, frame &f)
{
    if (at < r.head.size()) {
        f.first = r.head.data() + at;
        f.first_length = std::min(length, r.head.size() - at);
        at += f.first_length;
        length -= f.first_length;
    }
    if (length != 0) {
        f.second = r.payload + (at - r.head.size());
        f.second_length = length;
    }
}

frame frame_of(am_header header, const core::am_tx::entry &entry, const request &r)
{
    frame f;
    f.header = header;
    f.header.number = entry.number;
    f.header.index = static_cast<std::uint32_t>(entry.number - entry.first);
    f.header.count = entry.count;
    f.header.total = r.stream_length();
    f.header.offset = std::size_t{f.header.index} * r.fragment_size;
    f.header.id = r.am_id;
    f.header.user_header = r.user_header;
    const auto at = static_cast<std::size_t>(f.header.offset);
    cut_stream(r, at, std::min(r.fragment_size, r.stream_length() - at), f);
    return f;
}

// A copy is not needed, for want of a registration.
bool may_zcopy(const lane &over, const std::byte *payload, const request &r)
{
    const bool is_held = r.memory != nullptr && r.memory->holds(payload, 1);
    return payload == nullptr || over.serves(is_held ? r.memory : nullptr);
}

} // namespace

const ep_tx::frame_limits &ep_tx::find_limits()
{
    limits_ = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    const auto narrow = [this](const ufx_uct_iface_attr_t &attr) {
        const bool has_zcopy =
            (attr.caps & UFX_UCT_CAP_AM_ZCOPY) != 0 && attr.am.max_hdr >= am_header_size;
        limits_.bcopy = std::min(limits_.bcopy, attr.am.max_bcopy - am_header_size);
        limits_.zcopy = has_zcopy ? std::min(limits_.zcopy, attr.am.max_zcopy) : 0;
        limits_.put = std::min(limits_.put, attr.put.max_zcopy);
        limits_.get = std::min(limits_.get, attr.get.max_zcopy);
        limits_.header = has_zcopy ? std::min(limits_.header, attr.am.max_hdr - am_header_size) : 0;
    };
    const worker &home = ep_.home();
    for (const auto &r : home.rails()) {
        narrow(r->attr());
    }
    if (home.self_rail() != nullptr) {
        narrow(home.self_rail()->attr());
    }
    return limits_;
}

void ep_tx::note_am(lane &over, core::am_number number, std::size_t bytes, bool local_pending)
{
    am_place &place = place_of(number);
    if (place.where.epoch != 0) { // a replay
        unload(place.where, place.bytes, core::op_kind::AM);
    }
    place = {over.ref(), bytes};
    load(over, bytes, core::op_kind::AM);
    over.port().count.completed += local_pending ? 0 : 1;
    ep_.failover()->am_posted(
        number, over.ref().rail, local_pending, [&] { return ep_.home().now(); },
        ep_.remote().actions());
}

am_header ep_tx::header_for(const lane &over, am_type type)
{
    core::ep &machine = *ep_.failover();
    am_header header;
    header.type = type;
    header.rail = over.ref().rail;
    header.epoch = over.ref().epoch;
    header.dst_ep = machine.peer_id();
    header.ack = machine.rx().window().next();
    return header;
}

void ep_tx::send_ack()
{
    for (lane *l : ep_.lanes()) {
        if (!is_ready(*l)) {
            continue;
        }
        frame f;
        f.header = header_for(*l, am_type::ACK);
        const ufx_status_t status = post_bcopy(*l, f);
        if (status == UFX_OK) {
            ep_.failover()->rx().acked();
            return;
        }
        refuse(*l, status);
    }
}

ufx_status_t ep_tx::post_skip(lane &over, const core::am_tx::entry &entry)
{
    frame f;
    f.header = header_for(over, am_type::SKIP);
    f.header.number = entry.number;
    f.header.index = static_cast<std::uint32_t>(entry.number - entry.first);
    f.header.count = entry.count;
    const core::am_number number = entry.number;
    const ufx_status_t status = post_bcopy(over, f);
    if (status == UFX_OK) {
        ep_.failover()->rx().acked();
        note_am(over, number, 0, false);
    }
    return status;
}

ufx_status_t ep_tx::post_zcopy(lane &over, const am_header &header, std::span<const std::byte> head,
                               std::span<const std::byte> payload, request &r)
{
    header_.resize(am_header_size + head.size());
    encode(header, header_.data());
    std::copy(head.begin(), head.end(), header_.begin() + am_header_size);
    ufx_uct_iov_t iov{};
    iov.buffer = const_cast<std::byte *>(payload.data());
    iov.length = payload.size();
    if (r.memory != nullptr && r.memory->holds(iov.buffer, iov.length)) {
        iov.memh = r.memory->handle(over.port().domain());
    }
    fragment &pending = ep_.home().requests.take_fragment(ep_, r, core::op_kind::AM);
    pending.number = header.number;
    pending.where = over.ref();
    pending.comp.count = 1;
    pending.comp.status = UFX_OK;
    const ufx_status_t status = ufx_uct_ep_am_zcopy(over.uct(), uct_am_data, header_.data(),
                                                    header_.size(), &iov, 1, 0, &pending.comp);
    if (status == UFX_INPROGRESS) {
        fragments_.push_back(pending);
    } else {
        free_fragment(pending);
    }
    return status;
}

ufx_status_t ep_tx::post_am(lane &over, const core::am_tx::entry &entry)
{
    const core::am_number number = entry.number;
    (void)place_of(number); // once the frame is posted, noting it allocates nothing
    ep_.failover()->expect_am(ep_.remote().actions());
    request *r = ep_.home().requests.find(entry.handle);
    if (entry.skip || r == nullptr) {
        return post_skip(over, entry);
    }
    const bool is_replay = entry.where == core::am_tx::place::REPLAY;
    frame f = frame_of(header_for(over, r->type), entry, *r);
    const bool fits_bcopy = f.stream() <= limits().bcopy;
    // Read here is what its caller gives just now; later the transport answers for memory that
    // cannot be read any more.
    const bool is_later = called_ != r && f.second_length != 0;
    const bool wants_zcopy =
        is_later || f.second_length >= ep_.home().cfg().zcopy_thresh || !fits_bcopy;
    // A frame that was cut to be copied may be longer than zero copy takes.
    const bool by_zcopy = wants_zcopy && limits().zcopy != 0 && f.first_length <= limits().header &&
                          f.second_length <= limits().zcopy && may_zcopy(over, f.second, *r);
    const ufx_status_t status = by_zcopy ? post_zcopy(over, f.header, {f.first, f.first_length},
                                                      {f.second, f.second_length}, *r)
                                         : post_bcopy(over, f);
    if (status < 0) {
        return status;
    }
    ep_.failover()->rx().acked();
    note_am(over, number, f.stream(), status == UFX_INPROGRESS);
    if (is_replay) {
        ep_.home().stats.replayed(ep_.home().now());
        ucs::trace_point("replay_posted");
    } else if (r->type == am_type::RTS) {
        ucs::trace_point("rts_sent");
    }
    return UFX_OK;
}

// A message of one fragment that would overtake nothing needs no turn in a queue. False: it has no
// number yet.
bool ep_tx::post_am_at_once(request &r)
{
    core::ep *machine = ep_.failover();
    if (machine == nullptr || posting_ || r.count != 1 || r.group != 0 || !am_queue_.empty() ||
        machine->tx().any_waits() || !machine->frozen().empty()) {
        return false;
    }
    lane *over = pick(nullptr);
    if (over == nullptr || !admit(r)) {
        return false;
    }
    called_ = r.internal ? nullptr : &r;
    const ufx_status_t status = post_am(*over, *machine->tx().find(r.first));
    called_ = nullptr;
    if (status < 0) {
        refuse_am(*over, r.id, status);
        wake(); // it waits in the ledger now
    }
    return true;
}

// Gives it its numbers. False: the window has no room.
bool ep_tx::admit(request &r)
{
    const std::optional<core::am_number> first = ep_.failover()->admit_am(r.id, r.count, r.group);
    if (!first) {
        return false;
    }
    r.first = *first;
    r.admitted = true;
    r.unposted = 0;
    return true;
}

void ep_tx::admit_ams()
{
    while (!am_queue_.empty()) {
        request &r = am_queue_.front();
        core::ep &machine = *ep_.failover();
        if (r.group != 0 && machine.group(r.group).failed()) {
            drop_unposted(r, UFX_ERR_CANCELED, core::cause::NONE, true);
            continue;
        }
        if (!admit(r)) {
            return;
        }
        leave_queue(r);
    }
}

unsigned ep_tx::post_ams()
{
    unsigned posted = 0;
    admit_ams();
    while (ep_.failover()->tx().any_waits()) {
        // The least loaded lane first; another one if nothing may go over that one.
        lane *over = pick(nullptr);
        const core::am_tx::entry *entry =
            over != nullptr ? ep_.failover()->next_am(over->ref().rail) : nullptr;
        if (entry == nullptr) {
            for (lane *l : ep_.lanes()) {
                if (l != over && is_ready(*l)) {
                    entry = ep_.failover()->next_am(l->ref().rail);
                    if (entry != nullptr) {
                        over = l;
                        break;
                    }
                }
            }
        }
        if (entry == nullptr) {
            break;
        }
        const std::uint64_t handle = entry->skip ? 0 : entry->handle;
        const ufx_status_t status = post_am(*over, *entry);
        if (status < 0) {
            refuse_am(*over, handle, status);
            continue;
        }
        ++posted;
    }
    return posted;
}

// `handle` of its request, or 0.
void ep_tx::refuse_am(lane &over, ucs::handle handle, ufx_status_t status)
{
    if (handle == 0 || !is_for_ever(status)) {
        refuse(over, status);
        return;
    }
    ufx_error("%s: the transport refuses a message: %s", ep_.name().c_str(),
              ufx_ucs_status_name(status));
    ep_.failover()->end_op(handle, status, core::cause::NONE, ep_.remote().actions());
}

} // namespace ufx::ucp
