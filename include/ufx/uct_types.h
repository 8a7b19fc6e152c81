/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of the transport layer (uct): handles, parameters, attributes, completions, tokens.
 *
 * ABI version 1. Thread rule: plain data, no calls. Every struct that may grow starts with
 * `field_mask`; a reader ignores fields whose bit is clear, a writer fills only fields whose bit is
 * set. The others are fixed for the ABI version, which a module is asked for when it is loaded
 * (ufx_uct_module_init()); what grows takes another version. All lengths are in bytes, all times in
 * nanoseconds, all integers in host byte order.
 */
#ifndef UFX_UCT_TYPES_H
#define UFX_UCT_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ufx/status.h>
#include <ufx/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Handles: structs whose one public word points to a const table of operations ---------- */

typedef struct ufx_uct_component ufx_uct_component_t; /**< a transport family, static data */
typedef struct ufx_uct_md *ufx_uct_md_h;              /**< memory domain: one device's memory */
typedef struct ufx_uct_iface *ufx_uct_iface_h;        /**< one opened transport on one device */
typedef struct ufx_uct_ep *ufx_uct_ep_h;              /**< one connection of an iface */
typedef struct ufx_uct_worker *ufx_uct_worker_h;      /**< a progress domain of several ifaces */
typedef void *ufx_uct_mem_h;                          /**< registered memory, owned by its md */
typedef uint64_t ufx_uct_rkey_t;                      /**< an unpacked remote key */

#define UFX_UCT_INVALID_RKEY ((ufx_uct_rkey_t)-1)

/** Longest names and opaque blobs, with the terminating NUL where they are text. */
#define UFX_UCT_NAME_MAX 32
#define UFX_UCT_DEVICE_NAME_MAX 64
#define UFX_UCT_TOKEN_MAX 64
#define UFX_UCT_ADDR_MAX 256
#define UFX_UCT_AM_ID_MAX 32 /**< active message ids are 0..31 */

/* ---- Configuration ---------------------------------------------------------------------------*/

/** One setting given by code; it wins over environment and file. Both strings are borrowed. */
typedef struct ufx_uct_config_entry {
    const char *name;  /**< without the UFX_ prefix, e.g. "TCP_SEG_SIZE" */
    const char *value; /**< as it would stand in the environment */
} ufx_uct_config_entry_t;

/** One known setting, for listings. Strings are static. */
typedef struct ufx_uct_config_row {
    const char *name;          /**< without the UFX_ prefix */
    const char *default_value; /**< as text */
    const char *help;          /**< one sentence */
} ufx_uct_config_row_t;

/* ---- Memory ----------------------------------------------------------------------------------*/

typedef enum ufx_uct_memory_type {
    UFX_UCT_MEMORY_TYPE_HOST = 0,  /**< ordinary memory of this process */
    UFX_UCT_MEMORY_TYPE_DEVICE = 1 /**< memory of an accelerator; refused by all transports today */
} ufx_uct_memory_type_t;

enum ufx_uct_mem_flags {
    UFX_UCT_MEM_ACCESS_LOCAL_READ = 1u << 0,
    UFX_UCT_MEM_ACCESS_LOCAL_WRITE = 1u << 1,
    UFX_UCT_MEM_ACCESS_REMOTE_PUT = 1u << 2,
    UFX_UCT_MEM_ACCESS_REMOTE_GET = 1u << 3,
    UFX_UCT_MEM_ACCESS_REMOTE_ATOMIC = 1u << 4,
    UFX_UCT_MEM_ACCESS_RMA = 0x0fu,
    UFX_UCT_MEM_ACCESS_ALL = 0x1fu,
    /** Of an md with UFX_UCT_MD_FLAG_CACHE, without remote access: the registration may be one that
     * was made before for the same pages, and may be kept after mem_dereg for the next. */
    UFX_UCT_MEM_CACHED = 1u << 5
};

enum ufx_uct_mem_params_field {
    UFX_UCT_MEM_PARAM_ADDRESS = 1u << 0,
    UFX_UCT_MEM_PARAM_LENGTH = 1u << 1,
    UFX_UCT_MEM_PARAM_FLAGS = 1u << 2,
    UFX_UCT_MEM_PARAM_MEMORY_TYPE = 1u << 3,
    UFX_UCT_MEM_PARAM_DMABUF = 1u << 4,
    UFX_UCT_MEM_PARAM_NAME = 1u << 5
};

