// SPDX-License-Identifier: BSD-3-Clause
// Printing of all configuration rows in the form of ufx.conf.
#include "entry.h"

#include <ufx/ucs.h>

#include <string>
#include <string_view>

namespace {

struct print_state {
    FILE *stream;
    unsigned flags;
    std::string title; // of the last row printed
};

const char *source_name(ufx_ucs_config_source_t source)
{
    switch (source) {
    case UFX_UCS_CONFIG_ENVIRONMENT:
        return "environment";
    case UFX_UCS_CONFIG_FILE:
        return "file";
    default:
        return "default";
    }
}

// Read before the file, or beside it: there a line of it would do nothing.
bool is_of_environment(std::string_view name)
{
    return name == "UFX_CONFIG_FILE" || name.starts_with("UFX_TRACE_");
}

void print_row(void *arg, const char *title, const ufx_ucs_config_row_t *row, const char *value,
               ufx_ucs_config_source_t source)
{
    auto *state = static_cast<print_state *>(arg);
    if ((state->flags & UFX_UCS_CONFIG_PRINT_CHANGED_ONLY) != 0 &&
        source == UFX_UCS_CONFIG_DEFAULT) {
        return;
    }
    bool with_help = (state->flags & UFX_UCS_CONFIG_PRINT_HELP) != 0;
    if (with_help && state->title != title) {
        std::fprintf(state->stream, "#\n# %s\n#\n\n", title);
        state->title = title;
    }
    if (with_help) {
        bool typed = row->type[0] != '\0';
        std::fprintf(state->stream, "# %s\n# %s%s%sdefault: %s; from: %s\n", row->help,
                     typed ? "type: " : "", row->type, typed ? "; " : "",
                     row->default_value[0] == '\0' ? "(empty)" : row->default_value,
                     source_name(source));
    }
    std::fprintf(state->stream, "%s%s=%s\n%s", is_of_environment(row->name) ? "# " : "", row->name,
                 value, with_help ? "\n" : "");
}

} // namespace

void ufx_ucs_config_print(FILE *stream, unsigned flags) noexcept
{
    static_cast<void>(ufx::ucs::guard([&] {
        print_state state = {stream, flags, {}};
        ufx_ucs_config_iterate(&print_row, &state);
    }));
}
