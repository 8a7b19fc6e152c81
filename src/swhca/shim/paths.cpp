// SPDX-License-Identifier: BSD-3-Clause
// A tree with the same layout lies below the fabric's directory: DIR/sys/..., DIR/dev/infiniband.
#include "paths.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ufx::swhca::shim {

namespace {

constexpr std::string_view prefixes[] = {
    "/sys/class/infiniband", // and infiniband_verbs, infiniband_mad
    "/sys/devices/pci0000:3a",
    "/dev/infiniband",
};

constexpr std::string_view device_prefix = "/dev/infiniband/uverbs";

bool leads_away(std::string_view path) noexcept
{
    for (std::string_view prefix : prefixes) {
        if (path.starts_with(prefix)) {
            std::string_view rest = path.substr(prefix.size());
            for (std::string_view class_suffix : {"_verbs", "_mad"}) {
                if (rest.starts_with(class_suffix)) {
                    rest.remove_prefix(class_suffix.size());
                    break;
                }
            }
            return rest.empty() || rest.front() == '/';
        }
    }
    return false;
}

} // namespace

const char *fabric_directory() noexcept
{
    return ::secure_getenv("UFX_SWHCA_DIR");
}

const char *redirect(const char *path, path_buffer &room) noexcept
{
    if (path == nullptr || path[0] != '/' || !leads_away(path)) {
        return path;
    }
    const char *directory = fabric_directory();
    if (directory == nullptr) {
        return path;
    }
    int size = std::snprintf(room.data(), room.size(), "%s%s", directory, path);
    return size > 0 && static_cast<size_t>(size) < room.size() ? room.data() : path;
}

void restore(char *path) noexcept
{
    const char *directory = fabric_directory();
    size_t length = directory == nullptr ? 0 : std::strlen(directory);
    if (length > 0 && std::strncmp(path, directory, length) == 0 && leads_away(path + length)) {
        std::memmove(path, path + length, std::strlen(path + length) + 1);
    }
}

bool device_number(const char *path, uint32_t &number) noexcept
{
    std::string_view name(path == nullptr ? "" : path);
    if (!name.starts_with(device_prefix) || name.size() == device_prefix.size()) {
        return false;
    }
    char *end = nullptr;
    unsigned long value = std::strtoul(path + device_prefix.size(), &end, 10);
    number = static_cast<uint32_t>(value);
    return *end == '\0';
}

} // namespace ufx::swhca::shim
