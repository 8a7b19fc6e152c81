// SPDX-License-Identifier: BSD-3-Clause
// What a program does wrong at the C ABI is refused, with one line that names it.
#include "data_pair.h"
#include "ucs/log_capture.h"

#include <ufx/ucp.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <functional>
#include <netinet/in.h>
#include <string>
#include <vector>

namespace {

using namespace ufx;

constexpr const char *two_rails = "lo:127.0.0.1,lo:127.0.0.2";

/** Makes a context; one that is made goes at once. */
ufx_status_t create_context(const char *devices,
                            const std::vector<ufx_ucp_config_entry_t> &config = {})
{
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
    params.devices = devices;
    params.config = config.data();
    params.config_count = config.size();
    ufx_ucp_context_h context = nullptr;
    const ufx_status_t status = ufx_ucp_context_create(&params, &context);
    CHECK((status == UFX_OK) == (context != nullptr));
    ufx_ucp_context_destroy(context);
    return status;
}

} // namespace

TEST_CASE("misuse: one device is no two rails", "[ucp]")
{
    const ucs::log_capture log;
    CHECK(create_context("lo:127.0.0.2,lo:127.0.0.2") == UFX_ERR_INVALID_PARAM);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "device lo:127.0.0.2 is named twice") == 1);
    CHECK(create_context("lo,lo:127.0.0.2,lo:127.0.0.1") == UFX_ERR_INVALID_PARAM);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "lo and lo:127.0.0.1 are one and the same") == 1);
    CHECK(log.count(UFX_UCS_LOG_ERROR) == 2);
    CHECK(create_context(two_rails) == UFX_OK);
}

TEST_CASE("misuse: an empty list of devices is no list", "[ucp]")
{
    for (const char *devices : {"", ",", " , "}) {
        CAPTURE(devices);
        const ucs::log_capture log;
        CHECK(create_context(devices) == UFX_ERR_INVALID_PARAM);
        INFO(log.text());
        CHECK(log.count(UFX_UCS_LOG_ERROR) == 1);
        CHECK(log.count(UFX_UCS_LOG_ERROR, "devices is an empty list") == 1);
    }
}

TEST_CASE("misuse: a device that cannot be a rail is refused by its context", "[ucp]")
{
    const ucs::log_capture log;
    const auto refused = [&](const char *devices, const char *text) {
        const ufx_status_t status = create_context(devices);
        INFO(log.text());
        CHECK(status == UFX_ERR_NO_DEVICE);
        CHECK(log.count(UFX_UCS_LOG_ERROR) == 1);
        CHECK(log.count(UFX_UCS_LOG_ERROR, text) == 1);
        return log.text();
    };
    const auto again = [&](const char *devices, const char *text) {
        const_cast<ucs::log_capture &>(log).clear();
        return refused(devices, text);
    };
    const std::string own = again("memory", "device memory cannot be a rail");
    CHECK(own.find("memory, ") == std::string::npos); // it is not offered in the same breath
    CHECK(own.find("these can: lo") != std::string::npos);
    const std::string none = again("nosuch0", "there is no device nosuch0; there are: lo");
    CHECK(none.find("memory") == std::string::npos);
    again("lo:", "'lo:' names no address");
    again("lo:nonsense", "'nonsense' is no IP address");
    again("lo:192.0.2.99", "does not have the address 192.0.2.99");
}

