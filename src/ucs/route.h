// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel whether it has a route to an address by one of its network interfaces.
#ifndef UFX_UCS_ROUTE_H
#define UFX_UCS_ROUTE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ufx::ucs {

enum class route_state : uint8_t {
    there,
    none,
    unknown // the kernel does not say, or this is a build without libnl
};

// Addresses are of 4 or 16 bytes, both the same. `from` is an own one, by which policy routing may
// choose. A neighbour that does not answer is no missing route.
[[nodiscard]] route_state find_route(const std::string &interface, std::span<const std::byte> from,
                                     std::span<const std::byte> to) noexcept;

} // namespace ufx::ucs

#endif
