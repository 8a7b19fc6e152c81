// SPDX-License-Identifier: BSD-3-Clause
// By the holder of the lock, wherever a rule is carried out; so without exceptions and allocations.
#include "port_files.h"

#include "ucs/fd.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

using text = std::array<char, 64>;

class port_folder {
public:
    port_folder(const char *directory, uint32_t hca) noexcept
    {
        std::array<char, 128> below;
        std::snprintf(below.data(), below.size(), hca_folder, hca, hca);
        std::array<char, max_directory_bytes + 160> path;
        std::snprintf(path.data(), path.size(), "%s/%s/ports/1", directory, below.data());
        folder_ = ucs::fd(::open(path.data(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }

    [[nodiscard]] bool is_there() const noexcept { return folder_.valid(); }

    // Ends the text with a newline. The new text is written over the old one before what is too
    // long is cut off, so that the file is never empty.
    __attribute__((format(printf, 3, 4))) void put(const char *name, const char *format,
                                                   ...) const noexcept
    {
        text line;
        std::va_list rest;
        va_start(rest, format);
        int size = std::vsnprintf(line.data(), line.size() - 1, format, rest);
        va_end(rest);
        line[static_cast<size_t>(size)] = '\n';
        ucs::fd file(::openat(folder_.get(), name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        if (file && ::pwrite(file.get(), line.data(), static_cast<size_t>(size) + 1, 0) > 0) {
            (void)!::ftruncate(file.get(), size + 1);
        }
    }

    void remove(const char *name) const noexcept { (void)::unlinkat(folder_.get(), name, 0); }

private:
    ucs::fd folder_;
};

text gid_text(const gid &one) noexcept
{
    text out;
    size_t at = 0;
    for (size_t i = 0; i < sizeof(one.raw); i += 2) {
        at += static_cast<size_t>(std::snprintf(&out[at], out.size() - at, "%s%02x%02x",
                                                i == 0 ? "" : ":", one.raw[i], one.raw[i + 1]));
    }
    return out;
}

text name_of(const char *format, uint32_t index) noexcept
{
    text out;
    std::snprintf(out.data(), out.size(), format, index);
    return out;
}

} // namespace

void write_port_files(const image &shared, uint32_t hca) noexcept
{
    if (shared.directory[0] == '\0') {
        return;
    }
    port_folder folder(shared.directory, hca);
    if (!folder.is_there()) {
        return;
    }
    const port &one = shared.hcas[hca].port;
    bool active = one.state == IBV_PORT_ACTIVE;
    bool ethernet = one.link_layer == IBV_LINK_LAYER_ETHERNET;
    folder.put("state", "%s", active ? "4: ACTIVE" : "1: DOWN");
    folder.put("phys_state", "%s", active ? "5: LinkUp" : "3: Disabled");
    folder.put("lid", "0x%x", one.lid);
    for (uint32_t i = 0; i < (ethernet ? 1 : max_pkeys); i++) {
        folder.put(name_of("pkeys/%u", i).data(), "0x%04x", one.pkeys[i]);
    }
    for (uint32_t i = 0; i < max_gids; i++) {
        folder.put(name_of("gids/%u", i).data(), "%s", gid_text(one.gids[i]).data());
        text device = name_of("gid_attrs/ndevs/%u", i);
        if (ethernet && one.gids[i] != gid{}) {
            folder.put(device.data(), "lo");
        } else {
            folder.remove(device.data());
        }
    }
}

} // namespace ufx::swhca
