// SPDX-License-Identifier: BSD-3-Clause
// engine: runs the devices. Whoever calls it - a trapped doorbell, a hook, a thread, or a test that
// steps - holds the lock while a pass works, for any process's QPs that it can reach.
#ifndef UFX_SWHCA_ENGINE_ENGINE_H
#define UFX_SWHCA_ENGINE_ENGINE_H

#include "swhca/fabric/fabric.h"
#include "swhca/model/core.h"
#include "swhca/model/events.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace ufx::swhca {

enum class engine_caller : uint8_t {
    PROGRAM,
    HELPER, // the helper thread, which need not be woken for what it leaves to itself
};

class engine {
public:
    engine(image &shared, uint32_t self) noexcept : memory_(shared, self), shared_(shared) {}

    // Takes the lock and works off what there is; returns when the next timer or delivery is due,
    // or UINT64_MAX. Bounded: it may leave work in `pending`.
    uint64_t pass(uint64_t now_ns, engine_caller by = engine_caller::PROGRAM) noexcept;

    // The same, but if another engine is at work, leaves the work to it. Lock-free if there is
    // none.
    void try_pass(uint64_t now_ns) noexcept;

    // Finds what this process has posted, without the lock, by any number of threads; true if it
    // has armed a completion queue since the last call, which takes a pass even if nothing is
    // pending.
    [[nodiscard]] bool scan_doorbells() noexcept;

    [[nodiscard]] bool has_work() const noexcept { return !shared_.pending.empty(); }

    // Whether a pass would find something to do, as far as can be seen without the lock.
    [[nodiscard]] bool has_due(uint64_t now_ns) const noexcept
    {
        return has_work() || shared_.next_due_ns.load(std::memory_order_acquire) <= now_ns;
    }

    // Puts the QPs of this process into `pending` whose work others have left to it.
    void take_left() noexcept;

    // Runs one command of a model function under the lock, then a pass.
    template <class Command>
    auto command(uint64_t now_ns, Command run)
    {
        decltype(run(std::declval<core &>())) answer;
        {
            image_lock lock(shared_);
            lock.looks_again();
            core world{shared_, memory_, now_ns};
            mend_torn(world);
            write_late_events(world); // before a pipe of them is closed
            answer = run(world);
            finish(world);
        }
        look_again(now_ns);
        return answer;
    }

    [[nodiscard]] image &shared() noexcept { return shared_; }

    [[nodiscard]] uint32_t self() const noexcept { return memory_.self(); }

private:
    void mend_torn(core &world) noexcept;
    template <class Chosen>
    void mend_if(core &world, Chosen chosen) noexcept;
    uint64_t finish(core &world, engine_caller by = engine_caller::PROGRAM) noexcept;
    void look_again(uint64_t now_ns) noexcept;
    void wake_if_later(uint32_t process, uint64_t due_ns, engine_caller by) noexcept;
    void run_pending(core &world) noexcept;
    uint64_t run_all_timers(core &world, engine_caller by) noexcept;
    void check_arms(core &world) noexcept;
    [[nodiscard]] bool read_word(uint64_t doorbell, uint32_t word, uint32_t &out) noexcept;

    process_memory memory_;
    image &shared_;
    // What scan_doorbells() has read last, by any thread: relaxed, because a change only leads to
    // another look, under the lock.
    std::array<std::atomic<uint32_t>, max_qps> receives_seen_{};
    std::array<std::atomic<uint32_t>, max_cqs> arms_seen_{};
};

} // namespace ufx::swhca

#endif
