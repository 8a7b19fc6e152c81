// SPDX-License-Identifier: BSD-3-Clause
// Unpacking of a peer's keys, a rail at a time; the C calls on them.
#include "ucp/rkey.h"

#include "ucp/context.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/proto.h"
#include "ucp/rail.h"
#include "ucp/refuse.h"
#include "ucp/worker.h"
#include "ucs/bytes.h"
#include "ucs/entry.h"
#include "ucs/log.h"

namespace ufx::ucp {

ucs::result<ucs::owner<rkey>> rkey::unpack(std::span<const std::byte> bytes)
{
    ucs::byte_reader in(bytes);
    const std::uint8_t version = in.u8();
    const std::uint8_t entries = in.u8();
    (void)in.le16();
    auto key = ucs::make_owner<rkey>();
    key->memory_id_ = in.le64();
    key->address_ = in.le64();
    key->length_ = in.le64();
    for (unsigned i = 0; i < entries && in.ok(); ++i) {
        entry e;
        e.device = in.u8();
        const std::uint8_t size = in.u8();
        (void)in.le16();
        e.generation = in.le32();
        const std::span<const std::byte> packed = in.bytes(size);
        e.packed.assign(packed.begin(), packed.end());
        key->entries_.push_back(std::move(e));
    }
    if (!in.at_end() || version != rkey_version || entries == 0 || key->length_ == 0 ||
        key->address_ + key->length_ < key->address_) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return key;
}

rkey::~rkey()
{
    for (const std::vector<unpacked> *list : {&cache_, &stale_}) {
        for (const unpacked &u : *list) {
            ufx_uct_md_rkey_release(u.md->md.get(), &u.bundle);
        }
    }
}

const rkey::entry *rkey::find(unsigned device) const
{
    for (const entry &e : entries_) {
        if (e.device == device) {
            return &e;
        }
    }
    return nullptr;
}

bool rkey::serves(unsigned device) const
{
    const entry *e = find(device);
    return e != nullptr && !e->broken;
}

std::uint32_t rkey::generation(unsigned device) const
{
    const entry *e = find(device);
    return e == nullptr ? 0 : e->generation;
}

const rkey::unpacked *rkey::find_or_unpack(const md_ref &md, unsigned device,
                                           std::uint32_t generation)
{
    for (const unpacked &u : cache_) {
        if (u.md == md && u.device == device) {
            return u.generation >= generation ? &u : nullptr;
        }
    }
    for (entry &e : entries_) {
        if (e.device == device && !e.broken && e.generation >= generation) {
            return unpack_for(md, e);
        }
    }
    return nullptr;
}

const rkey::unpacked *rkey::unpack_for(const md_ref &md, entry &from)
{
    cache_.reserve(cache_.size() + 1);
    unpacked fresh{md, from.device, from.generation, {UFX_UCT_INVALID_RKEY, nullptr}};
    const ufx_status_t status =
        ufx_uct_md_rkey_unpack(md->md.get(), from.packed.data(), from.packed.size(), &fresh.bundle);
    if (status != UFX_OK) {
        ufx_warn("a peer's key for its device %u does not unpack: %s", from.device,
                 ufx_ucs_status_name(status));
        from.broken = status != UFX_ERR_NO_MEMORY;
        return nullptr;
    }
    cache_.push_back(fresh);
    return &cache_.back();
}

void rkey::forget(const md_ref &lost) noexcept
{
    for (std::vector<unpacked> *list : {&cache_, &stale_}) {
        std::erase_if(*list, [&](const unpacked &u) {
            if (u.md == lost) {
                ufx_uct_md_rkey_release(lost->md.get(), &u.bundle);
            }
            return u.md == lost;
        });
    }
}

bool rkey::is_stale_for(const lane &over) const
{
    const entry *e = find(over.remote_index());
    return e != nullptr && e->generation < over.remote_generation();
}

bool rkey::should_ask(const lane &over)
{
    for (entry &e : entries_) {
        if (e.device == over.remote_index() && e.asked < over.remote_generation()) {
            e.asked = over.remote_generation();
            return true;
        }
    }
    return false;
}

bool rkey::waits_for(unsigned device) const
{
    const entry *e = find(device);
    return e != nullptr && e->generation < e->asked && !is_gone_;
}

void rkey::lose(unsigned device, std::uint32_t generation)
{
    is_gone_ = is_gone_ || generation == 0;
    for (entry &e : entries_) {
        if (e.device == device && e.generation < generation) {
            e.generation = generation;
            e.broken = true;
        }
    }
}

void rkey::refresh(unsigned device, std::uint32_t generation, std::span<const std::byte> bytes)
{
    for (entry &e : entries_) {
        if (e.device != device || e.generation >= generation) {
            continue;
        }
        e.generation = generation;
        e.broken = false;
        e.packed.assign(bytes.begin(), bytes.end());
        std::erase_if(cache_, [&](const unpacked &u) {
            if (u.device == device) {
                stale_.push_back(u);
            }
            return u.device == device;
        });
    }
}

void on_rkey_rep(peer &from, const core::rkey_rep_msg &msg)
{
    const unsigned device = from.remote_index(msg.rail);
    bool waits = false; // the answer may be older than the question
    for (const ucs::owner<ep> &e : from.home().eps()) {
        if (!e->has_peer() || &e->remote() != &from) {
            continue;
        }
        for (rkey &key : e->tx.keys) {
            if (key.memory_id() != msg.memory_id) {
                continue;
            }
            if (msg.found) {
                key.refresh(device, msg.generation, std::as_bytes(msg.rkey.view()));
            } else {
                key.lose(device, msg.generation);
            }
            waits = waits || key.waits_for(device);
        }
        e->tx.on_rkey(msg);
    }
    if (!waits) {
        from.answered({peer::question::about::RKEY, msg.memory_id, device});
    }
}

} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_ep_rkey_unpack(ufx_ucp_ep_h ep, const void *buffer, size_t length,
                                               ufx_ucp_rkey_h *rkey) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"ep", ep}, {"buffer", buffer}, {"rkey", rkey}});
        bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&]() -> ufx_status_t {
        ucp::ep &e = ucp::ep::of(ep);
        auto made = ucp::rkey::unpack({static_cast<const std::byte *>(buffer), length});
        if (!made) {
            return made.error();
        }
        auto guard = e.home().lock();
        ucp::rkey *key = std::move(made).value().release();
        key->set_home(&e.home());
        e.tx.keys.push_back(*key);
        *rkey = key;
        return UFX_OK;
    });
}

extern "C" void ufx_ucp_rkey_destroy(ufx_ucp_rkey_h rkey) noexcept
{
    if (rkey == nullptr) {
        return;
    }
    ucp::rkey &key = ucp::rkey::of(rkey);
    if (ucp::worker *home = key.home(); home != nullptr) {
        auto guard = home->lock(); // its ep's list of keys is read by progress
        delete &key;
    } else {
        delete &key;
    }
}
