// SPDX-License-Identifier: BSD-3-Clause
// Tables, no more. Ranges are those of the tables in the image, or of the field on the wire.
#include "vocabulary.h"

#include "swhca/fabric/image.h"

#include <algorithm>
#include <cstring>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr action_word actions[] = {
    {"drop", fault_action::DROP, param_kind::NONE, {}},
    {"delay", fault_action::DELAY, param_kind::DURATION, {}},
    {"reorder", fault_action::REORDER, param_kind::OPTIONAL_DURATION, {}},
    {"duplicate", fault_action::DUPLICATE, param_kind::NONE, {}},
    {"corrupt", fault_action::CORRUPT, param_kind::NONE, {}},
    {"hold", fault_action::HOLD, param_kind::NONE, {}},
    {"stray-write", fault_action::STRAY_WRITE, param_kind::NONE, {}},
    {"hold-cqe", fault_action::HOLD_CQE, param_kind::DURATION, {}},
    {"duplicate-cqe", fault_action::DUPLICATE_CQE, param_kind::NONE, {}},
    {"error-cqe", fault_action::ERROR_CQE, param_kind::SYNDROME, {1, UINT8_MAX}},
    {"swallow", fault_action::SWALLOW, param_kind::NONE, {}},
    {"fail-open-device", fault_action::FAIL_OPEN_DEVICE, param_kind::ERRNO, errno_range},
    {"fail-alloc-pd", fault_action::FAIL_ALLOC_PD, param_kind::ERRNO, errno_range},
    {"fail-reg-mr", fault_action::FAIL_REG_MR, param_kind::ERRNO, errno_range},
    {"fail-create-channel", fault_action::FAIL_CREATE_CHANNEL, param_kind::ERRNO, errno_range},
    {"fail-create-cq", fault_action::FAIL_CREATE_CQ, param_kind::ERRNO, errno_range},
    {"fail-create-srq", fault_action::FAIL_CREATE_SRQ, param_kind::ERRNO, errno_range},
    {"fail-create-qp", fault_action::FAIL_CREATE_QP, param_kind::ERRNO, errno_range},
    {"fail-create-ah", fault_action::FAIL_CREATE_AH, param_kind::ERRNO, errno_range},
    {"fail-modify-qp", fault_action::FAIL_MODIFY_QP, param_kind::ERRNO, errno_range},
    {"fail-query-qp", fault_action::FAIL_QUERY_QP, param_kind::ERRNO, errno_range},
    {"stale-query-qp", fault_action::STALE_QUERY_QP, param_kind::NONE, {}},
    {"reuse-qpn", fault_action::REUSE_QPN, param_kind::NONE, {}},
    {"port-down", fault_action::PORT_DOWN, param_kind::NONE, {}},
    {"port-up", fault_action::PORT_UP, param_kind::NONE, {}},
    {"device-fatal", fault_action::DEVICE_FATAL, param_kind::NONE, {}},
    {"device-reset", fault_action::DEVICE_RESET, param_kind::NONE, {}},
    {"event", fault_action::EVENT, param_kind::EVENT, {}},
    {"rate", fault_action::SET_RATE, param_kind::RATE, {}},
    {"latency", fault_action::SET_LATENCY, param_kind::DURATION, {}},
    {"scatter-to-cqe", fault_action::SCATTER_TO_CQE, param_kind::SWITCH, {}},
    {"lid", fault_action::SET_LID, param_kind::NUMBER, {0, UINT16_MAX}},
    {"pkey", fault_action::SET_PKEY, param_kind::INDEX_AND_NUMBER, {0, max_pkeys - 1}},
    {"gid", fault_action::SET_GID, param_kind::INDEX_AND_ADDRESS, {0, max_gids - 1}},
    {"clear-gid", fault_action::SET_GID, param_kind::NUMBER, {0, max_gids - 1}},
    {"qp-error", fault_action::QP_ERROR, param_kind::NONE, {}},
    {"host-death", fault_action::HOST_DEATH, param_kind::NONE, {}},
    {"stall-cq", fault_action::STALL_CQ, param_kind::OPTIONAL_NUMBER, {1, max_cqs}},
    {"unstall-cq", fault_action::UNSTALL_CQ, param_kind::OPTIONAL_NUMBER, {1, max_cqs}},
    {"release", fault_action::RELEASE, param_kind::NONE, {}},
};

