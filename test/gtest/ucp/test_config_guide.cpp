// SPDX-License-Identifier: BSD-3-Clause
// Settings: the tables of docs/configuration.md are what the libraries say, and the names are known.
#include "ucs/log_capture.h"

#include <ufx/ucp.h>
#include <ufx/ucs.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

struct tables {
    std::string text;
    std::string title; // of the last row
};

// Rows of transports have type and range at the end of the help, in brackets.
void split_type(std::string &help, std::string &type)
{
    std::size_t bracket = help.rfind(" (");
    if (type.empty() && bracket != std::string::npos && help.back() == ')') {
        type = help.substr(bracket + 2, help.size() - bracket - 3);
        help.resize(bracket);
    }
}

std::string cell(std::string text)
{
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
        text.insert(at, "\\");
    }
    return text;
}

void add_row(void *arg, const char *title, const ufx_ucs_config_row_t *row, const char *,
             ufx_ucs_config_source_t)
{
    auto *all = static_cast<tables *>(arg);
    // Other tests bring rows of their own.
    std::string_view group = title;
    if (group != "ucs" && group != "ucp" && group != "self" && group != "tcp") {
        return;
    }
    if (all->title != group) {
        all->title = group;
        all->text +=
            "\n## " + all->title + "\n\n| name | default | type | meaning |\n|---|---|---|---|\n";
    }
    std::string help = row->help;
    std::string type = row->type;
    split_type(help, type);
    std::string value = row->default_value;
    if (std::string_view(row->name) == "UFX_CONFIG_FILE") {
        value = "$sysconfdir/ufx.conf"; // depends on how UFX was built
    }
    all->text += std::string("| `") + row->name + "` | " +
                 (value.empty() ? "" : "`" + cell(value) + "`") + " | " + cell(type) + " | " +
                 cell(help) + " |\n";
}

std::string tables_of_guide()
{
    std::ifstream in(UFX_TOP_SRCDIR "/docs/configuration.md");
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    constexpr std::string_view mark = "<!-- rows -->\n";
    std::size_t at = text.find(mark);
    return at == std::string::npos ? "" : text.substr(at + mark.size());
}

} // namespace

TEST_CASE("config: a setting of a transport is known to a program that makes a context",
          "[ucp][config]")
{
    ::setenv("UFX_TCP_SNDBUF", "64kb", 1);
    ::setenv("UFX_SNDBUF_OF_TCP", "64kb", 1);
    const ufx::ucs::log_capture log;
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    params.devices = "lo";
    REQUIRE(ufx_ucp_context_create(&params, &context) == UFX_OK);
    ufx_ucp_context_destroy(context);
    CHECK(log.count("UFX_TCP_SNDBUF") == 0);
    CHECK(log.count("unknown configuration name UFX_SNDBUF_OF_TCP") == 1);
    ::unsetenv("UFX_TCP_SNDBUF");
    ::unsetenv("UFX_SNDBUF_OF_TCP");
}

TEST_CASE("config: the guide lists every setting as it is", "[ucp][config]")
{
    REQUIRE(ufx_ucp_config_declare() == UFX_OK);
    tables all;
    ufx_ucs_config_iterate(&add_row, &all);
    std::string written = tables_of_guide();
    if (written != all.text) {
        std::ofstream("configuration_rows.md") << all.text;
    }
    INFO("the tables as they should be are in configuration_rows.md");
    CHECK((written == all.text));
}
