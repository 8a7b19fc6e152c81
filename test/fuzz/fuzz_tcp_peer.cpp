// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a live ep of the tcp transport whose peer sends the input after the handshake.
//
// The first byte is the size of the pieces in which the rest arrives. In the rest, 8 bytes
// fe fe fe fe fe fe fe fe stand for the secret of a key, and 8 bytes nn nn 00 00 0d f0 fe ca (that
// is, 0xcafef00d0000nnnn) for the address of byte nnnn of the registered memory; slot 0 and
// generation 1 name its region. The ep has one op of every kind outstanding.
#include "ucs/bytes.h"

#include "uct/tcp/iface.h"
#include <ufx/uct.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

namespace {

using namespace ufx;
using namespace ufx::uct::tcp;

constexpr uint64_t secret_mark = 0xfefefefefefefefe;
constexpr uint64_t address_mark = 0xcafef00d;
constexpr size_t guard = 64;
constexpr size_t region_size = 4096;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

ufx_status_t on_am(void *, void *data, size_t length, unsigned flags) noexcept
{
    volatile uint8_t sum = 0; // reads all of it
    for (size_t i = 0; i < length; i++) {
        sum = static_cast<uint8_t>(sum + static_cast<uint8_t *>(data)[i]);
    }
    static_cast<void>(flags);
    return UFX_OK;
}

ufx_status_t on_error(void *, ufx_uct_ep_h, const ufx_uct_error_t *) noexcept
{
    return UFX_INPROGRESS;
}

// One iface for all inputs; each input gets its own ep.
struct world {
    world()
    {
        expect(ufx_uct_md_open(&uct::tcp_component, "tcp", nullptr, &md) == UFX_OK);
        ufx_uct_iface_params_t params{};
        params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                            UFX_UCT_IFACE_PARAM_ERR_HANDLER | UFX_UCT_IFACE_PARAM_CONFIG;
        params.tl_name = "tcp";
        params.dev_name = "lo:127.0.0.1";
        params.err_handler = on_error;
        // Small queues: each input makes an ep.
        const ufx_uct_config_entry_t small[] = {
            {"TCP_TX_QUEUE", "8"}, {"TCP_SEG_SIZE", "1kb"}, {"TCP_TX_BUFFER", "4kb"}};
        params.config = small;
        params.config_count = std::size(small);
        expect(ufx_uct_iface_open(md, &params, &handle) == UFX_OK);
        for (uint8_t id = 0; id < UFX_UCT_AM_ID_MAX; id++) {
            expect(ufx_uct_iface_set_am_handler(handle, id, on_am, nullptr) == UFX_OK);
        }
        ufx_uct_mem_params_t memory{};
        memory.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        memory.address = bytes.data() + guard;
        memory.length = region_size;
        ufx_uct_mem_h memh = nullptr;
        expect(ufx_uct_md_mem_reg(md, &memory, &memh) == UFX_OK);
        std::array<std::byte, wire::key_size> packed;
        expect(ufx_uct_md_mkey_pack(md, memh, packed.data()) == UFX_OK);
        secret = ucs::load_le64(packed.data() + 8);
        expect(ufx_uct_md_rkey_unpack(md, packed.data(), packed.size(), &rkey) == UFX_OK);
    }

    ~world()
    {
        ufx_uct_md_rkey_release(md, &rkey);
        ufx_uct_iface_close(handle);
        ufx_uct_md_close(md);
    }

    ufx_uct_md_h md = nullptr;
    ufx_uct_iface_h handle = nullptr;
    ufx_uct_rkey_bundle_t rkey{};
    uint64_t secret = 0;
    alignas(64) std::array<std::byte, region_size + 2 * guard> bytes{};
};

std::vector<uint8_t> with_keys(const world &in, const uint8_t *data, size_t size)
{
    std::vector<uint8_t> out(data, data + size);
    for (size_t i = 0; i + 8 <= size; i++) {
        uint64_t word = ucs::load_le64(&out[i]);
        if (word == secret_mark) {
            ucs::store_le64(&out[i], in.secret);
            i += 7;
        } else if (word >> 32 == address_mark) {
            ucs::store_le64(&out[i],
                            reinterpret_cast<uint64_t>(in.bytes.data() + guard) + (word & 0xffff));
            i += 7;
        }
    }
    return out;
}

void post_ops(ufx_uct_ep_h ep, const world &in, std::array<uint64_t, 8> &near)
{
    uint64_t at = reinterpret_cast<uint64_t>(in.bytes.data() + guard);
    static_cast<void>(ufx_uct_ep_am_short(ep, 1, 1, "x", 1));
    static_cast<void>(ufx_uct_ep_put_short(ep, "abc", 3, at, in.rkey.rkey));
    static_cast<void>(ufx_uct_ep_get_short(ep, &near[0], 8, at, in.rkey.rkey, nullptr));
    static_cast<void>(
        ufx_uct_ep_atomic64_fetch(ep, UFX_UCT_ATOMIC_ADD, 1, &near[1], at, in.rkey.rkey, nullptr));
    ufx_uct_iov_t iov[2] = {{&near[2], 8, nullptr}, {&near[3], 16, nullptr}};
    static_cast<void>(ufx_uct_ep_get_zcopy(ep, iov, 2, at, in.rkey.rkey, nullptr));
    static_cast<void>(ufx_uct_ep_check(ep, nullptr));
}

void feed(const world &in, int to, const std::vector<uint8_t> &bytes, size_t piece)
{
    for (size_t done = 0; done < bytes.size();) {
        size_t count = std::min(piece, bytes.size() - done);
        ssize_t sent = ::send(to, bytes.data() + done, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        done += sent > 0 ? static_cast<size_t>(sent) : 0;
        for (int i = 0; i < 2; i++) {
            ufx_uct_iface_progress(in.handle);
        }
        std::array<char, 4096> answers;
        while (::recv(to, answers.data(), answers.size(), MSG_DONTWAIT) > 0) {
        }
        if (sent < 0 && errno != EAGAIN) {
            return; // the ep closed it
        }
    }
    for (int i = 0; i < 16; i++) {
        ufx_uct_iface_progress(in.handle);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static world in;
    if (size < 1) {
        return 0;
    }
    ufx_uct_ep_h handle = nullptr;
    expect(ufx_uct_ep_create(in.handle, nullptr, &handle) == UFX_OK);
    std::array<std::byte, device_address_size> device;
    std::array<std::byte, iface_address_size> port;
    std::array<std::byte, wire::token_size> peer;
    expect(ufx_uct_iface_get_device_address(in.handle, device.data()) == UFX_OK);
    expect(ufx_uct_iface_get_address(in.handle, port.data()) == UFX_OK);
    wire::encode(wire::conn_id{1, 0}, peer.data());
    expect(ufx_uct_ep_connect_to_ep(handle, device.data(), port.data(), peer.data()) == UFX_OK);
    int ends[2];
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    static_cast<ep *>(handle)->adopt(ucs::fd(ends[0]));

    std::array<uint64_t, 8> near{};
    post_ops(handle, in, near);
    for (int i = 0; i < 8; i++) {
        ufx_uct_iface_progress(in.handle);
    }
    feed(in, ends[1], with_keys(in, data + 1, size - 1), data[0] == 0 ? size : data[0]);
    expect(near[7] == 0);
    for (size_t i = 0; i < guard; i++) {
        expect(in.bytes[i] == std::byte{0} && in.bytes[guard + region_size + i] == std::byte{0});
    }
    ::close(ends[1]);
    ufx_uct_ep_destroy(handle);
    return 0;
}
