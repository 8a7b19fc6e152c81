// SPDX-License-Identifier: BSD-3-Clause
// Reading and parsing of ufx.conf.
#include "config_file.h"

#include "config_parse.h"
#include "fd.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ufx::ucs {
namespace {

constexpr size_t file_limit = 1 << 20;

bool is_name(std::string_view text) noexcept
{
    return text.starts_with("UFX_") && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
           });
}

} // namespace

config_file parse_config_file(std::string_view text)
{
    config_file file;
    for (size_t number = 1; !text.empty(); number++) {
        size_t end = text.find('\n');
        std::string_view line = trim(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        size_t equal = line.find('=');
        std::string_view name = trim(line.substr(0, equal));
        std::string where = "line " + std::to_string(number) + ": ";
        if (equal == std::string_view::npos) {
            file.faults.push_back(where + "no '='");
        } else if (!is_name(name)) {
            file.faults.push_back(where + "the name must be UFX_ and capitals, digits or '_'");
        } else if (line.find('\0') != std::string_view::npos) {
            file.faults.push_back(where + "a NUL byte in the value");
        } else {
            file.values.insert_or_assign(std::string(name),
                                         std::string(trim(line.substr(equal + 1))));
        }
    }
    return file;
}

config_file load_config_file(const char *path)
{
    fd file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file) {
        return {{}, {std::string("cannot be opened: ") + std::strerror(errno)}};
    }
    std::string text;
    char part[4096];
    for (;;) {
        ssize_t count = ::read(file.get(), part, sizeof(part));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return {{}, {std::string("cannot be read: ") + std::strerror(errno)}};
        }
        if (count == 0) {
            return parse_config_file(text);
        }
        text.append(part, static_cast<size_t>(count));
        if (text.size() > file_limit) {
            return {{}, {"longer than 1 MB"}};
        }
    }
}

} // namespace ufx::ucs
