// SPDX-License-Identifier: BSD-3-Clause
// A measurement over an endpoint of ucp.
#include "tools/common/channel.h"
#include "tools/common/error.h"
#include "tools/common/rails.h"
#include "tools/common/signals.h"
#include "tools/common/ucp_session.h"
#include "tools/common/units.h"
#include "tools/perftest/port.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace ufx::tools::perftest {

namespace {

constexpr uint16_t AM_ID = 1;
constexpr uint16_t HELLO_ID = 2; ///< the first message, which makes the endpoint known
constexpr uint64_t CONNECT_NS = 10000000000;

/** What the ports of all threads share. */
struct connection {
    connection(const options &wanted, const std::string &devices)
        : session(devices, "perftest", wanted.threads > 1), from(session.context(), wanted.size),
          into(session.context(), wanted.size)
    {
    }

    ucp_session session;
    ucp_memory from, into;
    std::unique_ptr<ucp_remote_key> key; ///< goes before the session
    uint64_t remote = 0;
};

/** A server that was given no rails uses those that fit the client's. */
std::string devices_of(const options &wanted, const fields *client)
{
    return client == nullptr || !wanted.device.empty() ? wanted.device
                                                       : devices_for(read_rails(*client));
}

class ucp_port : public port {
public:
    ucp_port(const options &wanted, const fields *client)
        : ucp_port(wanted, std::make_shared<connection>(wanted, devices_of(wanted, client)))
    {
        if (client != nullptr) {
            check_rails(places_of(link_->session.rails()), read_rails(*client), false);
        }
        unsigned char *into = link_->into.data();
        if (wanted.what->op == operation::GET) { // what it then holds was fetched
            std::memset(link_->from.data(), 0, wanted.size);
        } else {
            fill_pattern(link_->from.data(), wanted.size);
        }
        if (wanted.what->op == operation::PUT && wanted.what->how == pattern::PING_PONG) {
            target_ = into + wanted.size - 1;
        }
        if (wanted.what->op == operation::GET) {
            fill_pattern(into, wanted.size);
        }
        check(ufx_ucp_worker_set_am_handler(link_->session.worker(), AM_ID, am_cb, this),
              "cannot receive active messages");
    }

    void describe(fields &to) override
    {
        const std::string address = link_->session.address(), key = link_->into.key();
        const std::vector<rail_place> rails = places_of(link_->session.rails());
        to.set("transport", "ucp");
        to.set("device", show_devices(rails));
        write_rails(rails, to);
        to.set("address", to_hex(address.data(), address.size()));
        to.set("key", to_hex(key.data(), key.size()));
        to.set("memory", reinterpret_cast<uint64_t>(link_->into.data()));
    }

    void connect(const fields &peer) override;
    void progress() override { ufx_ucp_worker_progress(link_->session.worker()); }
    ufx_status_t post(uint64_t serial) override;

    ufx_status_t flush() override
    {
        ufx_ucp_op_params_t params = params_;
        params.field_mask = UFX_UCP_OP_PARAM_CB;
        return counted([&] { return ufx_ucp_ep_flush(link_->session.ep(), &params, nullptr); });
    }

    void check_health() const override
    {
        if (wanted_.threads == 1) { // else a callback of another thread may be writing it
            link_->session.throw_if_failed();
        }
        check(failed_.load(std::memory_order_relaxed), "an operation failed");
    }

    std::unique_ptr<port> another() override
    {
        return std::unique_ptr<port>(new ucp_port(wanted_, link_));
    }

    const unsigned char *source() const override { return link_->from.data(); }
    const unsigned char *landing() const override { return link_->into.data(); }

private:
    ucp_port(const options &wanted, std::shared_ptr<connection> link)
        : wanted_(wanted), link_(std::move(link))
    {
        params_.field_mask = UFX_UCP_OP_PARAM_CB | UFX_UCP_OP_PARAM_MEM;
        params_.cb = done_cb;
        params_.cb_arg = this;
        params_.mem = link_->from.handle();
    }

    /** Counts before it posts: another thread may complete the operation before this one is back.
     */
    template <class Post>
    ufx_status_t counted(Post &&post)
    {
        outstanding_.fetch_add(1, std::memory_order_relaxed);
        const ufx_status_t status = post();
        if (status != UFX_INPROGRESS) {
            outstanding_.fetch_sub(1, std::memory_order_relaxed);
        }
        return status;
    }

    void fail(ufx_status_t status) noexcept;
    /** With --validate: a payload that arrived. */
    void look_at(const void *bytes, size_t length);

    static void done_cb(void *arg, ufx_ucp_request_h request,
                        const ufx_ucp_completion_t *completion) noexcept;
    static ufx_status_t am_cb(void *arg, const ufx_ucp_am_t *am) noexcept;

