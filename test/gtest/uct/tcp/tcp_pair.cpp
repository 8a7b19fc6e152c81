// SPDX-License-Identifier: BSD-3-Clause
// Fixture of the tcp tests.
#include "tcp_pair.h"

#include <algorithm>

namespace ufx::test_tcp {

namespace {

ufx_status_t on_am_any(uint8_t id, void *arg, void *data, size_t length, unsigned flags)
{
    auto &side = *static_cast<tcp_side *>(arg);
    bool desc = (flags & UFX_UCT_AM_CB_DESC) != 0;
    side.ams.push_back({id, std::string(static_cast<char *>(data), length), desc});
    if (side.on_am != nullptr) {
        side.on_am(side);
    }
    if (desc && side.keep_ams) {
        side.kept.push_back(data);
        return UFX_INPROGRESS;
    }
    return UFX_OK;
}

template <uint8_t Id>
ufx_status_t handler(void *arg, void *data, size_t length, unsigned flags) noexcept
{
    return on_am_any(Id, arg, data, length, flags);
}

ufx_status_t on_error(void *arg, ufx_uct_ep_h, const ufx_uct_error_t *error) noexcept
{
    auto &side = *static_cast<tcp_side *>(arg);
    side.errors.push_back(*error);
    side.error_texts.emplace_back(error->text);
    return side.error_answer;
}

void on_event(void *arg, ufx_uct_iface_h, const ufx_uct_iface_event_t *event) noexcept
{
    static_cast<tcp_side *>(arg)->events.push_back(*event);
}

} // namespace

tcp_side::tcp_side(const std::string &dev, const tcp_settings &settings)
{
    const ufx_uct_component_t *component = nullptr;
    REQUIRE(ufx_uct_find_component("tcp", &component) == UFX_OK);
    REQUIRE(ufx_uct_md_open(component, "tcp", nullptr, &md) == UFX_OK);
    ufx_uct_iface_params_t params{};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_ERR_HANDLER | UFX_UCT_IFACE_PARAM_EVENT_CB |
                        UFX_UCT_IFACE_PARAM_CONFIG;
    params.tl_name = "tcp";
    params.dev_name = dev.c_str();
    params.err_handler = on_error;
    params.err_handler_arg = this;
    params.event_cb = on_event;
    params.event_cb_arg = this;
    params.config = settings.data();
    params.config_count = settings.size();
    REQUIRE(ufx_uct_iface_open(md, &params, &iface) == UFX_OK);
    REQUIRE(ufx_uct_iface_set_am_handler(iface, 1, handler<1>, this) == UFX_OK);
    REQUIRE(ufx_uct_iface_set_am_handler(iface, 2, handler<2>, this) == UFX_OK);
}

tcp_side::~tcp_side()
{
    for (void *data : kept) {
        ufx_uct_iface_release_desc(iface, data);
    }
    for (ufx_uct_ep_h ep : eps_) {
        ufx_uct_ep_destroy(ep);
    }
    ufx_uct_iface_close(iface);
    ufx_uct_md_close(md);
}

ufx_uct_ep_h tcp_side::new_ep()
{
    ufx_uct_ep_h ep = nullptr;
    REQUIRE(ufx_uct_ep_create(iface, nullptr, &ep) == UFX_OK);
    eps_.push_back(ep);
    return ep;
}

void tcp_side::close_ep(ufx_uct_ep_h ep)
{
    eps_.erase(std::find(eps_.begin(), eps_.end(), ep));
    ufx_uct_ep_destroy(ep);
}

std::array<uint8_t, 20> tcp_side::device_address()
{
    std::array<uint8_t, 20> address;
    REQUIRE(ufx_uct_iface_get_device_address(iface, address.data()) == UFX_OK);
    return address;
}

std::array<uint8_t, 4> tcp_side::iface_address()
{
    std::array<uint8_t, 4> address;
    REQUIRE(ufx_uct_iface_get_address(iface, address.data()) == UFX_OK);
    return address;
}

remote_memory tcp_side::memory(size_t size, tcp_side &key_for, uint64_t flags)
{
    remote_memory made;
    made.bytes.resize(size);
    ufx_uct_mem_params_t params{};
    params.field_mask =
        UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH | UFX_UCT_MEM_PARAM_FLAGS;
    params.address = made.bytes.data();
    params.length = size;
    params.flags = flags;
    REQUIRE(ufx_uct_md_mem_reg(md, &params, &made.memh) == UFX_OK);
    std::array<uint8_t, 64> packed{};
    ufx_uct_md_attr_t attr{};
    REQUIRE(ufx_uct_md_query(md, &attr) == UFX_OK);
    REQUIRE(ufx_uct_md_mkey_pack(md, made.memh, packed.data()) == UFX_OK);
    REQUIRE(ufx_uct_md_rkey_unpack(key_for.md, packed.data(), attr.rkey_packed_size, &made.rkey) ==
            UFX_OK);
    return made;
}

void tcp_side::release(remote_memory &memory, tcp_side &key_for)
{
    if (memory.memh != nullptr) {
        REQUIRE(ufx_uct_md_mem_dereg(md, memory.memh) == UFX_OK);
    }
    ufx_uct_md_rkey_release(key_for.md, &memory.rkey);
}

std::array<uint8_t, 16> ep_address(ufx_uct_ep_h ep)
{
    std::array<uint8_t, 16> address;
    REQUIRE(ufx_uct_ep_get_address(ep, address.data()) == UFX_OK);
    return address;
}

ufx_uct_ep_state_t state_of(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_STATE;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    return attr.state;
}

std::vector<uint8_t> tx_token(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    return {attr.tx_token, attr.tx_token + attr.tx_token_len};
}

rx_token rx_token_for(tcp_side &at, ufx_uct_ep_h peer_ep)
{
    std::vector<uint8_t> tx = tx_token(peer_ep);
    std::array<uint8_t, UFX_UCT_TOKEN_MAX> bytes{};
    size_t length = 0;
    rx_token out{};
    out.status = ufx_uct_iface_query_token(at.iface, tx.data(), tx.size(), bytes.data(), &length,
                                           &out.grade);
    if (out.status == UFX_OK) {
        REQUIRE(length == 16);
        std::memcpy(&out.applied, bytes.data(), 8);
        std::memcpy(&out.partial, bytes.data() + 8, 8);
        out.bytes.assign(bytes.begin(), bytes.begin() + 16);
    }
    return out;
}

std::vector<purged_op> purge(ufx_uct_ep_h ep, ufx_uct_token_grade_t grade,
                             const std::vector<uint8_t> &token)
{
    std::vector<purged_op> out;
    auto take = [](void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                   size_t bytes) noexcept -> ufx_status_t {
        purged_op one{*op, verdict, bytes, {}, {}};
        if (op->payload != nullptr) {
            one.payload.assign(static_cast<const char *>(op->payload), op->length);
        }
        if (op->header != nullptr) {
            one.header.assign(static_cast<const char *>(op->header), op->header_length);
        }
        static_cast<std::vector<purged_op> *>(arg)->push_back(std::move(one));
        return UFX_OK;
    };
    REQUIRE(ufx_uct_ep_outstanding_purge(ep, grade, token.empty() ? nullptr : token.data(),
                                         token.size(), take, &out) == UFX_OK);
    return out;
}

tcp_pair::tcp_pair(const tcp_settings &first, const tcp_settings &second)
    : a("lo:127.0.0.1", first), b("lo:127.0.0.2", second)
{
    connect(ep_a, ep_b);
}

void tcp_pair::connect(ufx_uct_ep_h &to_b, ufx_uct_ep_h &to_a)
{
    to_b = a.new_ep();
    to_a = b.new_ep();
    REQUIRE(ufx_uct_ep_connect_to_ep(to_b, b.device_address().data(), b.iface_address().data(),
                                     ep_address(to_a).data()) == UFX_OK);
    REQUIRE(ufx_uct_ep_connect_to_ep(to_a, a.device_address().data(), a.iface_address().data(),
                                     ep_address(to_b).data()) == UFX_OK);
    until([&] { return state_of(to_b) == UFX_UCT_EP_LIVE && state_of(to_a) == UFX_UCT_EP_LIVE; });
}

void tcp_pair::progress()
{
    ufx_uct_iface_progress(a.iface);
    ufx_uct_iface_progress(b.iface);
}

void tcp_pair::settle()
{
    for (int quiet = 0; quiet < 200; quiet++) {
        if (ufx_uct_iface_progress(a.iface) + ufx_uct_iface_progress(b.iface) != 0) {
            quiet = 0;
        }
    }
}

void tcp_pair::flush_a()
{
    counted done;
    ufx_status_t status = ufx_uct_ep_flush(ep_a, UFX_UCT_FLUSH_REMOTE, &done);
    if (status == UFX_INPROGRESS) {
        until([&] { return done.calls == 1; });
        REQUIRE(done.status == UFX_OK);
    } else {
        REQUIRE(status == UFX_OK);
    }
}

std::string pattern(size_t size, unsigned seed)
{
    std::string out(size, '\0');
    for (size_t i = 0; i < size; i++) {
        out[i] = static_cast<char>((i * 131 + i / 251 + seed * 7) & 0xff);
    }
    return out;
}

} // namespace ufx::test_tcp
