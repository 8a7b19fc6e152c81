// SPDX-License-Identifier: BSD-3-Clause
// Registration of memory on all domains; the C calls on memory and packed keys.
#include "ucp/mem_table.h"

#include "ucp/context.h"
#include "ucp/core/control_msg.h"
#include "ucp/peer.h"
#include "ucp/refuse.h"
#include "ucp/rkey.h"
#include "ucs/bytes.h"
#include "ucs/entry.h"
#include "ucs/log.h"
#include "ucs/topology.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace ufx::ucp {

namespace {

constexpr std::uint64_t all_rights =
    UFX_UCP_MEM_REMOTE_WRITE | UFX_UCP_MEM_REMOTE_READ | UFX_UCP_MEM_REMOTE_ATOMIC;

std::uint64_t uct_access(std::uint64_t rights, bool is_written)
{
    std::uint64_t access = UFX_UCT_MEM_ACCESS_LOCAL_READ;
    access |= is_written ? UFX_UCT_MEM_ACCESS_LOCAL_WRITE : 0;
    const auto grant = [&](std::uint64_t right, std::uint64_t bit) {
        access |= (rights & right) != 0 ? bit : 0;
    };
    grant(UFX_UCP_MEM_REMOTE_WRITE, UFX_UCT_MEM_ACCESS_REMOTE_PUT);
    grant(UFX_UCP_MEM_REMOTE_READ, UFX_UCT_MEM_ACCESS_REMOTE_GET);
    grant(UFX_UCP_MEM_REMOTE_ATOMIC, UFX_UCT_MEM_ACCESS_REMOTE_ATOMIC);
    return access;
}

ufx_status_t check(const ufx_ucp_mem_params_t &params, bool allocate)
{
    const std::uint64_t mask = params.field_mask;
    if ((mask & UFX_UCP_MEM_PARAM_FLAGS) != 0 &&
        (params.flags & ~(all_rights | UFX_UCP_MEM_ALLOCATE)) != 0) {
        return refuse("ufx_ucp_mem_map",
                      "params->flags has bits that are none of ufx_ucp_mem_flags");
    }
    if ((mask & UFX_UCP_MEM_PARAM_LENGTH) == 0 || params.length == 0) {
        return refuse("ufx_ucp_mem_map", "params->length is missing or 0");
    }
    if ((mask & UFX_UCP_MEM_PARAM_DMABUF) != 0 ||
        ((mask & UFX_UCP_MEM_PARAM_MEMORY_TYPE) != 0 &&
         number_of(params.memory_type) != UFX_UCT_MEMORY_TYPE_HOST)) {
        return UFX_ERR_UNSUPPORTED;
    }
    const bool has_address = (mask & UFX_UCP_MEM_PARAM_ADDRESS) != 0 && params.address != nullptr;
    return allocate || has_address
               ? UFX_OK
               : refuse("ufx_ucp_mem_map", "params->address is missing or NULL, without ALLOCATE");
}

} // namespace

mem_table::~mem_table()
{
    table_.for_each([this](ucs::handle, mem &memory) {
        ufx_warn("memory %p of %zu bytes was still mapped when its context ended",
                 static_cast<void *>(memory.address_), memory.length_);
        deregister_all(memory);
        delete &memory;
    });
}

ufx_status_t mem_table::register_on(mem &memory, std::size_t domain) noexcept
{
    const memory_domain &on = context_.domains()[domain];
    mem::registration &there = memory.registrations_[domain];
    there.md = on.now();
    const bool is_useless = memory.local_only_ && !on.needs_memh();
    if ((on.attr().flags & UFX_UCT_MD_FLAG_REG) == 0 || is_useless) {
        return UFX_OK;
    }
    ufx_uct_mem_params_t params{};
    params.field_mask =
        UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH | UFX_UCT_MEM_PARAM_FLAGS;
    params.address = memory.address_;
    params.length = memory.length_;
    params.flags = uct_access(memory.rights_, memory.is_written_);
    if (memory.local_only_ && (on.attr().flags & UFX_UCT_MD_FLAG_CACHE) != 0) {
        params.flags |= UFX_UCT_MEM_CACHED;
    }
    ufx_uct_mem_h handle = nullptr;
    const ufx_status_t status = ufx_uct_md_mem_reg(there.md->md.get(), &params, &handle);
    if (status == UFX_OK) {
        there.handle.store(handle, std::memory_order_release);
    }
    return status;
}

