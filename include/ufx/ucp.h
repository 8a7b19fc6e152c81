/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The endpoint layer (ucp): one endpoint a peer, over several rails, that survives the death of
 * any of them: nothing is lost, nothing is done twice, nothing hangs.
 *
 * ABI version 1.
 * Thread rule: a context may be used by any thread. A worker and all that belongs to it (listeners,
 * eps, requests, rkeys) belong to one thread at a time, unless the worker was created with
 * UFX_UCP_THREAD_MULTI, which takes one lock per call. ufx_ucp_worker_signal() may be called from
 * any thread in both modes.
 * Callbacks run from ufx_ucp_worker_progress() only, never inside the call that posts, and exactly
 * once for each accepted operation. They may post operations; they may not call progress, destroy
 * the worker or, in MULTI mode, wait for another thread that calls into the worker.
 *
 * Posting calls return
 *   UFX_OK                done; no callback, `*request` is NULL
 *   UFX_INPROGRESS        accepted; the callback will run once; `*request` may be used to cancel or
 *                         to poll, and is yours to free (ufx_ucp_request_free()), also after its
 *                         end: else it lives as long as the worker. A call that was given no
 *                         `request` leaves nothing to free
 *   UFX_ERR_NO_RESOURCE   queues are full (UFX_PENDING_MAX); no side effect; progress and retry
 *   UFX_ERR_INVALID_PARAM, UFX_ERR_NO_MEMORY, UFX_ERR_UNSUPPORTED   refused, no side effect; for
 *                         INVALID_PARAM the log names the argument
 *   UFX_ERR_SHUTDOWN      the ep is closing, or has failed
 * Local buffers must stay valid and, for sends, unchanged until the operation has completed. One
 * that cannot be read or written ends its operation with UFX_ERR_LOCAL_PROT, and no other, except
 * where this process itself copies as memcpy() does, and dies as there: a short message is read in
 * the call that sends it, an ep to the own worker copies whatever it moves, and what is mapped for
 * the peer (ufx_ucp_mem_map()) must stay accessible until it is unmapped. Every struct that may
 * grow starts with `field_mask`: fields whose bit is clear are ignored. The others are fixed for
 * this ABI version. After any other answer than UFX_INPROGRESS `*request` is NULL.
 */
#ifndef UFX_UCP_H
#define UFX_UCP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <ufx/status.h>
#include <ufx/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ufx_ucp_context *ufx_ucp_context_h;
typedef struct ufx_ucp_worker *ufx_ucp_worker_h;
typedef struct ufx_ucp_listener *ufx_ucp_listener_h;
typedef struct ufx_ucp_conn_request *ufx_ucp_conn_request_h;
typedef struct ufx_ucp_ep *ufx_ucp_ep_h;
typedef struct ufx_ucp_mem *ufx_ucp_mem_h;
typedef struct ufx_ucp_rkey *ufx_ucp_rkey_h;
typedef struct ufx_ucp_request *ufx_ucp_request_h;

#define UFX_UCP_RAIL_NAME_MAX 64
#define UFX_UCP_RAILS_MAX 16
#define UFX_UCP_AM_ID_MAX 1024 /**< user active message ids are 0..1023 */
#define UFX_UCP_TRANSITIONS 64 /**< how many rail transitions are remembered */

/* ---- Context ---------------------------------------------------------------------------------*/

/** One setting given by code; it wins over environment and file. Both strings are borrowed. */
typedef struct ufx_ucp_config_entry {
    const char *name;  /**< without the UFX_ prefix, e.g. "RAIL_GRACE" */
    const char *value; /**< as it would stand in the environment */
} ufx_ucp_config_entry_t;

enum ufx_ucp_context_params_field {
    UFX_UCP_CONTEXT_PARAM_CONFIG = 1u << 0,
    UFX_UCP_CONTEXT_PARAM_DEVICES = 1u << 1,
    UFX_UCP_CONTEXT_PARAM_NAME = 1u << 2
};

typedef struct ufx_ucp_context_params {
    uint64_t field_mask;                  /**< of ufx_ucp_context_params_field */
    const ufx_ucp_config_entry_t *config; /**< borrowed for the call */
    size_t config_count;
    const char *devices; /**< rails by device name, comma separated, in rail order; wins over
                              UFX_NET_DEVICES; "all" is every interface but loopback; NULL as if
                              its bit were clear; an empty list is refused */
    const char *name;    /**< for logs; copied */
} ufx_ucp_context_params_t;

/**
 * Makes a context: reads the configuration and opens the memory domains of its rails.
 *
 * @param params   NULL for defaults
 * @param context  out: destroy it after its workers and memory
 * @return UFX_OK; UFX_ERR_NO_DEVICE if a named device does not exist or none can be used (the log
 *         says which there are); UFX_ERR_INVALID_PARAM if a config entry is no setting, the
 *         list of devices is empty, or two of them are one and the same; UFX_ERR_NO_MEMORY
 */
UFX_API ufx_status_t ufx_ucp_context_create(const ufx_ucp_context_params_t *params,
                                            ufx_ucp_context_h *context) UFX_NOEXCEPT;

/**
 * Ends a context whose workers are destroyed and whose memory is unmapped. One that still has any
 * is left as it is, and the log says so: destroy and unmap, then call again. NULL is fine.
 */
UFX_API void ufx_ucp_context_destroy(ufx_ucp_context_h context) UFX_NOEXCEPT;

