// SPDX-License-Identifier: BSD-3-Clause
// progress_thread: does the inner half of a worker's progress while its user does not call
// (UFX_PROGRESS_THREAD), so that a peer's seal is answered in time.
#ifndef UFX_UCP_PROGRESS_THREAD_H
#define UFX_UCP_PROGRESS_THREAD_H

#include <atomic>
#include <thread>

namespace ufx::ucp {

class worker;

// Runs from construction to destruction; the worker is in MULTI mode and outlives it.
class progress_thread {
public:
    explicit progress_thread(worker &w);
    ~progress_thread();
    progress_thread(const progress_thread &) = delete;
    progress_thread &operator=(const progress_thread &) = delete;

private:
    void run();
    bool step();

    worker &worker_;
    std::atomic<bool> stop_{false}; // set by the destructor, read by thread_; relaxed
    std::thread thread_;
};

} // namespace ufx::ucp

#endif
