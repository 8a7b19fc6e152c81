// SPDX-License-Identifier: BSD-3-Clause
// Ep of the scripted transport: operations become packets, packets are applied, acks complete.
#include "fake_impl.h"

#include "ucs/bytes.h"
#include "uct/base/atomics.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ufx::uct::fake {

namespace {

constexpr size_t max_short = 256;
constexpr size_t max_iov = 8;
constexpr size_t max_hdr = 256;

// Bytes of a zero-copy buffer or of the record, in one piece.
std::vector<std::byte> payload_of(const op_record &record)
{
    std::vector<std::byte> all(record.length);
    if (record.form != UFX_UCT_FORM_ZCOPY) {
        std::copy_n(record.payload(), record.length, all.begin());
        return all;
    }
    size_t at = 0;
    for (size_t i = 0; i < record.iov_count; ++i) {
        const ufx_uct_iov_t &piece = record.iov()[i];
        const auto *from = static_cast<const std::byte *>(piece.buffer);
        std::copy_n(from, piece.length, all.begin() + static_cast<ptrdiff_t>(at));
        at += piece.length;
    }
    return all;
}

uint64_t access_of(const op_record &record) noexcept
{
    switch (record.kind) {
    case UFX_UCT_OP_PUT:
        return UFX_UCT_MEM_ACCESS_REMOTE_PUT;
    case UFX_UCT_OP_GET:
        return UFX_UCT_MEM_ACCESS_REMOTE_GET;
    default:
        return UFX_UCT_MEM_ACCESS_REMOTE_ATOMIC;
    }
}

bool has_remote(const op_record &record) noexcept
{
    return record.kind == UFX_UCT_OP_PUT || record.kind == UFX_UCT_OP_GET ||
           record.kind == UFX_UCT_OP_ATOMIC_POST || record.kind == UFX_UCT_OP_ATOMIC_FETCH;
}

} // namespace

fake_ep::fake_ep(fake_iface &iface, const ufx_uct_ep_params_t &params, uint64_t id)
    : failover_ep(iface, params, iface.options().max_outstanding,
                  4 * iface.options().seg_size + (64u << 10)),
      id_(id)
{
    the_fabric().eps[id_] = this;
}

fake_ep::~fake_ep()
{
    the_fabric().eps.erase(id_);
}

// ---- Posts
// ---------------------------------------------------------------------------------------

bool fake_ep::can_post() const noexcept
{
    return !iface().no_resource && queue_.size() < iface().options().max_outstanding;
}

uint64_t fake_ep::steps_of(const op_record &record) const noexcept
{
    const size_t mtu = iface().options().mtu;
    return std::max<uint64_t>(1, (record.length + mtu - 1) / mtu);
}

ufx_status_t fake_ep::posted(op_record *record, ufx_status_t accepted) noexcept
{
    if (record == nullptr) {
        return UFX_ERR_NO_RESOURCE;
    }
    record->transport[0] = tx_position_;
    record->transport[1] = steps_of(*record);
    tx_position_ += record->transport[1];
    return accepted;
}

ufx_status_t fake_ep::am_short(uint8_t id, uint64_t header, const void *payload,
                               size_t length) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || length > max_short - sizeof(header)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post() ? posted(push_am_short(queue_, id, header, payload, length), UFX_OK)
                      : UFX_ERR_NO_RESOURCE;
}

ssize_t fake_ep::am_bcopy(uint8_t id, ufx_uct_pack_cb_t pack, void *arg, unsigned) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || !can_post()) {
        return id >= UFX_UCT_AM_ID_MAX ? UFX_ERR_INVALID_PARAM : UFX_ERR_NO_RESOURCE;
    }
    op_record *record = push_am_bcopy(queue_, id, pack, arg, iface().options().seg_size);
    const ufx_status_t status = posted(record, UFX_OK);
    return status == UFX_OK ? static_cast<ssize_t>(record->length) : ssize_t{status};
}

ufx_status_t fake_ep::am_zcopy(uint8_t id, const void *header, size_t header_length,
                               const ufx_uct_iov_t *iov, size_t iov_count, unsigned,
                               ufx_uct_completion_t *comp) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || header_length > max_hdr || iov_count > max_iov ||
        iov_bytes(iov, iov_count) > iface().options().seg_size - iface().options().zcopy_less ||
        !the_fabric().takes(iov, iov_count)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post()
               ? posted(push_am_zcopy(queue_, id, header, header_length, iov, iov_count, comp),
                        UFX_INPROGRESS)
               : UFX_ERR_NO_RESOURCE;
}