/** What to register or allocate. LENGTH is required; ADDRESS is required to register. */
typedef struct ufx_uct_mem_params {
    uint64_t field_mask;               /**< of ufx_uct_mem_params_field */
    void *address;                     /**< start; the caller keeps the memory mapped */
    size_t length;                     /**< at least 1 */
    uint64_t flags;                    /**< of ufx_uct_mem_flags; default ACCESS_ALL */
    ufx_uct_memory_type_t memory_type; /**< default HOST */
    int dmabuf_fd;                     /**< borrowed; the md duplicates it if it needs it */
    uint64_t dmabuf_offset;            /**< of `address` in the dmabuf */
    const char *name;                  /**< for debug output; copied */
} ufx_uct_mem_params_t;

/** Memory that an md allocated and registered. */
typedef struct ufx_uct_allocated_memory {
    void *address;
    size_t length; /**< at least what was asked for */
    ufx_uct_mem_h memh;
} ufx_uct_allocated_memory_t;

/** An unpacked remote key; release it by the component that unpacked it. */
typedef struct ufx_uct_rkey_bundle {
    ufx_uct_rkey_t rkey; /**< what operations take */
    void *handle;        /**< owned by the component; may be NULL */
} ufx_uct_rkey_bundle_t;

enum ufx_uct_md_flags {
    UFX_UCT_MD_FLAG_REG = 1u << 0,        /**< mem_reg works */
    UFX_UCT_MD_FLAG_ALLOC = 1u << 1,      /**< mem_alloc works */
    UFX_UCT_MD_FLAG_NEED_MEMH = 1u << 2,  /**< local zcopy buffers must be registered */
    UFX_UCT_MD_FLAG_NEED_RKEY = 1u << 3,  /**< remote operations take a packed and unpacked key */
    UFX_UCT_MD_FLAG_INVALIDATE = 1u << 4, /**< dereg makes remote access fail from then on */
    UFX_UCT_MD_FLAG_CACHE = 1u << 5       /**< mem_reg takes UFX_UCT_MEM_CACHED */
};

typedef struct ufx_uct_md_attr {
    uint64_t flags;          /**< of ufx_uct_md_flags */
    uint64_t max_reg;        /**< longest registration */
    size_t rkey_packed_size; /**< bytes that mkey_pack writes */
    uint64_t reg_mem_types;  /**< bit 1 << ufx_uct_memory_type_t */
    uint64_t access_flags;   /**< of ufx_uct_mem_flags that mem_reg understands */
} ufx_uct_md_attr_t;

typedef struct ufx_uct_md_resource {
    char md_name[UFX_UCT_DEVICE_NAME_MAX];
} ufx_uct_md_resource_t;

enum ufx_uct_md_params_field { UFX_UCT_MD_PARAM_CONFIG = 1u << 0 };

typedef struct ufx_uct_md_params {
    uint64_t field_mask;                  /**< of ufx_uct_md_params_field */
    const ufx_uct_config_entry_t *config; /**< borrowed for the call */
    size_t config_count;
} ufx_uct_md_params_t;

typedef enum ufx_uct_device_type {
    UFX_UCT_DEVICE_NET = 0, /**< crosses hosts: may be a rail */
    UFX_UCT_DEVICE_SHM = 1, /**< same host only */
    UFX_UCT_DEVICE_SELF = 2 /**< same process only */
} ufx_uct_device_type_t;

/** A network interface of the kernel. */
typedef struct ufx_uct_netdev {
    char name[UFX_UCT_DEVICE_NAME_MAX]; /**< e.g. "eth0" */
} ufx_uct_netdev_t;

/** One (transport, device) pair that can be opened on an md. */
typedef struct ufx_uct_resource {
    char tl_name[UFX_UCT_NAME_MAX];         /**< e.g. "tcp", "rc_mlx5" */
    char dev_name[UFX_UCT_DEVICE_NAME_MAX]; /**< e.g. "eth0", "lo:127.0.0.2", "mlx5_0:1" */
    ufx_uct_device_type_t dev_type;
    int numa_node; /**< -1 if unknown */
} ufx_uct_resource_t;

/* ---- Operations, buffers, completions --------------------------------------------------------*/

