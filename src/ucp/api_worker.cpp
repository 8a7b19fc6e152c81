// SPDX-License-Identifier: BSD-3-Clause
// C entries of contexts, workers, rails.
#include "ucp/context.h"
#include "ucp/core/control_msg.h"
#include "ucp/core/transitions.h"
#include "ucp/dump.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/refuse.h"
#include "ucp/wakeup.h"
#include "ucp/worker.h"
#include "ucs/entry.h"
#include "ucs/log.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

namespace {

// Locks the worker and runs `body` on it.
template <class F>
ufx_status_t on_worker(const char *call, ufx_ucp_worker_h handle, F &&body) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(call, "worker");
    }
    return ucs::guard([&] {
        ucp::worker &w = ucp::worker::of(handle);
        const auto held = w.lock();
        return body(w);
    });
}

// What the core and the public header say alike.
static_assert(ucp::core::transitions::kept == UFX_UCP_TRANSITIONS);
static_assert(static_cast<int>(ucp::core::refusal::BY_USER) == UFX_UCP_REFUSED_BY_USER &&
              static_cast<int>(ucp::core::refusal::COUNT) == UFX_UCP_REFUSED_BY_USER + 1 &&
              static_cast<int>(ucp::core::refusal::MODE) == UFX_UCP_REFUSED_MODE);

ufx_status_t check_dump(const char *call, const ufx_ucp_dump_format_t &format,
                        char *const *text) noexcept
{
    if (text == nullptr) {
        return ucp::refuse_null(call, "text");
    }
    return ucp::number_of(format) > UFX_UCP_DUMP_JSON
               ? ucp::refuse(call, "format is no ufx_ucp_dump_format_t")
               : UFX_OK;
}

// Gives a C caller memory that he frees by ufx_ucp_dump_release().
ufx_status_t give_text(const std::string &from, char **to)
{
    auto *copy = static_cast<char *>(std::malloc(from.size() + 1));
    if (copy == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    std::memcpy(copy, from.c_str(), from.size() + 1);
    *to = copy;
    return UFX_OK;
}

template <class F>
ufx_status_t on_rail(const char *call, ufx_ucp_worker_h handle, const char *name, F &&body) noexcept
{
    if (name == nullptr) {
        return ucp::refuse_null(call, "rail");
    }
    return on_worker(call, handle, [&](ucp::worker &w) -> ufx_status_t {
        ucp::rail *r = w.find_rail(name);
        if (r == nullptr) {
            return UFX_ERR_NO_ELEM;
        }
        const ufx_status_t status = body(w, *r);
        w.kick();
        return status;
    });
}

ufx_status_t administer(const char *call, ufx_ucp_worker_h handle, const char *name,
                        ucp::core::admin_action what) noexcept
{
    return on_rail(call, handle, name, [&](ucp::worker &w, ucp::rail &r) {
        r.set_drained(what == ucp::core::admin_action::DRAIN);
        for (const auto &p : w.peers()) {
            p->admin(r.index(), what);
        }
        return UFX_OK;
    });
}

} // namespace

// ---- Contexts --------------------------------------------------------------------------------

ufx_status_t ufx_ucp_context_create(const ufx_ucp_context_params_t *params,
                                    ufx_ucp_context_h *context) noexcept
{
    if (context == nullptr) {
        return ucp::refuse_null(__func__, "context");
    }
    return ucs::guard([&]() -> ufx_status_t {
        auto made = ucp::context::create(params);
        if (!made) {
            return made.error();
        }
        *context = made->release();
        return UFX_OK;
    });
}

void ufx_ucp_context_destroy(ufx_ucp_context_h handle) noexcept
{
    if (handle == nullptr) {
        return;
    }
    ucp::context &ended = ucp::context::of(handle);
    const unsigned workers = ended.workers.load(std::memory_order_relaxed);
    const std::size_t mapped = ended.memory.size();
    if (workers != 0 || mapped != 0) {
        ufx_error("%s: refused: %u workers are not destroyed and %zu memory handles not unmapped",
                  __func__, workers, mapped);
        return;
    }
    const ucs::owner<ucp::context> owned(&ended);
}

// ---- Workers ---------------------------------------------------------------------------------

ufx_status_t ufx_ucp_worker_create(ufx_ucp_context_h context, const ufx_ucp_worker_params_t *params,
                                   ufx_ucp_worker_h *handle) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"context", context}, {"worker", handle}});
        bad != UFX_OK) {
        return bad;
    }
    if (params != nullptr && (params->field_mask & UFX_UCP_WORKER_PARAM_THREAD_MODE) != 0 &&
        ucp::number_of(params->thread_mode) > UFX_UCP_THREAD_MULTI) {
        return ucp::refuse(__func__, "params->thread_mode is no ufx_ucp_thread_mode_t");
    }
    return ucs::guard([&]() -> ufx_status_t {
        auto made = ucp::worker::create(ucp::context::of(context), params);
        if (!made) {
            return made.error();
        }
        *handle = made->release();
        ucp::context::of(context).workers.fetch_add(1, std::memory_order_relaxed);
        return UFX_OK;
    });
}

void ufx_ucp_worker_destroy(ufx_ucp_worker_h handle) noexcept
{
    if (handle == nullptr) {
        return;
    }
    ucs::owner<ucp::worker> owned(&ucp::worker::of(handle));
    owned->ctx().workers.fetch_sub(1, std::memory_order_relaxed);
    if (owned->is_forked()) {
        // Its sockets and epoll sets are shared with the parent, which goes on using them.
        (void)owned.release();
    }
}

