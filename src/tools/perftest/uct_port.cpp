// SPDX-License-Identifier: BSD-3-Clause
// A measurement over one transport.
#include "tools/common/channel.h"
#include "tools/common/error.h"
#include "tools/perftest/port.h"
#include "tools/perftest/uct_device.h"

#include <algorithm>
#include <cstring>

namespace ufx::tools::perftest {

namespace {

constexpr uint8_t AM_ID = 1;
constexpr size_t AM_SHORT_HEADER = 8;

size_t round_up(size_t length)
{
    return (length + 63) / 64 * 64;
}

/** A server uses the client's transport, and a device that reaches the client's. */
uct_choice choice_for(const options &wanted, const fields *client)
{
    uct_choice choice;
    choice.transport = wanted.transport;
    choice.device = wanted.device;
    choice.own_process = wanted.loopback;
    choice.near = wanted.near;
    if (client == nullptr) {
        return choice;
    }
    const std::string &theirs = client->text("transport");
    if (!wanted.transport.empty() && wanted.transport != theirs) {
        throw tool_error("the server was started with -x " + wanted.transport +
                         ", the client measures " + theirs +
                         ": give both ends the same -x, or none to the server");
    }
    choice.transport = theirs;
    choice.peer_name = client->text("device");
    choice.peer_device_address = from_hex(client->text("device_address"));
    choice.peer_iface_address = from_hex(client->text("iface_address"));
    return choice;
}

class uct_port : public port {
public:
    uct_port(const options &wanted, const fields *client)
        : wanted_(wanted), half_(round_up(wanted.size)),
          device_(choice_for(wanted, client), 2 * half_), how_(choose())
    {
        if (wanted.loopback && (device_.attr().caps & UFX_UCT_CAP_CONNECT_TO_IFACE) == 0) {
            throw usage_error("-l: " + device_.transport() +
                              " needs two processes; both ends in one are for -x self");
        }
        if (wanted.what->op == operation::GET) { // what it then holds was fetched
            std::memset(from(), 0, wanted.size);
        } else {
            fill_pattern(from(), wanted.size);
        }
        if (wanted.what->op == operation::PUT && wanted.what->how == pattern::PING_PONG) {
            target_ = into() + wanted.size - 1;
        }
        if (wanted.what->op == operation::GET) {
            fill_pattern(into(), wanted.size);
        }
        completions_.resize(wanted.window + 1); // one for the flush
        for (completion &one : completions_) {
            one.func = done_cb;
            one.owner = this;
            free_.push_back(&one);
        }
        check(ufx_uct_iface_set_am_handler(device_.iface(), AM_ID, am_cb, this),
              "cannot receive active messages");
    }

    ~uct_port() override
    {
        if (key_.rkey != UFX_UCT_INVALID_RKEY) {
            ufx_uct_md_rkey_release(device_.md(), &key_);
        }
        if (ep_ != nullptr) {
            ufx_uct_ep_destroy(ep_);
        }
    }

    void describe(fields &to) override;
    void connect(const fields &peer) override;
    void progress() override { ufx_uct_worker_progress(device_.worker()); }
    ufx_status_t post(uint64_t serial) override;
    ufx_status_t flush() override;
    void check_health() const override;
    const unsigned char *source() const override { return from(); }
    const unsigned char *landing() const override { return into(); }

private:
    struct completion : ufx_uct_completion_t {
        uct_port *owner = nullptr;
    };

    layout choose() const;
    const ufx_uct_op_limits_t &limits() const;
    ufx_status_t post_am();
    ufx_status_t post_put();
    ufx_status_t post_get();
    ufx_status_t post_atomic(uint64_t serial);
    completion *next();
    ufx_status_t counted(ufx_status_t status);
    unsigned char *from() const { return device_.memory(); }
    unsigned char *into() const { return device_.memory() + half_; }

    static size_t pack_cb(void *dest, void *arg) noexcept;
    static void unpack_cb(void *arg, const void *data, size_t length) noexcept;
    static void done_cb(ufx_uct_completion_t *self) noexcept;
    static ufx_status_t am_cb(void *arg, void *data, size_t length, unsigned flags) noexcept;

