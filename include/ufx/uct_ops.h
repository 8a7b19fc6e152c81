/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of operations behind the uct handles: what the writer of a transport fills in.
 *
 * ABI version 1. Every table starts with its `size`, so that it can grow: slots of version 1 are
 * always present and never NULL (what a transport lacks is a function that returns
 * UFX_ERR_UNSUPPORTED); a slot added later is used only if `offsetof(slot) < ops->size`.
 * The contracts of the slots are those of the inline calls in uct.h. Thread rule: as uct.h.
 */
#ifndef UFX_UCT_OPS_H
#define UFX_UCT_OPS_H

#include <ufx/uct_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufx_uct_ep_ops {
    size_t size; /**< sizeof(ufx_uct_ep_ops_t) of the module's headers */

    ufx_status_t (*am_short)(ufx_uct_ep_h ep, uint8_t id, uint64_t header, const void *payload,
                             size_t length) UFX_NOEXCEPT;
    ssize_t (*am_bcopy)(ufx_uct_ep_h ep, uint8_t id, ufx_uct_pack_cb_t pack, void *arg,
                        unsigned flags) UFX_NOEXCEPT;
    ufx_status_t (*am_zcopy)(ufx_uct_ep_h ep, uint8_t id, const void *header, size_t header_length,
                             const ufx_uct_iov_t *iov, size_t iov_count, unsigned flags,
                             ufx_uct_completion_t *comp) UFX_NOEXCEPT;

    ufx_status_t (*put_short)(ufx_uct_ep_h ep, const void *buffer, size_t length,
                              uint64_t remote_addr, ufx_uct_rkey_t rkey) UFX_NOEXCEPT;
    ssize_t (*put_bcopy)(ufx_uct_ep_h ep, ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                         ufx_uct_rkey_t rkey) UFX_NOEXCEPT;
    ufx_status_t (*put_zcopy)(ufx_uct_ep_h ep, const ufx_uct_iov_t *iov, size_t iov_count,
                              uint64_t remote_addr, ufx_uct_rkey_t rkey,
                              ufx_uct_completion_t *comp) UFX_NOEXCEPT;

    ufx_status_t (*get_short)(ufx_uct_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                              ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*get_bcopy)(ufx_uct_ep_h ep, ufx_uct_unpack_cb_t unpack, void *arg, size_t length,
                              uint64_t remote_addr, ufx_uct_rkey_t rkey,
                              ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*get_zcopy)(ufx_uct_ep_h ep, const ufx_uct_iov_t *iov, size_t iov_count,
                              uint64_t remote_addr, ufx_uct_rkey_t rkey,
                              ufx_uct_completion_t *comp) UFX_NOEXCEPT;

    ufx_status_t (*atomic32_post)(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint32_t operand,
                                  uint64_t remote_addr, ufx_uct_rkey_t rkey) UFX_NOEXCEPT;
    ufx_status_t (*atomic64_post)(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint64_t operand,
                                  uint64_t remote_addr, ufx_uct_rkey_t rkey) UFX_NOEXCEPT;
    ufx_status_t (*atomic32_fetch)(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint32_t operand,
                                   uint32_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                   ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*atomic64_fetch)(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint64_t operand,
                                   uint64_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                   ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*atomic32_cswap)(ufx_uct_ep_h ep, uint32_t compare, uint32_t swap,
                                   uint32_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                   ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*atomic64_cswap)(ufx_uct_ep_h ep, uint64_t compare, uint64_t swap,
                                   uint64_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                   ufx_uct_completion_t *comp) UFX_NOEXCEPT;

    ufx_status_t (*pending_add)(ufx_uct_ep_h ep, ufx_uct_pending_req_t *req) UFX_NOEXCEPT;
    void (*pending_purge)(ufx_uct_ep_h ep, ufx_uct_pending_purge_cb_t cb, void *arg) UFX_NOEXCEPT;
    ufx_status_t (*flush)(ufx_uct_ep_h ep, unsigned flags, ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*fence)(ufx_uct_ep_h ep) UFX_NOEXCEPT;
    ufx_status_t (*check)(ufx_uct_ep_h ep, ufx_uct_completion_t *comp) UFX_NOEXCEPT;

    ufx_status_t (*get_address)(ufx_uct_ep_h ep, void *ep_addr) UFX_NOEXCEPT;
    ufx_status_t (*connect_to_ep)(ufx_uct_ep_h ep, const void *device_addr, const void *iface_addr,
                                  const void *ep_addr) UFX_NOEXCEPT;
    ufx_status_t (*query)(ufx_uct_ep_h ep, ufx_uct_ep_attr_t *attr) UFX_NOEXCEPT;
    ufx_status_t (*invalidate)(ufx_uct_ep_h ep, ufx_uct_completion_t *quiet) UFX_NOEXCEPT;
    ufx_status_t (*outstanding_purge)(ufx_uct_ep_h ep, ufx_uct_token_grade_t grade,
                                      const void *rx_token, size_t rx_token_length,
                                      ufx_uct_purge_cb_t cb, void *arg) UFX_NOEXCEPT;
    void (*destroy)(ufx_uct_ep_h ep) UFX_NOEXCEPT;
} ufx_uct_ep_ops_t;

