/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status codes: how every fallible call of UFX answers.
 *
 * ABI version 1. Thread rule: everything here may be called from any thread. No callbacks.
 */
#ifndef UFX_STATUS_H
#define UFX_STATUS_H

#include <ufx/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Outcome of a call or of an operation. 0 is success, a positive value means "accepted, not yet
 * finished", a negative value is an error. Values never change once released; new ones are
 * appended.
 */
typedef enum ufx_status {
    UFX_OK = 0,         /**< done */
    UFX_INPROGRESS = 1, /**< accepted; the completion callback will run exactly once */

    UFX_ERR_NO_MESSAGE = -1,     /**< reserved: no call of this version returns it */
    UFX_ERR_NO_RESOURCE = -2,    /**< queue or credits full, no side effect; retry after progress */
    UFX_ERR_NO_MEMORY = -3,      /**< allocation failed, no side effect */
    UFX_ERR_INVALID_PARAM = -4,  /**< an argument is out of range or missing; do not retry */
    UFX_ERR_UNSUPPORTED = -5,    /**< the transport or build cannot do this; do not retry */
    UFX_ERR_NO_ELEM = -6,        /**< the named thing does not exist */
    UFX_ERR_ALREADY_EXISTS = -7, /**< the named thing exists already */
    UFX_ERR_BUSY = -8,           /**< in use, or events are pending: progress, then retry */
    UFX_ERR_NO_DEVICE = -9,      /**< no such device, or it has gone */
    UFX_ERR_IO = -10,            /**< system call or device failed; the log has errno or syndrome */
    UFX_ERR_VERSION = -11,       /**< the peer or module speaks another version */
    UFX_ERR_BUFFER_TOO_SMALL = -12, /**< output buffer too small; the needed size is given */
    UFX_ERR_BAD_MESSAGE = -13,      /**< bytes from a peer or file do not parse */
    UFX_ERR_REJECTED = -14,         /**< the peer refused; the refusal code says why */
    UFX_ERR_SHUTDOWN = -15,         /**< the object is closing or closed */
    UFX_ERR_CONNECTION_RESET = -16, /**< a uct ep's connection broke (own QP error, EOF, RST) */
    UFX_ERR_ENDPOINT_TIMEOUT =
        -17, /**< a uct ep's transport gave up (retries exceeded, ETIMEDOUT) */
    UFX_ERR_NET_UNREACHABLE = -18, /**< no route, link down, or address gone under a uct ep */
    UFX_ERR_PURGED = -19,          /**< reserved: no call of this version returns it */

    /* Terminal states of a ucp operation, beside UFX_OK. */
    UFX_ERR_CANCELED = -40,    /**< canceled by the user; remote memory is final */
    UFX_ERR_TIMEOUT = -41,     /**< the op's deadline passed; see UFX_UCP_COMPLETION_REMOTE_FINAL */
    UFX_ERR_UNREACHABLE = -42, /**< no rail to the peer, or the peer is dead; remote unknown */
    UFX_ERR_AMBIGUOUS = -43,   /**< may or may not have been applied, and must not be repeated */
    UFX_ERR_REMOTE_ACCESS = -44, /**< the target refused key, range or rights: a bug of the user; a
                                      range outside that of the key is INVALID_PARAM at the call */
    UFX_ERR_LOCAL_PROT = -45     /**< local buffer not accessible: a bug of the user */
} ufx_status_t;

/**
 * Name of a status.
 *
 * @param status  any value, also one that is not in the enum
 * @return static string such as "NO_RESOURCE"; never NULL
 */
UFX_API const char *ufx_ucs_status_name(ufx_status_t status) UFX_NOEXCEPT;

/**
 * One sentence for people: what a status means; of NO_RESOURCE and BUSY also when to try again.
 *
 * @param status  any value, also one that is not in the enum
 * @return static string; never NULL
 */
UFX_API const char *ufx_ucs_status_string(ufx_status_t status) UFX_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
