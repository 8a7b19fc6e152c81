// SPDX-License-Identifier: BSD-3-Clause
// Two UCX workers of one process: moves checked blocks by UCX's own ucp_put.
#ifndef UFX_TEST_UCX_UCX_SIDE_H
#define UFX_TEST_UCX_UCX_SIDE_H

#include <cstdint>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

// Not thread-safe. Every failure is kept in error() and ends all further work.
class ucx_side {
public:
    ucx_side();
    ~ucx_side();
    ucx_side(const ucx_side &) = delete;
    ucx_side &operator=(const ucx_side &) = delete;

    // One put and its flush, then the block is compared.
    void step();

    std::uint64_t checked_blocks() const { return checked_; }
    const std::string &error() const { return error_; }

private:
    void fail(const char *what, ucs_status_t status);
    void connect();
    bool wait(ucs_status_ptr_t request, const char *what);

    ucp_context_h context_ = nullptr;
    ucp_worker_h sender_ = nullptr;
    ucp_worker_h receiver_ = nullptr;
    ucp_ep_h ep_ = nullptr;
    ucp_mem_h mem_ = nullptr;
    ucp_rkey_h rkey_ = nullptr;
    std::vector<unsigned char> source_;
    std::vector<unsigned char> target_;
    std::uint64_t checked_ = 0;
    std::string error_;
};

#endif