/** One piece of a local buffer. */
typedef struct ufx_uct_iov {
    void *buffer;
    size_t length;
    ufx_uct_mem_h memh; /**< NULL unless the md says NEED_MEMH */
} ufx_uct_iov_t;

typedef struct ufx_uct_completion ufx_uct_completion_t;

/** Runs once, from progress only, when `count` reaches 0. It may free `self` and post operations.
 */
typedef void (*ufx_uct_completion_cb_t)(ufx_uct_completion_t *self) UFX_NOEXCEPT;

/**
 * Counts the operations that share it. The poster sets `count` to the number of operations before
 * posting them; each that returned UFX_INPROGRESS takes one off when it ends. An operation that
 * returned anything else did not take the completion: its poster takes that one off itself.
 */
struct ufx_uct_completion {
    ufx_uct_completion_cb_t func;
    int count;
    ufx_status_t status; /**< set to UFX_OK by the poster; the first error stays */
};

/** Writes the payload of a bcopy operation into `dest`; returns its length, at most the limit. */
typedef size_t (*ufx_uct_pack_cb_t)(void *dest, void *arg) UFX_NOEXCEPT;

/** Receives the data of a get_bcopy; runs from progress, just before its completion. */
typedef void (*ufx_uct_unpack_cb_t)(void *arg, const void *data, size_t length) UFX_NOEXCEPT;

enum ufx_uct_am_cb_flags {
    UFX_UCT_AM_CB_DESC = 1u << 0 /**< `data` may be kept by returning UFX_INPROGRESS */
};

/**
 * Receives an active message; runs from progress. It may post operations; it may not call progress.
 *
 * @param data    payload (for am_short the 8 bytes of the header come first, host byte order)
 * @param flags   of ufx_uct_am_cb_flags
 * @return UFX_OK if `data` is no longer needed; UFX_INPROGRESS (only with AM_CB_DESC) keeps it
 *         until ufx_uct_iface_release_desc()
 */
typedef ufx_status_t (*ufx_uct_am_cb_t)(void *arg, void *data, size_t length,
                                        unsigned flags) UFX_NOEXCEPT;

typedef enum ufx_uct_atomic_op {
    UFX_UCT_ATOMIC_ADD = 0,
    UFX_UCT_ATOMIC_AND = 1,
    UFX_UCT_ATOMIC_OR = 2,
    UFX_UCT_ATOMIC_XOR = 3,
    UFX_UCT_ATOMIC_SWAP = 4, /**< fetching only */
    UFX_UCT_ATOMIC_CSWAP = 5 /**< fetching only */
} ufx_uct_atomic_op_t;

enum ufx_uct_flush_flags {
    UFX_UCT_FLUSH_LOCAL = 0,        /**< local buffers of everything before may be reused */
    UFX_UCT_FLUSH_REMOTE = 1u << 0, /**< everything before is applied at the target */
    UFX_UCT_FLUSH_CANCEL = 1u << 1  /**< end everything outstanding with UFX_ERR_CANCELED */
};

enum ufx_uct_event_flags { UFX_UCT_EVENT_SEND_COMP = 1u << 0, UFX_UCT_EVENT_RECV = 1u << 1 };

typedef struct ufx_uct_pending_req ufx_uct_pending_req_t;

/**
 * Retries what had no resource. It may post each operation once.
 *
 * @return UFX_OK if the request is finished and leaves the queue; UFX_INPROGRESS if it made some
 *         progress and wants another turn; UFX_ERR_NO_RESOURCE if it made none
 */
typedef ufx_status_t (*ufx_uct_pending_cb_t)(ufx_uct_pending_req_t *self) UFX_NOEXCEPT;

/** A parked request, owned by the caller and embedded in its own object until it leaves. */
struct ufx_uct_pending_req {
    ufx_uct_pending_cb_t func;
    void *priv[4]; /**< for the transport while the request is queued */
};

typedef void (*ufx_uct_pending_purge_cb_t)(ufx_uct_pending_req_t *req, void *arg) UFX_NOEXCEPT;

/* ---- Errors and events -----------------------------------------------------------------------*/