/* ---- Rails -----------------------------------------------------------------------------------*/

typedef enum ufx_ucp_rail_state {
    UFX_UCP_RAIL_UP = 0,
    UFX_UCP_RAIL_SUSPECT = 1,  /**< something is odd: no new traffic, nothing failed yet */
    UFX_UCP_RAIL_DRAINING = 2, /**< failed: its lanes are being sealed */
    UFX_UCP_RAIL_DOWN = 3,
    UFX_UCP_RAIL_PROBING = 4 /**< being tried before it is used again */
} ufx_ucp_rail_state_t;

/** One change of a rail towards one peer. Text is valid during the callback. */
typedef struct ufx_ucp_rail_event {
    uint64_t field_mask; /**< reserved, 0 */
    const char *rail;    /**< local device name, e.g. "eth0" */
    unsigned rail_index; /**< in the order of the context's devices */
    uint64_t peer;       /**< uuid of the peer's worker */
    ufx_ucp_rail_state_t from;
    ufx_ucp_rail_state_t to;
    const char *cause; /**< one phrase */
    uint64_t time_ns;  /**< monotonic */
} ufx_ucp_rail_event_t;

typedef void (*ufx_ucp_rail_event_cb_t)(void *arg, const ufx_ucp_rail_event_t *event) UFX_NOEXCEPT;

/** A local rail as it is now, summed over peers. */
typedef struct ufx_ucp_rail_attr {
    uint64_t field_mask; /**< reserved, 0 */
    char name[UFX_UCP_RAIL_NAME_MAX];
    char transport[UFX_UCP_RAIL_NAME_MAX];
    unsigned index;
    ufx_ucp_rail_state_t state; /**< worst over the peers */
    double bandwidth;           /**< bytes per second, of the device */
    uint64_t tx_bytes;          /**< payload posted, replays included */
    uint64_t rx_bytes;
    uint64_t posted;    /**< fragments */
    uint64_t completed; /**< fragments */
    uint64_t outstanding;
    uint64_t pending;  /**< operations that wait for a lane or credits; of the worker, in rail 0 */
    uint64_t failures; /**< times it entered DRAINING */
    uint64_t recoveries;
    const char *cause; /**< of the state, one word such as "GRACE_OVER": of DOWN what took it out of
                            service, of a rail that was never lost "WIRED"; static; "" without a
                            peer */
    unsigned peers;    /**< living peers that it leads to; 0: `state` says nothing of a network */
    unsigned drained;  /**< 1 from ufx_ucp_rail_drain() here or at a peer to the resume */
} ufx_ucp_rail_attr_t;

/** What happened to the fragments of a worker's eps in failovers so far, and how long it took. */
typedef struct ufx_ucp_failover_stats {
    uint64_t field_mask;    /**< reserved, 0 */
    uint64_t switches;      /**< lanes sealed while they carried fragments, with another to go on */
    uint64_t frozen;        /**< fragments outstanding on lanes that were sealed */
    uint64_t landed;        /**< of those: found to have landed, never posted again */
    uint64_t partial;       /**< of the replayed: resumed in their middle */
    uint64_t replayed;      /**< of the frozen: posted again; what is neither had been ended */
    uint64_t detect_ns;     /**< last failover: from the last sign of life to SEALING */
    uint64_t seal_ns;       /**< last failover: from SEALING to PURGED */
    uint64_t replay_ns;     /**< last failover: from PURGED to the last replay posted */
    uint64_t resume_ns;     /**< last failover: from SEALING to the first completion after it */
    uint64_t last_start_ns; /**< monotonic time of the last SEALING; 0: never */
} ufx_ucp_failover_stats_t;

/* ---- Worker ----------------------------------------------------------------------------------*/

typedef enum ufx_ucp_thread_mode {
    UFX_UCP_THREAD_SINGLE = 0, /**< one thread at a time */
    UFX_UCP_THREAD_MULTI = 1   /**< any thread; one lock */
} ufx_ucp_thread_mode_t;

enum ufx_ucp_worker_params_field {
    UFX_UCP_WORKER_PARAM_THREAD_MODE = 1u << 0,
    UFX_UCP_WORKER_PARAM_RAIL_EVENT = 1u << 1,
    UFX_UCP_WORKER_PARAM_NAME = 1u << 2,
    UFX_UCP_WORKER_PARAM_EP_ACCEPT = 1u << 3
};

/**
 * Tells the target that a peer made an ep to it by worker address; `ep` is its local end, and the
 * target's to close. Without this callback the worker closes it when the peer has closed it or
 * died: the handle that a message handler sees must not be used later, unless it set an event
 * callback.
 */
typedef void (*ufx_ucp_ep_accept_cb_t)(void *arg, ufx_ucp_ep_h ep) UFX_NOEXCEPT;

typedef struct ufx_ucp_worker_params {
    uint64_t field_mask; /**< of ufx_ucp_worker_params_field */
    ufx_ucp_thread_mode_t thread_mode;
    ufx_ucp_rail_event_cb_t rail_event_cb;
    void *rail_event_arg;
    const char *name; /**< for logs and the debug socket; copied */
    ufx_ucp_ep_accept_cb_t ep_accept_cb;
    void *ep_accept_arg;
} ufx_ucp_worker_params_t;