ufx_status_t mem_table::register_all(mem &memory)
{
    memory.registrations_ = std::vector<mem::registration>(context_.domains().size());
    bool took = false;
    ufx_status_t lost = UFX_OK;
    for (std::size_t domain = 0; domain < memory.registrations_.size(); ++domain) {
        const ufx_status_t status = register_on(memory, domain);
        if (status == UFX_ERR_IO) { // that device has failed: the others go on
            lost = status;
            continue;
        }
        if (status != UFX_OK) {
            ufx_warn("cannot register %zu bytes at %p: %s", memory.length_,
                     static_cast<void *>(memory.address_), ufx_ucs_status_name(status));
            deregister_all(memory);
            return status;
        }
        took = took || memory.handle(domain) != nullptr;
    }
    return took || memory.local_only_ ? UFX_OK : lost;
}

void mem_table::deregister_all(mem &memory) noexcept
{
    for (mem::registration &there : memory.registrations_) {
        const ufx_uct_mem_h handle = there.handle.exchange(nullptr, std::memory_order_acq_rel);
        if (handle != nullptr) {
            (void)ufx_uct_md_mem_dereg(there.md->md.get(), handle);
        }
        for (const auto &[md, old] : std::exchange(there.old, {})) {
            (void)ufx_uct_md_mem_dereg(md->md.get(), old);
        }
    }
}

ucs::result<mem *> mem_table::map(const ufx_ucp_mem_params_t &params)
{
    const bool has_flags = (params.field_mask & UFX_UCP_MEM_PARAM_FLAGS) != 0;
    const bool allocate = has_flags && (params.flags & UFX_UCP_MEM_ALLOCATE) != 0;
    if (const ufx_status_t status = check(params, allocate); status != UFX_OK) {
        return status;
    }
    auto memory = std::make_unique<mem>();
    memory->length_ = params.length;
    memory->rights_ = has_flags ? params.flags & all_rights : all_rights;
    memory->address_ = static_cast<std::byte *>(params.address);
    if (allocate) {
        auto pages = ucs::mapping::anonymous(params.length);
        if (!pages) {
            return UFX_ERR_NO_MEMORY;
        }
        memory->pages_ = *std::move(pages);
        memory->address_ = static_cast<std::byte *>(memory->pages_.data());
        (void)ucs::prefer_node(memory->address_, params.length, context_.node_for_memory());
    }
    return keep(std::move(memory));
}

ucs::result<mem *> mem_table::map_local(std::byte *address, std::size_t length, bool is_written)
{
    auto memory = std::make_unique<mem>();
    memory->address_ = address;
    memory->length_ = length;
    memory->is_written_ = is_written;
    memory->local_only_ = true;
    return keep(std::move(memory));
}

ucs::result<mem *> mem_table::keep(std::unique_ptr<mem> memory)
{
    const std::lock_guard guard(lock_);
    const ufx_status_t status = insert(*memory);
    if (status == UFX_OK) {
        return memory.release();
    }
    mapped_.erase(memory.get());
    deregister_all(*memory);
    return status;
}

// With the lock held. After an error part of it may have been done.
ufx_status_t mem_table::insert(mem &memory)
{
    return ucs::guard([&]() -> ufx_status_t {
        mapped_.insert(&memory);
        const ufx_status_t status = register_all(memory);
        if (status == UFX_OK) {
            memory.id_ = table_.insert(memory);
        }
        return status;
    });
}

bool mem_table::is_mapped(const mem *memory) const
{
    const std::lock_guard guard(lock_);
    return mapped_.contains(memory);
}

