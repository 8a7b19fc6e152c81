// SPDX-License-Identifier: BSD-3-Clause
// One process of a pair.
#include "kill_side.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ufx::test {

namespace {

// Two rails on loopback, or what UFX_TEST_RAILS names.
const char *rails()
{
    const char *others = std::getenv("UFX_TEST_RAILS");
    return others != nullptr ? others : "lo:127.0.0.1,lo:127.0.0.2";
}
constexpr const char *CUT_RAIL = "rail1";
constexpr unsigned SLOTS = 12;
constexpr size_t PUT_BYTES = 200 * 1024 + 3;
constexpr size_t AM_BYTES = 3000;
constexpr size_t RNDV_BYTES = 400 * 1024;
constexpr uint16_t AM_ID = 7;
constexpr uint64_t OPERATIONS = 900; // of a side
constexpr uint64_t CUTS = 2;         // how often the rail breaks, so that each phase is met
constexpr uint64_t CUT_EVERY = OPERATIONS / (2 * CUTS + 1);
constexpr uint64_t RNDV_EVERY = 40;
constexpr uint64_t REST_MS = 1500; // longer than it takes a worker to notice that it is idle
constexpr int BROKEN_STATUS = 3;   // the partner died, and that was noticed in order
constexpr uint64_t LIMIT_MS = 60000;
constexpr size_t MESSAGE_MAX = 65536;

uint64_t now_ms()
{
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

/** The first 8 bytes are the number, the rest follows from it. */
void fill(std::vector<unsigned char> &to, uint64_t number)
{
    std::memcpy(to.data(), &number, sizeof(number));
    for (size_t i = sizeof(number); i < to.size(); i++) {
        to[i] = static_cast<unsigned char>(number * 31 + i * 7);
    }
}

bool is_filled(const unsigned char *bytes, size_t length, uint64_t number)
{
    uint64_t there = 0;
    std::memcpy(&there, bytes, sizeof(there));
    for (size_t i = sizeof(number); i < length; i++) {
        if (bytes[i] != static_cast<unsigned char>(number * 31 + i * 7)) {
            return false;
        }
    }
    return there == number;
}

void write_all(int socket, const void *data, size_t length)
{
    const char *at = static_cast<const char *>(data);
    while (length > 0) {
        const ssize_t n = ::send(socket, at, length, MSG_NOSIGNAL);
        if (n <= 0 && errno != EINTR) {
            return; // the partner is dead: the endpoint will say so
        }
        at += n > 0 ? n : 0;
        length -= n > 0 ? static_cast<size_t>(n) : 0;
    }
}

void send_block(int socket, const void *data, size_t length)
{
    write_all(socket, &length, sizeof(length));
    write_all(socket, data, length);
}

void read_all(int socket, void *data, size_t length)
{
    if (length > 0 && ::recv(socket, data, length, MSG_WAITALL) != static_cast<ssize_t>(length)) {
        std::printf("partner-gone before the start\n");
        std::exit(BROKEN_STATUS);
    }
}

std::string read_block(int socket)
{
    size_t length = 0;
    read_all(socket, &length, sizeof(length));
    std::string data(length < MESSAGE_MAX ? length : 0, '\0');
    read_all(socket, data.data(), data.size());
    return data;
}

} // namespace

kill_side::kill_side(int partner, bool starts, bool rests)
    : partner_(partner), starts_(starts), rests_(rests), landing_(SLOTS * PUT_BYTES),
      rndv_(RNDV_BYTES), operations_(SLOTS)
{
    deadline_ms_ = now_ms() + LIMIT_MS;
    for (unsigned i = 0; i < SLOTS; i++) {
        operations_[i].owner = this;
        operations_[i].slot = i;
    }
}

kill_side::~kill_side() = default;

void kill_side::give_up(const std::string &why)
{
    std::printf("FAILED: %s (posted %llu completed %llu failed %llu errors %llu %s)\n", why.c_str(),
                static_cast<unsigned long long>(posted_),
                static_cast<unsigned long long>(completed_),
                static_cast<unsigned long long>(failed_), static_cast<unsigned long long>(errors_),
                error_.c_str());
    if (worker_ != nullptr) {
        char *text = nullptr;
        if (ufx_ucp_worker_dump(worker_, UFX_UCP_DUMP_TEXT, &text) == UFX_OK) {
            std::printf("%s\n", text);
        }
    }
    std::fflush(stdout);
    std::_Exit(1);
}

int kill_side::run()
{
    connect();
    rest();
    work();
    if (errors_ != 0) {
        return survive();
    }
    finish();
    if (errors_ != 0) {
        return survive();
    }
    std::printf(
        "ok posted %llu completed %llu received %llu+%llu\n",
        static_cast<unsigned long long>(posted_), static_cast<unsigned long long>(completed_),
        static_cast<unsigned long long>(ams_seen_), static_cast<unsigned long long>(rndvs_seen_));
    return 0;
}

void kill_side::connect()
{
    ufx_ucp_context_params_t params = {};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    params.devices = rails();
    ufx_ucp_worker_params_t worker_params = {};
    worker_params.field_mask = UFX_UCP_WORKER_PARAM_EP_ACCEPT;
    worker_params.ep_accept_cb = accept_cb;
    worker_params.ep_accept_arg = this;
    ufx_ucp_mem_params_t mem_params = {};
    mem_params.field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH;
    mem_params.address = landing_.data();
    mem_params.length = landing_.size();
    void *address = nullptr, *key = nullptr;
    size_t address_length = 0, key_length = 0;
    if (ufx_ucp_context_create(&params, &context_) != UFX_OK ||
        ufx_ucp_worker_create(context_, &worker_params, &worker_) != UFX_OK ||
        ufx_ucp_worker_set_am_handler(worker_, AM_ID, am_cb, this) != UFX_OK ||
        ufx_ucp_mem_map(context_, &mem_params, &mem_) != UFX_OK ||
        ufx_ucp_rkey_pack(context_, mem_, &key, &key_length) != UFX_OK ||
        ufx_ucp_worker_get_address(worker_, &address, &address_length) != UFX_OK) {
        give_up("cannot set up");
    }
    const auto base = reinterpret_cast<uint64_t>(landing_.data());
    send_block(partner_, address, address_length);
    send_block(partner_, key, key_length);
    send_block(partner_, &base, sizeof(base));
    ufx_ucp_worker_release_address(worker_, address);
    ufx_ucp_rkey_buffer_release(key);
    const std::string peer = read_block(partner_);
    const std::string peer_key = read_block(partner_);
    std::memcpy(&remote_, read_block(partner_).data(), sizeof(remote_));
    ::fcntl(partner_, F_SETFL, O_NONBLOCK);
    if (starts_) {
        ufx_ucp_ep_params_t ep_params = {};
        ep_params.field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB;
        ep_params.address = peer.data();
        ep_params.address_length = peer.size();
        ep_params.event_cb = event_cb;
        ep_params.event_arg = this;
        if (ufx_ucp_ep_create(worker_, &ep_params, &ep_) != UFX_OK) {
            give_up("cannot make the endpoint");
        }
    }
    while (ep_ == nullptr) {
        step();
        if (partner_gone_) { // it died before it made the endpoint: there is nothing to fail
            std::printf("peer-error none, the partner died before there was an endpoint\n");
            std::fflush(stdout);
            std::_Exit(BROKEN_STATUS);
        }
    }
    if (ufx_ucp_ep_rkey_unpack(ep_, peer_key.data(), peer_key.size(), &rkey_) != UFX_OK) {
        give_up("cannot unpack the key");
    }
}

void kill_side::rest()
{
    const uint64_t end = now_ms() + (rests_ ? REST_MS : 0);
    while (errors_ == 0 && now_ms() < end) {
        step();
    }
}

void kill_side::work()
{
    while (errors_ == 0 && completed_ < OPERATIONS) {
        for (operation &one : operations_) {
            if (!one.busy && posted_ < OPERATIONS) {
                post_next(one);
            }
        }
        break_rail_on_time();
        step();
    }
}

void kill_side::post_next(operation &one)
{
    const uint64_t next = posted_ + 1;
    one.what = next % RNDV_EVERY == 0 ? kind::RNDV : next % 2 == 0 ? kind::AM : kind::PUT;
    // The receiver has one buffer for what comes by rendezvous. The next one waits, and no other
    // kind goes instead: both sides expect as many of each kind as they send.
    if (one.what == kind::RNDV &&
        std::any_of(operations_.begin(), operations_.end(),
                    [](const auto &op) { return op.busy && op.what == kind::RNDV; })) {
        return;
    }
    one.completions = 0;
    one.busy = true;
    one.number = one.what == kind::RNDV ? rndvs_ + 1 : one.what == kind::AM ? ams_ + 1 : puts_ + 1;
    one.buffer.resize(one.what == kind::RNDV ? RNDV_BYTES
                      : one.what == kind::AM ? AM_BYTES
                                             : PUT_BYTES);
    fill(one.buffer, one.number);
    posted_++;
    if (!post(one)) {
        posted_--;
        one.busy = false;
        return;
    }
    (one.what == kind::RNDV ? rndvs_ : one.what == kind::AM ? ams_ : puts_)++;
}

bool kill_side::post(operation &one)
{
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_CB | UFX_UCP_OP_PARAM_FLAGS;
    params.cb = done_cb;
    params.cb_arg = &one;
    params.flags = one.what == kind::RNDV ? UFX_UCP_OP_AM_RNDV : 0;
    const ufx_status_t status =
        one.what == kind::PUT ? ufx_ucp_put(ep_, one.buffer.data(), one.buffer.size(),
                                            remote_ + one.slot * PUT_BYTES, rkey_, &params, nullptr)
                              : ufx_ucp_am_send(ep_, AM_ID, nullptr, 0, one.buffer.data(),
                                                one.buffer.size(), &params, nullptr);
    if (status == UFX_OK) {
        one.busy = false;
        completed_++;
    }
    return status >= 0;
}

void kill_side::break_rail_on_time()
{
    // Only one side breaks it: the other learns of it as it would of a link that fails.
    if (starts_ && changes_ < 2 * CUTS && completed_ >= CUT_EVERY * (changes_ + 1)) {
        ufx_ucp_rail_set_link(worker_, CUT_RAIL, changes_ % 2 == 0 ? 0 : 1);
        changes_++;
    }
}

void kill_side::finish()
{
    wait_for_rails();
    write_all(partner_, "D", 1);
    while (errors_ == 0 && !partner_says('D')) {
        step();
    }
    if (errors_ != 0) {
        return;
    }
    // All of the partner's operations have completed: so they are here.
    while (ams_seen_ < ams_ || rndvs_seen_ < rndvs_) {
        step();
    }
    if (twice_ != 0 || failed_ != 0 || wrong_ != 0) {
        give_up(std::to_string(twice_) + " completed twice, " + std::to_string(failed_) +
                " failed, " + std::to_string(wrong_) + " arrived wrong");
    }
    verify_memory();
    write_all(partner_, "E", 1);
    while (errors_ == 0 && !partner_says('E')) {
        step();
    }
    if (partner_says('E')) {
        errors_ = 0; // a partner that has our E as well ends at once
    }
}

void kill_side::wait_for_rails()
{
    for (bool up = false; !up && errors_ == 0;) {
        step();
        ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX] = {};
        size_t count = UFX_UCP_RAILS_MAX;
        ufx_ucp_worker_query_rails(worker_, rails, &count);
        up = true;
        for (size_t i = 0; i < count; i++) {
            up = up && rails[i].state == UFX_UCP_RAIL_UP;
        }
    }
}