    const options &wanted_;
    std::shared_ptr<connection> link_;
    uint64_t result_ = 0;
    ufx_ucp_op_params_t params_ = {};
    std::atomic<ufx_status_t> failed_{UFX_OK}; ///< the first failure; nothing is ordered by it
};

void ucp_port::connect(const fields &peer)
{
    ucp_session &session = link_->session;
    // The client makes the endpoint; at the server it appears by the first message.
    if (!wanted_.host.empty()) {
        session.connect(from_hex(peer.text("address")));
        static_cast<void>(
            ufx_ucp_am_send(session.ep(), HELLO_ID, nullptr, 0, nullptr, 0, nullptr, nullptr));
    }
    const uint64_t deadline = now_ns() + CONNECT_NS;
    ufx_ucp_ep_attr_t attr = {};
    attr.field_mask = UFX_UCP_EP_ATTR_STATE;
    while (session.ep() == nullptr || ufx_ucp_ep_query(session.ep(), &attr) != UFX_OK ||
           attr.state != UFX_UCP_EP_CONNECTED) {
        throw_if_interrupted();
        session.progress(-1, 1);
        session.throw_if_failed();
        if (now_ns() > deadline) {
            throw tool_error("the endpoint is not connected within 10 s");
        }
    }
    link_->key = std::make_unique<ucp_remote_key>(session.ep(), from_hex(peer.text("key")));
    link_->remote = peer.number("memory");
}

ufx_status_t ucp_port::post(uint64_t serial)
{
    const ufx_ucp_ep_h ep = link_->session.ep();
    const ufx_ucp_rkey_h key = link_->key->handle();
    unsigned char *from = link_->from.data();
    switch (wanted_.what->op) {
    case operation::AM:
        return counted([&] {
            return ufx_ucp_am_send(ep, AM_ID, nullptr, 0, from, wanted_.size, &params_, nullptr);
        });
    case operation::PUT:
        if (target_ != nullptr) {
            from[wanted_.size - 1] = mark(serial);
        }
        return counted([&] {
            return ufx_ucp_put(ep, from, wanted_.size, link_->remote, key, &params_, nullptr);
        });
    case operation::GET:
        return counted([&] {
            return ufx_ucp_get(ep, from, wanted_.size, link_->remote, key, &params_, nullptr);
        });
    default:
        return counted([&] {
            ufx_ucp_op_params_t params = params_;
            params.field_mask = UFX_UCP_OP_PARAM_CB;
            return ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(result_), &result_,
                                  link_->remote, key, &params, nullptr);
        });
    }
}

void ucp_port::fail(ufx_status_t status) noexcept
{
    ufx_status_t none = UFX_OK;
    failed_.compare_exchange_strong(none, status, std::memory_order_relaxed);
}

void ucp_port::done_cb(void *arg, ufx_ucp_request_h request,
                       const ufx_ucp_completion_t *completion) noexcept
{
    auto *self = static_cast<ucp_port *>(arg);
    if (request != nullptr) {
        ufx_ucp_request_free(request);
    }
    if (completion->status != UFX_OK) {
        self->fail(completion->status);
    }
    self->outstanding_.fetch_sub(1, std::memory_order_relaxed);
}

ufx_status_t ucp_port::am_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<ucp_port *>(arg);
    if ((am->flags & UFX_UCP_AM_RNDV) == 0) {
        self->arrived_++;
        self->look_at(am->data, am->length);
        return UFX_OK;
    }
    // Fetched into the buffer; it counts once it is here.
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = [](void *port, ufx_ucp_request_h request,
                   const ufx_ucp_completion_t *completion) noexcept {
        auto *owner = static_cast<ucp_port *>(port);
        owner->arrived_++;
        owner->look_at(owner->landing(), completion->status == UFX_OK ? owner->wanted_.size : 0);
        done_cb(port, request, completion);
    };
    params.cb_arg = self;
    const ufx_status_t status = self->counted([&] {
        return ufx_ucp_am_recv_data(
            self->link_->session.worker(), am->data, self->link_->into.data(),
            std::min<size_t>(am->length, self->wanted_.size), &params, nullptr);
    });
    if (status == UFX_OK) {
        self->arrived_++;
        self->look_at(self->landing(), am->length);
    } else if (status < 0) {
        self->fail(status);
    }
    return UFX_OK;
}

void ucp_port::look_at(const void *bytes, size_t length)
{
    if (wanted_.validate &&
        (length != wanted_.size ||
         !is_pattern(static_cast<const unsigned char *>(bytes), length, false))) {
        wrong_++;
    }
}

} // namespace

std::unique_ptr<port> make_ucp_port(const options &wanted, const fields *client)
{
    return std::make_unique<ucp_port>(wanted, client);
}

} // namespace ufx::tools::perftest
