// SPDX-License-Identifier: BSD-3-Clause
// Writes one description either as indented text or as JSON.
#ifndef UFX_UCP_DUMP_WRITER_H
#define UFX_UCP_DUMP_WRITER_H

#include <ufx/ucp.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace ufx::ucp {

// begin/end pairs nest; an unnamed object is an element of a list.
class dump_writer {
public:
    explicit dump_writer(ufx_ucp_dump_format_t format) : json_(format == UFX_UCP_DUMP_JSON)
    {
        if (json_) {
            text_ = "{";
        }
    }

    void begin_object(std::string_view name = {}) { begin(name, '{'); }
    void begin_list(std::string_view name) { begin(name, '['); }
    void end_object() { end('}'); }
    void end_list() { end(']'); }

    void field(std::string_view name, std::string_view value)
    {
        separate(name);
        text_ += json_ ? quote(value) : std::string(value);
    }
    void field(std::string_view name, const char *value) { field(name, std::string_view(value)); }
    void field(std::string_view name, bool value)
    {
        separate(name);
        text_ += value ? "true" : "false";
    }
    void field(std::string_view name, std::integral auto value)
    {
        separate(name);
        text_ += std::to_string(value);
    }
    // Uuids and masks: more digits than JSON's readers keep.
    void hex(std::string_view name, std::uint64_t value);

    std::string take()
    {
        text_ += json_ ? "}\n" : "\n";
        return std::move(text_);
    }

private:
    static std::string quote(std::string_view from);
    void begin(std::string_view name, char bracket);
    void end(char bracket);
    void separate(std::string_view name);

    bool json_;
    bool first_ = true;
    unsigned depth_ = 0;
    std::string text_;
};

} // namespace ufx::ucp

#endif