/** Why an ep failed: what the layer above needs to choose between lane and rail. */
typedef enum ufx_uct_error_cause {
    UFX_UCT_CAUSE_NONE = 0,
    UFX_UCT_CAUSE_OWN_QP = 1,         /**< own queue pair or socket broke without a better reason */
    UFX_UCT_CAUSE_LOCAL_PROT = 2,     /**< a local buffer is not accessible: the user's bug */
    UFX_UCT_CAUSE_REMOTE_ACCESS = 3,  /**< the target refused key, range or rights: user's bug */
    UFX_UCT_CAUSE_RNR_EXCEEDED = 4,   /**< the receiver had no buffer for too long */
    UFX_UCT_CAUSE_RETRY_EXCEEDED = 5, /**< no ack from the peer: rail or peer QP may be dead */
    UFX_UCT_CAUSE_CONN_RESET = 6,     /**< EOF or ECONNRESET */
    UFX_UCT_CAUSE_CONN_REFUSED = 7,   /**< ECONNREFUSED while connecting */
    UFX_UCT_CAUSE_TIMED_OUT = 8,      /**< ETIMEDOUT of the network */
    UFX_UCT_CAUSE_UNREACHABLE = 9,    /**< EHOSTUNREACH, ENETUNREACH, ENETDOWN */
    UFX_UCT_CAUSE_ADDR_REMOVED = 10,  /**< the local address of the device is gone */
    UFX_UCT_CAUSE_PORT_DOWN = 11,
    UFX_UCT_CAUSE_DEVICE_FATAL = 12,
    UFX_UCT_CAUSE_BAD_MESSAGE = 13, /**< the peer sent what does not parse */
    UFX_UCT_CAUSE_INVALIDATED = 14, /**< by ufx_uct_ep_invalidate() */
    UFX_UCT_CAUSE_CANCELED = 15,    /**< by flush with CANCEL */
    UFX_UCT_CAUSE_INJECTED = 16     /**< by ufx_uct_iface_set_link() */
} ufx_uct_error_cause_t;

enum ufx_uct_error_field {
    UFX_UCT_ERROR_OP = 1u << 0 /**< op_index */
};

typedef struct ufx_uct_error {
    uint64_t field_mask; /**< of ufx_uct_error_field */
    ufx_status_t status; /**< what outstanding operations would complete with */
    ufx_uct_error_cause_t cause;
    int system_error;  /**< errno, or the device's syndrome; 0 if neither */
    const char *text;  /**< for people, valid during the call */
    uint64_t op_index; /**< LOCAL_PROT, REMOTE_ACCESS: index of the guilty operation */
} ufx_uct_error_t;

/**
 * Runs once from progress when an ep leaves LIVE by an error.
 *
 * @return UFX_INPROGRESS: the ep becomes DEFERRED, outstanding operations are kept for
 *         outstanding_purge() and posts are refused; anything else: outstanding operations complete
 *         with `error->status` at once and the ep is DEAD
 */
typedef ufx_status_t (*ufx_uct_err_handler_t)(void *arg, ufx_uct_ep_h ep,
                                              const ufx_uct_error_t *error) UFX_NOEXCEPT;

typedef enum ufx_uct_iface_event_type {
    UFX_UCT_IFACE_PORT_DOWN = 0,
    UFX_UCT_IFACE_PORT_UP = 1,
    UFX_UCT_IFACE_ADDR_CHANGED = 2,
    UFX_UCT_IFACE_DEVICE_FATAL = 3
} ufx_uct_iface_event_type_t;

typedef struct ufx_uct_iface_event {
    uint64_t field_mask; /**< reserved, 0 */
    ufx_uct_iface_event_type_t type;
    ufx_uct_error_cause_t cause; /**< for PORT_DOWN and ADDR_CHANGED */
    const char *text;            /**< for people, valid during the call */
} ufx_uct_iface_event_t;

/** Runs from progress when the device changes. */
typedef void (*ufx_uct_iface_event_cb_t)(void *arg, ufx_uct_iface_h iface,
                                         const ufx_uct_iface_event_t *event) UFX_NOEXCEPT;

/* ---- Interfaces ------------------------------------------------------------------------------*/

