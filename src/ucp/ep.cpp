// SPDX-License-Identifier: BSD-3-Clause
// An ep: creation, lanes, error, close.
#include "ucp/ep.h"

#include "ucp/context.h"
#include "ucp/control_path.h"
#include "ucp/core/control_msg.h"
#include "ucp/listener.h"
#include "ucp/peer.h"
#include "ucp/refuse.h"
#include "ucp/worker.h"
#include "ucs/log.h"

#include <algorithm>
#include <cstring>
#include <netinet/in.h>

namespace ufx::ucp {

namespace {

ufx_status_t open_by_address(worker &w, ep &e, const ufx_ucp_ep_params_t &params)
{
    const auto address = decode_worker_address(
        {static_cast<const std::uint8_t *>(params.address), params.address_length});
    if (!address) {
        return address.error();
    }
    const auto p = address->uuid == w.uuid() ? w.self_peer() : w.get_peer(*address);
    if (!p) {
        return p.error();
    }
    if ((*p)->machine().rail_ids().empty()) {
        return UFX_ERR_UNREACHABLE;
    }
    e.join(**p, 0, (*p)->next_connection());
    return UFX_OK;
}

} // namespace

ep::ep(worker &w, core::error_mode mode)
    : tx(*this), rx(*this), worker_(w), id_(w.register_ep(*this)), mode_(mode)
{
}

ep::~ep()
{
    worker_.control().forget_ep(*this);
    if (peer_ != nullptr) {
        peer_->forget_ep(*this);
        machine_ = nullptr;
    }
    worker_.unregister_ep(*this);
}

ucs::result<ep *> ep::create(worker &w, const ufx_ucp_ep_params_t &params)
{
    const std::uint64_t way =
        params.field_mask &
        (UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_SOCKADDR | UFX_UCP_EP_PARAM_CONN_REQUEST);
    auto mode = static_cast<unsigned>(w.cfg().error_mode);
    if ((params.field_mask & UFX_UCP_EP_PARAM_ERROR_MODE) != 0) {
        mode = number_of(params.error_mode);
    }
    const bool is_mode = mode <= UFX_UCP_ERROR_MODE_FAILOVER;
    const bool has_flags = (params.field_mask & UFX_UCP_EP_PARAM_FLAGS) != 0;
    const bool is_flags =
        !has_flags || (params.flags & ~std::uint64_t{UFX_UCP_EP_TARGET_POLLS_MEMORY}) == 0;
    constexpr const char *call = "ufx_ucp_ep_create";
    conn_request *request = (way & UFX_UCP_EP_PARAM_CONN_REQUEST) != 0
                                ? static_cast<conn_request *>(params.conn_request)
                                : nullptr;
    if (request != nullptr && (way != UFX_UCP_EP_PARAM_CONN_REQUEST || !is_mode || !is_flags)) {
        drop_request(*request); // consumed, whatever is wrong
    }
    if (!is_mode) {
        return refuse(call, "params->error_mode is no ufx_ucp_error_mode_t");
    }
    if (!is_flags) {
        return refuse(call, "params->flags has bits that are none of ufx_ucp_ep_flags");
    }
    ucs::owner<ep> made = ucs::make_owner<ep>(w, static_cast<core::error_mode>(mode));
    made->flags_ = has_flags ? params.flags : 0;
    if ((params.field_mask & UFX_UCP_EP_PARAM_NAME) != 0 && params.name != nullptr) {
        made->name_ = params.name;
    }
    if ((params.field_mask & UFX_UCP_EP_PARAM_EVENT_CB) != 0) {
        made->set_event_cb(params.event_cb, params.event_arg);
    }
    ufx_status_t status = UFX_OK;
    if (way == UFX_UCP_EP_PARAM_ADDRESS && params.address != nullptr) {
        status = open_by_address(w, *made, params);
    } else if (way == UFX_UCP_EP_PARAM_SOCKADDR) {
        const auto remote = copy_sockaddr(params.sockaddr, params.sockaddr_length);
        if (!remote) {
            return refuse(call, "params->sockaddr is NULL or neither IPv4 nor IPv6, or "
                                "sockaddr_length is short");
        }
        made->connection_ = w.next_listener_connection(*remote);
        w.control().connect_sockaddr(*made, *remote);
    } else if (way == UFX_UCP_EP_PARAM_CONN_REQUEST && request != nullptr) {
        status = accept_request(*made, *request);
    } else {
        status =
            refuse(call, "params must have exactly one of address, sockaddr, conn_request, and "
                         "not NULL");
    }
    if (status != UFX_OK) {
        return status;
    }
    ep *raw = made.get();
    w.adopt(std::move(made));
    return raw;
}

void ep::join(peer &p, core::ep_id peer_ep, std::uint64_t connection)
{
    peer_ = &p;
    connection_ = connection;
    p.add_ep(*this, peer_ep, connection);
    machine_ = p.machine().find_ep(id_);
    tx.wake();
}

// ---- Lanes -----------------------------------------------------------------------------------

void ep::remove_lane(lane &l)
{
    if (std::find(lanes_.begin(), lanes_.end(), &l) != lanes_.end()) {
        tx.lane_gone(l);
        std::erase(lanes_, &l);
    }
}

void ep::lane_live()
{
    if (state_ == UFX_UCP_EP_CONNECTING) {
        state_ = UFX_UCP_EP_CONNECTED;
    }
    tx.wake();
}

bool ep::has_open_lane() const
{
    return std::any_of(lanes_.begin(), lanes_.end(), [](const lane *l) { return l->is_open(); });
}

std::size_t ep::waiting() const
{
    return tx.queued() + (machine_ != nullptr ? machine_->frozen().size() : 0);
}

void ep::look_whether_it_waits(core::time_ns now)
{
    if (waiting() == 0 || has_open_lane()) {
        waits_since_ = 0;
    } else if (waits_since_ == 0) {
        waits_since_ = now;
    }
}

void ep::query(ufx_ucp_ep_attr_t &attr) const
{
    if ((attr.field_mask & UFX_UCP_EP_ATTR_STATE) != 0) {
        attr.state = state_;
    }
    if ((attr.field_mask & UFX_UCP_EP_ATTR_LANES) != 0) {
        const core::ep *machine = failover();
        attr.lanes = machine != nullptr ? static_cast<unsigned>(machine->lanes().size()) : 0;
        attr.lanes_live = static_cast<unsigned>(std::count_if(
            lanes_.begin(), lanes_.end(), [](const lane *l) { return l->is_open(); }));
    }
    if ((attr.field_mask & UFX_UCP_EP_ATTR_PEER) != 0) {
        attr.peer = peer_ != nullptr ? peer_->uuid() : 0;
    }
    if ((attr.field_mask & UFX_UCP_EP_ATTR_ERROR_MODE) != 0) {
        attr.error_mode = static_cast<ufx_ucp_error_mode_t>(mode_);
    }
}

// ---- Errors ----------------------------------------------------------------------------------

void ep::set_event_cb(ufx_ucp_ep_event_cb_t cb, void *arg)
{
    event_cb_ = cb;
    event_arg_ = arg;
    if (!events_.empty()) {
        worker_.schedule(*this);
    }
}

void ep::explain_error(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text)
{
    if (explained_.empty()) {
        explained_.push_back({UFX_UCP_EP_EVENT_ERROR, status, code, text});
    }
}

void ep::on_error(ufx_status_t status, core::cause why, core::refusal code)
{
    if (!explained_.empty()) {
        fail(explained_.front());
        return;
    }
    if (why == core::cause::PEER_CLOSED && code == core::refusal::NONE) {
        fail({UFX_UCP_EP_EVENT_CLOSED_BY_PEER, UFX_OK, UFX_UCP_REFUSED_NONE,
              "the peer closed the ep"});
        return;
    }
    std::string text = std::string("the ep failed: ") + core::name_of(why);
    if (why == core::cause::PEER_GAVE_UP) {
        text = "the peer ended the ep before its own operations had ended";
    }
    if (code != core::refusal::NONE) {
        text = std::string("the peer refused: ") + core::text_of(code);
    } else if (why == core::cause::PEER_DEAD) {
        text = std::string("the peer is dead: ") + peer_->death();
    }
    if (code == core::refusal::VERSION) {
        status = UFX_ERR_VERSION;
    } else if (code != core::refusal::NONE && code != core::refusal::EP_GONE) {
        status = UFX_ERR_REJECTED;
    }
    fail({UFX_UCP_EP_EVENT_ERROR, status, static_cast<ufx_ucp_refusal_t>(code), text});
}

void ep::on_error_text(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text)
{
    fail({UFX_UCP_EP_EVENT_ERROR, status, code, text});
}

void ep::starve() noexcept
{
    starved_ = true;
    worker_.schedule(*this);
}

void ep::end_starving()
{
    if (failed_) {
        tx.abandon(UFX_ERR_NO_MEMORY); // it was cut short
    } else {
        on_error_text(UFX_ERR_NO_MEMORY, UFX_UCP_REFUSED_NONE, "there is no memory to go on");
    }
    starved_ = false;
    if (peer_ != nullptr && !close_sent_) {
        close_sent_ = true;
        peer_->close_ep(*this, true);
    }
}

// Operations end first; their callbacks, and handlers of what has arrived, run before the event.
void ep::fail(event what)
{
    if (failed_) {
        return;
    }
    events_.push_back(std::move(what));
    const event &told = events_.back();
    failed_ = true;
    was_cut_ = was_cut_ || told.type == UFX_UCP_EP_EVENT_ERROR;
    if (!closing_) {
        state_ = UFX_UCP_EP_FAILED;
    }
    const bool quiet = told.type != UFX_UCP_EP_EVENT_ERROR || closing_;
    if (!quiet) {
        ufx_error("ep %s%sfailed: %s", name_.c_str(), name_.empty() ? "" : " ", told.text.c_str());
    }
    const ufx_status_t status =
        told.status == UFX_OK || told.status == UFX_ERR_REJECTED || told.status == UFX_ERR_VERSION
            ? UFX_ERR_UNREACHABLE
            : told.status;
    worker_.schedule(*this);
    tx.abandon(status);
}

void ep::on_transfers_dead()
{
    const bool orderly =
        !events_.empty() && events_.front().type == UFX_UCP_EP_EVENT_CLOSED_BY_PEER;
    if (!orderly && worker_.ctx().memory.gave_key()) {
        events_.push_back({UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD, UFX_OK, UFX_UCP_REFUSED_NONE,
                           "nothing that the peer had begun to transfer lands any more"});
        worker_.schedule(*this);
    }
}

unsigned ep::deliver_events()
{
    if (events_.empty() || closing_) {
        return 0;
    }
    if (event_cb_ == nullptr) {
        if (unattended_) {
            (void)close(UFX_UCP_CLOSE_FORCE, nullptr, nullptr);
        }
        return 0;
    }
    const std::vector<event> due = std::exchange(events_, {});
    const ufx_ucp_ep_event_cb_t cb = event_cb_;
    void *arg = event_arg_;
    unsigned count = 0;
    for (const event &e : due) {
        const ufx_ucp_ep_event_t told{0, e.type, e.status, e.code, e.text.c_str()};
        cb(arg, this, &told);
        ++count;
    }
    return count;
}

// ---- Close -----------------------------------------------------------------------------------

ufx_status_t ep::close(ufx_ucp_close_mode_t mode, const ufx_ucp_op_params_t *params,
                       ufx_ucp_request_h *out)
{
    if (closing_) {
        if (forced_ || mode != UFX_UCP_CLOSE_FORCE) {
            return UFX_ERR_SHUTDOWN;
        }
        force();
        return UFX_OK;
    }
    request_pool::draft made = worker_.requests.start(worker_, nullptr, params, op::CLOSE);
    worker_.note_closing(*this);
    request *r = made.release();
    close_request_ = r->id;
    closing_ = true;
    state_ = UFX_UCP_EP_CLOSING;
    if (mode == UFX_UCP_CLOSE_FORCE) {
        force();
    }
    if (out != nullptr) {
        *out = r->handle();
    }
    return UFX_INPROGRESS;
}

void ep::force()
{
    forced_ = true;
    was_cut_ = was_cut_ || !tx.idle();
    or_fail([this] { tx.abandon(UFX_ERR_CANCELED); });
}

bool ep::progress_close()
{
    if (!close_sent_ && (forced_ || failed_ || tx.idle())) {
        close_sent_ = true;
        if (peer_ == nullptr) {
            closed_ = true;
        } else {
            peer_->close_ep(*this, was_cut_);
        }
    }
    return closed_ && tx.idle();
}

} // namespace ufx::ucp