std::size_t mem_table::size() const
{
    const std::lock_guard guard(lock_);
    return table_.size();
}

ufx_status_t mem_table::unmap(mem &memory)
{
    const std::unique_ptr<mem> owned(&memory);
    const std::lock_guard guard(lock_);
    table_.erase(memory.id_);
    mapped_.erase(&memory);
    deregister_all(memory);
    return UFX_OK;
}

ufx_status_t mem_table::reregister(std::size_t domain)
{
    const std::lock_guard guard(lock_);
    ufx_status_t worst = UFX_OK;
    table_.for_each([&](ucs::handle, mem &memory) {
        mem::registration &there = memory.registrations_[domain];
        const ufx_uct_mem_h before = there.handle.load(std::memory_order_acquire);
        const md_ref earlier = there.md;
        const ufx_status_t status = register_on(memory, domain);
        if (status != UFX_OK) {
            worst = status;
            there.handle.store(nullptr, std::memory_order_release);
        }
        if (before != nullptr) { // without memory for it, it is never given back
            (void)ucs::guard([&] { there.old.emplace_back(earlier, before); });
        }
    });
    return worst;
}

void mem_table::forget(const md_ref &lost) noexcept
{
    const std::lock_guard guard(lock_);
    table_.for_each([&](ucs::handle, mem &memory) {
        for (mem::registration &there : memory.registrations_) {
            std::erase_if(there.old, [&](const auto &one) {
                const bool is_of_it = one.first == lost;
                if (is_of_it) {
                    (void)ufx_uct_md_mem_dereg(lost->md.get(), one.second);
                }
                return is_of_it;
            });
        }
    });
}

bool mem_table::pack_for(const mem &memory, const device &dev, std::vector<std::byte> &packed) const
{
    const ufx_uct_mem_h handle = memory.handle(dev.md);
    const std::size_t size = context_.domains()[dev.md].attr().rkey_packed_size; // 0: none needed
    if (handle == nullptr || size > core::max_rkey_bytes) {
        return false;
    }
    packed.resize(size);
    const ufx_uct_md_h md = memory.registrations_[dev.md].md->md.get();
    return size == 0 || ufx_uct_md_mkey_pack(md, handle, packed.data()) == UFX_OK;
}

bool mem_table::gave_key() const
{
    const std::lock_guard guard(lock_);
    return gave_key_;
}

std::vector<std::byte> mem_table::pack(const mem &memory) const
{
    const std::lock_guard guard(lock_);
    gave_key_ = true;
    std::vector<std::byte> bytes(rkey_fixed_size);
    std::uint8_t entries = 0;
    const auto add = [&](std::size_t index, const device &dev) {
        std::vector<std::byte> key;
        if (!pack_for(memory, dev, key)) {
            return;
        }
        const std::size_t at = bytes.size();
        bytes.resize(at + rkey_entry_size + key.size());
        ucs::byte_writer out(bytes.data() + at, bytes.size() - at);
        out.u8(static_cast<std::uint8_t>(index));
        out.u8(static_cast<std::uint8_t>(key.size()));
        out.le16(0);
        out.le32(memory.registrations_[dev.md].md->number);
        out.bytes(key);
        ++entries;
    };
    const std::vector<device> &devices = context_.devices();
    for (std::size_t index = 0; index < devices.size(); ++index) {
        add(index, devices[index]);
    }
    if (const device *self = context_.self_device(); self != nullptr) {
        add(devices.size(), *self);
    }
    ucs::byte_writer out(bytes.data(), rkey_fixed_size);
    out.u8(rkey_version);
    out.u8(entries);
    out.le16(0);
    out.le64(memory.id_);
    out.le64(reinterpret_cast<std::uintptr_t>(memory.address_));
    out.le64(memory.length_);
    return bytes;
}