/** What an iface can do. Bits of operations come from the methods of its class. */
enum ufx_uct_iface_caps {
    UFX_UCT_CAP_AM_SHORT = 1u << 0,
    UFX_UCT_CAP_AM_BCOPY = 1u << 1,
    UFX_UCT_CAP_AM_ZCOPY = 1u << 2,
    UFX_UCT_CAP_PUT_SHORT = 1u << 3,
    UFX_UCT_CAP_PUT_BCOPY = 1u << 4,
    UFX_UCT_CAP_PUT_ZCOPY = 1u << 5,
    UFX_UCT_CAP_GET_SHORT = 1u << 6,
    UFX_UCT_CAP_GET_BCOPY = 1u << 7,
    UFX_UCT_CAP_GET_ZCOPY = 1u << 8,
    UFX_UCT_CAP_ATOMIC32_POST = 1u << 9,
    UFX_UCT_CAP_ATOMIC64_POST = 1u << 10,
    UFX_UCT_CAP_ATOMIC32_FETCH = 1u << 11,
    UFX_UCT_CAP_ATOMIC64_FETCH = 1u << 12,
    UFX_UCT_CAP_ATOMIC32_CSWAP = 1u << 13,
    UFX_UCT_CAP_ATOMIC64_CSWAP = 1u << 14,
    UFX_UCT_CAP_PENDING = 1u << 15,
    UFX_UCT_CAP_FLUSH = 1u << 16,
    UFX_UCT_CAP_FENCE = 1u << 17,
    UFX_UCT_CAP_CHECK = 1u << 18,
    UFX_UCT_CAP_CONNECT_TO_EP = 1u << 19,
    UFX_UCT_CAP_CONNECT_TO_IFACE = 1u << 20,
    UFX_UCT_CAP_EVENT_FD = 1u << 21,
    UFX_UCT_CAP_INVALIDATE = 1u << 22,
    UFX_UCT_CAP_TOKENS = 1u << 23, /**< ep_query(TX_TOKEN) and iface_query_token */
    UFX_UCT_CAP_PURGE = 1u << 24,  /**< outstanding_purge */
    UFX_UCT_CAP_SET_LINK = 1u << 25,
    /* Properties, not methods. */
    UFX_UCT_CAP_COMPLETION_IS_DELIVERY = 1u << 26, /**< an AM's completion: handed to the peer */
    UFX_UCT_CAP_AM_DUP = 1u << 27,                 /**< handlers may see a message twice */
    UFX_UCT_CAP_ATOMIC_DEVICE = 1u << 28,          /**< atomics are not atomic with the CPU */
    UFX_UCT_CAP_ORDERED = 1u << 29                 /**< one ep's operations are applied in order */
};

/** Limits of one family of operations (am, put or get), in bytes; 0 where not supported. */
typedef struct ufx_uct_op_limits {
    size_t max_short;
    size_t max_bcopy;
    size_t min_zcopy;
    size_t max_zcopy; /**< of the iov; am: beside the header */
    size_t max_iov;
    size_t max_hdr; /**< am_zcopy header */
} ufx_uct_op_limits_t;

typedef struct ufx_uct_iface_attr {
    uint64_t caps; /**< of ufx_uct_iface_caps */
    ufx_uct_op_limits_t am;
    ufx_uct_op_limits_t put;
    ufx_uct_op_limits_t get;
    uint64_t atomic32_post_ops; /**< bit 1 << ufx_uct_atomic_op_t */
    uint64_t atomic64_post_ops;
    uint64_t atomic32_fetch_ops;
    uint64_t atomic64_fetch_ops;
    size_t device_addr_len;
    size_t iface_addr_len;
    size_t ep_addr_len;
    size_t token_len;       /**< of tx and rx tokens, at most UFX_UCT_TOKEN_MAX */
    size_t mtu;             /**< granularity of partial puts; 1 for byte streams */
    size_t max_outstanding; /**< operations per ep before NO_RESOURCE */
    uint64_t latency_ns;
    double bandwidth; /**< bytes per second, of the device */
    uint64_t overhead_ns;
    unsigned priority;
    int port_active; /**< 1 if the port can carry traffic now */
} ufx_uct_iface_attr_t;

enum ufx_uct_iface_params_field {
    UFX_UCT_IFACE_PARAM_TL_NAME = 1u << 0,
    UFX_UCT_IFACE_PARAM_DEV_NAME = 1u << 1,
    UFX_UCT_IFACE_PARAM_WORKER = 1u << 2,
    UFX_UCT_IFACE_PARAM_ERR_HANDLER = 1u << 3,
    UFX_UCT_IFACE_PARAM_EVENT_CB = 1u << 4,
    UFX_UCT_IFACE_PARAM_CONFIG = 1u << 5,
    UFX_UCT_IFACE_PARAM_RX_HEADROOM = 1u << 6
};

