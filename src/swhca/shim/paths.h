// SPDX-License-Identifier: BSD-3-Clause
// Paths of the sysfs and of device files, which lead into the fabric's directory instead.
#ifndef UFX_SWHCA_SHIM_PATHS_H
#define UFX_SWHCA_SHIM_PATHS_H

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace ufx::swhca::shim {

using path_buffer = std::array<char, PATH_MAX>;

// The directory of the fabric, from the environment; nullptr if there is none.
[[nodiscard]] const char *fabric_directory() noexcept;

// `path`, or where it leads, which is then in `room`.
[[nodiscard]] const char *redirect(const char *path, path_buffer &room) noexcept;

// Turns a path inside the fabric's directory into what the program would see; in place.
void restore(char *path) noexcept;

// If the path is that of a device file, its number.
[[nodiscard]] bool device_number(const char *path, uint32_t &number) noexcept;

} // namespace ufx::swhca::shim

#endif
