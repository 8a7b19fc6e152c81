// SPDX-License-Identifier: BSD-3-Clause
// Life and end of requests; the C calls on them.
#include "ucp/request.h"

#include "ucp/ep.h"
#include "ucp/refuse.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"
#include "ucs/entry.h"

#include <new>
#include <utility>

namespace ufx::ucp {

void request::finish(ufx_status_t status)
{
    if (completed) {
        return;
    }
    state.claim(status);
    complete();
}

void request::complete()
{
    if (completed) {
        return;
    }
    completed = true;
    if (timer.active()) {
        timer.stop();
    }
    home.requests.push_done(*this);
}

void request::reset()
{
    release_memories();
    if (!completed) { // it was never accepted
        timer.stop();
    }
    pieces.clear();
    head.clear();
    own_key.reset();
    ::new (static_cast<request_fields *>(this)) request_fields;
}

void request::add_own(mem &memory)
{
    memory.next = own_memories;
    own_memories = &memory;
}

void request::release_memories()
{
    while (own_memories != nullptr) {
        home.ctx().memory.unmap(*std::exchange(own_memories, own_memories->next));
    }
}

void request::on_deadline(void *arg, std::uint64_t)
{
    auto &self = *static_cast<request *>(arg);
    if (self.completed) {
        return;
    }
    if (self.kind == op::CLOSE) {
        self.state.claim(UFX_ERR_TIMEOUT);
        self.home.force_close(self.id);
        return;
    }
    if (self.target == nullptr) {
        self.finish(UFX_ERR_TIMEOUT);
        return;
    }
    self.target->or_fail([&] { self.target->tx.expire(self); });
}

request_pool::~request_pool()
{
    table_.for_each([this](ucs::handle, request &r) {
        r.release_memories();
        requests_.give_back(&r);
    });
}

void request_pool::undoer::operator()(request *r) const
{
    r->home.requests.undo(*r);
}

request_pool::draft request_pool::start(worker &home, ep *target, const ufx_ucp_op_params_t *params,
                                        op kind)
{
    request *unused = free_.pop_front();
    draft r(unused != nullptr ? unused : &make(home));
    r->target = target;
    r->kind = kind;
    r->state = core::op_state(1);
    if (params == nullptr) {
        return r;
    }
    if ((params->field_mask & UFX_UCP_OP_PARAM_CB) != 0) {
        r->cb = params->cb;
        r->cb_arg = params->cb_arg;
    }
    if ((params->field_mask & UFX_UCP_OP_PARAM_DEADLINE) != 0 && params->deadline_ns != 0) {
        const core::time_ns now = home.now();
        if (params->deadline_ns < UINT64_MAX - now) {
            home.timers().start(r->timer, now + params->deadline_ns);
        }
    }
    if ((params->field_mask & UFX_UCP_OP_PARAM_MEM) != 0 && params->mem != nullptr) {
        r->memory = &mem::of(params->mem);
    }
    return r;
}

request &request_pool::make(worker &home)
{
    request *made = requests_.take(home);
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    try {
        made->id = table_.insert(*made);
    } catch (...) {
        requests_.give_back(made);
        throw;
    }
    return *made;
}

void request_pool::release(request &r)
{
    r.user_holds = false;
    if (r.done) {
        recycle(r);
    }
}

void request_pool::recycle(request &r)
{
    r.reset();
    r.id = table_.renew(r.id);
    if (r.id != 0) [[likely]] {
        free_.push_back(r);
    } else {
        requests_.give_back(&r);
    }
}

fragment &request_pool::make_fragment(ep &target, request &r, core::op_kind kind)
{
    fragment *f = fragments_.take(target, r, kind);
    if (f == nullptr) {
        throw std::bad_alloc();
    }
    return *f;
}

ucs::handle request_pool::name(fragment &f)
{
    if (f.id == 0) {
        f.id = fragment_table_.insert(f);
    }
    return f.id;
}

namespace {

ufx_ucp_completion_t completion_of(const request &r)
{
    ufx_ucp_completion_t completion{};
    completion.status = r.state.status();
    completion.length = r.length;
    const bool open_end =
        completion.status == UFX_ERR_TIMEOUT || completion.status == UFX_ERR_AMBIGUOUS;
    if (open_end && r.state.remote_final()) {
        completion.flags = UFX_UCP_COMPLETION_REMOTE_FINAL;
    }
    return completion;
}

} // namespace

unsigned request_pool::progress()
{
    unsigned ran = 0;
    // Those that a callback completes at once have their turn in the next call.
    request_queue due = std::exchange(done_, {});
    while (request *r = due.pop_front()) {
        if (r->then != nullptr) {
            r->then(*r);
        }
        r->release_memories();
        r->done = true;
        // The callback may free the request: held here until it has returned.
        const bool held = r->user_holds;
        if (r->cb != nullptr) {
            const ufx_ucp_completion_t completion = completion_of(*r);
            r->done = false;
            r->in_callback = true;
            r->cb(r->cb_arg, held ? r : nullptr, &completion);
            r->in_callback = false;
            r->done = true;
        }
        if (!r->user_holds) {
            recycle(*r);
        }
        ++ran;
    }
    return ran;
}

} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_request_check(ufx_ucp_request_h handle) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "request");
    }
    ucp::request &r = ucp::request::of(handle);
    auto guard = r.home.lock();
    return r.done || r.in_callback ? r.state.status() : UFX_INPROGRESS;
}

extern "C" void ufx_ucp_request_free(ufx_ucp_request_h handle) noexcept
{
    if (handle == nullptr) {
        return;
    }
    ucp::request &r = ucp::request::of(handle);
    auto guard = r.home.lock();
    r.home.requests.release(r);
}

extern "C" ufx_status_t ufx_ucp_request_cancel(ufx_ucp_request_h handle) noexcept
{
    if (handle == nullptr) {
        return ucp::refuse_null(__func__, "request");
    }
    ucp::request &r = ucp::request::of(handle);
    auto guard = r.home.lock();
    return ucs::guard([&] {
        if (r.completed) {
            return;
        }
        if (r.target != nullptr) {
            r.target->tx.cancel(r);
        } else if (r.kind == ucp::op::FLUSH) { // of a worker
            r.finish(UFX_ERR_CANCELED);
        }
        r.home.kick();
    });
}