void kill_side::verify_memory()
{
    // Each slot holds the last put that the partner, who numbers as we do, sent to it.
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const unsigned char *bytes = landing_.data() + slot * PUT_BYTES;
        uint64_t number = 0;
        std::memcpy(&number, bytes, sizeof(number));
        if (number == 0 || number > puts_ || !is_filled(bytes, PUT_BYTES, number)) {
            give_up("the memory of slot " + std::to_string(slot) + " is not what was put");
        }
    }
}

void kill_side::step()
{
    if (now_ms() > deadline_ms_) {
        give_up("not done in time");
    }
    if (ufx_ucp_worker_progress(worker_) == 0) {
        ufx_ucp_worker_wait(worker_, 2);
    }
    char byte = 0;
    const ssize_t n = ::recv(partner_, &byte, 1, 0);
    if (n == 1) {
        partner_said_.push_back(byte);
    } else if (n == 0) {
        partner_gone_ = true;
    }
}

bool kill_side::partner_says(char what)
{
    return partner_said_.find(what) != std::string::npos;
}

/** The endpoint failed: every operation must complete, once, and no second error come. */
int kill_side::survive()
{
    const uint64_t deadline = now_ms() + 2000;
    while (completed_ < posted_ || now_ms() < deadline) {
        step();
        if (now_ms() > deadline + 20000) {
            give_up("operations did not complete after the endpoint's error");
        }
        if (completed_ == posted_ && now_ms() + 1500 > deadline) {
            break;
        }
    }
    if (errors_ != 1 || twice_ != 0) {
        give_up("the error came " + std::to_string(errors_) + " times, " + std::to_string(twice_) +
                " operations completed twice");
    }
    std::printf("peer-error %s\n", error_.c_str());
    return BROKEN_STATUS;
}