ufx_status_t fake_ep::put_short(const void *buffer, size_t length, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey) noexcept
{
    if (length > max_short) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post() ? posted(push_put_short(queue_, buffer, length, remote_addr, rkey), UFX_OK)
                      : UFX_ERR_NO_RESOURCE;
}

ssize_t fake_ep::put_bcopy(ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey) noexcept
{
    if (!can_post()) {
        return UFX_ERR_NO_RESOURCE;
    }
    op_record *record =
        push_put_bcopy(queue_, pack, arg, iface().options().seg_size, remote_addr, rkey);
    const ufx_status_t status = posted(record, UFX_OK);
    return status == UFX_OK ? static_cast<ssize_t>(record->length) : ssize_t{status};
}

ufx_status_t fake_ep::put_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (iov_count > max_iov || !the_fabric().takes(iov, iov_count)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post() ? posted(push_rma_zcopy(queue_, UFX_UCT_OP_PUT, iov, iov_count, remote_addr,
                                              rkey, comp),
                               UFX_INPROGRESS)
                      : UFX_ERR_NO_RESOURCE;
}

ufx_status_t fake_ep::get_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (iov_count > max_iov || !the_fabric().takes(iov, iov_count)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post() ? posted(push_rma_zcopy(queue_, UFX_UCT_OP_GET, iov, iov_count, remote_addr,
                                              rkey, comp),
                               UFX_INPROGRESS)
                      : UFX_ERR_NO_RESOURCE;
}