typedef struct ufx_uct_iface_ops {
    size_t size; /**< sizeof(ufx_uct_iface_ops_t) of the module's headers */

    void (*close)(ufx_uct_iface_h iface) UFX_NOEXCEPT;
    ufx_status_t (*query)(ufx_uct_iface_h iface, ufx_uct_iface_attr_t *attr) UFX_NOEXCEPT;
    ufx_status_t (*query_stats)(ufx_uct_iface_h iface, ufx_uct_iface_stats_t *stats) UFX_NOEXCEPT;
    ufx_status_t (*get_device_address)(ufx_uct_iface_h iface, void *addr) UFX_NOEXCEPT;
    ufx_status_t (*get_address)(ufx_uct_iface_h iface, void *addr) UFX_NOEXCEPT;
    int (*is_reachable)(ufx_uct_iface_h iface, const void *device_addr,
                        const void *iface_addr) UFX_NOEXCEPT;
    unsigned (*progress)(ufx_uct_iface_h iface) UFX_NOEXCEPT;
    ufx_status_t (*event_fd_get)(ufx_uct_iface_h iface, int *fd) UFX_NOEXCEPT;
    ufx_status_t (*event_arm)(ufx_uct_iface_h iface, unsigned events) UFX_NOEXCEPT;
    ufx_status_t (*flush)(ufx_uct_iface_h iface, unsigned flags,
                          ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    ufx_status_t (*fence)(ufx_uct_iface_h iface) UFX_NOEXCEPT;
    ufx_status_t (*set_am_handler)(ufx_uct_iface_h iface, uint8_t id, ufx_uct_am_cb_t cb,
                                   void *arg) UFX_NOEXCEPT;
    void (*release_desc)(ufx_uct_iface_h iface, void *data) UFX_NOEXCEPT;
    ufx_status_t (*query_token)(ufx_uct_iface_h iface, const void *tx_token, size_t tx_token_length,
                                void *rx_token, size_t *rx_token_length,
                                ufx_uct_token_grade_t *grade) UFX_NOEXCEPT;
    ufx_status_t (*set_link)(ufx_uct_iface_h iface, int up) UFX_NOEXCEPT;
    ufx_status_t (*ep_create)(ufx_uct_iface_h iface, const ufx_uct_ep_params_t *params,
                              ufx_uct_ep_h *ep) UFX_NOEXCEPT;
} ufx_uct_iface_ops_t;

typedef struct ufx_uct_md_ops {
    size_t size; /**< sizeof(ufx_uct_md_ops_t) of the module's headers */

    void (*close)(ufx_uct_md_h md) UFX_NOEXCEPT;
    ufx_status_t (*query)(ufx_uct_md_h md, ufx_uct_md_attr_t *attr) UFX_NOEXCEPT;
    ufx_status_t (*query_resources)(ufx_uct_md_h md, ufx_uct_resource_t *resources,
                                    size_t *count) UFX_NOEXCEPT;
    ufx_status_t (*mem_reg)(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                            ufx_uct_mem_h *memh) UFX_NOEXCEPT;
    ufx_status_t (*mem_dereg)(ufx_uct_md_h md, ufx_uct_mem_h memh) UFX_NOEXCEPT;
    ufx_status_t (*mem_alloc)(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                              ufx_uct_allocated_memory_t *mem) UFX_NOEXCEPT;
    ufx_status_t (*mem_free)(ufx_uct_md_h md, const ufx_uct_allocated_memory_t *mem) UFX_NOEXCEPT;
    ufx_status_t (*mkey_pack)(ufx_uct_md_h md, ufx_uct_mem_h memh, void *buffer) UFX_NOEXCEPT;
    ufx_status_t (*rkey_unpack)(ufx_uct_md_h md, const void *buffer, size_t length,
                                ufx_uct_rkey_bundle_t *rkey) UFX_NOEXCEPT;
    void (*rkey_release)(ufx_uct_md_h md, const ufx_uct_rkey_bundle_t *rkey) UFX_NOEXCEPT;
    ufx_status_t (*iface_open)(ufx_uct_md_h md, const ufx_uct_iface_params_t *params,
                               ufx_uct_iface_h *iface) UFX_NOEXCEPT;

    /* Added since, see above. */
    ufx_status_t (*query_netdevs)(ufx_uct_md_h md, const char *dev_name, ufx_uct_netdev_t *netdevs,
                                  size_t *count) UFX_NOEXCEPT;
} ufx_uct_md_ops_t;

/** What a worker offers to the ifaces that it progresses. Implemented by libufx_uct. */
typedef struct ufx_uct_worker_ops {
    size_t size;

    /** Adds an iface whose ops->progress the worker calls. Worker's thread only. */
    ufx_status_t (*attach)(ufx_uct_worker_h worker, ufx_uct_iface_h iface) UFX_NOEXCEPT;
    /** Removes it; legal inside its own progress. Worker's thread only. */
    void (*detach)(ufx_uct_worker_h worker, ufx_uct_iface_h iface) UFX_NOEXCEPT;
    /** Runs `fn(arg)` from the worker's next progress and wakes its event fd. Any thread. */
    ufx_status_t (*post)(ufx_uct_worker_h worker, void (*fn)(void *arg), void *arg) UFX_NOEXCEPT;
} ufx_uct_worker_ops_t;

struct ufx_uct_ep {
    const ufx_uct_ep_ops_t *ops; /**< swapped for a table of failures when the ep dies */
};

struct ufx_uct_iface {
    const ufx_uct_iface_ops_t *ops;
};

struct ufx_uct_md {
    const ufx_uct_md_ops_t *ops;
    const ufx_uct_component_t *component;
};

struct ufx_uct_worker {
    const ufx_uct_worker_ops_t *ops;
};

/** A transport family: static const data of its module. */
struct ufx_uct_component {
    size_t size; /**< sizeof(ufx_uct_component_t) of the module's headers */
    const char *name;

    /**
     * Lists the memory domains that can be opened.
     *
     * @param resources  NULL, or room for `*count` entries
     * @param count      in: room; out: how many there are
     * @return UFX_OK; UFX_ERR_BUFFER_TOO_SMALL with `*count` set; UFX_ERR_IO
     */
    ufx_status_t (*query_md_resources)(ufx_uct_md_resource_t *resources,
                                       size_t *count) UFX_NOEXCEPT;
    ufx_status_t (*md_open)(const char *md_name, const ufx_uct_md_params_t *params,
                            ufx_uct_md_h *md) UFX_NOEXCEPT;

    /** All settings the component reads; static; `*count` is written. */
    const ufx_uct_config_row_t *(*config_rows)(size_t *count)UFX_NOEXCEPT;
};

/** What the program that loads a module gives it. Valid as long as the module is loaded. */
typedef struct ufx_uct_host {
    size_t size; /**< sizeof(ufx_uct_host_t) of the host's headers */

    /** Logs one line; `level` as ufx_ucs_log_level_t. NULL: the module's own default. */
    void (*log)(int level, const char *file, int line, const char *message);
    /** Value of a setting by name without UFX_, or NULL. NULL: getenv of "UFX_" + name. */
    const char *(*config)(const char *name);
    /** Monotonic time in nanoseconds. NULL: CLOCK_MONOTONIC. */
    uint64_t (*time_ns)(void);
} ufx_uct_host_t;

/** Name of the one function that a module exports. */
#define UFX_UCT_MODULE_INIT "ufx_uct_module_init"

/**
 * Entry of a module.
 *
 * @param abi   UFX_UCT_ABI_VERSION of the host
 * @param host  services; may be NULL (all defaults); not owned, outlives the module
 * @param out   the component, static in the module; written only on success
 * @return UFX_OK; UFX_ERR_VERSION if the module cannot serve that abi; UFX_ERR_NO_DEVICE if it
 *         cannot work on this machine
 */
typedef ufx_status_t (*ufx_uct_module_init_t)(uint32_t abi, const ufx_uct_host_t *host,
                                              const ufx_uct_component_t **out);

#ifdef __cplusplus
}
#endif

#endif