    const options &wanted_;
    size_t half_;
    uct_device device_;
    layout how_;
    ufx_uct_ep_h ep_ = nullptr;
    ufx_uct_rkey_bundle_t key_ = {UFX_UCT_INVALID_RKEY, nullptr};
    uint64_t remote_ = 0;
    uint64_t result_ = 0;
    std::vector<completion> completions_;
    std::vector<completion *> free_;
    ufx_status_t failed_ = UFX_OK;
};

const ufx_uct_op_limits_t &uct_port::limits() const
{
    switch (wanted_.what->op) {
    case operation::AM:
        return device_.attr().am;
    case operation::GET:
        return device_.attr().get;
    default:
        return device_.attr().put;
    }
}

layout uct_port::choose() const
{
    const ufx_uct_op_limits_t &limit = limits();
    const size_t largest[] = {0, limit.max_short, limit.max_bcopy, limit.max_zcopy};
    if (wanted_.what->op == operation::FADD || wanted_.what->op == operation::CSWAP) {
        return layout::SHORT;
    }
    if (wanted_.how != layout::AUTO) {
        if (wanted_.size > largest[static_cast<size_t>(wanted_.how)]) {
            throw usage_error("-s: the transport takes at most " +
                              std::to_string(largest[static_cast<size_t>(wanted_.how)]) +
                              " bytes in that layout");
        }
        return wanted_.how;
    }
    for (const layout how : {layout::SHORT, layout::BCOPY, layout::ZCOPY}) {
        if (wanted_.size <= largest[static_cast<size_t>(how)]) {
            return how;
        }
    }
    throw usage_error("-s: the transport takes at most " + std::to_string(limit.max_zcopy) +
                      " bytes");
}

void uct_port::describe(fields &to)
{
    const ufx_uct_iface_attr_t &attr = device_.attr();
    std::string device(attr.device_addr_len, '\0'), iface(attr.iface_addr_len, '\0');
    check(ufx_uct_iface_get_device_address(device_.iface(), device.data()), "no device address");
    if ((attr.caps & UFX_UCT_CAP_CONNECT_TO_IFACE) != 0) {
        check(ufx_uct_iface_get_address(device_.iface(), iface.data()), "no iface address");
    }
    std::string ep;
    if ((attr.caps & UFX_UCT_CAP_CONNECT_TO_IFACE) == 0) {
        ufx_uct_ep_params_t params = {};
        check(ufx_uct_ep_create(device_.iface(), &params, &ep_), "cannot make an endpoint");
        ep.resize(attr.ep_addr_len);
        check(ufx_uct_ep_get_address(ep_, ep.data()), "no endpoint address");
        if (attr.iface_addr_len != 0) {
            check(ufx_uct_iface_get_address(device_.iface(), iface.data()), "no iface address");
        }
    }
    const std::string key = device_.packed_key();
    to.set("transport", device_.transport());
    to.set("device", device_.device());
    to.set("device_address", to_hex(device.data(), device.size()));
    to.set("iface_address", to_hex(iface.data(), iface.size()));
    to.set("ep_address", to_hex(ep.data(), ep.size()));
    to.set("key", to_hex(key.data(), key.size()));
    to.set("memory", reinterpret_cast<uint64_t>(into()));
}

void uct_port::connect(const fields &peer)
{
    const ufx_uct_iface_attr_t &attr = device_.attr();
    const std::string device = from_hex(peer.text("device_address"));
    const std::string iface = from_hex(peer.text("iface_address"));
    const std::string ep = from_hex(peer.text("ep_address"));
    const std::string key = from_hex(peer.text("key"));
    if (device.size() != attr.device_addr_len || iface.size() != attr.iface_addr_len ||
        (ep_ != nullptr && ep.size() != attr.ep_addr_len)) {
        throw tool_error("the peer uses another transport: give both the same -x");
    }
    if (ep_ != nullptr) {
        check(ufx_uct_ep_connect_to_ep(ep_, device.data(), iface.data(), ep.data()),
              "cannot connect");
    } else {
        ufx_uct_ep_params_t params = {};
        params.field_mask = UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR;
        params.device_addr = device.data();
        params.iface_addr = iface.data();
        check(ufx_uct_ep_create(device_.iface(), &params, &ep_), "cannot connect");
    }
    check(ufx_uct_md_rkey_unpack(device_.md(), key.data(), key.size(), &key_),
          "the peer's memory key is not usable");
    remote_ = peer.number("memory");
}

/** The completion for the next operation; counted() takes it if the operation does. */
uct_port::completion *uct_port::next()
{
    completion *one = free_.back();
    one->count = 1;
    one->status = UFX_OK;
    return one;
}

ufx_status_t uct_port::counted(ufx_status_t status)
{
    if (status == UFX_INPROGRESS) {
        outstanding_++;
        free_.pop_back();
    }
    return status;
}

ufx_status_t uct_port::post(uint64_t serial)
{
    switch (wanted_.what->op) {
    case operation::AM:
        return post_am();
    case operation::PUT:
        if (target_ != nullptr) {
            from()[wanted_.size - 1] = mark(serial);
        }
        return post_put();
    case operation::GET:
        return post_get();
    default:
        return post_atomic(serial);
    }
}

ufx_status_t uct_port::post_am()
{
    if (how_ == layout::SHORT) {
        uint64_t header = 0;
        const size_t head = std::min(wanted_.size, AM_SHORT_HEADER);
        std::memcpy(&header, from(), head);
        return ufx_uct_ep_am_short(ep_, AM_ID, header, from() + head, wanted_.size - head);
    }
    if (how_ == layout::BCOPY) {
        const ssize_t sent = ufx_uct_ep_am_bcopy(ep_, AM_ID, pack_cb, this, 0);
        return sent < 0 ? static_cast<ufx_status_t>(sent) : UFX_OK;
    }
    const ufx_uct_iov_t iov = {from(), wanted_.size, device_.memh()};
    return counted(ufx_uct_ep_am_zcopy(ep_, AM_ID, nullptr, 0, &iov, 1, 0, next()));
}

ufx_status_t uct_port::post_put()
{
    if (how_ == layout::SHORT) {
        return ufx_uct_ep_put_short(ep_, from(), wanted_.size, remote_, key_.rkey);
    }
    if (how_ == layout::BCOPY) {
        const ssize_t sent = ufx_uct_ep_put_bcopy(ep_, pack_cb, this, remote_, key_.rkey);
        return sent < 0 ? static_cast<ufx_status_t>(sent) : UFX_OK;
    }
    const ufx_uct_iov_t iov = {from(), wanted_.size, device_.memh()};
    return counted(ufx_uct_ep_put_zcopy(ep_, &iov, 1, remote_, key_.rkey, next()));
}

ufx_status_t uct_port::post_get()
{
    if (how_ == layout::SHORT) {
        return counted(ufx_uct_ep_get_short(ep_, from(), wanted_.size, remote_, key_.rkey, next()));
    }
    if (how_ == layout::BCOPY) {
        return counted(
            ufx_uct_ep_get_bcopy(ep_, unpack_cb, this, wanted_.size, remote_, key_.rkey, next()));
    }
    const ufx_uct_iov_t iov = {from(), wanted_.size, device_.memh()};
    return counted(ufx_uct_ep_get_zcopy(ep_, &iov, 1, remote_, key_.rkey, next()));
}

ufx_status_t uct_port::post_atomic(uint64_t serial)
{
    if (wanted_.what->op == operation::FADD) {
        return counted(ufx_uct_ep_atomic64_fetch(ep_, UFX_UCT_ATOMIC_ADD, 1, &result_, remote_,
                                                 key_.rkey, next()));
    }
    return counted(
        ufx_uct_ep_atomic64_cswap(ep_, serial - 1, serial, &result_, remote_, key_.rkey, next()));
}

ufx_status_t uct_port::flush()
{
    return counted(ufx_uct_ep_flush(ep_, UFX_UCT_FLUSH_REMOTE, next()));
}

void uct_port::check_health() const
{
    if (!device_.broken().empty()) {
        throw tool_error("the connection to the peer broke: " + device_.broken());
    }
    check(failed_, "an operation failed");
}

void uct_port::done_cb(ufx_uct_completion_t *self) noexcept
{
    auto *one = static_cast<completion *>(self);
    uct_port *owner = one->owner;
    owner->outstanding_--;
    owner->free_.push_back(one);
    if (one->status < 0 && owner->failed_ == UFX_OK) {
        owner->failed_ = one->status;
    }
}

size_t uct_port::pack_cb(void *dest, void *arg) noexcept
{
    const auto *self = static_cast<uct_port *>(arg);
    std::memcpy(dest, self->from(), self->wanted_.size);
    return self->wanted_.size;
}

void uct_port::unpack_cb(void *arg, const void *data, size_t length) noexcept
{
    std::memcpy(static_cast<uct_port *>(arg)->from(), data, length);
}

ufx_status_t uct_port::am_cb(void *arg, void *data, size_t length, unsigned) noexcept
{
    auto *self = static_cast<uct_port *>(arg);
    self->arrived_++;
    if (self->wanted_.validate &&
        (length < self->wanted_.size ||
         !is_pattern(static_cast<unsigned char *>(data), self->wanted_.size, false))) {
        self->wrong_++;
    }
    return UFX_OK;
}

} // namespace

std::unique_ptr<port> make_uct_port(const options &wanted, const fields *client)
{
    return std::make_unique<uct_port>(wanted, client);
}

} // namespace ufx::tools::perftest
