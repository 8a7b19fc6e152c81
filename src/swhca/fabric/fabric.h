// SPDX-License-Identifier: BSD-3-Clause
// fabric: this process's mapping of a shared image, and the lock around it.
#ifndef UFX_SWHCA_FABRIC_FABRIC_H
#define UFX_SWHCA_FABRIC_FABRIC_H

#include "image.h"

#include "ucs/fd.h"
#include "ucs/mapping.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <cstdint>
#include <mutex>
#include <string>

namespace ufx::swhca {

struct fabric_options {
    uint32_t hcas = 1;
    uint64_t rate_bps = 0;
    uint64_t latency_ns = 0;
    uint32_t mtu_bytes = 4096;
    bool infiniband = false;
    uint64_t seed = 1;
    bool stepped = false; // its time moves only when its program says so
};

// Takes the memory of a file system that part of an image will need, so that a store to it cannot
// fail; false if that is full.
[[nodiscard]] bool reserve_memory(const void *start, size_t size) noexcept;

class fabric {
public:
    // A new image in the file at `path`; ALREADY_EXISTS if there is one.
    [[nodiscard]] static ucs::result<ucs::owner<fabric>> create(const std::string &path,
                                                                const fabric_options &options);

    // A new image that only this process and its children see.
    [[nodiscard]] static ucs::result<ucs::owner<fabric>>
    create_private(const fabric_options &options);

    // One that another process made; VERSION if it is of another version, BUSY if it is being made.
    [[nodiscard]] static ucs::result<ucs::owner<fabric>> attach(const std::string &path);

    // What a new image takes of its file system; QPs and packets take more when they are first
    // used.
    [[nodiscard]] static uint64_t least_bytes() noexcept;

    [[nodiscard]] image &shared() noexcept { return *static_cast<image *>(mapping_.data()); }

private:
    friend struct ucs::owner_access;

    fabric(ucs::fd file, ucs::mapping mapping) noexcept
        : file_(std::move(file)), mapping_(std::move(mapping))
    {
    }

    [[nodiscard]] static ucs::result<ucs::owner<fabric>> make(ucs::fd file,
                                                              const fabric_options &options);

    ucs::fd file_;
    ucs::mapping mapping_;
};

// Holds the image's lock while it lives. Who posts while another holds the lock leaves the work to
// that one; so at the end helpers are woken for what is pending, unless the holder looks after it.
// An image whose last
// holder was killed is repaired first. A holder that is stopped is let go on to the end of what it
// does, and stopped again.
class image_lock {
public:
    explicit image_lock(image &shared) noexcept;
    // Does not wait; held() tells.
    image_lock(image &shared, std::try_to_lock_t) noexcept;
    ~image_lock();

    image_lock(const image_lock &) = delete;
    image_lock &operator=(const image_lock &) = delete;

    [[nodiscard]] bool held() const noexcept { return held_; }

    // The holder looks at `pending` when it has given up the lock.
    void looks_again() noexcept { looks_again_ = true; }

private:
    [[nodiscard]] int wait_for_lock() noexcept;
    void judge(int status) noexcept;

    image &shared_;
    bool held_ = false;
    bool looks_again_ = false;
};

// After fork(), in a process that uses the image of its parent.
void note_pid_namespace() noexcept;

// A mutex for several processes that survives the death of its holder.
void init_robust_mutex(pthread_mutex_t &mutex) noexcept;

} // namespace ufx::swhca

#endif
