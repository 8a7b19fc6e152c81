// SPDX-License-Identifier: BSD-3-Clause
// reception: waits for the client of a server. Whoever else connects, by a scan, a browser or a
// mistake, is told of once and sent away, and keeps no client waiting.
#ifndef UFX_TOOLS_COMMON_RECEPTION_H
#define UFX_TOOLS_COMMON_RECEPTION_H

#include "tools/common/channel.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

namespace ufx::tools {

/** A client that said hello. */
struct client {
    channel peer;
    fields hello;
};

class reception {
public:
    /** How long a connection may be silent, and how many may be at once: the oldest leaves. */
    static constexpr uint64_t SILENCE_NS = 5'000'000'000;
    static constexpr size_t GUESTS = 16;

    using teller = std::function<void(const std::string &)>;

    /**
     * @param tool       what a client's hello must name
     * @param elsewhere  what one that wants another tool is told to do
     * @param tell       is given one sentence for each connection that was sent away
     */
    reception(fd listener, std::string tool, std::string elsewhere, teller tell);

    /** Looks once, for at most `timeout_ms`. @param now monotonic time */
    std::optional<client> look(int timeout_ms, uint64_t now);

    /** Looks until a client is there or a signal came. */
    client wait();

private:
    struct guest {
        channel peer;
        std::string name;
        uint64_t since_ns = 0;
    };

    void admit(uint64_t now);
    std::optional<fields> hear(guest &one, uint64_t now);
    void send_away(guest &one, const std::string &why);

    fd listener_;
    std::string tool_, elsewhere_;
    teller tell_;
    std::deque<guest> guests_; ///< by age
};

} // namespace ufx::tools

#endif