TEST_CASE("misuse: a config entry that is no setting is refused by its name", "[ucp][config]")
{
    ucs::log_capture log;
    const auto refused = [&](ufx_ucp_config_entry_t entry, const char *text) {
        log.clear();
        const ufx_status_t status = create_context(two_rails, {{"RAIL_GRACE", "100ms"}, entry});
        INFO(log.text());
        CHECK(status == UFX_ERR_INVALID_PARAM);
        CHECK(log.count(UFX_UCS_LOG_ERROR, text) == 1);
        CHECK(log.count(UFX_UCS_LOG_ERROR) == 1);
    };
    refused({"RAIL_GRAZE", "1s"},
            "RAIL_GRAZE, which is no setting of a context; did you mean RAIL_GRACE?");
    refused({"TCP_SEG_SICE", "8kb"},
            "TCP_SEG_SICE, which is no setting of a context; did you mean TCP_SEG_SIZE?");
    refused({"UFX_RAIL_GRACE", "1s"}, "did you mean RAIL_GRACE?");
    refused({"WHATEVER_THIS_IS", "1"}, "WHATEVER_THIS_IS, which is no setting of a context");
    refused({nullptr, "1"}, "config[1] has no name");
    refused({"RAIL_HOLDOFF", nullptr}, "config[1] has no value");
    CHECK(create_context(two_rails, {{"RAIL_GRACE", "1s"}, {"TCP_SEG_SIZE", "8kb"}}) == UFX_OK);

    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_CONFIG;
    params.config_count = 1;
    ufx_ucp_context_h context = nullptr;
    CHECK(ufx_ucp_context_create(&params, &context) == UFX_ERR_INVALID_PARAM);
}

