// SPDX-License-Identifier: BSD-3-Clause
// Control messages to bytes and back.
#include <catch2/catch.hpp>

#include "core/samples.h"

#include "ucp/core/control_codec.h"

#include <array>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

using namespace ufx::ucp::core;

namespace {

std::vector<std::byte> bytes_of(const control_msg &msg)
{
    std::array<std::byte, max_control_bytes> buffer;
    const auto size = encode({1, 2}, msg, buffer);
    REQUIRE(size.ok());
    return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*size)};
}

} // namespace

TEST_CASE("control: the fuzz seed of every message type decodes to that type", "[core]")
{
    for (const control_msg &msg : ufx::test::one_of_each()) {
        CAPTURE(name_of(msg));
        std::ifstream file(std::string(UFX_TOP_SRCDIR) + "/test/fuzz/seeds/control/" + name_of(msg),
                           std::ios::binary);
        REQUIRE(file.good());
        const std::string seed{std::istreambuf_iterator<char>(file), {}};
        const auto back = decode(std::as_bytes(std::span(seed)));
        REQUIRE(back.ok());
        CHECK(back->msg.index() == msg.index());
    }
}

TEST_CASE("control: every message type comes back as it was", "[core]")
{
    const auto samples = ufx::test::one_of_each();
    REQUIRE(samples.size() == std::variant_size_v<control_variant>);
    for (const control_msg &msg : samples) {
        CAPTURE(name_of(msg));
        const auto frame = decode(bytes_of(msg));
        REQUIRE(frame.ok());
        CHECK(frame->msg == msg);
        CHECK(frame->envelope == control_envelope{1, 2});
    }
}

TEST_CASE("control: every refusal code crosses the wire with a name and a text", "[T08][core]")
{
    for (unsigned code = 1; code < static_cast<unsigned>(refusal::COUNT); ++code) {
        lane_refused_msg msg;
        msg.code = static_cast<refusal>(code);
        msg.retry_after_ms = code;
        const auto frame = decode(bytes_of(msg));
        REQUIRE(frame.ok());
        CHECK(std::get<lane_refused_msg>(frame->msg) == msg);
        CHECK(std::string(name_of(msg.code)) != "UNKNOWN");
        CHECK_FALSE(std::string(text_of(msg.code)).empty());
    }
    CHECK(std::string(name_of(static_cast<refusal>(200))) == "UNKNOWN");
}

TEST_CASE("control: a message cut short or followed by a byte is refused", "[core]")
{
    for (const control_msg &msg : ufx::test::one_of_each()) {
        CAPTURE(name_of(msg));
        std::vector<std::byte> bytes = bytes_of(msg);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            CHECK(decode(std::span(bytes).first(size)).status() == UFX_ERR_BAD_MESSAGE);
        }
        bytes.push_back(std::byte{0});
        CHECK(decode(bytes).status() == UFX_ERR_BAD_MESSAGE);
    }
}

TEST_CASE("control: another version, an unknown type and values out of range are refused", "[core]")
{
    std::vector<std::byte> bytes = bytes_of(lane_ready_msg{});
    bytes[0] = std::byte{2};
    CHECK(decode(bytes).status() == UFX_ERR_VERSION);
    bytes[0] = std::byte{1};
    bytes[1] = std::byte{0};
    CHECK(decode(bytes).status() == UFX_ERR_BAD_MESSAGE);
    bytes[1] = std::byte{23};
    CHECK(decode(bytes).status() == UFX_ERR_BAD_MESSAGE);
    std::vector<std::byte> want = bytes_of(lane_want_msg{});
    want.back() = std::byte{3}; // error mode
    CHECK(decode(want).status() == UFX_ERR_BAD_MESSAGE);
}

TEST_CASE("control: an epoch so high that the next one could wrap is refused", "[core]")
{
    for (const auto &[epoch, status] :
         {std::pair(max_wire_epoch, UFX_OK), std::pair(max_wire_epoch + 1, UFX_ERR_BAD_MESSAGE),
          std::pair(epoch_t{UINT32_MAX}, UFX_ERR_BAD_MESSAGE)}) {
        CAPTURE(epoch);
        const lane_name lane{1, 2, 3, epoch};
        seal_msg seal;
        seal.lane = lane;
        CHECK(decode(bytes_of(seal)).status() == status);
        CHECK(decode(bytes_of(lane_want_msg{lane})).status() == status);
        CHECK(decode(bytes_of(lane_ready_msg{lane})).status() == status);
        CHECK(decode(bytes_of(lane_refused_msg{{}, refusal::DAMPED, false, epoch})).status() ==
              status);
    }
}

TEST_CASE("control: a buffer that is too small is said to be", "[core]")
{
    std::array<std::byte, 20> buffer;
    CHECK(encode({}, lane_ready_msg{}, buffer).status() == UFX_ERR_BUFFER_TOO_SMALL);
}
