// SPDX-License-Identifier: BSD-3-Clause
// RC transports where calls fail, where eps go at any time, and where numbers wrap.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "ucs/bytes.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace ufx::test;

namespace {

struct two_ends {
    ufx_uct_md_h md = nullptr;
    ufx_uct_iface_h iface = nullptr;
    ufx_uct_ep_h eps[2] = {nullptr, nullptr};

    ~two_ends()
    {
        for (ufx_uct_ep_h ep : eps) {
            if (ep != nullptr) {
                ufx_uct_ep_destroy(ep);
            }
        }
        if (iface != nullptr) {
            ufx_uct_iface_close(iface);
        }
        if (md != nullptr) {
            ufx_uct_md_close(md);
        }
    }
};

// Everything from opening a device to closing an ep; gives the first status that is not OK.
ufx_status_t live(const uct_resource &resource, two_ends &ends)
{
    ufx_status_t status =
        ufx_uct_md_open(resource.component, resource.md.c_str(), nullptr, &ends.md);
    if (status != UFX_OK) {
        return status;
    }
    ufx_uct_iface_params_t params{};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
    params.tl_name = resource.tl.c_str();
    params.dev_name = resource.dev.c_str();
    status = ufx_uct_iface_open(ends.md, &params, &ends.iface);
    uint8_t device[64];
    uint8_t addresses[2][64];
    if (status == UFX_OK) {
        status = ufx_uct_iface_get_device_address(ends.iface, device);
    }
    for (int i = 0; i < 2 && status == UFX_OK; ++i) {
        status = ufx_uct_ep_create(ends.iface, nullptr, &ends.eps[i]);
        if (status == UFX_OK) {
            status = ufx_uct_ep_get_address(ends.eps[i], addresses[i]);
        }
    }
    for (int i = 0; i < 2 && status == UFX_OK; ++i) {
        status = ufx_uct_ep_connect_to_ep(ends.eps[i], device, nullptr, addresses[1 - i]);
    }
    if (status == UFX_OK) {
        counted there;
        status = ufx_uct_ep_check(ends.eps[0], &there);
        for (int i = 0; i < 1000000 && status == UFX_INPROGRESS && !there.done(); ++i) {
            ufx_uct_iface_progress(ends.iface);
        }
        status = there.done() ? there.result : status;
    }
    if (status == UFX_OK) {
        status = ufx_uct_iface_event_arm(ends.iface, UFX_UCT_EVENT_SEND_COMP);
        status = status == UFX_ERR_BUSY ? UFX_OK : status;
    }
    if (status == UFX_OK) {
        counted quiet;
        status = ufx_uct_ep_invalidate(ends.eps[0], &quiet);
        for (int i = 0; i < 1000000 && status == UFX_INPROGRESS && !quiet.done(); ++i) {
            ufx_uct_iface_progress(ends.iface);
        }
        status = quiet.done() ? quiet.result : status;
    }
    return status;
}

ufx_status_t whole_life(const uct_resource &resource)
{
    two_ends ends;
    return live(resource, ends);
}

uint32_t first_psn(ufx_uct_ep_h ep)
{
    uint8_t address[64];
    REQUIRE(ufx_uct_ep_get_address(ep, address) == UFX_OK);
    return ufx::ucs::load_le32(address + 4);
}

} // namespace

TEST_CASE(
    "rc: each call of the library may fail at each place: the caller hears of it, and nothing "
    "is left",
    "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting few(resource, "RX_QUEUE", "64"); // each buffer that is given is a call
        for (const std::string &name : verbs_calls()) {
            constexpr int most = 300;
            for (int skip = 0; skip < most; ++skip) {
                INFO(name << " after " << skip);
                const failing_call call(name, ENOMEM, skip);
                {
                    two_ends ends;
                    const ufx_status_t status = live(resource, ends);
                    // The thread that looks at the ports asks too, and needs no answer; a buffer
                    // that is refused is given again.
                    const bool heard = call.hits() != 0 && name != "ibv_query_device" &&
                                       name != "ibv_query_port" && name != "ibv_post_srq_recv";
                    CHECK((heard ? status < 0 : status <= UFX_OK));
                }
                if (call.hits() == 0) {
                    break;
                }
                REQUIRE(skip < most - 1);
            }
        }
        CHECK(whole_life(resource) == UFX_OK);
    });
}