TEST_CASE("misuse: a refused argument is named with its call", "[ucp]")
{
    test::pair p;
    const ufx_ucp_ep_h ep = p.a.ep;
    const ufx_ucp_worker_h worker = p.a.worker;
    const ufx_ucp_rkey_h key = p.a.peer_key;
    const std::uint64_t at = p.a.peer_addr;
    const std::uint64_t end = at + p.b.memory_size;
    std::byte byte{};
    std::uint64_t word = 0;
    void *bytes = nullptr;
    size_t length = 0;
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_listener_h listener = nullptr;
    const ufx_ucp_listener_params_t no_address{};
    ufx_ucp_listener_params_t no_family{};
    const sockaddr_storage nowhere{};
    no_family.field_mask = UFX_UCP_LISTENER_PARAM_SOCKADDR | UFX_UCP_LISTENER_PARAM_CONN_CB;
    no_family.sockaddr = reinterpret_cast<const sockaddr *>(&nowhere);
    no_family.sockaddr_length = sizeof(nowhere);
    no_family.conn_cb = [](void *, ufx_ucp_conn_request_h) noexcept {};
    const ufx_ucp_ep_params_t no_way{};
    ufx_ucp_ep_params_t no_mode{};
    no_mode.field_mask = UFX_UCP_EP_PARAM_ERROR_MODE;
    no_mode.error_mode = static_cast<ufx_ucp_error_mode_t>(9);
    ufx_ucp_ep_params_t no_sockaddr{};
    no_sockaddr.field_mask = UFX_UCP_EP_PARAM_SOCKADDR;
    const ufx_ucp_mem_params_t no_length{};
    ufx_ucp_mem_params_t no_start{};
    no_start.field_mask = UFX_UCP_MEM_PARAM_LENGTH;
    no_start.length = 1;
    const ufx_ucp_transfer_t beyond = {&byte, end, 1, key, nullptr};
    const ufx_ucp_transfer_t keyless = {&byte, at, 1, nullptr, nullptr};
    const ufx_ucp_notify_t long_one = {0, &byte, 4097};
    const ufx_ucp_notify_t no_data = {0, nullptr, 1};
    ufx_ucp_op_params_t eager{};
    eager.field_mask = UFX_UCP_OP_PARAM_FLAGS;
    eager.flags = UFX_UCP_OP_AM_EAGER;
    ufx_ucp_op_params_t no_op_flags = eager;
    no_op_flags.flags = ~std::uint64_t{0};
    ufx_ucp_ep_params_t no_ep_flags{};
    no_ep_flags.field_mask = UFX_UCP_EP_PARAM_FLAGS;
    no_ep_flags.flags = 2;
    ufx_ucp_mem_params_t no_mem_flags{};
    no_mem_flags.field_mask = UFX_UCP_MEM_PARAM_FLAGS;
    no_mem_flags.flags = 1u << 4;
    ufx_ucp_worker_params_t no_threads{};
    no_threads.field_mask = UFX_UCP_WORKER_PARAM_THREAD_MODE;
    no_threads.thread_mode = static_cast<ufx_ucp_thread_mode_t>(9);
    const auto no_format = static_cast<ufx_ucp_dump_format_t>(99);
    ufx_ucp_worker_h second = nullptr;
    ufx_ucp_ep_h made = nullptr;
    ufx_ucp_mem_h mem = nullptr;
    ufx_ucp_rkey_h unpacked = nullptr;
    char *text = nullptr;
    const struct {
        const char *line;
        std::function<ufx_status_t()> call;
    } cases[] = {
        {"ufx_ucp_context_create: context", [&] { return ufx_ucp_context_create({}, nullptr); }},
        {"ufx_ucp_worker_create: context", [&] { return ufx_ucp_worker_create({}, {}, nullptr); }},
        {"ufx_ucp_worker_create: params->thread_mode",
         [&] { return ufx_ucp_worker_create(p.a.context, &no_threads, &second); }},
        {"ufx_ucp_worker_event_fd: fd", [&] { return ufx_ucp_worker_event_fd(worker, nullptr); }},
        {"ufx_ucp_worker_arm: worker", [&] { return ufx_ucp_worker_arm(nullptr); }},
        {"ufx_ucp_worker_wait: worker", [&] { return ufx_ucp_worker_wait(nullptr, 0); }},
        {"ufx_ucp_worker_signal: worker", [&] { return ufx_ucp_worker_signal(nullptr); }},
        {"ufx_ucp_worker_get_address: length is NULL",
         [&] { return ufx_ucp_worker_get_address(worker, &bytes, nullptr); }},
        {"ufx_ucp_worker_query_rails: count",
         [&] { return ufx_ucp_worker_query_rails(worker, nullptr, nullptr); }},
        {"ufx_ucp_worker_query_failover: stats",
         [&] { return ufx_ucp_worker_query_failover(worker, nullptr); }},
        {"ufx_ucp_rail_drain: rail", [&] { return ufx_ucp_rail_drain(worker, nullptr); }},
        {"ufx_ucp_rail_resume: worker", [&] { return ufx_ucp_rail_resume(nullptr, "rail0"); }},
        {"ufx_ucp_rail_set_link: rail", [&] { return ufx_ucp_rail_set_link(worker, nullptr, 1); }},
        {"ufx_ucp_worker_dump: worker",
         [&] { return ufx_ucp_worker_dump(nullptr, UFX_UCP_DUMP_TEXT, &text); }},
        {"ufx_ucp_worker_dump: format",
         [&] { return ufx_ucp_worker_dump(worker, no_format, &text); }},
        {"ufx_ucp_system_dump: format", [&] { return ufx_ucp_system_dump(no_format, &text); }},
        {"ufx_ucp_system_dump: text",
         [&] { return ufx_ucp_system_dump(UFX_UCP_DUMP_TEXT, nullptr); }},
        {"ufx_ucp_mem_map: params", [&] { return ufx_ucp_mem_map(p.a.context, nullptr, &mem); }},
        {"ufx_ucp_mem_map: params->flags",
         [&] { return ufx_ucp_mem_map(p.a.context, &no_mem_flags, &mem); }},
        {"ufx_ucp_mem_map: params->length",
         [&] { return ufx_ucp_mem_map(p.a.context, &no_length, &mem); }},
        {"ufx_ucp_mem_map: params->address",
         [&] { return ufx_ucp_mem_map(p.a.context, &no_start, &mem); }},
        {"ufx_ucp_mem_unmap: mem", [&] { return ufx_ucp_mem_unmap(p.a.context, nullptr); }},
        {"ufx_ucp_mem_query: mem", [&] { return ufx_ucp_mem_query(nullptr, &bytes, &length); }},
        {"ufx_ucp_rkey_pack: buffer",
         [&] { return ufx_ucp_rkey_pack(p.a.context, p.a.mem, nullptr, &length); }},
        {"ufx_ucp_ep_rkey_unpack: ep",
         [&] { return ufx_ucp_ep_rkey_unpack(nullptr, &byte, 1, &unpacked); }},
        {"ufx_ucp_listener_create: worker",
         [&] { return ufx_ucp_listener_create(nullptr, &no_family, &listener); }},
        {"ufx_ucp_listener_create: params->sockaddr and",
         [&] { return ufx_ucp_listener_create(worker, &no_address, &listener); }},
        {"ufx_ucp_listener_create: params->sockaddr is neither",
         [&] { return ufx_ucp_listener_create(worker, &no_family, &listener); }},
        {"ufx_ucp_listener_query: listener",
         [&] { return ufx_ucp_listener_query(nullptr, nullptr); }},
        {"ufx_ucp_listener_reject: listener",
         [&] { return ufx_ucp_listener_reject(nullptr, nullptr); }},
        {"ufx_ucp_ep_create: params", [&] { return ufx_ucp_ep_create(worker, nullptr, &made); }},
        {"ufx_ucp_ep_create: params must have exactly one",
         [&] { return ufx_ucp_ep_create(worker, &no_way, &made); }},
        {"ufx_ucp_ep_create: params->error_mode",
         [&] { return ufx_ucp_ep_create(worker, &no_mode, &made); }},
        {"ufx_ucp_ep_create: params->flags",
         [&] { return ufx_ucp_ep_create(worker, &no_ep_flags, &made); }},
        {"ufx_ucp_ep_create: params->sockaddr",
         [&] { return ufx_ucp_ep_create(worker, &no_sockaddr, &made); }},
        {"ufx_ucp_ep_set_event_cb: ep",
         [&] { return ufx_ucp_ep_set_event_cb(nullptr, nullptr, nullptr); }},
        {"ufx_ucp_ep_query: attr", [&] { return ufx_ucp_ep_query(ep, nullptr); }},
        {"ufx_ucp_ep_close: ep", [&] { return ufx_ucp_ep_close({}, UFX_UCP_CLOSE_FLUSH, {}, {}); }},
        {"ufx_ucp_ep_close: mode",
         [&] { return ufx_ucp_ep_close(ep, static_cast<ufx_ucp_close_mode_t>(7), {}, {}); }},
        {"ufx_ucp_request_check: request", [&] { return ufx_ucp_request_check(nullptr); }},
        {"ufx_ucp_request_cancel: request", [&] { return ufx_ucp_request_cancel(nullptr); }},
        {"ufx_ucp_put: ep", [&] { return ufx_ucp_put({}, &byte, 1, at, key, {}, {}); }},
        {"ufx_ucp_put: buffer", [&] { return ufx_ucp_put(ep, {}, 1, at, key, {}, {}); }},
        {"ufx_ucp_put: rkey", [&] { return ufx_ucp_put(ep, &byte, 1, at, {}, {}, {}); }},
        {"ufx_ucp_put: 1 bytes at remote_addr 0x",
         [&] { return ufx_ucp_put(ep, &byte, 1, end, key, {}, {}); }},
        {"ufx_ucp_get: 1 bytes at remote_addr 0x",
         [&] { return ufx_ucp_get(ep, &byte, 1, at - 1, key, {}, {}); }},
        {"ufx_ucp_put_list: transfers is NULL",
         [&] { return ufx_ucp_put_list(ep, nullptr, 1, nullptr, {}, {}); }},
        {"ufx_ucp_put_list: transfers[0]: remote_addr",
         [&] { return ufx_ucp_put_list(ep, &beyond, 1, nullptr, {}, {}); }},
        {"ufx_ucp_get_list: transfers[0]: rkey",
         [&] { return ufx_ucp_get_list(ep, &keyless, 1, nullptr, {}, {}); }},
        {"ufx_ucp_put_list: notify->length",
         [&] { return ufx_ucp_put_list(ep, nullptr, 0, &long_one, {}, {}); }},
        {"ufx_ucp_get_list: notify->data",
         [&] { return ufx_ucp_get_list(ep, nullptr, 0, &no_data, {}, {}); }},
        {"ufx_ucp_am_send: id", [&] { return ufx_ucp_am_send(ep, 1024, {}, 0, {}, 0, {}, {}); }},
        {"ufx_ucp_am_send: header_length",
         [&] { return ufx_ucp_am_send(ep, 1, &byte, 4097, {}, 0, {}, {}); }},
        {"ufx_ucp_am_send: header is",
         [&] { return ufx_ucp_am_send(ep, 1, {}, 1, {}, 0, {}, {}); }},
        {"ufx_ucp_am_send: buffer", [&] { return ufx_ucp_am_send(ep, 1, {}, 0, {}, 1, {}, {}); }},
        {"ufx_ucp_am_send: params->flags",
         [&] { return ufx_ucp_am_send(ep, 1, {}, 0, &byte, 1, &no_op_flags, {}); }},
        {"ufx_ucp_am_send: length",
         [&] { return ufx_ucp_am_send(ep, 1, {}, 0, &byte, size_t{1} << 40, &eager, {}); }},
        {"ufx_ucp_am_recv_data: data",
         [&] { return ufx_ucp_am_recv_data(worker, {}, &byte, 1, {}, {}); }},
        {"ufx_ucp_worker_set_am_handler: id",
         [&] { return ufx_ucp_worker_set_am_handler(worker, 1024, nullptr, nullptr); }},
        {"ufx_ucp_worker_set_notify_handler: worker",
         [&] { return ufx_ucp_worker_set_notify_handler(nullptr, nullptr, nullptr); }},
        {"ufx_ucp_worker_flush: worker", [&] { return ufx_ucp_worker_flush({}, {}, {}); }},
        {"ufx_ucp_worker_fence: worker", [&] { return ufx_ucp_worker_fence(nullptr); }},
        {"ufx_ucp_ep_flush: ep", [&] { return ufx_ucp_ep_flush({}, {}, {}); }},
        {"ufx_ucp_ep_fence: ep", [&] { return ufx_ucp_ep_fence(nullptr); }},
        {"ufx_ucp_atomic: op is",
         [&] { return ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_ADD, 1, 0, 3, &word, at, key, {}, {}); }},
        {"ufx_ucp_atomic: remote_addr",
         [&] { return ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, &word, end, key, {}, {}); }},
        {"ufx_ucp_atomic: result",
         [&] { return ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_SWAP, 1, 0, 8, {}, at, key, {}, {}); }},
    };
    for (const auto &one : cases) {
        const ucs::log_capture log;
        const ufx_status_t status = one.call();
        INFO(one.line << "\n" << log.text());
        CHECK(status == UFX_ERR_INVALID_PARAM);
        CHECK(log.count(UFX_UCS_LOG_ERROR, one.line) == 1);
        CHECK(log.lines().size() == 1);
    }
    ufx_ucp_request_free(nullptr);
    ufx_ucp_context_destroy(context);
    ufx_ucp_am_data_release(nullptr, nullptr);
    CHECK(ufx_ucp_worker_progress(nullptr) == 0);
}

