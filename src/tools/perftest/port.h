// SPDX-License-Identifier: BSD-3-Clause
// port: one end of a measurement, over uct or ucp. What a measurement does with it is the same.
#ifndef UFX_TOOLS_PERFTEST_PORT_H
#define UFX_TOOLS_PERFTEST_PORT_H

#include "tools/perftest/options.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ufx/status.h>

namespace ufx::tools::perftest {

/** Byte i of every payload; in ping-pong tests the last byte is mark() instead. */
inline unsigned char pattern_byte(size_t i)
{
    return static_cast<unsigned char>(i * 131 + 7);
}

/** Last byte of the `serial`-th put of a ping-pong, by which the target sees it; never 0. */
inline unsigned char mark(uint64_t serial)
{
    return static_cast<unsigned char>(1 + serial % 255);
}

void fill_pattern(unsigned char *to, size_t length);

/** True if the bytes are the pattern, except the last one if `marked`. */
bool is_pattern(const unsigned char *bytes, size_t length, bool marked);

class port {
public:
    virtual ~port() = default;

    /** What the peer must know, "transport" and "device" among it; before connect(). */
    virtual void describe(fields &to) = 0;

    /** Connects to the peer that sent this description. */
    virtual void connect(const fields &peer) = 0;

    virtual void progress() = 0;

    /**
     * Posts the measured operation; serial counts from 1.
     * @return OK: done; INPROGRESS: in outstanding() until it completes; NO_RESOURCE: try again
     */
    virtual ufx_status_t post(uint64_t serial) = 0;

    /** Starts to wait until all that was posted is at the peer; outstanding() counts it. */
    virtual ufx_status_t flush() = 0;

    /** Throws if something went wrong behind the scenes. */
    virtual void check_health() const = 0;

    /** One more end of the same connection, for another thread; NULL where there is no such. */
    virtual std::unique_ptr<port> another() { return nullptr; }

    /** What is sent from here, and what the peer writes. */
    virtual const unsigned char *source() const = 0;
    virtual const unsigned char *landing() const = 0;

    uint64_t outstanding() const noexcept { return outstanding_.load(std::memory_order_relaxed); }

    /** True once the peer's `serial`-th message or put is here. */
    bool seen(uint64_t serial) const
    {
        return target_ == nullptr ? arrived_ >= serial
                                  : __atomic_load_n(target_, __ATOMIC_ACQUIRE) == mark(serial);
    }

    uint64_t arrived() const noexcept { return arrived_; }

    /** How many payloads were wrong. */
    uint64_t wrong() const noexcept { return wrong_; }

protected:
    // With several threads any of them may progress, and so complete, the operations of this one;
    // nothing else is ordered by it.
    std::atomic<uint64_t> outstanding_{0};
    uint64_t arrived_ = 0;
    uint64_t wrong_ = 0;
    const unsigned char *target_ = nullptr; ///< last byte of what puts of a ping-pong write
};

/**
 * @param wanted  which transport and device; where it names none, one is chosen
 * @param client  at a server: what the client's port said of itself. Throws if no device can reach
 * it
 */
std::unique_ptr<port> make_uct_port(const options &wanted, const fields *client);
std::unique_ptr<port> make_ucp_port(const options &wanted, const fields *client);

} // namespace ufx::tools::perftest

#endif