void kill_side::receive(const unsigned char *data, size_t length)
{
    uint64_t &seen = length == RNDV_BYTES ? rndvs_seen_ : ams_seen_;
    seen++; // messages of a kind arrive in the order they were sent, each once
    if ((length != AM_BYTES && length != RNDV_BYTES) || !is_filled(data, length, seen)) {
        wrong_++;
    }
}

void kill_side::accept_cb(void *arg, ufx_ucp_ep_h ep) noexcept
{
    auto *self = static_cast<kill_side *>(arg);
    self->ep_ = ep;
    ufx_ucp_ep_set_event_cb(ep, event_cb, self);
}

void kill_side::event_cb(void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept
{
    auto *self = static_cast<kill_side *>(arg);
    if (event->type == UFX_UCP_EP_EVENT_ERROR) {
        self->errors_++;
        self->error_ = std::string(ufx_ucs_status_name(event->status)) + " " +
                       (event->text != nullptr ? event->text : "");
    }
}

void kill_side::done_cb(void *arg, ufx_ucp_request_h,
                        const ufx_ucp_completion_t *completion) noexcept
{
    auto *one = static_cast<operation *>(arg);
    kill_side *self = one->owner;
    self->twice_ += !one->busy || one->completions != 0 ? 1 : 0;
    one->completions++;
    one->busy = false;
    self->completed_++;
    self->failed_ += completion->status == UFX_OK ? 0 : 1;
}

void kill_side::received_cb(void *arg, ufx_ucp_request_h,
                            const ufx_ucp_completion_t *completion) noexcept
{
    auto *self = static_cast<kill_side *>(arg);
    self->rndv_open_ = false;
    if (completion->status == UFX_OK) {
        self->receive(self->rndv_.data(), self->rndv_.size());
    }
}

ufx_status_t kill_side::am_cb(void *arg, const ufx_ucp_am_t *am) noexcept
{
    auto *self = static_cast<kill_side *>(arg);
    if ((am->flags & UFX_UCP_AM_RNDV) == 0) {
        self->receive(static_cast<const unsigned char *>(am->data), am->length);
        return UFX_OK;
    }
    ufx_ucp_op_params_t params = {};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = received_cb;
    params.cb_arg = self;
    self->wrong_ += self->rndv_open_ || am->length != RNDV_BYTES ? 1 : 0;
    self->rndv_open_ = true;
    if (ufx_ucp_am_recv_data(self->worker_, am->data, self->rndv_.data(), RNDV_BYTES, &params,
                             nullptr) == UFX_OK) {
        self->rndv_open_ = false;
        self->receive(self->rndv_.data(), self->rndv_.size());
    }
    return UFX_OK;
}

} // namespace ufx::test
