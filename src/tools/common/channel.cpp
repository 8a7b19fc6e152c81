// SPDX-License-Identifier: BSD-3-Clause
// Frames between two tools.
#include "tools/common/channel.h"

#include "tools/common/error.h"
#include "tools/common/units.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

namespace ufx::tools {

namespace {

constexpr char MAGIC[4] = {'U', 'F', 'X', 'T'};
constexpr int SEND_TIMEOUT_MS = 10000;

uint32_t load(const std::string &bytes, size_t at, size_t width)
{
    uint32_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    }
    return value;
}

void store(std::string &bytes, uint32_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        bytes.push_back(static_cast<char>(value >> (8 * i)));
    }
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

std::string to_hex(const void *data, size_t length)
{
    const char *digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * length);
    for (size_t i = 0; i < length; i++) {
        const auto byte = static_cast<const unsigned char *>(data)[i];
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

std::string from_hex(const std::string &text)
{
    std::string bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2) {
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) {
            throw tool_error("the peer sent an address that is not hexadecimal");
        }
        bytes.push_back(static_cast<char>(high << 4 | low));
    }
    return bytes;
}

channel::channel(fd socket) : socket_(std::move(socket))
{
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void channel::send(frame_type type, const fields &body)
{
    const std::string text = body.dump();
    std::string bytes(MAGIC, sizeof(MAGIC));
    store(bytes, CHANNEL_VERSION, 2);
    store(bytes, static_cast<uint32_t>(type), 2);
    store(bytes, static_cast<uint32_t>(text.size()), 4);
    store(bytes, 0, 4);
    bytes += text;
    size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t n =
            ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += static_cast<size_t>(n);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR) {
            throw system_error("the connection to the peer broke", errno);
        }
        pollfd wait = {socket_.get(), POLLOUT, 0};
        if (::poll(&wait, 1, SEND_TIMEOUT_MS) == 0) {
            throw tool_error("the peer does not read its connection");
        }
    }
}

bool channel::read_some()
{
    char buffer[16384];
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (n > 0) {
        input_.append(buffer, static_cast<size_t>(n));
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (n < 0 && errno != ECONNRESET) {
        throw system_error("the connection to the peer broke", errno);
    }
    throw tool_error(input_.empty() ? "the peer closed its connection: it ended or was killed"
                                    : "the peer closed its connection in the middle of a message");
}

std::optional<frame> channel::take()
{
    const size_t magic = std::min(input_.size(), sizeof(MAGIC));
    if (std::memcmp(input_.data(), MAGIC, magic) != 0) {
        throw tool_error("the peer does not speak the protocol of ufx_perftest");
    }
    if (input_.size() < FRAME_HEADER) {
        return std::nullopt;
    }
    const uint32_t version = load(input_, 4, 2);
    if (version != CHANNEL_VERSION) {
        throw tool_error("the peer is of another version: it speaks protocol " +
                         std::to_string(version) + ", this program speaks " +
                         std::to_string(CHANNEL_VERSION));
    }
    const uint32_t length = load(input_, 8, 4);
    if (length > FRAME_MAX || load(input_, 12, 4) != 0) {
        throw tool_error("the peer sent a malformed message header");
    }
    if (input_.size() < FRAME_HEADER + length) {
        return std::nullopt;
    }
    frame result;
    result.type = static_cast<frame_type>(load(input_, 6, 2));
    std::optional<fields> body = fields::parse(input_.substr(FRAME_HEADER, length));
    input_.erase(0, FRAME_HEADER + length);
    if (!body) {
        throw tool_error("the peer sent a message that does not parse");
    }
    result.body = std::move(*body);
    if (result.type == frame_type::ERROR) {
        throw tool_error("the peer says: " + result.body.text("text"));
    }
    return result;
}

std::optional<frame> channel::poll()
{
    std::optional<frame> result = take();
    while (!result && read_some()) {
        result = take();
    }
    return result;
}

fields channel::expect(frame_type type, int timeout_ms)
{
    const uint64_t deadline = now_ns() + static_cast<uint64_t>(timeout_ms) * 1000000u;
    for (;;) {
        std::optional<frame> next = poll();
        if (next) {
            if (next->type != type) {
                throw tool_error("the peer sent message " +
                                 std::to_string(static_cast<unsigned>(next->type)) + " where " +
                                 std::to_string(static_cast<unsigned>(type)) + " is due");
            }
            return std::move(next->body);
        }
        const uint64_t now = now_ns();
        if (now >= deadline) {
            throw tool_error("the peer does not answer within " +
                             std::to_string(timeout_ms / 1000) + " s");
        }
        pollfd wait = {socket_.get(), POLLIN, 0};
        ::poll(&wait, 1,
               static_cast<int>(std::min<uint64_t>((deadline - now) / 1000000u + 1, 200)));
    }
}

} // namespace ufx::tools