TEST_CASE(
    "rc: a request that libibverbs refuses is the end of its ep, by that errno and not as the "
    "status of a completion with that number",
    "[.][hca][L02]")
{
    for_each_rc([](const uct_resource &resource) {
        if (resource.tl != "rc_verbs") {
            return; // writes its queue itself
        }
        for (const int before : {0, 1, 5}) { // requests that are accepted
            rc_pair pair(resource, 4096);
            pair.a().error_answer = UFX_OK;
            counted done[6];
            const failing_call call("ibv_post_send", ENOMEM, before); // 12, as RETRY_EXC
            static_assert(ENOMEM == IBV_WC_RETRY_EXC_ERR);
            for (int i = 0; i <= before; ++i) {
                REQUIRE(pair.put(0, 64, done[i]) == UFX_INPROGRESS);
            }
            REQUIRE(pair.wait([&] { return pair.a().errors == 1 && done[before].done(); }));
            CHECK(call.hits() == 1);
            CHECK(pair.a().error_cause == UFX_UCT_CAUSE_OWN_QP);
            CHECK(done[before].result < 0);
            pair.close_source();
            for (int i = 0; i <= before; ++i) {
                CHECK(done[i].calls == 1);
            }
        }
    });
}

TEST_CASE("rc: a queue that cannot be polled for a while loses nothing", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource, 4096);
        inbox received(pair.b().iface, 5);
        const failing_call call("ibv_poll_cq", EIO, 0, 1000);
        counted done;
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_am_short(pair.ep, 5, 1, nullptr, 0) == UFX_OK);
        REQUIRE(pair.wait([&] { return done.done() && received.messages.size() == 1; }));
        CHECK(done.result == UFX_OK);
        CHECK((call.hits() != 0) == (resource.tl == "rc_verbs"));
        CHECK(pair.a().errors == 0);
    });
}

TEST_CASE("rc: an ep may be destroyed at every step of its life", "[.][hca][U04]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting small(resource, "TX_CQ", "64");
        rc_pair pair(resource, 4096);
        enum { CREATED, CONNECTED, BUSY, FAILED, CLOSING, QUIET, PURGED, STEPS };
        for (int round = 0; round < 5; ++round) {
            for (int step = CREATED; step < STEPS; ++step) {
                INFO("step " << step);
                ufx_uct_ep_params_t params{};
                ufx_uct_ep_h a = nullptr;
                ufx_uct_ep_h b = nullptr;
                REQUIRE(ufx_uct_ep_create(pair.a().iface, &params, &a) == UFX_OK);
                REQUIRE(ufx_uct_ep_create(pair.b().iface, &params, &b) == UFX_OK);
                counted done[3];
                counted quiet;
                if (step >= CONNECTED) {
                    connect_eps(pair, {a, b});
                }
                if (step >= BUSY) {
                    command(rc_pair::sent_by(b) + "drop responses");
                    for (counted &one : done) {
                        REQUIRE(pair.put_on(a, 0, 64, one) == UFX_INPROGRESS);
                    }
                }
                if (step >= FAILED) {
                    command(rc_pair::sent_by(a) + "event QP_FATAL");
                    const int before = pair.a().errors;
                    REQUIRE(pair.wait([&] { return pair.a().errors != before; }));
                }
                if (step >= CLOSING) {
                    ufx_status_t status = ufx_uct_ep_invalidate(a, &quiet);
                    if (step >= QUIET && status == UFX_INPROGRESS) {
                        REQUIRE(pair.wait([&] { return quiet.done(); }));
                    }
                }
                if (step >= PURGED) {
                    int handed_out = 0;
                    REQUIRE(ufx_uct_ep_outstanding_purge(
                                a, UFX_UCT_GRADE_BLIND, nullptr, 0,
                                [](void *arg, const ufx_uct_op_desc_t *, ufx_uct_verdict_t,
                                   size_t) noexcept {
                                    ++*static_cast<int *>(arg);
                                    return UFX_OK;
                                },
                                &handed_out) == UFX_OK);
                    CHECK(handed_out == 3);
                }
                ufx_uct_ep_destroy(a);
                ufx_uct_ep_destroy(b);
                pair.turn(5);
                for (const counted &one : done) {
                    CHECK(one.calls == 0);
                }
            }
        }
        // All room came back: the first ep can still use all of the small completion queue.
        for (int i = 0; i < 200; ++i) {
            counted one;
            REQUIRE(pair.wait([&] { return pair.put(0, 64, one) == UFX_INPROGRESS; }));
            REQUIRE(pair.wait([&] { return one.done(); }));
            CHECK(one.result == UFX_OK);
        }
    });
}

