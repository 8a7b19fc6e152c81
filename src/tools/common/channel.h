// SPDX-License-Identifier: BSD-3-Clause
// channel: framed messages between two tools over a stream socket. Bytes of the peer are checked:
// magic, version, type, length, and the fields of the body.
//
// A frame is 16 bytes, little endian, and a body:
//   0 magic "UFXT"  4 version u16  6 type u16  8 length u32 (at most FRAME_MAX)  12 zero u32
#ifndef UFX_TOOLS_COMMON_CHANNEL_H
#define UFX_TOOLS_COMMON_CHANNEL_H

#include "tools/common/fd.h"
#include "tools/common/fields.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ufx::tools {

constexpr uint16_t CHANNEL_VERSION = 2;
constexpr size_t FRAME_HEADER = 16;
constexpr size_t FRAME_MAX = 1 << 20;

enum class frame_type : uint16_t {
    HELLO = 1, ///< who I am and what I want
    READY = 2, ///< addresses and keys
    START = 3,
    DONE = 4,   ///< I have sent everything
    RESULT = 5, ///< what I found
    FAULT = 6,  ///< change a rail on your side
    ERROR = 7   ///< a sentence: I give up
};

struct frame {
    frame_type type = frame_type::ERROR;
    fields body;
};

/** Bytes as hexadecimal text and back, for addresses and keys. */
std::string to_hex(const void *data, size_t length);
std::string from_hex(const std::string &text);

class channel {
public:
    /** @param socket a connected stream; it is made nonblocking */
    explicit channel(fd socket);

    int native() const noexcept { return socket_.get(); }

    /** Sends one frame; waits at most 10 s for room. */
    void send(frame_type type, const fields &body);

    /** The next frame if it is here; throws on EOF, on garbage and on an ERROR of the peer. */
    std::optional<frame> poll();

    /** The next frame, which must be of this type; throws after `timeout_ms`. */
    fields expect(frame_type type, int timeout_ms);

private:
    bool read_some();
    std::optional<frame> take();

    fd socket_;
    std::string input_;
};

} // namespace ufx::tools

#endif