/** How to open an iface. TL_NAME and DEV_NAME are required. */
typedef struct ufx_uct_iface_params {
    uint64_t field_mask; /**< of ufx_uct_iface_params_field */
    const char *tl_name;
    const char *dev_name;
    ufx_uct_worker_h worker;           /**< progresses the iface; NULL: only iface_progress does */
    ufx_uct_err_handler_t err_handler; /**< default: purge at once */
    void *err_handler_arg;
    ufx_uct_iface_event_cb_t event_cb;
    void *event_cb_arg;
    const ufx_uct_config_entry_t *config; /**< borrowed for the call */
    size_t config_count;
    size_t rx_headroom; /**< bytes free for the user before a kept AM's data */
} ufx_uct_iface_params_t;

/** Counters of an iface since it was opened, and what is outstanding now. */
typedef struct ufx_uct_iface_stats {
    uint64_t posted;          /**< accepted operations */
    uint64_t completed;       /**< operations that ended OK */
    uint64_t failed;          /**< operations that ended with an error or were purged */
    uint64_t tx_bytes;        /**< payload sent */
    uint64_t rx_bytes;        /**< payload received */
    uint64_t rx_ams;          /**< active messages handed to handlers */
    uint64_t outstanding_ops; /**< posted, not ended */
    uint64_t outstanding_bytes;
    uint64_t pending_reqs; /**< parked by pending_add */
    uint64_t eps;
} ufx_uct_iface_stats_t;

/* ---- Endpoints -------------------------------------------------------------------------------*/

typedef enum ufx_uct_ep_state {
    UFX_UCT_EP_INIT = 0, /**< created, not connected: posts give NO_RESOURCE */
    UFX_UCT_EP_LIVE = 1,
    UFX_UCT_EP_DEFERRED = 2, /**< failed; outstanding operations kept, posts refused */
    UFX_UCT_EP_PURGED = 3,   /**< failed; outstanding operations handed out */
    UFX_UCT_EP_DEAD = 4      /**< failed; outstanding operations completed with an error */
} ufx_uct_ep_state_t;

enum ufx_uct_ep_params_field {
    UFX_UCT_EP_PARAM_DEVICE_ADDR = 1u << 0,
    UFX_UCT_EP_PARAM_IFACE_ADDR = 1u << 1,
    UFX_UCT_EP_PARAM_USER_DATA = 1u << 2
};

/** With DEVICE_ADDR and IFACE_ADDR the ep connects to the iface; without, by connect_to_ep. */
typedef struct ufx_uct_ep_params {
    uint64_t field_mask;     /**< of ufx_uct_ep_params_field */
    const void *device_addr; /**< device_addr_len bytes of the peer, borrowed for the call */
    const void *iface_addr;  /**< iface_addr_len bytes of the peer, borrowed for the call */
    void *user_data;         /**< handed back by ep_query */
} ufx_uct_ep_params_t;

enum ufx_uct_ep_attr_field {
    UFX_UCT_EP_ATTR_STATE = 1u << 0,
    UFX_UCT_EP_ATTR_USER_DATA = 1u << 1,
    UFX_UCT_EP_ATTR_TX_TOKEN = 1u << 2,
    UFX_UCT_EP_ATTR_OUTSTANDING = 1u << 3,
    UFX_UCT_EP_ATTR_PROGRESS = 1u << 4,
    UFX_UCT_EP_ATTR_LOCAL_NAME = 1u << 5
};

typedef struct ufx_uct_ep_attr {
    uint64_t field_mask; /**< in: what to fill; of ufx_uct_ep_attr_field */
    ufx_uct_ep_state_t state;
    void *user_data;
    uint8_t tx_token[UFX_UCT_TOKEN_MAX]; /**< names this ep at the peer; send it in the handshake */
    size_t tx_token_len;
    uint64_t outstanding_ops;
    uint64_t outstanding_bytes;
    uint64_t completed_ops; /**< PROGRESS: monotonic; signs of life for stall detection */
    uint64_t acked_bytes;   /**< PROGRESS: monotonic, where the network tells */
    int network_unacked;    /**< PROGRESS: 1 if the network (not the peer's program) owes an ack */
    uint64_t srtt_ns;       /**< PROGRESS: smoothed round-trip time, 0 if unknown */
    char name[UFX_UCT_DEVICE_NAME_MAX]; /**< for logs: QPN and its state, or ports */
} ufx_uct_ep_attr_t;