/**
 * Makes a worker: opens its rails and listens for control on each rail's address.
 *
 * @param params  NULL for defaults
 * @param worker  out
 * @return UFX_OK, UFX_ERR_NO_DEVICE, UFX_ERR_NO_MEMORY, UFX_ERR_IO; UFX_ERR_UNSUPPORTED if the
 *         transport of a rail lacks what failover needs (the log names it)
 */
UFX_API ufx_status_t ufx_ucp_worker_create(ufx_ucp_context_h context,
                                           const ufx_ucp_worker_params_t *params,
                                           ufx_ucp_worker_h *worker) UFX_NOEXCEPT;

/** Ends a worker and, without waiting for peers, what is left of its eps, listeners, requests. */
UFX_API void ufx_ucp_worker_destroy(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

/** Moves everything forward; runs callbacks; never blocks. @return how much happened, 0 if nothing
 */
UFX_API unsigned ufx_ucp_worker_progress(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

/** Descriptor that becomes readable when an armed worker has something to do; borrowed.
 * @return UFX_OK, UFX_ERR_INVALID_PARAM for NULL */
UFX_API ufx_status_t ufx_ucp_worker_event_fd(ufx_ucp_worker_h worker, int *fd) UFX_NOEXCEPT;

/** Arms it. @return UFX_OK: wait on the fd; UFX_ERR_BUSY: progress first, then arm again */
UFX_API ufx_status_t ufx_ucp_worker_arm(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

/**
 * Arms and waits until there is something to do, or `timeout_ms` passed (-1: no limit).
 *
 * @return UFX_OK: progress now, also after the timeout or a signal; UFX_ERR_IO,
 *         UFX_ERR_INVALID_PARAM
 */
UFX_API ufx_status_t ufx_ucp_worker_wait(ufx_ucp_worker_h worker, int timeout_ms) UFX_NOEXCEPT;

/** Makes the event fd readable. Any thread. */
UFX_API ufx_status_t ufx_ucp_worker_signal(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

/**
 * Address by which a peer makes an ep to this worker: bytes to carry by any means.
 *
 * @param address  out: release it by ufx_ucp_worker_release_address()
 * @param length   out: bytes
 */
UFX_API ufx_status_t ufx_ucp_worker_get_address(ufx_ucp_worker_h worker, void **address,
                                                size_t *length) UFX_NOEXCEPT;

/** Frees an address. */
UFX_API void ufx_ucp_worker_release_address(ufx_ucp_worker_h worker, void *address) UFX_NOEXCEPT;

/** Unique id of the worker, drawn at random at its creation. */
UFX_API uint64_t ufx_ucp_worker_uuid(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

/**
 * Rails of the worker.
 *
 * @param rails  NULL, or room for `*count`
 * @param count  in: room; out: how many there are
 * @return UFX_OK; UFX_ERR_BUFFER_TOO_SMALL with `*count` set
 */
UFX_API ufx_status_t ufx_ucp_worker_query_rails(ufx_ucp_worker_h worker, ufx_ucp_rail_attr_t *rails,
                                                size_t *count) UFX_NOEXCEPT;

/** Failover counters of the worker. */
UFX_API ufx_status_t ufx_ucp_worker_query_failover(ufx_ucp_worker_h worker,
                                                   ufx_ucp_failover_stats_t *stats) UFX_NOEXCEPT;

/**
 * Takes a rail out of service without failing anything (outstanding operations finish on it), on
 * both sides of every peer; until ufx_ucp_rail_resume().
 *
 * @param rail  local device name, or "railN" by index from 0
 * @return UFX_OK: begun; UFX_ERR_NO_ELEM
 */
UFX_API ufx_status_t ufx_ucp_rail_drain(ufx_ucp_worker_h worker, const char *rail) UFX_NOEXCEPT;

/** Takes a drained rail back into service, after a probe. @return as ufx_ucp_rail_drain() */
UFX_API ufx_status_t ufx_ucp_rail_resume(ufx_ucp_worker_h worker, const char *rail) UFX_NOEXCEPT;

/**
 * Fault injection: with `up` 0 the rail's sockets, lanes and control connections break and new ones
 * are refused here, as if its link were cut; until it is called with 1.
 *
 * @param rail  as ufx_ucp_rail_drain()
 * @return UFX_OK, UFX_ERR_NO_ELEM, UFX_ERR_UNSUPPORTED
 */
UFX_API ufx_status_t ufx_ucp_rail_set_link(ufx_ucp_worker_h worker, const char *rail,
                                           int up) UFX_NOEXCEPT;

typedef enum ufx_ucp_dump_format {
    UFX_UCP_DUMP_TEXT = 0,
    UFX_UCP_DUMP_JSON = 1
} ufx_ucp_dump_format_t;

/**
 * State of a worker for people or programs: rails, the last 64 transitions, eps, lanes, counters.
 *
 * @param text  out: NUL-terminated; free it by ufx_ucp_dump_release()
 */
UFX_API ufx_status_t ufx_ucp_worker_dump(ufx_ucp_worker_h worker, ufx_ucp_dump_format_t format,
                                         char **text) UFX_NOEXCEPT;

/** Frees a dump; NULL is fine. */
UFX_API void ufx_ucp_dump_release(char *text) UFX_NOEXCEPT;

/* ---- Memory ----------------------------------------------------------------------------------*/

enum ufx_ucp_mem_flags {
    UFX_UCP_MEM_REMOTE_WRITE = 1u << 0,
    UFX_UCP_MEM_REMOTE_READ = 1u << 1,
    UFX_UCP_MEM_REMOTE_ATOMIC = 1u << 2,
    UFX_UCP_MEM_ALLOCATE = 1u << 3 /**< `address` is ignored; memory is allocated */
};

enum ufx_ucp_mem_params_field {
    UFX_UCP_MEM_PARAM_ADDRESS = 1u << 0,
    UFX_UCP_MEM_PARAM_LENGTH = 1u << 1,
    UFX_UCP_MEM_PARAM_FLAGS = 1u << 2,
    UFX_UCP_MEM_PARAM_MEMORY_TYPE = 1u << 3,
    UFX_UCP_MEM_PARAM_DMABUF = 1u << 4
};

/** LENGTH is required, and ADDRESS unless FLAGS has ALLOCATE. */
typedef struct ufx_ucp_mem_params {
    uint64_t field_mask; /**< of ufx_ucp_mem_params_field */
    void *address;       /**< start; the caller keeps the memory mapped until unmap */
    size_t length;       /**< at least 1 */
    uint64_t flags;      /**< of ufx_ucp_mem_flags; default: all remote rights */
    int memory_type;     /**< ufx_uct_memory_type_t; only HOST is accepted today */
    int dmabuf_fd;       /**< refused with UFX_ERR_UNSUPPORTED today */
} ufx_ucp_mem_params_t;

/** Registers memory on all rails. @return UFX_OK, UFX_ERR_UNSUPPORTED, UFX_ERR_NO_MEMORY, ... */
UFX_API ufx_status_t ufx_ucp_mem_map(ufx_ucp_context_h context, const ufx_ucp_mem_params_t *params,
                                     ufx_ucp_mem_h *mem) UFX_NOEXCEPT;

/**
 * Ends it; remote access fails from now on; allocated memory is freed. No operation of this process
 * uses it any more, and nobody uses the handle again.
 *
 * @return UFX_OK; UFX_ERR_INVALID_PARAM if it is not, or no longer, mapped in this context
 */
UFX_API ufx_status_t ufx_ucp_mem_unmap(ufx_ucp_context_h context, ufx_ucp_mem_h mem) UFX_NOEXCEPT;

/** Start and length of mapped memory; each written if not NULL.
 * @return UFX_OK, UFX_ERR_INVALID_PARAM for no memory */
UFX_API ufx_status_t ufx_ucp_mem_query(ufx_ucp_mem_h mem, void **address,
                                       size_t *length) UFX_NOEXCEPT;

/**
 * Packs the key by which a peer reaches the memory over every rail.
 *
 * @param buffer, length  out: release by ufx_ucp_rkey_buffer_release()
 * @return UFX_OK; UFX_ERR_NO_MEMORY; UFX_ERR_INVALID_PARAM, also for memory that is not, or no
 *         longer, mapped in this context
 */
UFX_API ufx_status_t ufx_ucp_rkey_pack(ufx_ucp_context_h context, ufx_ucp_mem_h mem, void **buffer,
                                       size_t *length) UFX_NOEXCEPT;

/** Frees a packed key. */
UFX_API void ufx_ucp_rkey_buffer_release(void *buffer) UFX_NOEXCEPT;

/**
 * Unpacks a peer's key for one ep.
 *
 * @param buffer, length  bytes from the peer; checked
 * @return UFX_OK, UFX_ERR_BAD_MESSAGE, UFX_ERR_NO_MEMORY
 */
UFX_API ufx_status_t ufx_ucp_ep_rkey_unpack(ufx_ucp_ep_h ep, const void *buffer, size_t length,
                                            ufx_ucp_rkey_h *rkey) UFX_NOEXCEPT;

/** Releases an unpacked key; operations that use it have completed, its worker is still there. */
UFX_API void ufx_ucp_rkey_destroy(ufx_ucp_rkey_h rkey) UFX_NOEXCEPT;

/* ---- Listeners and endpoints -----------------------------------------------------------------*/

/**
 * Tells a listener's owner that a peer wants an ep. Answer it, now or later, once: by
 * ufx_ucp_ep_create() with CONN_REQUEST or by ufx_ucp_listener_reject().
 */
typedef void (*ufx_ucp_conn_cb_t)(void *arg, ufx_ucp_conn_request_h request) UFX_NOEXCEPT;

enum ufx_ucp_listener_params_field {
    UFX_UCP_LISTENER_PARAM_SOCKADDR = 1u << 0,
    UFX_UCP_LISTENER_PARAM_CONN_CB = 1u << 1
};

/** Both fields are required. */
typedef struct ufx_ucp_listener_params {
    uint64_t field_mask;             /**< of ufx_ucp_listener_params_field */
    const struct sockaddr *sockaddr; /**< IPv4 or IPv6; port 0: any free one */
    socklen_t sockaddr_length;
    ufx_ucp_conn_cb_t conn_cb;
    void *conn_arg;
} ufx_ucp_listener_params_t;

/** Listens on an address. @return UFX_OK; UFX_ERR_BUSY if the port is in use; UFX_ERR_IO */
UFX_API ufx_status_t ufx_ucp_listener_create(ufx_ucp_worker_h worker,
                                             const ufx_ucp_listener_params_t *params,
                                             ufx_ucp_listener_h *listener) UFX_NOEXCEPT;

/** Stops listening; requests that were not answered are rejected. */
UFX_API void ufx_ucp_listener_destroy(ufx_ucp_listener_h listener) UFX_NOEXCEPT;

/** Address that it listens on. @return UFX_OK, UFX_ERR_INVALID_PARAM for NULL */
UFX_API ufx_status_t ufx_ucp_listener_query(ufx_ucp_listener_h listener,
                                            struct sockaddr_storage *address) UFX_NOEXCEPT;

/** Refuses a connection; the peer's ep fails with UFX_ERR_REJECTED.
 * @return UFX_OK, UFX_ERR_INVALID_PARAM for NULL, UFX_ERR_NO_MEMORY */
UFX_API ufx_status_t ufx_ucp_listener_reject(ufx_ucp_listener_h listener,
                                             ufx_ucp_conn_request_h request) UFX_NOEXCEPT;

typedef enum ufx_ucp_error_mode {
    UFX_UCP_ERROR_MODE_NONE = 0,    /**< today the same as PEER */
    UFX_UCP_ERROR_MODE_PEER = 1,    /**< the first failure of a lane fails the ep, on both sides */
    UFX_UCP_ERROR_MODE_FAILOVER = 2 /**< lanes fail over to other rails */
} ufx_ucp_error_mode_t;

typedef enum ufx_ucp_ep_event_type {
    /** The ep has failed: all its operations have completed, its lanes are quiet. Close it. */
    UFX_UCP_EP_EVENT_ERROR = 0,
    /**
     * Transfers of the peer into local memory died with it and nothing of it can land any more:
     * buffers given to the peer may be reclaimed. Whether the peer had begun any cannot be known
     * here; a context that has given no memory key to anybody is not told.
     */
    UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD = 1,
    /**
     * The peer closed the ep in order; everything it sent was delivered. (If operations of the peer
     * were cut short, by UFX_UCP_CLOSE_FORCE or because its side had failed, it is ERROR and
     * PEER_TRANSFERS_DEAD.)
     */
    UFX_UCP_EP_EVENT_CLOSED_BY_PEER = 2
} ufx_ucp_ep_event_type_t;

/**
 * Why a peer or the wire-up refused. The same codes cross the wire (LANE_REFUSED). Those that end
 * an ep are in its event; the others show in the log, and the wire-up is tried again.
 */
typedef enum ufx_ucp_refusal {
    UFX_UCP_REFUSED_NONE = 0,
    UFX_UCP_REFUSED_NOT_READY = 1, /**< understood; this version does not send it */
    UFX_UCP_REFUSED_STALE_EPOCH = 2,
    UFX_UCP_REFUSED_DEVICE_DOWN = 3,
    UFX_UCP_REFUSED_RAIL_NOT_UP = 4,
    UFX_UCP_REFUSED_DAMPED = 5,
    UFX_UCP_REFUSED_NO_SUCH_RAIL = 6,
    UFX_UCP_REFUSED_LANE_COUNT_MISMATCH = 7, /**< understood; this version does not send it */
    UFX_UCP_REFUSED_MODE = 8,
    UFX_UCP_REFUSED_VERSION = 9,
    UFX_UCP_REFUSED_BAD_ADDRESS = 10,
    UFX_UCP_REFUSED_EP_CLOSING = 11,
    UFX_UCP_REFUSED_EP_GONE = 12,
    UFX_UCP_REFUSED_RESOURCE = 13,
    UFX_UCP_REFUSED_INTERNAL = 14,
    UFX_UCP_REFUSED_BY_USER = 15 /**< ufx_ucp_listener_reject() */
} ufx_ucp_refusal_t;

/** Name of a refusal such as "RAIL_NOT_UP"; static, never NULL. */
UFX_API const char *ufx_ucp_refusal_name(ufx_ucp_refusal_t refusal) UFX_NOEXCEPT;

typedef struct ufx_ucp_ep_event {
    uint64_t field_mask; /**< reserved, 0 */
    ufx_ucp_ep_event_type_t type;
    ufx_status_t status;       /**< ERROR: why */
    ufx_ucp_refusal_t refusal; /**< ERROR by a refusal: which; else NONE */
    const char *text;          /**< one sentence with the cause, valid during the callback */
} ufx_ucp_ep_event_t;

typedef void (*ufx_ucp_ep_event_cb_t)(void *arg, ufx_ucp_ep_h ep,
                                      const ufx_ucp_ep_event_t *event) UFX_NOEXCEPT;

enum ufx_ucp_ep_flags {
    /** A program at the target polls the memory that puts write: never repeat a put blindly. */
    UFX_UCP_EP_TARGET_POLLS_MEMORY = 1u << 0
};

enum ufx_ucp_ep_params_field {
    UFX_UCP_EP_PARAM_ADDRESS = 1u << 0,
    UFX_UCP_EP_PARAM_SOCKADDR = 1u << 1,
    UFX_UCP_EP_PARAM_CONN_REQUEST = 1u << 2,
    UFX_UCP_EP_PARAM_ERROR_MODE = 1u << 3,
    UFX_UCP_EP_PARAM_EVENT_CB = 1u << 4,
    UFX_UCP_EP_PARAM_FLAGS = 1u << 5,
    UFX_UCP_EP_PARAM_NAME = 1u << 6
};

/** Exactly one of ADDRESS, SOCKADDR, CONN_REQUEST is required. */
typedef struct ufx_ucp_ep_params {
    uint64_t field_mask; /**< of ufx_ucp_ep_params_field */
    const void *address; /**< a worker address, borrowed for the call */
    size_t address_length;
    const struct sockaddr *sockaddr; /**< of a listener */
    socklen_t sockaddr_length;
    ufx_ucp_conn_request_h conn_request; /**< consumed, also by a failure */
    ufx_ucp_error_mode_t error_mode;     /**< default UFX_ERROR_MODE, else FAILOVER */
    ufx_ucp_ep_event_cb_t event_cb;
    void *event_arg;
    uint64_t flags;   /**< of ufx_ucp_ep_flags */
    const char *name; /**< for logs; copied */
} ufx_ucp_ep_params_t;

/**
 * Makes an ep. Returns at once: it is wired by progress, operations are queued until then, and a
 * failure comes as UFX_UCP_EP_EVENT_ERROR.
 *
 * @return UFX_OK; UFX_ERR_BAD_MESSAGE if the address does not parse; UFX_ERR_VERSION;
 *         UFX_ERR_UNREACHABLE if no rail leads there; UFX_ERR_INVALID_PARAM; UFX_ERR_NO_MEMORY
 */
UFX_API ufx_status_t ufx_ucp_ep_create(ufx_ucp_worker_h worker, const ufx_ucp_ep_params_t *params,
                                       ufx_ucp_ep_h *ep) UFX_NOEXCEPT;

/** Sets or replaces the event callback of an ep, e.g. one that came by ep_accept_cb.
 * @return UFX_OK, UFX_ERR_INVALID_PARAM for NULL as `ep` */
UFX_API ufx_status_t ufx_ucp_ep_set_event_cb(ufx_ucp_ep_h ep, ufx_ucp_ep_event_cb_t cb,
                                             void *arg) UFX_NOEXCEPT;

enum ufx_ucp_ep_attr_field {
    UFX_UCP_EP_ATTR_STATE = 1u << 0,
    UFX_UCP_EP_ATTR_LANES = 1u << 1,
    UFX_UCP_EP_ATTR_PEER = 1u << 2,
    UFX_UCP_EP_ATTR_ERROR_MODE = 1u << 3
};

typedef enum ufx_ucp_ep_state {
    UFX_UCP_EP_CONNECTING = 0,
    UFX_UCP_EP_CONNECTED = 1,
    UFX_UCP_EP_CLOSING = 2,
    UFX_UCP_EP_FAILED = 3
} ufx_ucp_ep_state_t;

typedef struct ufx_ucp_ep_attr {
    uint64_t field_mask; /**< in: what to fill; of ufx_ucp_ep_attr_field */
    ufx_ucp_ep_state_t state;
    unsigned lanes;      /**< how many the ep was wired with */
    unsigned lanes_live; /**< how many can carry traffic now */
    uint64_t peer;       /**< uuid of the peer's worker; 0 while unknown */
    ufx_ucp_error_mode_t error_mode;
} ufx_ucp_ep_attr_t;

/** Fills the fields that attr->field_mask names. @return UFX_OK, UFX_ERR_INVALID_PARAM for NULL */
UFX_API ufx_status_t ufx_ucp_ep_query(ufx_ucp_ep_h ep, ufx_ucp_ep_attr_t *attr) UFX_NOEXCEPT;

/* ---- Operations ------------------------------------------------------------------------------*/

enum ufx_ucp_completion_flags {
    /** For TIMEOUT and AMBIGUOUS: the target's memory will not change by this operation any more.
     */
    UFX_UCP_COMPLETION_REMOTE_FINAL = 1u << 0
};

/** How an operation ended. */
typedef struct ufx_ucp_completion {
    uint64_t field_mask; /**< reserved, 0 */
    ufx_status_t status; /**< UFX_OK or a terminal status of status.h */
    unsigned flags;      /**< of ufx_ucp_completion_flags */
    size_t length;       /**< payload bytes that the operation carried */
} ufx_ucp_completion_t;

/**
 * Runs once from progress. `request` is what the posting call gave, or NULL if that was given no
 * `request` or it was freed since; the callback may free it (ufx_ucp_request_free()).
 */
typedef void (*ufx_ucp_op_cb_t)(void *arg, ufx_ucp_request_h request,
                                const ufx_ucp_completion_t *completion) UFX_NOEXCEPT;

enum ufx_ucp_op_flags {
    UFX_UCP_OP_AM_EAGER = 1u << 0, /**< never by rendezvous; 512 fragments, else INVALID_PARAM */
    UFX_UCP_OP_AM_RNDV = 1u << 1,  /**< always by rendezvous */
    UFX_UCP_OP_AM_REPLY = 1u << 2  /**< the handler gets an ep to answer by */
};

enum ufx_ucp_op_params_field {
    UFX_UCP_OP_PARAM_CB = 1u << 0,
    UFX_UCP_OP_PARAM_DEADLINE = 1u << 1,
    UFX_UCP_OP_PARAM_FLAGS = 1u << 2,
    UFX_UCP_OP_PARAM_MEM = 1u << 3
};

/** Options of every operation; NULL for defaults. */
typedef struct ufx_ucp_op_params {
    uint64_t field_mask; /**< of ufx_ucp_op_params_field */
    ufx_ucp_op_cb_t cb;  /**< default none: poll with ufx_ucp_request_check() */
    void *cb_arg;
    /**
     * From now; the op then ends with UFX_ERR_TIMEOUT; 0: none, the default. It does not run while
     * a rendezvous only waits for the peer's application. A flushing close is forced by it.
     */
    uint64_t deadline_ns;
    uint64_t flags;    /**< of ufx_ucp_op_flags */
    ufx_ucp_mem_h mem; /**< registration of the local buffer, saves registering it */
} ufx_ucp_op_params_t;

/** State of an accepted operation: UFX_INPROGRESS, or how it ended; INVALID_PARAM for NULL. */
UFX_API ufx_status_t ufx_ucp_request_check(ufx_ucp_request_h request) UFX_NOEXCEPT;

/**
 * Gives the request back, once; an operation still in progress goes on, and its callback, which
 * gets NULL then, runs. NULL is fine.
 */
UFX_API void ufx_ucp_request_free(ufx_ucp_request_h request) UFX_NOEXCEPT;

/**
 * Stops an operation where it can be stopped: fragments not posted yet are dropped, posted ones
 * finish first. It then ends with UFX_ERR_CANCELED, or OK if nothing was left to stop.
 *
 * @return UFX_OK, also if it has ended; UFX_ERR_INVALID_PARAM for NULL
 */
UFX_API ufx_status_t ufx_ucp_request_cancel(ufx_ucp_request_h request) UFX_NOEXCEPT;

/**
 * Writes `length` bytes to the peer's memory. OK: applied there.
 *
 * @param buffer       local, `length` bytes, unchanged until completion
 * @param remote_addr  address in the peer's process. A range outside that of `rkey` is refused by
 *                     the call, with INVALID_PARAM; what only the target can know (the memory was
 *                     unmapped, the right was not granted) ends the operation, with
 *                     UFX_ERR_REMOTE_ACCESS
 * @param rkey         of the same ep
 * @param params       NULL for defaults
 * @param request      out, may be NULL: then poll by flush or callback
 */
UFX_API ufx_status_t ufx_ucp_put(ufx_ucp_ep_h ep, const void *buffer, size_t length,
                                 uint64_t remote_addr, ufx_ucp_rkey_h rkey,
                                 const ufx_ucp_op_params_t *params,
                                 ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Reads `length` bytes of the peer's memory. OK: they are in `buffer`. Parameters as put. */
UFX_API ufx_status_t ufx_ucp_get(ufx_ucp_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                                 ufx_ucp_rkey_h rkey, const ufx_ucp_op_params_t *params,
                                 ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** One transfer of a list. */
typedef struct ufx_ucp_transfer {
    void *local;
    uint64_t remote_addr;
    size_t length; /**< may be 0 */
    ufx_ucp_rkey_h rkey;
    ufx_ucp_mem_h mem; /**< NULL, or the registration of `local` */
} ufx_ucp_transfer_t;

/**
 * Message that the peer's notify handler gets after the whole list; copied by the call. If the list
 * ends with TIMEOUT or CANCELED, it may have been on its way, and the handler may still run: all of
 * the list is in memory then.
 */
typedef struct ufx_ucp_notify {
    uint64_t tag;
    const void *data; /**< may be NULL */
    size_t length;    /**< at most 4096 */
} ufx_ucp_notify_t;

/**
 * Writes a list. The peer's notify handler runs exactly once, after all of it is in the peer's
 * memory. OK: the peer's worker has the notification (without one: all is applied); its handler may
 * run later.
 *
 * @param transfers  `count` entries, copied by the call
 * @param notify     may be NULL
 */
UFX_API ufx_status_t ufx_ucp_put_list(ufx_ucp_ep_h ep, const ufx_ucp_transfer_t *transfers,
                                      size_t count, const ufx_ucp_notify_t *notify,
                                      const ufx_ucp_op_params_t *params,
                                      ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Reads a list; the peer is notified after all of it has arrived here. Parameters as put_list. */
UFX_API ufx_status_t ufx_ucp_get_list(ufx_ucp_ep_h ep, const ufx_ucp_transfer_t *transfers,
                                      size_t count, const ufx_ucp_notify_t *notify,
                                      const ufx_ucp_op_params_t *params,
                                      ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Runs when a peer's list is complete; `data` is valid during the callback. */
typedef void (*ufx_ucp_notify_cb_t)(void *arg, ufx_ucp_ep_h ep, uint64_t tag, const void *data,
                                    size_t length) UFX_NOEXCEPT;

/** Sets the worker's notify handler; NULL drops notifications. */
UFX_API ufx_status_t ufx_ucp_worker_set_notify_handler(ufx_ucp_worker_h worker,
                                                       ufx_ucp_notify_cb_t cb,
                                                       void *arg) UFX_NOEXCEPT;

/* ---- Active messages -------------------------------------------------------------------------*/

enum ufx_ucp_am_flags {
    UFX_UCP_AM_RNDV = 1u << 0, /**< `data` names data that waits at the sender */
    UFX_UCP_AM_KEEP = 1u << 1  /**< `data` may be kept by returning UFX_INPROGRESS */
};

/** A received message. Pointers are valid during the callback unless kept. */
typedef struct ufx_ucp_am {
    uint64_t field_mask; /**< reserved, 0 */
    ufx_ucp_ep_h ep;     /**< the ep that it came by */
    uint16_t id;
    const void *header;
    size_t header_length;
    void *data;     /**< payload; for RNDV an opaque descriptor for ufx_ucp_am_recv_data() */
    size_t length;  /**< of the payload, also for RNDV */
    unsigned flags; /**< of ufx_ucp_am_flags */
} ufx_ucp_am_t;

/**
 * Receives messages of one id, per ep in the order they were sent.
 *
 * @return UFX_OK: `data` is no longer needed (an RNDV message that was not received is dropped);
 *         UFX_INPROGRESS: kept until ufx_ucp_am_data_release() or ufx_ucp_am_recv_data()
 */
typedef ufx_status_t (*ufx_ucp_am_cb_t)(void *arg, const ufx_ucp_am_t *am) UFX_NOEXCEPT;

/** Sets the handler of an id (0..1023); NULL drops such messages. */
UFX_API ufx_status_t ufx_ucp_worker_set_am_handler(ufx_ucp_worker_h worker, uint16_t id,
                                                   ufx_ucp_am_cb_t cb, void *arg) UFX_NOEXCEPT;

/**
 * Sends an active message. OK: delivered to the peer's worker (rendezvous: received by it).
 *
 * @param header         up to 4096 bytes, copied by the call; may be NULL
 * @param buffer,length  payload, unchanged until completion; may be NULL with 0
 */
UFX_API ufx_status_t ufx_ucp_am_send(ufx_ucp_ep_h ep, uint16_t id, const void *header,
                                     size_t header_length, const void *buffer, size_t length,
                                     const ufx_ucp_op_params_t *params,
                                     ufx_ucp_request_h *request) UFX_NOEXCEPT;

/**
 * Fetches the data of a rendezvous message, once, during the callback or later if it was kept.
 *
 * @param data    as in ufx_ucp_am::data; consumed
 * @param buffer  room for `length` bytes, at most the message's length
 */
UFX_API ufx_status_t ufx_ucp_am_recv_data(ufx_ucp_worker_h worker, void *data, void *buffer,
                                          size_t length, const ufx_ucp_op_params_t *params,
                                          ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Gives back kept data; of an RNDV message that is not wanted: drops it, the sender ends OK. */
UFX_API void ufx_ucp_am_data_release(ufx_ucp_worker_h worker, void *data) UFX_NOEXCEPT;

/* ---- Atomics, flush, fence, close ------------------------------------------------------------*/

typedef enum ufx_ucp_atomic_op {
    UFX_UCP_ATOMIC_ADD = 0,
    UFX_UCP_ATOMIC_AND = 1,
    UFX_UCP_ATOMIC_OR = 2,
    UFX_UCP_ATOMIC_XOR = 3,
    UFX_UCP_ATOMIC_SWAP = 4,
    UFX_UCP_ATOMIC_CSWAP = 5
} ufx_ucp_atomic_op_t;

/**
 * Atomic operation on 4 or 8 aligned bytes of the peer's memory. Executed exactly once.
 *
 * @param operand  value; for CSWAP the new value
 * @param compare  CSWAP only
 * @param size     4 or 8
 * @param result   out, `size` bytes: the value before; NULL if not wanted (not SWAP, CSWAP);
 *                 written before completion
 */
UFX_API ufx_status_t ufx_ucp_atomic(ufx_ucp_ep_h ep, ufx_ucp_atomic_op_t op, uint64_t operand,
                                    uint64_t compare, size_t size, void *result,
                                    uint64_t remote_addr, ufx_ucp_rkey_h rkey,
                                    const ufx_ucp_op_params_t *params,
                                    ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Completes when everything posted before on the ep is applied at or delivered to the peer. */
UFX_API ufx_status_t ufx_ucp_ep_flush(ufx_ucp_ep_h ep, const ufx_ucp_op_params_t *params,
                                      ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** As ufx_ucp_ep_flush(), for all eps of the worker. */
UFX_API ufx_status_t ufx_ucp_worker_flush(ufx_ucp_worker_h worker,
                                          const ufx_ucp_op_params_t *params,
                                          ufx_ucp_request_h *request) UFX_NOEXCEPT;

/** Operations posted after it take effect after those posted before it, on this ep. */
UFX_API ufx_status_t ufx_ucp_ep_fence(ufx_ucp_ep_h ep) UFX_NOEXCEPT;

/** As ufx_ucp_ep_fence(), for each ep of the worker. */
UFX_API ufx_status_t ufx_ucp_worker_fence(ufx_ucp_worker_h worker) UFX_NOEXCEPT;

typedef enum ufx_ucp_close_mode {
    UFX_UCP_CLOSE_FLUSH = 0, /**< everything posted before completes first */
    UFX_UCP_CLOSE_FORCE = 1  /**< operations end with UFX_ERR_CANCELED as soon as lanes are quiet */
} ufx_ucp_close_mode_t;

/**
 * Closes an ep. The handle is invalid when the request has completed; a failed ep is closed with
 * either mode. FORCE after FLUSH forces the close that is under way, whose request stays the only
 * one, and returns UFX_OK.
 */
UFX_API ufx_status_t ufx_ucp_ep_close(ufx_ucp_ep_h ep, ufx_ucp_close_mode_t mode,
                                      const ufx_ucp_op_params_t *params,
                                      ufx_ucp_request_h *request) UFX_NOEXCEPT;

/* ---- Listings for tools ----------------------------------------------------------------------*/

/**
 * Everything there is to know before a context: components, devices, capabilities.
 *
 * @param text  out: free it by ufx_ucp_dump_release()
 */
UFX_API ufx_status_t ufx_ucp_system_dump(ufx_ucp_dump_format_t format, char **text) UFX_NOEXCEPT;

/** Makes sure that every setting of ucp and of all components is known to ufx_ucs_config_print().
 */
UFX_API ufx_status_t ufx_ucp_config_declare(void) UFX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
