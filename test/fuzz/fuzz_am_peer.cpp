// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a peer that has shaken hands and then sends any sequence of data frames.
//
// Input: frames, each behind its u16 length. Where a frame goes (ep, lane) is
// written into it, so that the rest of it is what is tried.
#include "ucp/am_wire.h"
#include "ucp/ep.h"
#include "ucp/ep_rx.h"
#include "ucp/peer.h"
#include "ucp/worker.h"
#include "uct/fake/fake.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace ufx;

constexpr unsigned wire_rounds = 20000;
constexpr unsigned rounds_per_frame = 2;
constexpr std::size_t length_size = 2;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
{
    if ((am->flags & UFX_UCP_AM_RNDV) == 0 && am->length != 0) {
        *static_cast<volatile std::byte *>(arg) =
            static_cast<const std::byte *>(am->data)[am->length - 1];
    }
    return UFX_OK;
}

void on_notify(void *, ufx_ucp_ep_h, std::uint64_t, const void *, std::size_t) noexcept {}

void on_accept(void *arg, ufx_ucp_ep_h ep) noexcept { *static_cast<ufx_ucp_ep_h *>(arg) = ep; }

// Two workers over one scripted rail; the victim's ep is the accepted one.
struct scene {
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h attacker = nullptr;
    ufx_ucp_worker_h victim = nullptr;
    ufx_ucp_ep_h own = nullptr;
    ufx_ucp_ep_h accepted = nullptr;
    std::byte sink{};

    scene()
    {
        uct::fake::install();
        uct::fake::reset();
        uct::fake::add_device("fake0");
        ufx_ucp_context_params_t cp{};
        cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
        cp.devices = "fake0";
        expect(ufx_ucp_context_create(&cp, &context) == UFX_OK);
        ufx_ucp_worker_params_t wp{};
        expect(ufx_ucp_worker_create(context, &wp, &attacker) == UFX_OK);
        wp.field_mask = UFX_UCP_WORKER_PARAM_EP_ACCEPT;
        wp.ep_accept_cb = on_accept;
        wp.ep_accept_arg = &accepted;
        expect(ufx_ucp_worker_create(context, &wp, &victim) == UFX_OK);
        expect(ufx_ucp_worker_set_am_handler(victim, 7, on_am, &sink) == UFX_OK);
        expect(ufx_ucp_worker_set_notify_handler(victim, on_notify, nullptr) == UFX_OK);
        void *address = nullptr;
        std::size_t length = 0;
        expect(ufx_ucp_worker_get_address(victim, &address, &length) == UFX_OK);
        ufx_ucp_ep_params_t ep{};
        ep.field_mask = UFX_UCP_EP_PARAM_ADDRESS;
        ep.address = address;
        ep.address_length = length;
        expect(ufx_ucp_ep_create(attacker, &ep, &own) == UFX_OK);
        ufx_ucp_worker_release_address(victim, address);
        for (unsigned i = 0; i < wire_rounds && !is_wired(); ++i) {
            progress();
        }
        expect(is_wired());
    }
    ~scene()
    {
        ufx_ucp_worker_destroy(attacker);
        ufx_ucp_worker_destroy(victim);
        ufx_ucp_context_destroy(context);
        uct::fake::reset();
    }
    void progress()
    {
        (void)ufx_ucp_worker_progress(attacker);
        (void)ufx_ucp_worker_progress(victim);
    }
    bool is_wired() const
    {
        return accepted != nullptr && !ucp::ep::of(accepted).lanes().empty() &&
               ucp::ep::of(accepted).lanes().front()->is_open();
    }
    void frame(std::vector<std::byte> bytes)
    {
        ucp::ep &target = ucp::ep::of(accepted);
        if (target.lanes().empty() || bytes.size() < ucp::am_header_size) {
            return;
        }
        const ucp::lane &over = *target.lanes().front();
        ucs::store_le16(bytes.data() + 2, over.ref().rail);
        ucs::store_le32(bytes.data() + 4, over.ref().epoch);
        ucs::store_le64(bytes.data() + 8, target.id());
        (void)ucp::ep_rx::on_am(over.port(), bytes.data(), bytes.size(), 0);
        for (unsigned i = 0; i < rounds_per_frame; ++i) {
            progress();
        }
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    scene s;
    while (size > length_size) {
        const std::size_t length =
            std::min<std::size_t>(data[0] | data[1] << 8, size - length_size);
        const auto *from = reinterpret_cast<const std::byte *>(data + length_size);
        s.frame({from, from + length});
        data += length_size + length;
        size -= length_size + length;
    }
    return 0;
}
