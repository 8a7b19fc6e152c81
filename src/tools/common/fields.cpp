// SPDX-License-Identifier: BSD-3-Clause
// Named values as lines.
#include "tools/common/fields.h"

#include "tools/common/error.h"

#include <charconv>

namespace ufx::tools {

fields::fields(std::initializer_list<std::pair<const char *, value>> list)
{
    for (const auto &[name, what] : list) {
        set(name, what);
    }
}

void fields::set(const std::string &name, const value &what)
{
    std::string one_line = what.text();
    for (char &c : one_line) {
        c = c == '\n' ? ' ' : c;
    }
    values_[name] = one_line;
}

const std::string &fields::text(const std::string &name) const
{
    const auto found = values_.find(name);
    if (found == values_.end()) {
        throw tool_error("the peer sent a message without '" + name + "'");
    }
    return found->second;
}

uint64_t fields::number(const std::string &name, uint64_t max) const
{
    const std::string &word = text(name);
    uint64_t result = 0;
    const char *end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, result);
    if (error != std::errc() || rest != end || result > max) {
        throw tool_error("the peer sent a message with an unusable '" + name + "'");
    }
    return result;
}

std::string fields::dump() const
{
    std::string text;
    for (const auto &[name, one] : values_) {
        text += name + "=" + one + "\n";
    }
    return text;
}

std::optional<fields> fields::parse(const std::string &text)
{
    fields result;
    size_t begin = 0;
    while (begin < text.size()) {
        const size_t end = text.find('\n', begin);
        const size_t equals = text.find('=', begin);
        if (end == std::string::npos || equals == std::string::npos || equals > end ||
            equals == begin) {
            return std::nullopt;
        }
        result.values_[text.substr(begin, equals - begin)] =
            text.substr(equals + 1, end - equals - 1);
        begin = end + 1;
    }
    return result;
}

} // namespace ufx::tools
