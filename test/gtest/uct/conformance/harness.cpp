// SPDX-License-Identifier: BSD-3-Clause
// Opens, connects and moves transports for the conformance suite.
#include "harness.h"

#include "common/skip.h"
#include "uct/fake/fake.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ufx::test {

namespace fake = ufx::uct::fake;

namespace {

bool wanted(const ufx_uct_resource_t &resource)
{
    const std::string dev = resource.dev_name;
    const char *only = std::getenv("UFX_TEST_TRANSPORT");
    if (only != nullptr && std::string_view(only) != resource.tl_name) {
        return false;
    }
    return resource.dev_type != UFX_UCT_DEVICE_NET || dev == "lo" || dev.starts_with("lo:") ||
           dev.starts_with("conformance") || dev.starts_with("mlx5_0:") || dev.starts_with("rxa0:");
}

void add_resources(std::vector<uct_resource> &all, const ufx_uct_component_t *component,
                   const std::string &md_name)
{
    ufx_uct_md_h md = nullptr;
    if (ufx_uct_md_open(component, md_name.c_str(), nullptr, &md) != UFX_OK) {
        return;
    }
    size_t count = 0;
    REQUIRE(ufx_uct_md_query_resources(md, nullptr, &count) == UFX_OK);
    std::vector<ufx_uct_resource_t> resources(count);
    REQUIRE(ufx_uct_md_query_resources(md, resources.data(), &count) == UFX_OK);
    bool loopback_taken = false; // one loopback device a transport is enough
    for (const ufx_uct_resource_t &each : resources) {
        const bool is_lo = std::string_view(each.dev_name).starts_with("lo");
        if (wanted(each) && !(is_lo && loopback_taken)) {
            loopback_taken = loopback_taken || is_lo;
            all.push_back({component, md_name, each.tl_name, each.dev_name});
        }
    }
    ufx_uct_md_close(md);
}

std::vector<uct_resource> find_all()
{
    fake::install();
    fake::add_device("conformance0", {.mtu = 512, .tells_peer = true});
    fake::add_device("conformance1", {.mtu = 4096, .delivery = true, .tells_peer = true});
    std::vector<uct_resource> all;
    const ufx_uct_component_t **components = nullptr;
    size_t count = 0;
    REQUIRE(ufx_uct_query_components(&components, &count) == UFX_OK);
    for (size_t i = 0; i < count; ++i) {
        size_t mds = 0;
        REQUIRE(ufx_uct_component_query_mds(components[i], nullptr, &mds) == UFX_OK);
        std::vector<ufx_uct_md_resource_t> names(mds);
        REQUIRE(ufx_uct_component_query_mds(components[i], names.data(), &mds) == UFX_OK);
        for (const ufx_uct_md_resource_t &name : names) {
            add_resources(all, components[i], name.md_name);
        }
    }
    ufx_uct_release_component_list(components);
    return all;
}

ufx_status_t on_error(void *arg, ufx_uct_ep_h ep, const ufx_uct_error_t *error) noexcept
{
    auto &side = *static_cast<uct_side *>(arg);
    ++side.errors;
    side.failed_ep = ep;
    side.error_status = error->status;
    side.error_cause = error->cause;
    side.error_text = error->text;
    if (side.on_error) {
        side.on_error(ep);
    }
    return side.error_answer;
}

void on_event(void *arg, ufx_uct_iface_h, const ufx_uct_iface_event_t *event) noexcept
{
    static_cast<uct_side *>(arg)->events.push_back(event->type);
}

} // namespace

const std::vector<uct_resource> &conformance_resources()
{
    static const std::vector<uct_resource> all = find_all();
    return all;
}

void for_each_transport(uint64_t caps, const std::function<void(const uct_resource &)> &body)
{
    int ran = 0;
    for (const uct_resource &resource : conformance_resources()) {
        INFO("transport " << resource.name());
        uint64_t has = 0;
        {
            uct_side probe(resource, nullptr);
            has = probe.attr.caps;
        }
        if ((has & caps) != caps) {
            std::printf("skipped on %s: no capability 0x%llx\n", resource.name().c_str(),
                        static_cast<unsigned long long>(caps & ~has));
            continue;
        }
        body(resource);
        ++ran;
    }
    if (ran == 0) {
        skip("no transport has these capabilities");
    }
}

counted::counted(int operations) : ufx_uct_completion_t{}
{
    func = [](ufx_uct_completion_t *self) noexcept {
        auto *completion = static_cast<counted *>(self);
        ++completion->calls;
        completion->result = completion->status;
    };
    count = operations;
    status = UFX_OK;
}

// ---- Sides and pairs
// -----------------------------------------------------------------------------