unsigned ufx_ucp_worker_progress(ufx_ucp_worker_h handle) noexcept
{
    unsigned count = 0;
    if (handle != nullptr) {
        ucp::worker::of(handle).let_others_in();
    }
    (void)on_worker(__func__, handle, [&](ucp::worker &w) {
        count = w.progress();
        return UFX_OK;
    });
    return count;
}

ufx_status_t ufx_ucp_worker_event_fd(ufx_ucp_worker_h handle, int *fd) noexcept
{
    if (fd == nullptr) {
        return ucp::refuse_null(__func__, "fd");
    }
    return on_worker(__func__, handle, [&](ucp::worker &w) {
        *fd = w.wake().event_fd();
        return UFX_OK;
    });
}

ufx_status_t ufx_ucp_worker_arm(ufx_ucp_worker_h handle) noexcept
{
    return on_worker(__func__, handle, [](ucp::worker &w) { return w.wake().arm(); });
}

ufx_status_t ufx_ucp_worker_wait(ufx_ucp_worker_h handle, int timeout_ms) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    return ucs::guard([&] { return ucp::worker::of(handle).wake().wait(timeout_ms); });
}

ufx_status_t ufx_ucp_worker_signal(ufx_ucp_worker_h handle) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    ucp::worker::of(handle).wake().signal();
    return UFX_OK;
}

ufx_status_t ufx_ucp_worker_get_address(ufx_ucp_worker_h handle, void **address,
                                        size_t *length) noexcept
{
    if (const auto bad = ucp::require(__func__, {{"address", address}, {"length", length}});
        bad != UFX_OK) {
        return bad;
    }
    return on_worker(__func__, handle, [&](ucp::worker &w) {
        const std::vector<std::uint8_t> bytes = encode(w.make_address());
        void *copy = std::malloc(bytes.size());
        if (copy == nullptr) {
            return UFX_ERR_NO_MEMORY;
        }
        std::memcpy(copy, bytes.data(), bytes.size());
        *address = copy;
        *length = bytes.size();
        return UFX_OK;
    });
}

void ufx_ucp_worker_release_address(ufx_ucp_worker_h, void *address) noexcept
{
    std::free(address);
}

uint64_t ufx_ucp_worker_uuid(ufx_ucp_worker_h handle) noexcept
{
    return handle != nullptr ? ucp::worker::of(handle).uuid() : 0;
}

// ---- Rails -----------------------------------------------------------------------------------

ufx_status_t ufx_ucp_worker_query_rails(ufx_ucp_worker_h handle, ufx_ucp_rail_attr_t *rails,
                                        size_t *count) noexcept
{
    if (count == nullptr) {
        return ucp::refuse_null(__func__, "count");
    }
    return on_worker(__func__, handle, [&](ucp::worker &w) {
        const std::size_t there = w.rails().size();
        const std::size_t room = std::exchange(*count, there);
        if (rails == nullptr || room < there) {
            return rails == nullptr ? UFX_OK : UFX_ERR_BUFFER_TOO_SMALL;
        }
        for (std::size_t i = 0; i < there; ++i) {
            rails[i] = describe_rail(w, *w.rails()[i]);
        }
        return UFX_OK;
    });
}

ufx_status_t ufx_ucp_worker_query_failover(ufx_ucp_worker_h handle,
                                           ufx_ucp_failover_stats_t *stats) noexcept
{
    if (stats == nullptr) {
        return ucp::refuse_null(__func__, "stats");
    }
    return on_worker(__func__, handle, [&](ucp::worker &w) {
        *stats = w.stats.values();
        return UFX_OK;
    });
}

ufx_status_t ufx_ucp_rail_drain(ufx_ucp_worker_h handle, const char *name) noexcept
{
    return administer(__func__, handle, name, ucp::core::admin_action::DRAIN);
}

ufx_status_t ufx_ucp_rail_resume(ufx_ucp_worker_h handle, const char *name) noexcept
{
    return administer(__func__, handle, name, ucp::core::admin_action::RESUME);
}

ufx_status_t ufx_ucp_rail_set_link(ufx_ucp_worker_h handle, const char *name, int up) noexcept
{
    return on_rail(__func__, handle, name,
                   [&](ucp::worker &, ucp::rail &r) { return r.set_link(up != 0); });
}

// ---- Dumps -----------------------------------------------------------------------------------

ufx_status_t ufx_ucp_worker_dump(ufx_ucp_worker_h handle, ufx_ucp_dump_format_t format,
                                 char **text) noexcept
{
    if (const ufx_status_t bad = check_dump(__func__, format, text); bad != UFX_OK) {
        return bad;
    }
    return on_worker(__func__, handle,
                     [&](ucp::worker &w) { return give_text(ucp::dump_worker(w, format), text); });
}

void ufx_ucp_dump_release(char *text) noexcept
{
    std::free(text);
}

ufx_status_t ufx_ucp_system_dump(ufx_ucp_dump_format_t format, char **text) noexcept
{
    if (const ufx_status_t bad = check_dump(__func__, format, text); bad != UFX_OK) {
        return bad;
    }
    return ucs::guard([&] { return give_text(ucp::dump_system(format), text); });
}

ufx_status_t ufx_ucp_config_declare(void) noexcept
{
    return ucs::guard([] {
        ucp::declare_config();
        ucp::declare_component_config();
    });
}

const char *ufx_ucp_refusal_name(ufx_ucp_refusal_t refusal) noexcept
{
    return ucp::core::name_of(static_cast<ucp::core::refusal>(refusal));
}
