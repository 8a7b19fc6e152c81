// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: every decoder of the tcp transport's bytes. What decodes is encoded again, which
// must give what was read.
#include "uct/tcp/address.h"
#include "uct/tcp/wire.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

namespace {

using namespace ufx::uct::tcp;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

void check_hello(std::span<const std::byte> in)
{
    if (in.size() < wire::hello_size) {
        return;
    }
    auto bytes = in.first<wire::hello_size>();
    if (auto hello = wire::decode_hello(bytes)) {
        std::byte out[wire::hello_size];
        wire::encode(*hello, std::span(out));
        expect(std::memcmp(out, bytes.data(), sizeof(out)) == 0);
        expect(wire::refusal_text(hello->reason) != nullptr);
    }
}

void check_addresses(std::span<const std::byte> in)
{
    if (in.size() >= device_address_size) {
        if (auto ip = decode_device_address(in.first<device_address_size>())) {
            expect(!ip->text().empty());
            static_cast<void>(can_reach(*ip, *ip));
            std::byte out[device_address_size];
            encode_device_address(*ip, out);
            auto again =
                decode_device_address(std::span<const std::byte, device_address_size>(out));
            expect(again && again->same_ip(*ip) && again->prefix == ip->prefix);
        }
    }
    if (in.size() >= iface_address_size) {
        auto port = decode_iface_address(in.first<iface_address_size>());
        expect(!port || *port != 0);
    }
    if (auto id = wire::decode_conn_id(in)) {
        std::byte out[wire::token_size];
        wire::encode(*id, out);
        expect(std::memcmp(out, in.data(), sizeof(out)) == 0);
    }
    if (auto position = wire::decode_position(in)) {
        std::byte out[wire::token_size];
        wire::encode(*position, out);
        expect(std::memcmp(out, in.data(), sizeof(out)) == 0);
    }
}

void check_ext(const wire::header &head, std::span<const std::byte> ext)
{
    std::byte out[wire::max_ext_size] = {};
    if (head.type == wire::frame_type::put) {
        wire::encode(wire::decode_put(ext), out);
    } else if (head.type == wire::frame_type::get) {
        auto get = wire::decode_get(ext);
        if (!get) {
            return;
        }
        wire::encode(*get, out);
    } else if (head.type == wire::frame_type::atomic) {
        auto what = wire::decode_atomic(ext);
        if (!what) {
            return;
        }
        expect(what->size == 4 || what->size == 8);
        wire::encode(*what, out);
        std::memcpy(out + 26, ext.data() + 26, 6); // reserved
    } else {
        return;
    }
    expect(std::memcmp(out, ext.data(), ext.size()) == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::span<const std::byte> in(reinterpret_cast<const std::byte *>(data), size);
    check_hello(in);
    check_addresses(in);
    if (size < wire::header_size) {
        return 0;
    }
    auto head = wire::decode_header(in.first<wire::header_size>());
    if (!head) {
        return 0;
    }
    expect(head->length <= wire::max_payload);
    std::byte out[wire::header_size];
    wire::encode(*head, out);
    expect(std::memcmp(out, data, sizeof(out)) == 0);
    size_t ext = wire::ext_size(static_cast<uint8_t>(head->type)).value_or(SIZE_MAX);
    expect(ext <= wire::max_ext_size);
    if (size >= wire::header_size + ext) {
        check_ext(*head, in.subspan(wire::header_size, ext));
    }
    return 0;
}
