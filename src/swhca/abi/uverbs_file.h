// SPDX-License-Identifier: BSD-3-Clause
// uverbs_file: one opening of /dev/infiniband/uverbsN: takes commands, answers as the kernel does.
#ifndef UFX_SWHCA_ABI_UVERBS_FILE_H
#define UFX_SWHCA_ABI_UVERBS_FILE_H

#include "command.h"
#include "event_pipe.h"

#include "swhca/engine/engine.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <rdma/mlx5-abi.h>
#include <span>

namespace ufx::swhca {

inline constexpr uint32_t num_comp_vectors = 1; // of each device

struct uverbs_options {
    // Each QP rings a register of its own, which takes whole WQEs too (BlueFlame); else all ring
    // the first one of the first page, which takes doorbells only.
    bool own_registers = false;
    // Told of the read end of each completion channel, whose closing channel_closed() must hear of.
    void (*channel_made)(int number) = nullptr;
};

// Not thread-safe: its user serializes calls for one file. The clock is given with each call.
class uverbs_file {
public:
    uverbs_file(engine &runs, uint32_t hca, uverbs_options options) noexcept
        : engine_(runs), memory_(runs.shared(), runs.self()), hca_(hca), options_(options)
    {
    }

    ~uverbs_file();

    uverbs_file(const uverbs_file &) = delete;
    uverbs_file &operator=(const uverbs_file &) = delete;

    // 0, or an errno.
    [[nodiscard]] int command(std::span<const std::byte> bytes, uint64_t now_ns);

    // If `number` is the read end of a completion channel that the program has closed, forgets it.
    bool channel_closed(int number, uint64_t now_ns);

    // Whether a mapping at `offset` is one of a doorbell page, and of which.
    [[nodiscard]] static bool doorbell_page(uint64_t offset, uint32_t &page) noexcept;

    // Whether it is of the page that tells how timestamps become the time of day, and what is on
    // it.
    [[nodiscard]] static bool clock_page(uint64_t offset) noexcept;
    static void write_clock_page(void *page, uint64_t now_ns) noexcept;

private:
    [[nodiscard]] int plain(command_reader &in);
    [[nodiscard]] int extended(command_reader &in);

    [[nodiscard]] int get_context(command_reader &in);
    [[nodiscard]] int query_device(command_reader &in);
    [[nodiscard]] int query_device_extended(command_reader &in);
    [[nodiscard]] int query_port(command_reader &in);
    [[nodiscard]] int alloc_pd(command_reader &in);
    [[nodiscard]] int dealloc_pd(command_reader &in);
    [[nodiscard]] int reg_mr(command_reader &in);
    [[nodiscard]] int rereg_mr(command_reader &in);
    [[nodiscard]] int dereg_mr(command_reader &in);
    [[nodiscard]] int create_ah(command_reader &in);
    [[nodiscard]] int create_channel(command_reader &in);
    [[nodiscard]] int create_cq(command_reader &in);
    [[nodiscard]] int create_cq_extended(command_reader &in);
    [[nodiscard]] int make_cq(const ib_uverbs_ex_create_cq &core, const mlx5_ib_create_cq &driver,
                              uint32_t &handle);
    [[nodiscard]] int modify_cq(command_reader &in);
    [[nodiscard]] int destroy_cq(command_reader &in);
    [[nodiscard]] int create_srq(command_reader &in);
    [[nodiscard]] int modify_srq(command_reader &in);
    [[nodiscard]] int query_srq(command_reader &in);
    [[nodiscard]] int destroy_srq(command_reader &in);
    [[nodiscard]] int create_qp(command_reader &in);
    [[nodiscard]] int create_qp_extended(command_reader &in);
    [[nodiscard]] int make_qp(const ib_uverbs_create_qp &core, const mlx5_ib_create_qp &driver,
                              ib_uverbs_create_qp_resp &reply,
                              mlx5_ib_create_qp_resp &driver_reply);
    [[nodiscard]] int query_qp(command_reader &in);
    [[nodiscard]] int modify_qp(command_reader &in);
    [[nodiscard]] int destroy_qp(command_reader &in);

    [[nodiscard]] uint32_t take_bfreg() noexcept;
    // What is told of events when their object is destroyed; the program counts at `counter` those
    // that it has acknowledged.
    [[nodiscard]] uint32_t reported(const event_count &events, uint32_t unread,
                                    uint64_t counter) noexcept;

    // Runs a model function under the lock.
    template <class Function>
    int model(Function run)
    {
        return engine_.command(now_ns_, run);
    }

    engine &engine_;
    process_memory memory_;
    uint32_t hca_;
    uverbs_options options_;
    uint64_t now_ns_ = 0;
    uint32_t context_ = no_index;
    event_pipe async_;
    uint32_t bfregs_ = 0;
    uint32_t next_bfreg_ = 0;
    std::map<int, uint32_t> channels_;     // read end to handle
    std::map<uint32_t, event_pipe> pipes_; // handle to pipe
};

} // namespace ufx::swhca

#endif