/* ---- Tokens and the deferred purge ----------------------------------------------------------*/

/** How far an rx token may be trusted. */
typedef enum ufx_uct_token_grade {
    UFX_UCT_GRADE_EXACT = 0, /**< the position is final and exact */
    UFX_UCT_GRADE_BLIND = 1, /**< nothing can land any more, position unknown */
    UFX_UCT_GRADE_OPEN = 2   /**< the side that owes the token could not close its side */
} ufx_uct_token_grade_t;

typedef enum ufx_uct_verdict {
    UFX_UCT_VERDICT_LANDED = 0,
    UFX_UCT_VERDICT_PARTIAL = 1, /**< the first `bytes` of a put landed */
    UFX_UCT_VERDICT_NOT_LANDED = 2,
    UFX_UCT_VERDICT_RESULT_LOST = 3, /**< executed at the target; its answer is gone */
    UFX_UCT_VERDICT_UNKNOWN = 4
} ufx_uct_verdict_t;

typedef enum ufx_uct_op_kind {
    UFX_UCT_OP_AM = 0,
    UFX_UCT_OP_PUT = 1,
    UFX_UCT_OP_GET = 2,
    UFX_UCT_OP_ATOMIC_POST = 3,
    UFX_UCT_OP_ATOMIC_FETCH = 4, /**< also cswap: atomic_op says */
    UFX_UCT_OP_FLUSH_LOCAL = 5,
    UFX_UCT_OP_FLUSH_REMOTE = 6,
    UFX_UCT_OP_CHECK = 7
} ufx_uct_op_kind_t;

typedef enum ufx_uct_op_form {
    UFX_UCT_FORM_SHORT = 0,
    UFX_UCT_FORM_BCOPY = 1,
    UFX_UCT_FORM_ZCOPY = 2
} ufx_uct_op_form_t;

/**
 * All that a replay of an outstanding operation needs. Pointers to inline payload and iov are valid
 * during the callback only; the buffers that the iov names belong to the op's owner.
 */
typedef struct ufx_uct_op_desc {
    uint64_t field_mask; /**< reserved, 0 */
    ufx_uct_op_kind_t kind;
    ufx_uct_op_form_t form;
    uint64_t index;           /**< posting order on this ep, from 0 */
    uint64_t remote_addr;     /**< put, get, atomic */
    ufx_uct_rkey_t rkey;      /**< put, get, atomic */
    size_t length;            /**< payload (am: without the header) */
    uint8_t am_id;            /**< am */
    const void *header;       /**< am: header bytes (am_short: the 8 header bytes) */
    size_t header_length;     /**< am */
    const void *payload;      /**< short, bcopy: the payload; NULL for zcopy and get */
    const ufx_uct_iov_t *iov; /**< zcopy */
    size_t iov_count;
    ufx_uct_unpack_cb_t unpack_cb; /**< get_bcopy */
    void *unpack_arg;
    ufx_uct_atomic_op_t atomic_op;
    unsigned atomic_size; /**< 4 or 8 */
    uint64_t operand;
    uint64_t compare;           /**< cswap */
    void *result;               /**< fetch, get_short: where the answer goes */
    ufx_uct_completion_t *comp; /**< NULL if the poster gave none; the callback now owns it */
} ufx_uct_op_desc_t;

/**
 * Receives one outstanding operation, in posting order. The purge completes nothing: whoever owns
 * the operation's completion does, later.
 *
 * @param bytes  PARTIAL: how many bytes of the put landed; else 0
 * @return UFX_OK: the operation has left the ep; an error stops the purge before this operation,
 *         which the next outstanding_purge() hands out again
 */
typedef ufx_status_t (*ufx_uct_purge_cb_t)(void *arg, const ufx_uct_op_desc_t *op,
                                           ufx_uct_verdict_t verdict, size_t bytes) UFX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
