// SPDX-License-Identifier: BSD-3-Clause
// Writes one description either as indented text or as JSON.
#include "ucp/dump_writer.h"

#include <cstdio>

namespace ufx::ucp {

std::string dump_writer::quote(std::string_view from)
{
    std::string to = "\"";
    for (const char c : from) {
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[8];
            (void)std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
            to += escaped;
        } else {
            to += c;
        }
    }
    return to + '"';
}

void dump_writer::hex(std::string_view name, std::uint64_t value)
{
    char digits[20];
    (void)std::snprintf(digits, sizeof(digits), "%016lx", value);
    field(name, std::string_view(digits));
}

// JSON: comma and name. Text: a new line, indented; `- ` begins an element of a list.
void dump_writer::separate(std::string_view name)
{
    if (json_) {
        text_ += first_ ? "" : ",";
        text_ += name.empty() ? "" : quote(name) + ":";
    } else {
        text_ += text_.empty() ? "" : "\n";
        text_.append(2 * depth_, ' ');
        text_ += name.empty() ? "-" : std::string(name) + ": ";
    }
    first_ = false;
}

void dump_writer::begin(std::string_view name, char bracket)
{
    separate(name);
    if (json_) {
        text_ += bracket;
    }
    first_ = true;
    ++depth_;
}

void dump_writer::end(char bracket)
{
    if (json_) {
        text_ += bracket;
    }
    first_ = false;
    --depth_;
}

} // namespace ufx::ucp
