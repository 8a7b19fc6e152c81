// SPDX-License-Identifier: BSD-3-Clause
// A peer's key, packed for every rail of the peer and unpacked when a lane first needs it.
//
// Packed: u8 version (1), u8 entries, u16 0, u64 memory id, u64 address, u64 length, then per
// device of the owner: u8 device index, u8 size, u16 0, u32 generation, `size` bytes of the
// transport.
#ifndef UFX_UCP_RKEY_H
#define UFX_UCP_RKEY_H

#include "ucp/handles.h"
#include "ucp/uct_owners.h"
#include "ucs/list.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ufx::ucp {

class lane;
class peer;
class worker;

namespace core {
struct rkey_rep_msg;
}

inline constexpr std::uint8_t rkey_version = 1;
inline constexpr std::size_t rkey_fixed_size = 28;
inline constexpr std::size_t rkey_entry_size = 8;

// In the list of its ep's keys, so that a fresher key finds it.
class rkey : public ufx_ucp_rkey, public ucs::list_node<> {
public:
    static ucs::result<ucs::owner<rkey>> unpack(std::span<const std::byte> bytes);
    static rkey &of(ufx_ucp_rkey_h handle) { return *static_cast<rkey *>(handle); }
    ~rkey();
    rkey(const rkey &) = delete;
    rkey &operator=(const rkey &) = delete;

    // The worker of its ep; nullptr when that ep is gone, and for a key that ucp unpacked for
    // itself.
    worker *home() const { return home_.load(std::memory_order_acquire); }
    void set_home(worker *home) { home_.store(home, std::memory_order_release); }
    std::uint64_t memory_id() const { return memory_id_; }
    bool holds(std::uint64_t address, std::size_t count) const
    {
        return address >= address_ && count <= length_ && address - address_ <= length_ - count;
    }
    // What operations on a lane take, and its generation.
    struct unpacked {
        md_ref md; // own
        std::uint8_t device = 0;
        std::uint32_t generation = 0;
        ufx_uct_rkey_bundle_t bundle{UFX_UCT_INVALID_RKEY, nullptr};
    };
    // The one for lanes of that own memory domain to that device of the peer, which it had opened
    // so often when the lane was wired; nullptr if the peer gave none.
    [[nodiscard]] const unpacked *on(const md_ref &md, unsigned device, std::uint32_t generation)
    {
        if (!cache_.empty() && cache_.front().md == md && cache_.front().device == device)
            [[likely]] {
            return cache_.front().generation >= generation ? &cache_.front() : nullptr;
        }
        return find_or_unpack(md, device, generation);
    }
    // The peer has opened the device at the end of that lane again since it gave the key: whoever
    // used it might reach other memory.
    bool is_stale_for(const lane &over) const;
    // True if the peer was not asked yet for the key that this lane needs.
    bool should_ask(const lane &over);
    // No own rail uses that one any more.
    void forget(const md_ref &lost) noexcept;
    // The peer was asked, and has not given it.
    bool waits_for(unsigned device) const;
    // A fresher key for one device of the peer. Older generations are ignored.
    void refresh(unsigned device, std::uint32_t generation, std::span<const std::byte> bytes);
    // The peer has none of that generation; 0: it does not have the memory any more.
    void lose(unsigned device, std::uint32_t generation);
    bool is_gone() const { return is_gone_; }
    std::uint32_t generation(unsigned device) const;
    // There is a key for that device of the peer, as far as is known one that unpacks.
    bool serves(unsigned device) const;

private:
    friend struct ucs::owner_access;
    struct entry {
        std::uint8_t device = 0;
        std::uint32_t generation = 0;
        std::uint32_t asked = 0; // for that generation at least
        bool broken = false;     // does not unpack, or there is none
        std::vector<std::byte> packed;
    };

    rkey() = default;
    const entry *find(unsigned device) const;
    const unpacked *find_or_unpack(const md_ref &md, unsigned device, std::uint32_t generation);
    const unpacked *unpack_for(const md_ref &md, entry &from);

    bool is_gone_ = false;
    std::atomic<worker *> home_{nullptr}; // changed under the worker's lock
    std::uint64_t memory_id_ = 0;
    std::uint64_t address_ = 0;
    std::uint64_t length_ = 0;
    std::vector<entry> entries_;
    std::vector<unpacked> cache_;
    std::vector<unpacked> stale_; // operations may still use them; released with the key
};

} // namespace ufx::ucp

#endif
