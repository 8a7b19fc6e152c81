// SPDX-License-Identifier: BSD-3-Clause
// Memory of a context: what was mapped, on every memory domain, and buffers of single operations,
// where devices need them registered. Found by a stable id.
#ifndef UFX_UCP_MEM_TABLE_H
#define UFX_UCP_MEM_TABLE_H

#include "ucp/handles.h"
#include "ucp/uct_owners.h"
#include "ucs/handle_table.h"
#include "ucs/mapping.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ufx::ucp {

class context;
class peer;
struct device;

namespace core {
struct rkey_req_msg;
}

// One range, mapped or made for an operation. Its registrations go with it.
class mem : public ufx_ucp_mem {
public:
    static mem &of(ufx_ucp_mem_h handle) { return *static_cast<mem *>(handle); }

    // Names the memory at peers; never used again after unmap.
    std::uint64_t id() const { return id_; }
    // The next one that was made for the same operation.
    mem *next = nullptr;
    std::byte *address() const { return address_; }
    std::size_t length() const { return length_; }
    // Registration on a domain of context::domains(); nullptr if that domain registers nothing, or
    // its device failed before. Any thread; one that was replaced stays until the memory is
    // unmapped.
    ufx_uct_mem_h handle(std::size_t domain) const
    {
        return registrations_[domain].handle.load(std::memory_order_acquire);
    }
    bool holds(const void *from, std::size_t count) const
    {
        const auto *at = static_cast<const std::byte *>(from);
        return at >= address_ && count <= length_ &&
               static_cast<std::size_t>(at - address_) <= length_ - count;
    }

private:
    friend class mem_table;
    struct registration {
        // Published by mem_table, with its lock held, and read without it: release, acquire.
        std::atomic<ufx_uct_mem_h> handle{nullptr};
        md_ref md; // that it was made with
        // Of a device that was lost: other rails may use it yet.
        std::vector<std::pair<md_ref, ufx_uct_mem_h>> old;
    };

    std::uint64_t id_ = 0;
    std::byte *address_ = nullptr;
    std::size_t length_ = 0;
    std::uint64_t rights_ = 0; // of peers
    bool is_written_ = true;   // by the device, for this side
    ucs::mapping pages_;       // if it was allocated here
    bool local_only_ = false; // only where a device needs local buffers registered
    std::vector<registration> registrations_; // does not grow any more once it is mapped
};

// Any thread: one lock, never held while user code runs.
class mem_table {
public:
    explicit mem_table(context &owner) : context_(owner) {}
    // Memory that was not unmapped is unmapped, with a warning.
    ~mem_table();
    mem_table(const mem_table &) = delete;
    mem_table &operator=(const mem_table &) = delete;

    [[nodiscard]] ucs::result<mem *> map(const ufx_ucp_mem_params_t &params);
    // A buffer that the user did not map, for one operation: registered where a device needs local
    // buffers registered, for no peer.
    [[nodiscard]] ucs::result<mem *> map_local(std::byte *address, std::size_t length,
                                               bool is_written);
    ufx_status_t unmap(mem &memory);
    // Any pointer: false if it is not, or no longer, memory of this context.
    bool is_mapped(const mem *memory) const;
    std::size_t size() const;

    // The packed key: see rkey.h.
    std::vector<std::byte> pack(const mem &memory) const;
    // True once a key was packed: without one no peer can have written here.
    bool gave_key() const;

    // A peer holds a stale key of a rail: answers with the present one.
    void on_rkey_req(peer &from, const core::rkey_req_msg &msg);
    // Registers everything on the new generation of a domain: keys of earlier ones are stale.
    ufx_status_t reregister(std::size_t domain);

    // No rail uses that one any more, which is not the present one of its domain.
    void forget(const md_ref &lost) noexcept;

    // Runs `f` on the bytes if they lie in memory `id` with all of `rights`, under the lock, so
    // that an unmap waits. REMOTE_ACCESS if not.
    ufx_status_t with(std::uint64_t id, std::uint64_t address, std::size_t length,
                      std::uint64_t rights, const std::function<void(std::byte *)> &f);

private:
    // False: the memory cannot be reached by way of that device.
    bool pack_for(const mem &memory, const device &dev, std::vector<std::byte> &packed) const;
    ucs::result<mem *> keep(std::unique_ptr<mem> memory);
    ufx_status_t insert(mem &memory);
    ufx_status_t register_all(mem &memory);
    // Throws nothing. nullptr there if the domain registers nothing.
    ufx_status_t register_on(mem &memory, std::size_t domain) noexcept;
    void deregister_all(mem &memory) noexcept;

    context &context_;
    mutable std::mutex lock_; // guards table_, mapped_, and the registrations of what is in it
    ucs::handle_table<mem> table_;
    std::unordered_set<const mem *> mapped_; // the same, for handles that may be stale
    mutable bool gave_key_ = false;          // guarded by lock_, too
};

} // namespace ufx::ucp

#endif