uct_side::uct_side(const uct_resource &resource, ufx_uct_worker_h worker)
{
    REQUIRE(ufx_uct_md_open(resource.component, resource.md.c_str(), nullptr, &md) == UFX_OK);
    REQUIRE(ufx_uct_md_query(md, &md_attr) == UFX_OK);
    ufx_uct_iface_params_t params{};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_WORKER | UFX_UCT_IFACE_PARAM_ERR_HANDLER |
                        UFX_UCT_IFACE_PARAM_EVENT_CB;
    params.tl_name = resource.tl.c_str();
    params.dev_name = resource.dev.c_str();
    params.worker = worker;
    params.err_handler = ufx::test::on_error;
    params.err_handler_arg = this;
    params.event_cb = ufx::test::on_event;
    params.event_cb_arg = this;
    REQUIRE(ufx_uct_iface_open(md, &params, &iface) == UFX_OK);
    REQUIRE(ufx_uct_iface_query(iface, &attr) == UFX_OK);
}

uct_side::~uct_side()
{
    if (iface != nullptr) {
        ufx_uct_iface_close(iface);
    }
    if (md != nullptr) {
        ufx_uct_md_close(md);
    }
}

std::vector<std::byte> uct_side::device_address()
{
    std::vector<std::byte> bytes(attr.device_addr_len + 1);
    REQUIRE(ufx_uct_iface_get_device_address(iface, bytes.data()) == UFX_OK);
    return bytes;
}

std::vector<std::byte> uct_side::address()
{
    std::vector<std::byte> bytes(attr.iface_addr_len + 1);
    REQUIRE(ufx_uct_iface_get_address(iface, bytes.data()) == UFX_OK);
    return bytes;
}

ufx_uct_iface_stats_t uct_side::stats()
{
    ufx_uct_iface_stats_t found{};
    REQUIRE(ufx_uct_iface_query_stats(iface, &found) == UFX_OK);
    return found;
}

uct_pair::uct_pair(const uct_resource &resource, ufx_uct_worker_h worker, bool connected)
    : a_(std::make_shared<uct_side>(resource, worker)), b_(a_)
{
    if (has(UFX_UCT_CAP_CONNECT_TO_EP)) {
        b_ = std::make_shared<uct_side>(resource, worker);
    }
    if (!connected) {
        return;
    }
    connect_first();
}

uct_pair::uct_pair(const uct_resource &resource, const uct_resource &of_b)
    : a_(std::make_shared<uct_side>(resource, nullptr)),
      b_(std::make_shared<uct_side>(of_b, nullptr))
{
    connect_first();
}

void uct_pair::connect_first()
{
    const connection first = connect();
    ep = first.a;
    peer = first.b;
}

uct_pair::~uct_pair()
{
    destroy_eps();
}

void uct_pair::destroy_eps()
{
    for (const connection &each : connections_) {
        ufx_uct_ep_destroy(each.a);
        if (each.b != each.a) {
            ufx_uct_ep_destroy(each.b);
        }
    }
    connections_.clear();
}

uct_pair::connection uct_pair::connect()
{
    auto a_device = a_->device_address();
    auto a_iface = a_->address();
    auto b_device = b_->device_address();
    auto b_iface = b_->address();
    connection made{};
    ufx_uct_ep_params_t params{};
    if (loopback()) {
        params.field_mask = UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR;
        params.device_addr = b_device.data();
        params.iface_addr = b_iface.data();
        REQUIRE(ufx_uct_ep_create(a_->iface, &params, &made.a) == UFX_OK);
        made.b = made.a;
    } else {
        REQUIRE(ufx_uct_ep_create(a_->iface, &params, &made.a) == UFX_OK);
        REQUIRE(ufx_uct_ep_create(b_->iface, &params, &made.b) == UFX_OK);
        std::vector<std::byte> a_ep(a_->attr.ep_addr_len + 1);
        std::vector<std::byte> b_ep(b_->attr.ep_addr_len + 1);
        REQUIRE(ufx_uct_ep_get_address(made.a, a_ep.data()) == UFX_OK);
        REQUIRE(ufx_uct_ep_get_address(made.b, b_ep.data()) == UFX_OK);
        REQUIRE(ufx_uct_ep_connect_to_ep(made.a, b_device.data(), b_iface.data(), b_ep.data()) ==
                UFX_OK);
        REQUIRE(ufx_uct_ep_connect_to_ep(made.b, a_device.data(), a_iface.data(), a_ep.data()) ==
                UFX_OK);
    }
    connections_.push_back(made);
    REQUIRE(wait([&] {
        return state_of(made.a) == UFX_UCT_EP_LIVE && state_of(made.b) == UFX_UCT_EP_LIVE;
    }));
    return made;
}

