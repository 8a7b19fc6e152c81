// SPDX-License-Identifier: BSD-3-Clause
// Typed configuration rows, tied to the members of a struct.
//
//     struct tcp_config { size_t seg; std::chrono::nanoseconds grace; };
//     constexpr ucs::config_option<tcp_config> rows[] = {
//         ucs::option<&tcp_config::seg>("SEG_SIZE", "8kb", "Bytes.").range(1024, 1 << 20),
//         ucs::option<&tcp_config::grace>("GRACE", "300ms", "Time.").range(1ms, 60s)};
//     constexpr ucs::config_table<tcp_config> table{"tcp", "TCP_", rows};
//     tcp_config config = table.load(); // reads UFX_TCP_SEG_SIZE and UFX_TCP_GRACE
//
// The member's type decides how the text is read: bool; uint64_t and size_t as sizes; nanoseconds
// as times; every other integer as a plain number; double; enums by name; std::string;
// std::vector<std::string> as a list.
#ifndef UFX_UCS_CONFIG_H
#define UFX_UCS_CONFIG_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ufx::ucs {

enum class config_kind : uint8_t { boolean, integer, size, time, real, choice, text, list };

struct config_enum {
    const char *name;
    int64_t value;
};

struct config_value {
    int64_t number = 0; // boolean, integer, size, time (ns), choice
    double real = 0;
    std::string text;
    std::vector<std::string> list;
};

struct config_row {
    const char *name; // without UFX_ and the table's prefix
    const char *default_value;
    const char *help;
    config_kind kind;
    int64_t min;
    int64_t max;
    std::span<const config_enum> choices;
    void (*store)(void *object, config_value &&value);
};

// False with a reason if `text` is not a value that `row` allows.
[[nodiscard]] bool parse_config_value(const config_row &row, std::string_view text,
                                      config_value &value, std::string &why);

// Type and range for people, such as "size, 1kb..1mb".
[[nodiscard]] std::string describe_config_type(const config_row &row);

namespace detail {

template <class M>
struct member_of;

template <class C, class T>
struct member_of<T C::*> {
    using object = C;
    using type = T;
};

template <class T>
constexpr config_kind kind_of() noexcept
{
    if constexpr (std::is_same_v<T, bool>) {
        return config_kind::boolean;
    } else if constexpr (std::is_same_v<T, uint64_t>) {
        return config_kind::size;
    } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
        return config_kind::time;
    } else if constexpr (std::is_integral_v<T>) {
        return config_kind::integer;
    } else if constexpr (std::is_same_v<T, double>) {
        return config_kind::real;
    } else if constexpr (std::is_enum_v<T>) {
        return config_kind::choice;
    } else if constexpr (std::is_same_v<T, std::string>) {
        return config_kind::text;
    } else {
        static_assert(std::is_same_v<T, std::vector<std::string>>, "no way to read this type");
        return config_kind::list;
    }
}

template <class T>
constexpr int64_t least() noexcept
{
    if constexpr (kind_of<T>() == config_kind::integer) {
        return std::numeric_limits<T>::min();
    }
    return std::is_same_v<T, double> ? INT64_MIN : 0;
}

template <class T>
constexpr int64_t greatest() noexcept
{
    if constexpr (kind_of<T>() == config_kind::integer) {
        return std::numeric_limits<T>::max();
    }
    return INT64_MAX;
}

template <auto Member>
void store_member(void *object, config_value &&value)
{
    using object_type = typename member_of<decltype(Member)>::object;
    using member_type = typename member_of<decltype(Member)>::type;
    member_type &to = static_cast<object_type *>(object)->*Member;
    if constexpr (kind_of<member_type>() == config_kind::time) {
        to = std::chrono::nanoseconds(value.number);
    } else if constexpr (kind_of<member_type>() == config_kind::real) {
        to = value.real;
    } else if constexpr (kind_of<member_type>() == config_kind::text) {
        to = std::move(value.text);
    } else if constexpr (kind_of<member_type>() == config_kind::list) {
        to = std::move(value.list);
    } else {
        to = static_cast<member_type>(value.number); // in range, see parse_config_value()
    }
}

// Registers the rows, then reads each into `object`.
void load_rows(const char *title, const char *prefix, size_t count,
               const config_row &(*row_at)(const void *rows, size_t at), const void *rows,
               void *object);

// Makes the rows known to ufx_ucs_config_iterate() and the check for unknown names. Texts that the
// user gave and that cannot be used are rejected, so that what is listed is what is in effect.
void register_rows(const char *title, const char *prefix, size_t count,
                   const config_row &(*row_at)(const void *rows, size_t at), const void *rows);

} // namespace detail

// One row of a table for the struct C.
template <class C>
struct config_option {
    config_row row;

    // Both ends are allowed.
    [[nodiscard]] constexpr config_option range(int64_t min, int64_t max) const noexcept
    {
        config_option ranged = *this;
        ranged.row.min = min;
        ranged.row.max = max;
        return ranged;
    }

    [[nodiscard]] constexpr config_option range(std::chrono::nanoseconds min,
                                                std::chrono::nanoseconds max) const noexcept
    {
        return range(min.count(), max.count());
    }

    // For enums; `choices` is static.
    [[nodiscard]] constexpr config_option names(std::span<const config_enum> choices) const noexcept
    {
        config_option named = *this;
        named.row.choices = choices;
        return named;
    }
};

template <auto Member>
[[nodiscard]] constexpr auto option(const char *name, const char *default_value,
                                    const char *help) noexcept
{
    using object_type = typename detail::member_of<decltype(Member)>::object;
    using member_type = typename detail::member_of<decltype(Member)>::type;
    return config_option<object_type>{{name,
                                       default_value,
                                       help,
                                       detail::kind_of<member_type>(),
                                       detail::least<member_type>(),
                                       detail::greatest<member_type>(),
                                       {},
                                       &detail::store_member<Member>}};
}

template <class C>
class config_table {
public:
    // `prefix` such as "TCP_", or "".
    template <size_t N>
    constexpr config_table(const char *title, const char *prefix,
                           const config_option<C> (&rows)[N]) noexcept
        : title_(title), prefix_(prefix), rows_(rows)
    {
    }

    // Values in effect now. A value that the user gave and that cannot be used is warned about
    // once, and the default is kept.
    [[nodiscard]] C load() const
    {
        C object{};
        detail::load_rows(title_, prefix_, rows_.size(), &config_table::row_at, rows_.data(),
                          &object);
        return object;
    }

    // For tools that print all rows of a library before anything has loaded them.
    void register_rows() const
    {
        detail::register_rows(title_, prefix_, rows_.size(), &config_table::row_at, rows_.data());
    }

    [[nodiscard]] std::span<const config_option<C>> rows() const noexcept { return rows_; }

private:
    static const config_row &row_at(const void *rows, size_t at) noexcept
    {
        return static_cast<const config_option<C> *>(rows)[at].row;
    }

    const char *title_;
    const char *prefix_;
    std::span<const config_option<C>> rows_;
};

} // namespace ufx::ucs

#endif