void mem_table::on_rkey_req(peer &from, const core::rkey_req_msg &msg)
{
    core::rkey_rep_msg reply;
    reply.memory_id = msg.memory_id;
    reply.rail = msg.rail;
    reply.asked = msg.generation;
    {
        const std::lock_guard guard(lock_);
        const mem *memory = table_.find(msg.memory_id);
        const unsigned index = from.local_index(msg.rail);
        if (memory != nullptr && index < context_.devices().size()) {
            const device &dev = context_.devices()[index];
            std::vector<std::byte> key;
            reply.generation = memory->registrations_[dev.md].md->number;
            reply.found =
                pack_for(*memory, dev, key) &&
                reply.rkey.assign({reinterpret_cast<const std::uint8_t *>(key.data()), key.size()});
        }
    }
    from.send(reply);
}

ufx_status_t mem_table::with(std::uint64_t id, std::uint64_t address, std::size_t length,
                             std::uint64_t rights, const std::function<void(std::byte *)> &f)
{
    const std::lock_guard guard(lock_);
    const mem *memory = table_.find(id);
    auto *at = reinterpret_cast<std::byte *>(static_cast<std::uintptr_t>(address));
    if (memory == nullptr || (memory->rights_ & rights) != rights || !memory->holds(at, length)) {
        return UFX_ERR_REMOTE_ACCESS;
    }
    f(at);
    return UFX_OK;
}

namespace {

// OK if the handle may be looked into; it may be one that was unmapped before.
ufx_status_t require_mapped(const char *call, ufx_ucp_context_h handle,
                            ufx_ucp_mem_h memory) noexcept
{
    if (const auto bad = require(call, {{"context", handle}, {"mem", memory}}); bad != UFX_OK) {
        return bad;
    }
    return context::of(handle).memory.is_mapped(static_cast<const mem *>(memory))
               ? UFX_OK
               : refuse(call, "mem is not, or no longer, mapped in this context");
}

} // namespace

} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_mem_map(ufx_ucp_context_h context,
                                        const ufx_ucp_mem_params_t *params,
                                        ufx_ucp_mem_h *mem) noexcept
{
    if (const auto bad =
            ucp::require(__func__, {{"context", context}, {"params", params}, {"mem", mem}});
        bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&]() -> ufx_status_t {
        ucs::result<ucp::mem *> made = ucp::context::of(context).memory.map(*params);
        if (!made) {
            return made.error();
        }
        *mem = made.value();
        return UFX_OK;
    });
}

extern "C" ufx_status_t ufx_ucp_mem_unmap(ufx_ucp_context_h context, ufx_ucp_mem_h mem) noexcept
{
    if (const auto bad = ucp::require_mapped(__func__, context, mem); bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&] { return ucp::context::of(context).memory.unmap(ucp::mem::of(mem)); });
}

extern "C" ufx_status_t ufx_ucp_mem_query(ufx_ucp_mem_h mem, void **address,
                                          size_t *length) noexcept
{
    if (mem == nullptr) {
        return ucp::refuse_null(__func__, "mem");
    }
    if (address != nullptr) {
        *address = ucp::mem::of(mem).address();
    }
    if (length != nullptr) {
        *length = ucp::mem::of(mem).length();
    }
    return UFX_OK;
}

extern "C" ufx_status_t ufx_ucp_rkey_pack(ufx_ucp_context_h context, ufx_ucp_mem_h mem,
                                          void **buffer, size_t *length) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"buffer", buffer}, {"length", length}});
        bad != UFX_OK) {
        return bad;
    }
    if (const auto bad = ucp::require_mapped(__func__, context, mem); bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&]() -> ufx_status_t {
        const std::vector<std::byte> packed =
            ucp::context::of(context).memory.pack(ucp::mem::of(mem));
        void *copy = std::malloc(packed.size());
        if (copy == nullptr) {
            return UFX_ERR_NO_MEMORY;
        }
        std::memcpy(copy, packed.data(), packed.size());
        *buffer = copy;
        *length = packed.size();
        return UFX_OK;
    });
}

extern "C" void ufx_ucp_rkey_buffer_release(void *buffer) noexcept
{
    std::free(buffer);
}