unsigned uct_pair::progress()
{
    unsigned count = ufx_uct_iface_progress(a_->iface);
    if (!loopback()) {
        count += ufx_uct_iface_progress(b_->iface);
    }
    return count;
}

bool uct_pair::wait(const std::function<bool()> &done)
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
        progress();
        if (std::chrono::steady_clock::now() > deadline) {
            return done();
        }
    }
    return true;
}

void uct_pair::turn(int rounds)
{
    for (int i = 0; i < rounds; ++i) {
        progress();
    }
}

void uct_pair::flush()
{
    counted done;
    ufx_status_t status = UFX_ERR_NO_RESOURCE;
    REQUIRE(wait([&] {
        status = ufx_uct_ep_flush(ep, UFX_UCT_FLUSH_REMOTE, &done);
        return status != UFX_ERR_NO_RESOURCE;
    }));
    if (status == UFX_INPROGRESS) {
        REQUIRE(wait([&] { return done.done(); }));
        status = done.result;
    }
    REQUIRE(status == UFX_OK);
}

ufx_uct_ep_state_t state_of(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_STATE;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    return attr.state;
}

uint64_t outstanding(ufx_uct_ep_h ep)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_OUTSTANDING;
    REQUIRE(ufx_uct_ep_query(ep, &attr) == UFX_OK);
    return attr.outstanding_ops;
}

// ---- Memory, messages
// ----------------------------------------------------------------------------

namespace {

ufx_uct_mem_h reg(ufx_uct_md_h md, void *address, size_t length, uint64_t flags)
{
    ufx_uct_mem_params_t params{};
    params.field_mask =
        UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH | UFX_UCT_MEM_PARAM_FLAGS;
    params.address = address;
    params.length = length;
    params.flags = flags;
    ufx_uct_mem_h memh = nullptr;
    REQUIRE(ufx_uct_md_mem_reg(md, &params, &memh) == UFX_OK);
    return memh;
}

} // namespace

remote_memory::remote_memory(uct_pair &pair, size_t size, uint64_t flags)
    : storage_(size + 64), owner_(pair.b().md), user_(pair.a().md)
{
    const auto start = reinterpret_cast<uintptr_t>(storage_.data());
    bytes = storage_.data() + (64 - start % 64) % 64;
    memh_ = reg(owner_, bytes, size, flags);
    std::vector<std::byte> packed(pair.b().md_attr.rkey_packed_size + 1);
    REQUIRE(ufx_uct_md_mkey_pack(owner_, memh_, packed.data()) == UFX_OK);
    REQUIRE(ufx_uct_md_rkey_unpack(user_, packed.data(), pair.b().md_attr.rkey_packed_size,
                                   &bundle_) == UFX_OK);
    rkey = bundle_.rkey;
}

remote_memory::~remote_memory()
{
    ufx_uct_md_rkey_release(user_, &bundle_);
    dereg();
}

void remote_memory::dereg()
{
    if (memh_ != nullptr) {
        CHECK(ufx_uct_md_mem_dereg(owner_, memh_) == UFX_OK);
        memh_ = nullptr;
    }
}

local_memory::local_memory(uct_pair &pair, size_t size) : bytes(size), md_(pair.a().md)
{
    if ((pair.a().md_attr.flags & UFX_UCT_MD_FLAG_NEED_MEMH) != 0) {
        memh_ = reg(md_, bytes.data(), size, UFX_UCT_MEM_ACCESS_ALL);
    }
}

local_memory::~local_memory()
{
    if (memh_ != nullptr) {
        CHECK(ufx_uct_md_mem_dereg(md_, memh_) == UFX_OK);
    }
}

void local_memory::fill(unsigned seed)
{
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) + seed * 17 + 1) & 0xff);
    }
}

ufx_uct_iov_t local_memory::iov(size_t offset, size_t length) const
{
    auto *from = const_cast<std::byte *>(bytes.data());
    return {.buffer = from + offset, .length = length, .memh = memh_};
}

size_t pack_source::pack(void *dest, void *arg) noexcept
{
    auto *source = static_cast<pack_source *>(arg);
    ++source->calls;
    if (source->length != 0) {
        std::memcpy(dest, source->data, source->length);
    }
    return source->length;
}

inbox::inbox(ufx_uct_iface_h iface, uint8_t id)
{
    auto receive = [](void *arg, void *data, size_t length, unsigned) noexcept -> ufx_status_t {
        auto *self = static_cast<inbox *>(arg);
        auto *from = static_cast<const std::byte *>(data);
        self->messages.emplace_back(from, from + length);
        if (self->on_message) {
            self->on_message();
        }
        return UFX_OK;
    };
    REQUIRE(ufx_uct_iface_set_am_handler(iface, id, receive, this) == UFX_OK);
}

} // namespace ufx::test