TEST_CASE("misuse: a call that accepts nothing leaves no request", "[ucp]")
{
    test::pair p;
    const ufx_ucp_ep_h ep = p.a.ep;
    const ufx_ucp_rkey_h key = p.a.peer_key;
    const std::uint64_t at = p.a.peer_addr;
    const ufx_ucp_worker_h worker = p.a.worker;
    ufx_ucp_request_h out = nullptr;
    const std::function<ufx_status_t(ufx_ucp_ep_h)> calls[] = {
        [&](ufx_ucp_ep_h e) { return ufx_ucp_put(e, {}, 1, at, key, {}, &out); },
        [&](ufx_ucp_ep_h e) { return ufx_ucp_get(e, {}, 1, at, key, {}, &out); },
        [&](ufx_ucp_ep_h e) { return ufx_ucp_put_list(e, {}, 1, {}, {}, &out); },
        [&](ufx_ucp_ep_h e) { return ufx_ucp_get_list(e, {}, 1, {}, {}, &out); },
        [&](ufx_ucp_ep_h e) { return ufx_ucp_am_send(e, 1, {}, 1, {}, 0, {}, &out); },
        [&](ufx_ucp_ep_h e) {
            return ufx_ucp_atomic(e, UFX_UCP_ATOMIC_ADD, 1, 0, 3, {}, at, key, {}, &out);
        },
        [&](ufx_ucp_ep_h e) {
            return ufx_ucp_atomic(e, UFX_UCP_ATOMIC_ADD, 1, 0, 264, {}, at, key, {}, &out);
        },
        [&](ufx_ucp_ep_h e) {
            return ufx_ucp_atomic(e, UFX_UCP_ATOMIC_ADD, 1, 0, 8, {}, at, {}, {}, &out);
        },
        [&](ufx_ucp_ep_h e) {
            return ufx_ucp_ep_close(e, static_cast<ufx_ucp_close_mode_t>(7), {}, &out);
        },
        [&](ufx_ucp_ep_h) { return ufx_ucp_am_recv_data(worker, {}, {}, 1, {}, &out); },
        [&](ufx_ucp_ep_h) { return ufx_ucp_ep_flush({}, {}, &out); },
        [&](ufx_ucp_ep_h) { return ufx_ucp_worker_flush({}, {}, &out); },
    };
    int nothing = 0;
    for (const auto &call : calls) {
        for (const ufx_ucp_ep_h e : {ep, ufx_ucp_ep_h{}}) {
            out = reinterpret_cast<ufx_ucp_request_h>(&nothing);
            INFO("call " << &call - calls << (e == nullptr ? " without ep" : ""));
            CHECK(call(e) == UFX_ERR_INVALID_PARAM);
            CHECK(out == nullptr);
        }
    }
}