constexpr named_value events[] = {
    {"CQ_ERR", IBV_EVENT_CQ_ERR},
    {"QP_FATAL", IBV_EVENT_QP_FATAL},
    {"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
    {"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR},
    {"COMM_EST", IBV_EVENT_COMM_EST},
    {"SQ_DRAINED", IBV_EVENT_SQ_DRAINED},
    {"PATH_MIG", IBV_EVENT_PATH_MIG},
    {"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR},
    {"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL},
    {"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE},
    {"PORT_ERR", IBV_EVENT_PORT_ERR},
    {"LID_CHANGE", IBV_EVENT_LID_CHANGE},
    {"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE},
    {"SM_CHANGE", IBV_EVENT_SM_CHANGE},
    {"SRQ_ERR", IBV_EVENT_SRQ_ERR},
    {"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED},
    {"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED},
    {"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER},
    {"GID_CHANGE", IBV_EVENT_GID_CHANGE},
};

// As enum ibv_wc_status names what libmlx5 makes of them.
constexpr named_value syndromes[] = {
    {"LOC_LEN_ERR", MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR},
    {"LOC_QP_OP_ERR", MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR},
    {"LOC_PROT_ERR", MLX5_CQE_SYNDROME_LOCAL_PROT_ERR},
    {"WR_FLUSH_ERR", MLX5_CQE_SYNDROME_WR_FLUSH_ERR},
    {"MW_BIND_ERR", MLX5_CQE_SYNDROME_MW_BIND_ERR},
    {"BAD_RESP_ERR", MLX5_CQE_SYNDROME_BAD_RESP_ERR},
    {"LOC_ACCESS_ERR", MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR},
    {"REM_INV_REQ_ERR", MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR},
    {"REM_ACCESS_ERR", MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR},
    {"REM_OP_ERR", MLX5_CQE_SYNDROME_REMOTE_OP_ERR},
    {"RETRY_EXC_ERR", MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR},
    {"RNR_RETRY_EXC_ERR", MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR},
    {"REM_ABORT_ERR", MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR},
};

constexpr named_value states[] = {
    {"RESET", IBV_QPS_RESET}, {"INIT", IBV_QPS_INIT}, {"RTR", IBV_QPS_RTR}, {"RTS", IBV_QPS_RTS},
    {"SQD", IBV_QPS_SQD},     {"SQE", IBV_QPS_SQE},   {"ERR", IBV_QPS_ERR},
};

} // namespace

std::span<const action_word> action_words() noexcept
{
    return actions;
}

std::span<const named_value> event_words() noexcept
{
    return events;
}

std::span<const named_value> syndrome_words() noexcept
{
    return syndromes;
}

std::span<const named_value> state_words() noexcept
{
    return states;
}

number_range hca_range() noexcept
{
    return {0, max_hcas - 1};
}

bool errno_of(std::string_view name, uint64_t &out) noexcept
{
    for (uint64_t i = errno_range.least; i <= errno_range.most; i++) {
        const char *known = ::strerrorname_np(static_cast<int>(i));
        if (known != nullptr && name == known) {
            out = i;
            return true;
        }
    }
    return false;
}

std::string_view name_of(std::span<const named_value> words, uint64_t value) noexcept
{
    auto one = std::find_if(words.begin(), words.end(),
                            [value](const named_value &each) { return each.value == value; });
    return one == words.end() ? std::string_view() : one->name;
}

} // namespace ufx::swhca
