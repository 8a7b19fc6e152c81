// SPDX-License-Identifier: BSD-3-Clause
// A measurement over an endpoint of ucp.
#include "tools/common/channel.h"
#include "tools/common/error.h"
#include "tools/common/ucp_session.h"
#include "tools/common/units.h"
#include "tools/perftest/port.h"

#include <algorithm>
#include <memory>

namespace ufx::tools::perftest {

namespace {

constexpr uint16_t AM_ID = 1;
constexpr uint16_t HELLO_ID = 2; ///< the first message, which makes the endpoint known
constexpr uint64_t CONNECT_NS = 10000000000;

class ucp_port : public port {
public:
    explicit ucp_port(const options &wanted)
        : wanted_(wanted), session_(wanted.device, "perftest"),
          from_(session_.context(), wanted.size), into_(session_.context(), wanted.size)
    {
        fill_pattern(from_.data(), wanted.size);
        if (wanted.what->op == operation::PUT && wanted.what->how == pattern::PING_PONG) {
            target_ = into_.data() + wanted.size - 1;
        }
        if (wanted.what->op == operation::GET) {
            fill_pattern(into_.data(), wanted.size);
        }
        check(ufx_ucp_worker_set_am_handler(session_.worker(), AM_ID, am_cb, this),
              "cannot receive active messages");
        params_.field_mask = UFX_UCP_OP_PARAM_CB | UFX_UCP_OP_PARAM_MEM;
        params_.cb = done_cb;
        params_.cb_arg = this;
        params_.mem = from_.handle();
    }

    ~ucp_port() override { key_.reset(); }

    void describe(fields &to) override
    {
        const std::string address = session_.address(), key = into_.key();
        to.set("address", to_hex(address.data(), address.size()));
        to.set("key", to_hex(key.data(), key.size()));
        to.set("memory", reinterpret_cast<uint64_t>(into_.data()));
    }

    void connect(const fields &peer) override;
    void progress() override { ufx_ucp_worker_progress(session_.worker()); }
    ufx_status_t post(uint64_t serial) override;

    ufx_status_t flush() override
    {
        ufx_ucp_op_params_t params = params_;
        params.field_mask = UFX_UCP_OP_PARAM_CB;
        return counted(ufx_ucp_ep_flush(session_.ep(), &params, nullptr));
    }

    void check_health() const override
    {
        check(failed_, "an operation failed");
        session_.throw_if_failed();
    }

    void inspect() override
    {
        if (wanted_.what->op == operation::PUT && !is_pattern(into_.data(), wanted_.size, true)) {
            wrong_++;
        }
        if (wanted_.what->op == operation::GET && !is_pattern(from_.data(), wanted_.size, false)) {
            wrong_++;
        }
    }

private:
    ufx_status_t counted(ufx_status_t status)
    {
        outstanding_ += status == UFX_INPROGRESS ? 1 : 0;
        return status;
    }

    static void done_cb(void *arg, ufx_ucp_request_h request,
                        const ufx_ucp_completion_t *completion) noexcept;
    static ufx_status_t am_cb(void *arg, const ufx_ucp_am_t *am) noexcept;

    const options &wanted_;
    ucp_session session_;
    ucp_memory from_, into_;
    std::unique_ptr<ucp_remote_key> key_;
    uint64_t remote_ = 0;
    uint64_t result_ = 0;
    ufx_ucp_op_params_t params_ = {};
    ufx_status_t failed_ = UFX_OK;
};

void ucp_port::connect(const fields &peer)
{
    // The client makes the endpoint; at the server it appears by the first message.
    if (!wanted_.host.empty()) {
        session_.connect(from_hex(peer.text("address")));
        static_cast<void>(
            ufx_ucp_am_send(session_.ep(), HELLO_ID, nullptr, 0, nullptr, 0, nullptr, nullptr));
    }
    const uint64_t deadline = now_ns() + CONNECT_NS;
    ufx_ucp_ep_attr_t attr = {};
    attr.field_mask = UFX_UCP_EP_ATTR_STATE;
    while (session_.ep() == nullptr || ufx_ucp_ep_query(session_.ep(), &attr) != UFX_OK ||
           attr.state != UFX_UCP_EP_CONNECTED) {
        session_.progress(-1, 1);
        session_.throw_if_failed();
        if (now_ns() > deadline) {
            throw tool_error("the endpoint is not connected within 10 s");
        }
    }
    key_ = std::make_unique<ucp_remote_key>(session_.ep(), from_hex(peer.text("key")));
    remote_ = peer.number("memory");
}

ufx_status_t ucp_port::post(uint64_t serial)
{
    switch (wanted_.what->op) {
    case operation::AM:
        return counted(ufx_ucp_am_send(session_.ep(), AM_ID, nullptr, 0, from_.data(), wanted_.size,
                                       &params_, nullptr));
    case operation::PUT:
        if (target_ != nullptr) {
            from_.data()[wanted_.size - 1] = mark(serial);
        }
        return counted(ufx_ucp_put(session_.ep(), from_.data(), wanted_.size, remote_,
                                   key_->handle(), &params_, nullptr));
    case operation::GET:
        return counted(ufx_ucp_get(session_.ep(), from_.data(), wanted_.size, remote_,
                                   key_->handle(), &params_, nullptr));
    default: {
        ufx_ucp_op_params_t params = params_;
        params.field_mask = UFX_UCP_OP_PARAM_CB;
        return counted(ufx_ucp_atomic(session_.ep(), UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(result_),
                                      &result_, remote_, key_->handle(), &params, nullptr));
    }
    }
}

void ucp_port::done_cb(void *arg, ufx_ucp_request_h request,
                       const ufx_ucp_completion_t *completion) noexcept
{
    auto *self = static_cast<ucp_port *>(arg);
    if (request != nullptr) {
        ufx_ucp_request_free(request);
    }
    self->outstanding_--;
    if (completion->status != UFX_OK && self->failed_ == UFX_OK) {
        self->failed_ = completion->status;
    }
}

ufx_status_t ucp_port::am_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<ucp_port *>(arg);
    if ((am->flags & UFX_UCP_AM_RNDV) != 0) {
        // Fetched into the buffer; it counts once it is here.
        ufx_ucp_op_params_t params = {};
        params.field_mask = UFX_UCP_OP_PARAM_CB;
        params.cb = [](void *port, ufx_ucp_request_h request,
                       const ufx_ucp_completion_t *completion) noexcept {
            static_cast<ucp_port *>(port)->arrived_++;
            done_cb(port, request, completion);
        };
        params.cb_arg = self;
        const ufx_status_t status = self->counted(ufx_ucp_am_recv_data(
            self->session_.worker(), am->data, self->into_.data(),
            std::min<size_t>(am->length, self->wanted_.size), &params, nullptr));
        self->arrived_ += status == UFX_OK ? 1 : 0;
        self->failed_ = status < 0 ? status : self->failed_;
        return UFX_OK;
    }
    self->arrived_++;
    if (self->wanted_.validate &&
        (am->length != self->wanted_.size ||
         !is_pattern(static_cast<unsigned char *>(am->data), am->length, false))) {
        self->wrong_++;
    }
    return UFX_OK;
}

} // namespace

std::unique_ptr<port> make_ucp_port(const options &wanted)
{
    return std::make_unique<ucp_port>(wanted);
}

} // namespace ufx::tools::perftest