TEST_CASE("misuse: what only the target can know is REMOTE_ACCESS, not a wrong argument", "[ucp]")
{
    test::pair p;
    std::byte byte{};
    REQUIRE(ufx_ucp_mem_unmap(p.b.context, p.b.mem) == UFX_OK);
    test::waiter put;
    put.posted(ufx_ucp_put(p.a.ep, &byte, 1, p.a.peer_addr, p.a.peer_key, &put.params, nullptr));
    REQUIRE(p.until_done(put));
    CHECK(put.status == UFX_ERR_REMOTE_ACCESS);
    CHECK(ufx_ucp_put(p.a.ep, &byte, 1, p.a.peer_addr + p.b.memory_size, p.a.peer_key, nullptr,
                      nullptr) == UFX_ERR_INVALID_PARAM);
}

TEST_CASE("misuse: memory that was unmapped, or is of another context, is refused", "[ucp]")
{
    test::pair p;
    const ucs::log_capture log;
    void *bytes = nullptr;
    size_t length = 0;
    CHECK(ufx_ucp_mem_unmap(p.a.context, p.b.mem) == UFX_ERR_INVALID_PARAM);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "ufx_ucp_mem_unmap: mem is not, or no longer, mapped") == 1);
    REQUIRE(ufx_ucp_mem_unmap(p.a.context, p.a.mem) == UFX_OK);
    CHECK(ufx_ucp_mem_unmap(p.a.context, p.a.mem) == UFX_ERR_INVALID_PARAM);
    CHECK(ufx_ucp_rkey_pack(p.a.context, p.a.mem, &bytes, &length) == UFX_ERR_INVALID_PARAM);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "is not, or no longer, mapped") == 3);
}

TEST_CASE("misuse: a context outlives its workers and its memory", "[ucp]")
{
    test::pair p;
    const ucs::log_capture log;
    ufx_ucp_context_destroy(p.a.context);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "refused: 1 workers are not destroyed and 1 memory") == 1);
    std::byte byte{7};
    test::waiter put;
    put.posted(ufx_ucp_put(p.a.ep, &byte, 1, p.a.peer_addr, p.a.peer_key, &put.params, nullptr));
    REQUIRE(p.until_done(put)); // all of it still works
    CHECK(p.b.memory[0] == byte);
    ufx_ucp_rkey_destroy(p.a.peer_key);
    p.a.peer_key = nullptr;
    ufx_ucp_worker_destroy(p.a.worker);
    p.a.worker = nullptr;
    ufx_ucp_context_destroy(p.a.context);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "refused: 0 workers are not destroyed and 1 memory") == 1);
    // The pair unmaps, and destroys it.
}