TEST_CASE("rc: operations that end with an error give their room back, once", "[.][hca][U02][L11]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting small(resource, "TX_CQ", "64");
        const rc_setting quick(resource, "TIMEOUT", "8");
        const rc_setting no_retry(resource, "RETRY_COUNT", "0");
        rc_pair pair(resource, 4096);
        pair.a().error_answer = UFX_OK;
        for (int round = 0; round < 10; ++round) {
            const auto doomed = pair.connect();
            command(rc_pair::sent_by(doomed.b) + "drop responses");
            counted done[4];
            for (counted &one : done) {
                // Each second one has no completion of its own.
                uint64_t value = 1;
                REQUIRE(ufx_uct_ep_put_short(doomed.a, &value, sizeof(value), pair.target.addr(),
                                             pair.target.rkey) == UFX_OK);
                REQUIRE(pair.put_on(doomed.a, 64, 64, one) == UFX_INPROGRESS);
            }
            REQUIRE(pair.wait([&] { return done[3].done(); }));
            pair.turn(10);
            for (const counted &one : done) {
                CHECK(one.calls == 1);
                CHECK(one.result < 0);
            }
            CHECK(outstanding(doomed.a) == 0);
        }
        for (int i = 0; i < 200; ++i) {
            counted one;
            REQUIRE(pair.wait([&] { return pair.put(0, 64, one) == UFX_INPROGRESS; }));
            REQUIRE(pair.wait([&] { return one.done(); }));
        }
    });
}

TEST_CASE("rc: a small completion queue takes the flushes of all eps at once", "[.][hca][L04]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting small(resource, "TX_CQ", "64");
        rc_pair pair(resource, 4096);
        std::vector<ufx_uct_ep_h> eps = {pair.ep};
        for (int i = 0; i < 9; ++i) {
            eps.push_back(pair.connect().a);
        }
        const uint64_t value = 5;
        command("hca mlx5_0 stall-cq");
        size_t posted = 0;
        for (int round = 0; round < 40; ++round) {
            for (ufx_uct_ep_h ep : eps) {
                posted += ufx_uct_ep_put_short(ep, &value, sizeof(value), pair.target.addr(),
                                               pair.target.rkey) == UFX_OK
                              ? 1
                              : 0;
            }
        }
        CHECK(posted > eps.size());
        REQUIRE(ufx_uct_iface_set_link(pair.a().iface, 0) == UFX_OK);
        command("hca mlx5_0 unstall-cq");
        REQUIRE(pair.wait([&] { return pair.a().errors == static_cast<int>(eps.size()); }));
        for (ufx_uct_ep_h ep : eps) {
            counted quiet;
            if (ufx_uct_ep_invalidate(ep, &quiet) == UFX_INPROGRESS) {
                REQUIRE(pair.wait([&] { return quiet.done(); }));
                CHECK(quiet.result == UFX_OK);
            }
        }
        for (const auto event : pair.a().events) { // an overrun would be the end of the queue
            CHECK(event != UFX_UCT_IFACE_DEVICE_FATAL);
        }
    });
}

