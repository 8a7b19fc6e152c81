// SPDX-License-Identifier: BSD-3-Clause
// An operation has its cells for itself, so that what must be in memory is known at every moment.
#include "tools/soak/oracle.h"

#include "tools/common/error.h"
#include "tools/common/signals.h"

#include <algorithm>
#include <cstring>

namespace ufx::tools::soak {

namespace {

constexpr uint16_t MESSAGE = 7;
constexpr size_t LONG_CELLS = 128; ///< of the longest transfer
constexpr size_t LIST_PIECES = 8;
constexpr uint64_t TAMPERED = 500; ///< the next operation that can be

struct message_header {
    uint64_t number; ///< in order from each end
    uint64_t id;
};

unsigned char pattern(uint64_t id, size_t at)
{
    return static_cast<unsigned char>((at * 131 + at / 251 + id * 29 + (id >> 8) * 7) & 0xff);
}

void fill(unsigned char *to, size_t length, uint64_t id)
{
    for (size_t i = 0; i < length; ++i) {
        to[i] = pattern(id, i);
    }
}

bool holds(const unsigned char *from, size_t length, uint64_t id)
{
    for (size_t i = 0; i < length; ++i) {
        if (from[i] != pattern(id, i)) {
            return false;
        }
    }
    return true;
}

} // namespace

struct oracle::running {
    enum class kind { PUT, PUT_LIST, GET, GET_LIST, EAGER, RENDEZVOUS, ADD, FLUSH, FENCED };

    const char *name() const
    {
        static constexpr const char *names[] = {"put",      "put list", "get",
                                                "get list", "message",  "rendezvous",
                                                "add",      "flush",    "fenced put"};
        return names[static_cast<size_t>(what)];
    }
    bool moves() const { return what <= kind::GET_LIST || what == kind::FENCED; }
    bool is_put() const
    {
        return what == kind::PUT || what == kind::PUT_LIST || what == kind::FENCED;
    }
    bool awaits_peer() const
    {
        return what == kind::PUT_LIST || what == kind::GET_LIST || what == kind::EAGER ||
               what == kind::RENDEZVOUS;
    }
    bool has_ended() const { return calls >= parts && (!awaits_peer() || came != 0); }

