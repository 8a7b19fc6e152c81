// SPDX-License-Identifier: BSD-3-Clause
// Commands faults, closes and judges.
#include "rc_rig.h"

#include "common/skip.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

namespace ufx::test {

void command(const std::string &rule)
{
    const std::string line = std::string(UFX_TOP_BUILDDIR) + "/ufx_swhca ctl --dir " +
                             std::getenv("UFX_SWHCA_DIR") + " '" + rule + "'";
    REQUIRE(std::system(line.c_str()) == 0); // NOLINT: the words are ours
}

void for_each_rc(const std::function<void(const uct_resource &)> &body)
{
    if (std::getenv("UFX_SWHCA_DIR") == nullptr) {
        skip("not on a software ConnectX");
        return;
    }
    int ran = 0;
    for (const uct_resource &resource : conformance_resources()) {
        if (resource.dev == "mlx5_0:1") {
            INFO("transport " << resource.name());
            body(resource);
            ++ran;
        }
    }
    CHECK(ran == 2);
}

uct_resource on_device(const uct_resource &resource, const std::string &name)
{
    uct_resource other = resource;
    other.md = name;
    other.dev = name + ":1";
    return other;
}

rc_setting::rc_setting(const uct_resource &resource, const std::string &name,
                       const std::string &value)
    : name_((resource.tl == "rc_mlx5" ? "UFX_RC_MLX5_" : "UFX_RC_VERBS_") + name)
{
    ::setenv(name_.c_str(), value.c_str(), 1);
}

rc_setting::~rc_setting()
{
    ::unsetenv(name_.c_str());
}

void connect_eps(uct_pair &pair, const uct_pair::connection &eps)
{
    const auto there = pair.b().device_address();
    const auto here = pair.a().device_address();
    uint8_t addresses[2][64];
    REQUIRE(ufx_uct_ep_get_address(eps.a, addresses[0]) == UFX_OK);
    REQUIRE(ufx_uct_ep_get_address(eps.b, addresses[1]) == UFX_OK);
    REQUIRE(ufx_uct_ep_connect_to_ep(eps.a, there.data(), nullptr, addresses[1]) == UFX_OK);
    REQUIRE(ufx_uct_ep_connect_to_ep(eps.b, here.data(), nullptr, addresses[0]) == UFX_OK);
}

rc_pair::rc_pair(const uct_resource &resource, size_t size)
    : uct_pair(resource), target(*this, size), data(*this, size)
{
    data.fill(3);
    a().error_answer = UFX_INPROGRESS;
}

rc_pair::rc_pair(const uct_resource &resource, const uct_resource &of_b)
    : uct_pair(resource, of_b), target(*this, 1 << 20), data(*this, 1 << 20)
{
    data.fill(3);
    a().error_answer = UFX_INPROGRESS;
}

ufx_status_t rc_pair::put(size_t offset, size_t length, counted &done)
{
    return put_on(ep, offset, length, done);
}

ufx_status_t rc_pair::put_on(ufx_uct_ep_h on, size_t offset, size_t length, counted &done)
{
    const ufx_uct_iov_t iov = data.iov(offset, length);
    return ufx_uct_ep_put_zcopy(on, &iov, 1, target.addr(offset), target.rkey, &done);
}

bool rc_pair::landed(size_t offset, size_t length) const
{
    return std::memcmp(target.bytes + offset, data.bytes.data() + offset, length) == 0;
}

std::string rc_pair::sent_by(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_LOCAL_NAME;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    const char *number = std::strstr(attr.name, "0x");
    REQUIRE(number != nullptr);
    return "qpn " + std::to_string(std::strtoul(number, nullptr, 16)) + " ";
}

rc_pair::position rc_pair::close_target()
{
    counted quiet;
    const ufx_status_t status = ufx_uct_ep_invalidate(peer, &quiet);
    if (status == UFX_INPROGRESS) {
        REQUIRE(wait([&] { return quiet.done(); }));
        CHECK(quiet.result == UFX_OK);
    } else {
        CHECK(status == UFX_OK);
    }
    return ask_target();
}

rc_pair::position rc_pair::ask_target()
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    position found{};
    REQUIRE(ufx_uct_iface_query_token(b().iface, attr.tx_token, attr.tx_token_len, found.bytes,
                                      &found.length, &found.grade) == UFX_OK);
    return found;
}

void rc_pair::close_source()
{
    counted quiet;
    if (ufx_uct_ep_invalidate(ep, &quiet) == UFX_INPROGRESS) {
        REQUIRE(wait([&] { return quiet.done(); }));
    }
}

std::vector<rc_pair::judged> rc_pair::purge(const position &token)
{
    std::vector<judged> all;
    REQUIRE(ufx_uct_ep_outstanding_purge(
                ep, token.grade, token.bytes, token.length,
                [](void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                   size_t bytes) noexcept {
                    static_cast<std::vector<judged> *>(arg)->push_back({op->kind, verdict, bytes});
                    return UFX_OK;
                },
                &all) == UFX_OK);
    return all;
}

} // namespace ufx::test
