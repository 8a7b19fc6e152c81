// SPDX-License-Identifier: BSD-3-Clause
// What a program does wrong at the C ABI is refused, with one line that names it.
#include "ucs/log_capture.h"

#include <ufx/ucp.h>

#include <catch2/catch.hpp>
#include <cstddef>
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
    refused({"RAIL_GRAZE", "1s"}, "RAIL_GRAZE, which is no setting; did you mean RAIL_GRACE?");
    refused({"TCP_SEG_SICE", "8kb"}, "TCP_SEG_SICE, which is no setting; did you mean TCP_SEG_SIZE?");
    refused({"UFX_RAIL_GRACE", "1s"}, "did you mean RAIL_GRACE?");
    refused({"WHATEVER_THIS_IS", "1"}, "WHATEVER_THIS_IS, which is no setting");
    refused({nullptr, "1"}, "config[1] has no name");
    refused({"RAIL_HOLDOFF", nullptr}, "config[1] has no value");
    CHECK(create_context(two_rails, {{"RAIL_GRACE", "1s"}, {"TCP_SEG_SIZE", "8kb"}}) == UFX_OK);

    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_CONFIG;
    params.config_count = 1;
    ufx_ucp_context_h context = nullptr;
    CHECK(ufx_ucp_context_create(&params, &context) == UFX_ERR_INVALID_PARAM);
}
