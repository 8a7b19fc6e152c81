// SPDX-License-Identifier: BSD-3-Clause
// Reading of typed rows from the texts that the user gave.
#include "config.h"

#include "config_parse.h"
#include "log.h"

#include <cassert>
#include <strings.h>

namespace ufx::ucs {
namespace {

std::string format_number(config_kind kind, int64_t number)
{
    switch (kind) {
    case config_kind::size:
        return format_size(number);
    case config_kind::time:
        return format_time(number);
    default:
        return std::to_string(number);
    }
}

std::string choice_names(const config_row &row, const char *separator)
{
    std::string names;
    for (const config_enum &choice : row.choices) {
        names += (names.empty() ? "" : separator) + std::string(choice.name);
    }
    return names;
}

bool parse_choice(const config_row &row, std::string_view text, config_value &value)
{
    std::string word(trim(text));
    for (const config_enum &choice : row.choices) {
        if (::strcasecmp(choice.name, word.c_str()) == 0) {
            value.number = choice.value;
            return true;
        }
    }
    return false;
}

// An integer or a double.
template <class T>
bool check_range(const config_row &row, T number, std::string &why)
{
    if (number >= static_cast<T>(row.min) && number <= static_cast<T>(row.max)) {
        return true;
    }
    why = "out of range " + format_number(row.kind, row.min) + ".." +
          format_number(row.kind, row.max);
    return false;
}

} // namespace

bool parse_config_value(const config_row &row, std::string_view text, config_value &value,
                        std::string &why)
{
    switch (row.kind) {
    case config_kind::boolean: {
        bool flag = false;
        if (!parse_bool(text, flag)) {
            why = "expected y or n";
            return false;
        }
        value.number = flag ? 1 : 0;
        return true;
    }
    case config_kind::integer:
        why = "not a whole number";
        return parse_integer(text, value.number) && check_range(row, value.number, why);
    case config_kind::size:
        why = "not a size such as 8kb";
        return parse_size(text, value.number) && check_range(row, value.number, why);
    case config_kind::time:
        why = "not a time with a unit, such as 20ms";
        return parse_time(text, value.number) && check_range(row, value.number, why);
    case config_kind::real:
        why = "not a number";
        return parse_real(text, value.real) && check_range(row, value.real, why);
    case config_kind::choice:
        why = "expected one of " + choice_names(row, ", ");
        return parse_choice(row, text, value);
    case config_kind::text:
        value.text = text;
        return true;
    case config_kind::list:
        why = "an empty list";
        value.list = parse_list(text);
        return !value.list.empty() || row.default_value[0] == '\0';
    }
    return false;
}

std::string describe_config_type(const config_row &row)
{
    const char *names[] = {"y/n", "integer", "size", "time", "number", "", "text", "list"};
    if (row.kind == config_kind::choice) {
        return choice_names(row, "|");
    }
    std::string type = names[static_cast<size_t>(row.kind)];
    bool ordered = row.kind != config_kind::boolean && row.kind != config_kind::text &&
                   row.kind != config_kind::list;
    bool open = row.max == INT64_MAX && row.min == (row.kind == config_kind::real ? INT64_MIN : 0);
    if (ordered && !open) {
        type += ", " + format_number(row.kind, row.min) + ".." + format_number(row.kind, row.max);
    }
    return type;
}

namespace detail {

void register_rows(const char *title, const char *prefix, size_t count,
                   const config_row &(*row_at)(const void *rows, size_t at), const void *rows)
{
    for (size_t at = 0; at < count; at++) {
        const config_row &row = row_at(rows, at);
        std::string name = std::string("UFX_") + prefix + row.name;
        std::string type = describe_config_type(row);
        ufx_ucs_config_row_t c_row = {sizeof(c_row), name.c_str(), type.c_str(), row.default_value,
                                      row.help};
        ufx_status_t status = ufx_ucs_config_register(title, &c_row);
        if (status != UFX_OK) {
            ufx_error("cannot register %s: %s", name.c_str(), ufx_ucs_status_string(status));
            continue;
        }
        config_value value;
        std::string why;
        const char *text = ufx_ucs_config_get(name.c_str(), nullptr);
        if (text != nullptr && !parse_config_value(row, text, value, why)) {
            ufx_ucs_config_reject(name.c_str(), text, why.c_str());
        }
    }
}

void load_rows(const char *title, const char *prefix, size_t count,
               const config_row &(*row_at)(const void *rows, size_t at), const void *rows,
               void *object)
{
    register_rows(title, prefix, count, row_at, rows);
    for (size_t at = 0; at < count; at++) {
        const config_row &row = row_at(rows, at);
        std::string name = std::string("UFX_") + prefix + row.name;
        config_value value;
        std::string why;
        const char *text = ufx_ucs_config_get(name.c_str(), nullptr);
        if (text == nullptr ||
            !parse_config_value(row, text, value, why)) { // told by register_rows
            value = {};
            [[maybe_unused]] bool ok = parse_config_value(row, row.default_value, value, why);
            assert(ok && "the default of a row must be a value that it allows");
        }
        row.store(object, std::move(value));
    }
}

} // namespace detail
} // namespace ufx::ucs
