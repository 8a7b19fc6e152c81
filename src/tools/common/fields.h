// SPDX-License-Identifier: BSD-3-Clause
// fields: named values that two tools send each other, one "name=value" a line.
#ifndef UFX_TOOLS_COMMON_FIELDS_H
#define UFX_TOOLS_COMMON_FIELDS_H

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace ufx::tools {

class fields {
public:
    /** A value that is being set. */
    class value {
    public:
        value(const char *text) : text_(text) {}
        value(std::string text) : text_(std::move(text)) {}
        value(uint64_t number) : text_(std::to_string(number)) {}
        value(uint32_t number) : text_(std::to_string(number)) {}
        value(bool flag) : text_(flag ? "1" : "0") {}
        const std::string &text() const { return text_; }

    private:
        std::string text_;
    };

    fields() = default;
    fields(std::initializer_list<std::pair<const char *, value>> list);

    void set(const std::string &name, const value &what);

    /** Values of a peer: a missing or malformed one, or a number above `max`, is an error. */
    const std::string &text(const std::string &name) const;
    uint64_t number(const std::string &name, uint64_t max = UINT64_MAX) const;
    bool flag(const std::string &name) const { return number(name, 1) == 1; }

    std::string dump() const;

    /** Nothing if the text is not such lines. */
    static std::optional<fields> parse(const std::string &text);

private:
    std::map<std::string, std::string> values_;
};

} // namespace ufx::tools

#endif
