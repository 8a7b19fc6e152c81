// SPDX-License-Identifier: BSD-3-Clause
// Capabilities and limits without which operations could hang or never be posted.
#include "ucp/rail_needs.h"

#include "ucp/am_wire.h"
#include "ucp/core/types.h"
#include "ucs/log.h"

namespace ufx::ucp {

namespace {

constexpr struct {
    std::uint64_t cap;
    const char *name;
} required[] = {
    {UFX_UCT_CAP_AM_BCOPY, "am_bcopy"},
    {UFX_UCT_CAP_PUT_ZCOPY, "put_zcopy"},
    {UFX_UCT_CAP_GET_ZCOPY, "get_zcopy"},
    {UFX_UCT_CAP_INVALIDATE, "invalidate"},
    {UFX_UCT_CAP_TOKENS, "iface_query_token"},
    {UFX_UCT_CAP_PURGE, "outstanding_purge"},
};

constexpr std::size_t room = sizeof(core::lane_address::bytes);

// See lane.cpp: a generation, three lengths and addresses, and of a probe lane the place and its
// key.
std::size_t handshake_bytes(const ufx_uct_iface_attr_t &attr, std::size_t key_bytes)
{
    return sizeof(std::uint32_t) + 3 + attr.device_addr_len + attr.iface_addr_len +
           attr.ep_addr_len + sizeof(std::uint64_t) + 1 + key_bytes;
}

} // namespace

ufx_status_t check_rail(const std::string &name, const ufx_uct_iface_attr_t &attr,
                        std::size_t key_bytes, std::size_t published_bytes)
{
    std::string missing;
    for (const auto &one : required) {
        if ((attr.caps & one.cap) == 0) {
            missing += std::string(missing.empty() ? "" : ", ") + one.name;
        }
    }
    if (!missing.empty()) {
        ufx_error("%s cannot be a rail: its transport has no %s", name.c_str(), missing.c_str());
        return UFX_ERR_UNSUPPORTED;
    }
    if (attr.am.max_bcopy <= am_header_size || attr.put.max_zcopy == 0 || attr.get.max_zcopy == 0) {
        ufx_error("%s cannot be a rail: it takes %zu bytes in am_bcopy, %zu in put_zcopy, %zu in "
                  "get_zcopy; more than %zu, 0 and 0 are needed",
                  name.c_str(), attr.am.max_bcopy, attr.put.max_zcopy, attr.get.max_zcopy,
                  am_header_size);
        return UFX_ERR_UNSUPPORTED;
    }
    const std::size_t handshake = handshake_bytes(attr, key_bytes);
    if (handshake > room || published_bytes > room) {
        ufx_error("%s cannot be a rail: its addresses take %zu bytes in a handshake and %zu "
                  "published; at most %zu fit",
                  name.c_str(), handshake, published_bytes, room);
        return UFX_ERR_UNSUPPORTED;
    }
    return UFX_OK;
}

} // namespace ufx::ucp
