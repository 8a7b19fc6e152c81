// SPDX-License-Identifier: BSD-3-Clause
// lockstep: the time of this process and of its fabric, which moves only when the one thread of a
// soak says so; and a digest of what happened and when, by which two runs are compared.
#ifndef UFX_TOOLS_SOAK_LOCKSTEP_H
#define UFX_TOOLS_SOAK_LOCKSTEP_H

#include <cstdint>
#include <string_view>

namespace ufx::tools::soak {

class lockstep {
public:
    /**
     * From now on the clock of UFX is this. Before the first context is made.
     * @param seed  of all that is random in UFX and in the fabric
     * Throws: the program was not started by `ufx_swhca run --engine step`.
     */
    explicit lockstep(uint64_t seed);
    ~lockstep();
    lockstep(const lockstep &) = delete;
    lockstep &operator=(const lockstep &) = delete;

    /** A turn is over: time goes on, further if nothing was done in it. */
    void step(bool was_busy);

    /** Something happened just now. */
    void note(std::string_view what, uint64_t number);

    uint64_t digest() const { return digest_; }

private:
    using step_fn = uint64_t (*)(uint64_t by_ns);
    using sent_fn = uint64_t (*)();

    static uint64_t read(void *arg) noexcept;
    static void on_trace(void *arg, const char *name);
    void mix(const void *bytes, size_t size);

    step_fn step_fabric_;
    sent_fn sent_; ///< by TCP since it was asked last
    uint64_t now_ns_;
    uint64_t stride_ns_;
    uint64_t fabric_due_ns_ = UINT64_MAX; ///< in so many nanoseconds
    uint64_t digest_;
};

} // namespace ufx::tools::soak

#endif