    kind what{};
    uint64_t id = 0;
    end *from = nullptr, *to = nullptr;
    size_t cell = 0, cells = 0, length = 0; ///< of the target; counter for ADD
    std::vector<unsigned char> buffer;      ///< of the sender
    std::vector<unsigned char> received;    ///< of a rendezvous
    uint64_t result = 0;
    ufx_ucp_op_params_t params = {};
    unsigned parts = 1; ///< that end by a call each
    unsigned calls = 0;
    ufx_status_t status = UFX_OK;
    unsigned came = 0; ///< messages or notifications
    bool fetched = false;
    lockstep *time = nullptr;
};

/** The fetch of a rendezvous. */
struct oracle::arrival {
    oracle *self;
    uint64_t id;
};

oracle::end::end(const std::string &rails, size_t length)
    : session(rails, "soak"), memory(session.context(), length), expected(length)
{
    std::memset(memory.data(), 0, length);
}

oracle::oracle(const std::array<std::string, 2> &rails, size_t cells, tamper how, lockstep *time)
    : cells_(cells), tamper_(how), time_(time)
{
    const size_t length = cells * CELL + COUNTERS * sizeof(uint64_t);
    for (unsigned i = 0; i < ends_.size(); ++i) {
        ends_[i] = std::make_unique<end>(rails[i], length);
        ends_[i]->busy.resize(cells);
        hooks_[i] = {this, ends_[i].get()};
        const ufx_ucp_worker_h worker = ends_[i]->session.worker();
        check(ufx_ucp_worker_set_am_handler(worker, MESSAGE, on_message, &hooks_[i]), "handler");
        check(ufx_ucp_worker_set_notify_handler(worker, on_notice, &hooks_[i]), "handler");
    }
    connect([this] { progress(); });
}

void oracle::connect(const std::function<void()> &turn)
{
    ends_[0]->session.connect(ends_[1]->session.address());
    while (ends_[1]->session.ep() == nullptr) {
        turn();
        ends_[0]->session.throw_if_failed();
        throw_if_interrupted();
    }
    for (unsigned i = 0; i < ends_.size(); ++i) {
        ends_[i]->key = std::make_unique<ucp_remote_key>(ends_[i]->session.ep(),
                                                         ends_[1 - i]->memory.key());
    }
}

void oracle::reconnect(const std::function<void()> &turn)
{
    std::array<ufx_ucp_request_h, 2> closing{};
    for (unsigned i = 0; i < ends_.size(); ++i) {
        ends_[i]->key.reset();
        closing[i] = ends_[i]->session.begin_close(UFX_UCP_CLOSE_FLUSH);
    }
    for (const ufx_ucp_request_h each : closing) {
        while (each != nullptr && ufx_ucp_request_check(each) == UFX_INPROGRESS) {
            turn();
            throw_if_interrupted();
        }
        if (each != nullptr) {
            const ufx_status_t status = ufx_ucp_request_check(each);
            ufx_ucp_request_free(each);
            check(status, "cannot close");
        }
    }
    connect(turn);
}

oracle::~oracle()
{
    for (auto &each : ends_) {
        each->key.reset();
    }
}

void oracle::progress()
{
    unsigned done = 0;
    for (const auto &each : ends_) {
        done += ufx_ucp_worker_progress(each->session.worker());
    }
    if (time_ != nullptr) {
        time_->step(done != 0);
    }
}

void oracle::complain(const std::string &text)
{
    if (complaint_.empty()) {
        complaint_ = text;
    }
}

oracle::running *oracle::find(uint64_t id)
{
    const auto at = std::find_if(running_.begin(), running_.end(),
                                 [&](const auto &each) { return each->id == id; });
    return at == running_.end() ? nullptr : at->get();
}

void oracle::on_done(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *how) noexcept
{
    auto &one = *static_cast<running *>(arg);
    ++one.calls;
    one.status = one.status == UFX_OK ? how->status : one.status;
    if (one.time != nullptr) {
        one.time->note("done", one.id);
    }
}

/** Free cells of the target; false if there are none just there. */
bool oracle::take_cells(running &one, end &target, std::mt19937_64 &chance)
{
    const size_t wanted = chance() % 8 == 0 ? 1 + chance() % LONG_CELLS : 1 + chance() % 4;
    one.cell = chance() % cells_;
    while (one.cells < wanted && one.cell + one.cells < cells_ &&
           !target.busy[one.cell + one.cells]) {
        target.busy[one.cell + one.cells++] = true;
    }
    if (one.cells == 0) {
        return false;
    }
    one.length = (one.cells - 1) * CELL + 1 + chance() % CELL;
    return true;
}

void oracle::post(std::mt19937_64 &chance)
{
    auto made = std::make_unique<running>();
    running &one = *made;
    const bool is_first = chance() % 2 == 0;
    one.from = ends_[is_first ? 0 : 1].get();
    one.to = ends_[is_first ? 1 : 0].get();
    one.what = static_cast<running::kind>(chance() % 9);
    one.id = next_id_;
    one.time = time_;
    one.params.field_mask = UFX_UCP_OP_PARAM_CB;
    one.params.cb = on_done;
    one.params.cb_arg = &one;
    if (one.moves() && !take_cells(one, *one.to, chance)) {
        return;
    }
    ++next_id_;
    running_.push_back(std::move(made)); // a notification may come before the call returns
    if (one.what == running::kind::FENCED) {
        post_fenced(one);
    } else if (one.moves()) {
        post_move(one, one.is_put(), one.awaits_peer());
    } else if (one.what == running::kind::ADD) {
        post_add(one, chance);
    } else if (one.what == running::kind::FLUSH) {
        const ufx_status_t status =
            ufx_ucp_ep_flush(one.from->session.ep(), &one.params, nullptr);
        one.calls += status != UFX_INPROGRESS ? 1 : 0;
        one.status = status != UFX_INPROGRESS ? status : one.status;
    } else {
        post_message(one, chance);
    }
}

/** True once. */
bool oracle::tampers(const running &one, tamper how)
{
    if (tamper_ != how || one.id < TAMPERED) {
        return false;
    }
    tamper_ = tamper::NONE;
    return true;
}

void oracle::post_move(running &one, bool is_put, bool notifies)
{
    end &from = *one.from;
    one.buffer.resize(one.length);
    if (is_put) {
        fill(one.buffer.data(), one.length, one.id);
        one.buffer[one.length / 2] ^= !notifies && tampers(one, tamper::CORRUPT) ? 1 : 0;
    }
    const uint64_t remote =
        reinterpret_cast<uintptr_t>(one.to->memory.data()) + one.cell * CELL;
    ufx_status_t status = UFX_OK;
    if (notifies) {
        std::vector<ufx_ucp_transfer_t> list;
        const size_t piece = one.length / LIST_PIECES + 1;
        for (size_t at = 0; at < one.length; at += piece) {
            list.push_back({one.buffer.data() + at, remote + at, std::min(piece, one.length - at),
                            from.key->handle(), nullptr});
        }
        const ufx_ucp_notify_t notice{one.id, nullptr, 0};
        const auto call = is_put ? ufx_ucp_put_list : ufx_ucp_get_list;
        status =
            call(from.session.ep(), list.data(), list.size(), &notice, &one.params, nullptr);
    } else if (is_put) {
        status = ufx_ucp_put(from.session.ep(), one.buffer.data(), one.length, remote,
                             from.key->handle(), &one.params, nullptr);
    } else {
        status = ufx_ucp_get(from.session.ep(), one.buffer.data(), one.length, remote,
                             from.key->handle(), &one.params, nullptr);
    }
    one.calls += status != UFX_INPROGRESS ? 1 : 0;
    one.status = status != UFX_INPROGRESS ? status : one.status;
}

/** Two puts to the same place, of which the second must stay. */
void oracle::post_fenced(running &one)
{
    const ufx_ucp_ep_h ep = one.from->session.ep();
    const uint64_t remote = reinterpret_cast<uintptr_t>(one.to->memory.data()) + one.cell * CELL;
    one.buffer.resize(2 * one.length);
    fill(one.buffer.data(), one.length, ~one.id);
    fill(one.buffer.data() + one.length, one.length, one.id);
    one.parts = 2;
    for (unsigned i = 0; i < one.parts; ++i) {
        if (i == 1) {
            check(ufx_ucp_ep_fence(ep), "cannot fence");
        }
        const ufx_status_t status =
            ufx_ucp_put(ep, one.buffer.data() + i * one.length, one.length, remote,
                        one.from->key->handle(), &one.params, nullptr);
        one.calls += status != UFX_INPROGRESS ? 1 : 0;
        one.status = status != UFX_INPROGRESS && one.status == UFX_OK ? status : one.status;
    }
}

void oracle::post_message(running &one, std::mt19937_64 &chance)
{
    const bool is_eager = one.what == running::kind::EAGER;
    const size_t most = chance() % 4 != 0 ? 64 : is_eager ? 200 * 1024 : 1024 * 1024;
    one.length = 1 + chance() % most;
    one.buffer.resize(one.length);
    fill(one.buffer.data(), one.length, one.id);
    one.params.field_mask |= UFX_UCP_OP_PARAM_FLAGS;
    one.params.flags = is_eager ? UFX_UCP_OP_AM_EAGER : UFX_UCP_OP_AM_RNDV;
    const message_header header{one.from->next_sent++, one.id};
    const auto send = [&](running &as) {
        return ufx_ucp_am_send(one.from->session.ep(), MESSAGE, &header, sizeof(header),
                               as.buffer.data(), as.length, &as.params, nullptr);
    };
    const ufx_status_t status = tampers(one, tamper::LOSE) ? UFX_OK : send(one);
    if (tampers(one, tamper::DUPLICATE)) {
        // With an end of its own, so that nothing but its coming again can give it away.
        again_ = std::make_unique<running>(one);
        again_->params.cb_arg = again_.get();
        (void)send(*again_);
    }
    one.calls += status != UFX_INPROGRESS ? 1 : 0;
    one.status = status != UFX_INPROGRESS ? status : one.status;
}

void oracle::post_add(running &one, std::mt19937_64 &chance)
{
    one.cell = chance() % COUNTERS;
    one.length = sizeof(one.result);
    ++one.to->added[one.cell];
    const uint64_t remote = reinterpret_cast<uintptr_t>(one.to->memory.data()) + cells_ * CELL +
                            one.cell * sizeof(uint64_t);
    const ufx_status_t status =
        ufx_ucp_atomic(one.from->session.ep(), UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(one.result),
                       &one.result, remote, one.from->key->handle(), &one.params, nullptr);
    one.calls += status != UFX_INPROGRESS ? 1 : 0;
    one.status = status != UFX_INPROGRESS ? status : one.status;
}

ufx_status_t oracle::on_message(void *arg, const ufx_ucp_am_t *am) noexcept
{
    const hook &at = *static_cast<hook *>(arg);
    if (at.self->time_ != nullptr) {
        at.self->time_->note("message", am->length);
    }
    at.self->take_message(*at.at, *am);
    return (am->flags & UFX_UCP_AM_RNDV) != 0 ? UFX_INPROGRESS : UFX_OK;
}

void oracle::take_message(end &at, const ufx_ucp_am_t &am)
{
    message_header header{};
    if (am.header_length == sizeof(header)) {
        std::memcpy(&header, am.header, sizeof(header));
    }
    running *one = find(header.id);
    if (one == nullptr || one->to != &at || am.length != one->length || one->came != 0) {
        complain("a message that nobody sent, or one that came again: id " +
                 std::to_string(header.id));
        return;
    }
    if (header.number != at.next_message) {
        complain("message " + std::to_string(header.number) + " came as number " +
                 std::to_string(at.next_message));
    }
    ++at.next_message;
    ++one->came;
    if ((am.flags & UFX_UCP_AM_RNDV) == 0) {
        if (!holds(static_cast<const unsigned char *>(am.data), am.length, one->id)) {
            complain("a message was changed on its way: id " + std::to_string(one->id));
        }
        one->fetched = true;
        return;
    }
    one->received.resize(am.length);
    auto *fetch = new arrival{this, one->id};
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb_arg = fetch;
    params.cb = [](void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *how) noexcept {
        const std::unique_ptr<arrival> done(static_cast<arrival *>(arg));
        running *of = done->self->find(done->id);
        if (of == nullptr || how->status != UFX_OK) {
            done->self->complain("a rendezvous was fetched twice or not: " +
                                 std::string(ufx_ucs_status_name(how->status)));
        } else {
            of->fetched = true;
        }
    };
    const ufx_status_t status =
        ufx_ucp_am_recv_data(at.session.worker(), am.data, one->received.data(), am.length,
                             &params, nullptr);
    if (status != UFX_INPROGRESS) {
        delete fetch;
        one->fetched = status == UFX_OK;
    }
}

void oracle::on_notice(void *arg, ufx_ucp_ep_h, uint64_t tag, const void *, size_t) noexcept
{
    const hook &at = *static_cast<hook *>(arg);
    if (at.self->time_ != nullptr) {
        at.self->time_->note("notice", tag);
    }
    at.self->take_notice(*at.at, tag);
}

void oracle::take_notice(end &at, uint64_t id)
{
    running *one = find(id);
    if (one == nullptr || one->to != &at || one->came++ != 0) {
        complain("a notification that nobody sent, or one that came again: id " +
                 std::to_string(id));
        return;
    }
    one->fetched = true;
    const unsigned char *there =
        one->is_put() ? at.memory.data() + one->cell * CELL : one->buffer.data();
    const bool is_there =
        one->is_put()
            ? holds(there, one->length, id)
            : std::memcmp(there, at.expected.data() + one->cell * CELL, one->length) == 0;
    if (!is_there) {
        complain("a notification came before its list: id " + std::to_string(id));
    }
}

void oracle::retire(running &one)
{
    const std::string what = std::string(one.name()) + " " + std::to_string(one.id) + " of " +
                             std::to_string(one.length) + " bytes: ";
    if (one.calls != one.parts || one.status != UFX_OK) {
        throw tool_error(what + "ended " + std::to_string(one.calls) + " times, with " +
                             ufx_ucs_status_name(one.status),
                         EXIT_VERDICT);
    }
    end &to = *one.to;
    if (one.moves()) {
        unsigned char *expected = to.expected.data() + one.cell * CELL;
        const unsigned char *there = to.memory.data() + one.cell * CELL;
        if (one.is_put()) {
            fill(expected, one.length, one.id);
        }
        const unsigned char *seen = one.is_put() ? there : one.buffer.data();
        if (std::memcmp(seen, expected, one.length) != 0) {
            throw tool_error(what + "the bytes are not those that were written", EXIT_VERDICT);
        }
        std::fill_n(to.busy.begin() + static_cast<std::ptrdiff_t>(one.cell), one.cells, false);
    } else if (one.what == running::kind::ADD) {
        if (one.result >= to.added[one.cell] || !to.results[one.cell].insert(one.result).second) {
            throw tool_error(what + "its result " + std::to_string(one.result) +
                                 " came before, or cannot be",
                             EXIT_VERDICT);
        }
    } else if (one.what == running::kind::RENDEZVOUS &&
               !holds(one.received.data(), one.length, one.id)) {
        throw tool_error(what + "the bytes are not those that were sent", EXIT_VERDICT);
    }
    ++ended_[one.name()];
    bytes_ += one.length;
}

void oracle::reap()
{
    for (auto at = running_.begin(); at != running_.end();) {
        running &one = **at;
        const bool waits_for_data = one.what == running::kind::RENDEZVOUS && !one.fetched;
        if (!one.has_ended() || waits_for_data) {
            ++at;
            continue;
        }
        retire(one);
        at = running_.erase(at);
    }
    if (!complaint_.empty()) {
        throw tool_error(complaint_, EXIT_VERDICT);
    }
    for (const auto &each : ends_) {
        each->session.throw_if_failed();
    }
}

void oracle::check_all() const
{
    for (const auto &each : ends_) {
        const unsigned char *now = each->memory.data();
        const auto wrong = std::mismatch(now, now + cells_ * CELL, each->expected.begin()).first;
        if (wrong != now + cells_ * CELL) {
            throw tool_error("a byte changed after its operation had ended, in cell " +
                                 std::to_string((wrong - now) / static_cast<long>(CELL)),
                             EXIT_VERDICT);
        }
        for (size_t i = 0; i < COUNTERS; ++i) {
            uint64_t value = 0;
            std::memcpy(&value, now + cells_ * CELL + i * sizeof(value), sizeof(value));
            if (value != each->added[i]) {
                throw tool_error("a counter is " + std::to_string(value) + " after " +
                                     std::to_string(each->added[i]) + " additions of 1",
                                 EXIT_VERDICT);
            }
        }
    }
}

bool oracle::all_rails_up() const
{
    return std::all_of(ends_.begin(), ends_.end(), [](const auto &each) {
        const auto rails = each->session.rails();
        return std::all_of(rails.begin(), rails.end(), [](const ufx_ucp_rail_attr_t &rail) {
            return rail.state == UFX_UCP_RAIL_UP;
        });
    });
}

std::string oracle::state() const
{
    std::string text;
    for (const auto &each : ends_) {
        char *dump = nullptr;
        if (ufx_ucp_worker_dump(each->session.worker(), UFX_UCP_DUMP_TEXT, &dump) == UFX_OK) {
            text += dump;
            ufx_ucp_dump_release(dump);
        }
    }
    for (const auto &one : running_) {
        text += std::string("open: ") + one->name() + " " + std::to_string(one->id) + ", " +
                std::to_string(one->length) + " bytes, " + std::to_string(one->calls) +
                " completions, " + std::to_string(one->came) + " arrivals\n";
    }
    return text;
}

} // namespace ufx::tools::soak