ufx_status_t fake_ep::get_bcopy(ufx_uct_unpack_cb_t unpack, void *arg, size_t length,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (length > iface().options().seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    return can_post()
               ? posted(push_get_bcopy(queue_, unpack, arg, length, 0, remote_addr, rkey, comp),
                        UFX_INPROGRESS)
               : UFX_ERR_NO_RESOURCE;
}

ufx_status_t fake_ep::post_atomic(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t compare,
                                  void *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                  ufx_uct_completion_t *comp) noexcept
{
    const uint64_t allowed =
        result == nullptr ? atomic_post_mask : atomic_fetch_mask | (1u << UFX_UCT_ATOMIC_CSWAP);
    if (!in_mask(allowed, op) || remote_addr % sizeof(uint64_t) != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (!can_post()) {
        return UFX_ERR_NO_RESOURCE;
    }
    op_record *record = push_atomic(queue_, op, sizeof(uint64_t), operand, compare, result,
                                    remote_addr, rkey, comp);
    return posted(record, result == nullptr ? UFX_OK : UFX_INPROGRESS);
}

ufx_status_t fake_ep::atomic64_post(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t remote_addr,
                                    ufx_uct_rkey_t rkey) noexcept
{
    return post_atomic(op, operand, 0, nullptr, remote_addr, rkey, nullptr);
}

ufx_status_t fake_ep::atomic64_fetch(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                     ufx_uct_completion_t *comp) noexcept
{
    if (op == UFX_UCT_ATOMIC_CSWAP) {
        return UFX_ERR_INVALID_PARAM;
    }
    return post_atomic(op, operand, 0, result, remote_addr, rkey, comp);
}

ufx_status_t fake_ep::atomic64_cswap(uint64_t compare, uint64_t swap, uint64_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                     ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, swap, compare, result, remote_addr, rkey, comp);
}

ufx_status_t fake_ep::check(ufx_uct_completion_t *comp) noexcept
{
    return can_post() ? posted(push_check(queue_, comp), UFX_INPROGRESS) : UFX_ERR_NO_RESOURCE;
}

ufx_status_t fake_ep::fence() noexcept
{
    return is_failed() ? failed_status() : UFX_OK;
}

// ---- Packets
// -------------------------------------------------------------------------------------

void fake_ep::send_new()
{
    if (state() != UFX_UCT_EP_LIVE || is_failed()) {
        return;
    }
    sent_ = std::max(sent_, queue_.first());
    for (; sent_ < queue_.next(); ++sent_) {
        const op_record &record = queue_.at(sent_);
        if (!record.is_flush()) {
            send(record, sent_);
        }
    }
}

void fake_ep::send(const op_record &record, uint64_t index)
{
    packet out{};
    out.to = peer_;
    out.index = index;
    out.op = record;
    if (record.kind != UFX_UCT_OP_PUT) {
        out.position = record.transport[0];
        out.steps = record.transport[1];
        out.last = true;
        if (record.kind == UFX_UCT_OP_AM) {
            out.bytes.assign(record.data(), record.data() + record.header_length);
            std::vector<std::byte> payload = payload_of(record);
            out.bytes.insert(out.bytes.end(), payload.begin(), payload.end());
        }
        iface().packets_out_.push_back(std::move(out));
        return;
    }
    const std::vector<std::byte> all = payload_of(record);
    const size_t mtu = iface().options().mtu;
    for (uint64_t step = 0; step < record.transport[1]; ++step) {
        packet piece = out;
        piece.position = record.transport[0] + step;
        piece.steps = 1;
        piece.offset = step * mtu;
        piece.last = step + 1 == record.transport[1];
        auto from = all.begin() + static_cast<ptrdiff_t>(piece.offset);
        piece.bytes.assign(from,
                           from + static_cast<ptrdiff_t>(std::min(mtu, all.size() - piece.offset)));
        iface().packets_out_.push_back(std::move(piece));
    }
}

void fake_ep::receive(packet &&in)
{
    if (is_failed() || state() != UFX_UCT_EP_LIVE || refusing_ || in.position != expected_) {
        return; // closed, or behind a gap
    }
    reply out{};
    out.to = peer_;
    out.index = in.index;
    if (!apply(in, out.bytes)) {
        refusing_ = true;
        out.refused = true;
    } else {
        expected_ += in.steps;
    }
    out.position = expected_;
    iface().replies_out_.push_back(std::move(out));
}

bool fake_ep::apply(const packet &in, std::vector<std::byte> &answer)
{
    const op_record &op = in.op;
    if (has_remote(op) && !the_fabric().allows(op.rkey, op.remote_addr, op.length, access_of(op))) {
        return false;
    }
    auto *memory = reinterpret_cast<std::byte *>(op.remote_addr);
    switch (op.kind) {
    case UFX_UCT_OP_AM: {
        std::vector<std::byte> message = in.bytes; // the handler may write into it
        iface().rx_bytes_ += message.size();
        iface().ams_.call(op.am_id, message.data(), message.size(), 0);
        break;
    }
    case UFX_UCT_OP_PUT:
        std::copy(in.bytes.begin(), in.bytes.end(), memory + in.offset);
        break;
    case UFX_UCT_OP_GET:
        answer.assign(memory, memory + op.length);
        break;
    case UFX_UCT_OP_ATOMIC_POST:
    case UFX_UCT_OP_ATOMIC_FETCH: {
        const uint64_t before =
            apply_atomic(static_cast<ufx_uct_atomic_op_t>(op.atomic_op), op.atomic_size, memory,
                         op.atomic.operand, op.atomic.compare);
        answer.resize(sizeof(before));
        std::memcpy(answer.data(), &before, sizeof(before));
        break;
    }
    default:
        break;
    }
    return true;
}

void fake_ep::receive(const reply &in)
{
    if (is_failed()) {
        return;
    }
    if (in.refused) {
        script_error({UFX_ERR_REMOTE_ACCESS, UFX_UCT_CAUSE_REMOTE_ACCESS},
                     "the target refused key, range or rights");
        return;
    }
    if (iface().options().moderated && queue_.at(in.index).comp == nullptr) {
        return;
    }
    while (!queue_.empty() && !is_failed()) {
        op_record &record = queue_.front();
        if (record.is_flush()) {
            queue_.complete_front(UFX_OK);
            continue;
        }
        if (record.transport[0] + record.transport[1] > in.position) {
            return;
        }
        if (queue_.first() == in.index) {
            take_answer(record, in);
            if (queue_.empty() || queue_.first() != in.index) {
                return; // the receiver of the data destroyed the ep
            }
        } else if (record.kind == UFX_UCT_OP_GET || record.kind == UFX_UCT_OP_ATOMIC_FETCH) {
            return; // its own answer was lost
        }
        acked_bytes_ += record.length;
        queue_.complete_front(UFX_OK);
    }
}

void fake_ep::take_answer(op_record &record, const reply &in) noexcept
{
    if (record.kind == UFX_UCT_OP_ATOMIC_FETCH) {
        std::memcpy(record.result, in.bytes.data(), record.atomic_size);
        return;
    }
    if (record.kind != UFX_UCT_OP_GET) {
        return;
    }
    if (record.form == UFX_UCT_FORM_BCOPY) {
        record.unpack.cb(record.unpack.arg, in.bytes.data(), in.bytes.size());
        return;
    }
    const std::byte *from = in.bytes.data();
    for (size_t i = 0; i < record.iov_count; ++i) {
        const ufx_uct_iov_t &piece = record.iov()[i];
        std::copy_n(from, piece.length, static_cast<std::byte *>(piece.buffer));
        from += piece.length;
    }
}

// ---- Connection, failure, tokens
// -----------------------------------------------------------------

ufx_status_t fake_ep::get_address(void *ep_addr) noexcept
{
    ucs::store_le64(ep_addr, id_);
    return UFX_OK;
}

ufx_status_t fake_ep::connect_to_ep(const void *device_addr, const void *iface_addr,
                                    const void *ep_addr) noexcept
{
    if (peer_ != 0 || iface().is_reachable(device_addr, iface_addr) == 0) {
        return peer_ != 0 ? UFX_ERR_ALREADY_EXISTS : UFX_ERR_NET_UNREACHABLE;
    }
    peer_ = ucs::load_le64(ep_addr);
    return UFX_OK;
}

// The handshake needs both directions open. A peer that is gone refuses.
void fake_ep::try_connect() noexcept
{
    if (state() != UFX_UCT_EP_INIT || is_failed() || peer_ == 0) {
        return;
    }
    if (!iface().link_up()) {
        script_error({UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_INJECTED}, "the link is down");
        return;
    }
    if (!iface().data.is_open() || !iface().acks.is_open()) {
        return;
    }
    auto found = the_fabric().eps.find(peer_);
    if (found == the_fabric().eps.end() || !found->second->iface().link_up() ||
        found->second->is_failed()) {
        script_error({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_CONN_REFUSED}, "the peer is gone");
        return;
    }
    const fake_iface &other = found->second->iface();
    if (found->second->peer_ == id_ && other.data.is_open() && other.acks.is_open()) {
        go_live();
        found->second->go_live();
    }
}

void fake_ep::script_error(const error &why, const char *text) noexcept
{
    fail(error_of(why.status, why.cause, text));
}

void fake_ep::quiesce() noexcept
{
    if (!iface().options().tells_peer) {
        return;
    }
    auto found = the_fabric().eps.find(peer_);
    if (found != the_fabric().eps.end()) {
        found->second->script_error({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_CONN_RESET},
                                    "the peer closed");
    }
}

ufx_status_t fake_ep::make_quiet(ufx_uct_completion_t *quiet)
{
    if (!iface().hold_quiet) {
        return UFX_OK;
    }
    if (quiet != nullptr) {
        quiet_.push_back(quiet);
    }
    return UFX_INPROGRESS;
}

unsigned fake_ep::finish_quiet() noexcept
{
    if (quiet_.empty() || iface().hold_quiet) {
        return 0;
    }
    std::vector<ufx_uct_completion_t *> ready = std::move(quiet_);
    quiet_.clear();
    for (ufx_uct_completion_t *comp : ready) {
        finish(comp, UFX_OK);
    }
    return static_cast<unsigned>(ready.size());
}

ufx_status_t fake_ep::query(ufx_uct_ep_attr_t *attr) noexcept
{
    const ufx_status_t status = failover_ep::query(attr);
    if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
        ucs::store_le64(attr->tx_token, id_);
        attr->tx_token_len = fake_iface::token_len;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_PROGRESS) != 0) {
        attr->acked_bytes = acked_bytes_;
        attr->network_unacked = iface().network_unacked ? 1 : 0;
        attr->srtt_ns = iface().srtt_ns;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
        std::snprintf(attr->name, sizeof(attr->name), "fake#%llu",
                      static_cast<unsigned long long>(id_));
    }
    return status;
}

ucs::result<fake_position> fake_ep::parse_token(const void *token, size_t length) const noexcept
{
    if (length != fake_iface::token_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    const fake_position position{ucs::load_le64(token)};
    if (position.expected > tx_position_) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return position;
}

extent fake_ep::judge(const op_record &record, uint64_t, const fake_position &position,
                      size_t &partial) const noexcept
{
    const uint64_t first = record.transport[0];
    if (position.expected >= first + record.transport[1]) {
        return extent::whole;
    }
    if (position.expected <= first) {
        return extent::none;
    }
    partial = (position.expected - first) * iface().options().mtu;
    return extent::partial;
}

} // namespace ufx::uct::fake