TEST_CASE("rc: packet numbers wrap at 24 bits, and the token still tells how far a put got",
          "[.][hca][U10]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        // An ep whose numbers begin near the end; one in a hundred does.
        constexpr uint32_t end = 1u << 24;
        constexpr uint32_t near_end = end / 100;
        uct_pair::connection near{nullptr, nullptr};
        uint32_t left = end;
        for (int i = 0; i < 5000 && left > near_end; ++i) {
            if (near.a != nullptr) {
                ufx_uct_ep_destroy(near.a);
            }
            REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &near.a) == UFX_OK);
            left = end - first_psn(near.a);
        }
        REQUIRE(left <= near_end);
        REQUIRE(ufx_uct_ep_create(pair.b().iface, nullptr, &near.b) == UFX_OK);
        connect_eps(pair, near);
        constexpr uint32_t most = 128; // packets of one put
        while (left > 2) {
            const uint32_t packets = std::min(left - 2, most);
            counted done;
            REQUIRE(pair.wait([&] {
                return pair.put_on(near.a, 0, size_t{packets} * MTU, done) == UFX_INPROGRESS;
            }));
            REQUIRE(pair.wait([&] { return done.done(); }));
            left -= packets;
        }
        std::memset(pair.target.bytes, 0, 8 * MTU);
        command(rc_pair::sent_by(near.a) +
                "drop requests skip 5"); // two before the wrap, three behind
        counted first;
        counted second;
        REQUIRE(pair.put_on(near.a, 0, 8 * MTU, first) == UFX_INPROGRESS);
        REQUIRE(pair.put_on(near.a, 8 * MTU, 10, second) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        std::swap(pair.ep, near.a);
        std::swap(pair.peer, near.b);
        const auto token = pair.close_target();
        pair.close_source();
        const auto all = pair.purge(token);
        REQUIRE(all.size() == 2);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_PARTIAL);
        CHECK(all[0].bytes == 5 * MTU);
        CHECK(pair.landed(0, 5 * MTU));
        CHECK(all[1].verdict == UFX_UCT_VERDICT_NOT_LANDED);
        ufx_uct_ep_destroy(pair.ep);
        ufx_uct_ep_destroy(pair.peer);
        pair.ep = near.a;
        pair.peer = near.b;
    });
}

TEST_CASE("rc: an error that is told twice, where the queue's counter wraps, moves nothing back",
          "[.][hca][U11]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting patient(resource, "TIMEOUT", "16"); // until all are posted
        const rc_setting few(resource, "RETRY_COUNT", "1");
        rc_pair pair(resource, 4096);
        const uint64_t value = 5;
        const auto put = [&] {
            REQUIRE(pair.wait([&] {
                return ufx_uct_ep_put_short(pair.ep, &value, sizeof(value), pair.target.addr(),
                                            pair.target.rkey) == UFX_OK;
            }));
        };
        // One block each, and one of the flush: 16 bits of the counter are nearly used up.
        for (int round = 0; round < 65500 / 61; ++round) {
            for (int i = 0; i < 60; ++i) {
                put();
            }
            pair.flush();
        }
        command(rc_pair::sent_by(pair.ep) + "duplicate-cqe");
        command(rc_pair::sent_by(pair.peer) + "drop responses");
        for (int i = 0; i < 100; ++i) {
            put();
        }
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        const auto token = pair.close_target();
        pair.close_source();
        CHECK(pair.a().errors == 1);
        CHECK(outstanding(pair.ep) == 100);
        const auto all = pair.purge(token);
        CHECK(all.size() == 100);
        for (const auto &one : all) {
            CHECK(one.verdict == UFX_UCT_VERDICT_LANDED);
        }
    });
}
