/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport layer (uct): open a device, connect endpoints, move bytes, learn what landed.
 *
 * ABI version 1.
 * Thread rule: an md may be used by any thread, also while others make progress on ifaces that were
 * opened on it; an iface or ep is opened and closed by the thread of its worker. A worker, an iface
 * and everything opened on it belong to one thread at a time; only ufx_uct_worker_post() may be
 * called from any thread.
 * Callbacks run from progress only (ufx_uct_iface_progress, ufx_uct_worker_progress), never inside
 * a posting call, and exactly once for each operation that returned UFX_INPROGRESS.
 *
 * Posting calls return
 *   UFX_OK               done (short, bcopy: the local buffer may be reused; what became of the
 *                        operation shows in a flush or in the ep's error)
 *   UFX_INPROGRESS       accepted; the completion will be called
 *   UFX_ERR_NO_RESOURCE  no credit and no side effect: progress, or ufx_uct_ep_pending_add()
 *   UFX_ERR_UNSUPPORTED  the transport has no such operation (see caps)
 *   UFX_ERR_INVALID_PARAM beyond a limit of the attributes
 *   another error        the ep has failed: refused without side effect
 * A zero-copy OK of a put or atomic means applied at the target, of a get that the data is in the
 * local buffer, of an am only what UFX_UCT_CAP_COMPLETION_IS_DELIVERY says. Local zcopy buffers and
 * registered memory stay the caller's and must stay valid until the completion. iov arrays and
 * am headers are copied before the call returns.
 */
#ifndef UFX_UCT_H
#define UFX_UCT_H

#include <ufx/uct_ops.h>
#include <ufx/uct_types.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Components and memory domains (libufx_uct) ----------------------------------------------*/

/**
 * Lists the components: built-in ones and modules, which are loaded at the first call.
 *
 * @param components  out: array to free by ufx_uct_release_component_list(); entries are static
 * @param count       out: its length
 * @return UFX_OK, UFX_ERR_NO_MEMORY. A module that does not load is one WARN line, not an error.
 */
UFX_API ufx_status_t ufx_uct_query_components(const ufx_uct_component_t ***components,
                                              size_t *count) UFX_NOEXCEPT;

/** Frees what ufx_uct_query_components() gave; NULL is fine. */
UFX_API void ufx_uct_release_component_list(const ufx_uct_component_t **components) UFX_NOEXCEPT;

/** Component of that name. @return UFX_OK or UFX_ERR_NO_ELEM */
UFX_API ufx_status_t ufx_uct_find_component(const char *name,
                                            const ufx_uct_component_t **component) UFX_NOEXCEPT;

/**
 * Adds a component that the program brings itself, such as a transport linked into it.
 *
 * @param component  static: it is used until the process ends
 * @return UFX_OK, UFX_ERR_ALREADY_EXISTS if its name is taken, UFX_ERR_INVALID_PARAM if it is not
 *         complete, UFX_ERR_NO_MEMORY. Any thread.
 */
UFX_API ufx_status_t ufx_uct_register_component(const ufx_uct_component_t *component) UFX_NOEXCEPT;

/** Lists md names of a component; see ufx_uct_component::query_md_resources. */
static inline ufx_status_t ufx_uct_component_query_mds(const ufx_uct_component_t *component,
                                                       ufx_uct_md_resource_t *resources,
                                                       size_t *count)
{
    return component->query_md_resources(resources, count);
}

/**
 * Opens a memory domain.
 *
 * @param md_name  of ufx_uct_component_query_mds()
 * @param params   NULL for defaults
 * @param md       out: close it after its ifaces and registrations
 * @return UFX_OK, UFX_ERR_NO_DEVICE, UFX_ERR_NO_MEMORY, UFX_ERR_INVALID_PARAM
 */
static inline ufx_status_t ufx_uct_md_open(const ufx_uct_component_t *component,
                                           const char *md_name, const ufx_uct_md_params_t *params,
                                           ufx_uct_md_h *md)
{
    return component->md_open(md_name, params, md);
}

/** Closes an md whose ifaces are closed and whose memory is deregistered. */
static inline void ufx_uct_md_close(ufx_uct_md_h md)
{
    md->ops->close(md);
}

/** Fills `attr`. @return UFX_OK */
static inline ufx_status_t ufx_uct_md_query(ufx_uct_md_h md, ufx_uct_md_attr_t *attr)
{
    return md->ops->query(md, attr);
}

/**
 * Lists the (transport, device) pairs of an md.
 *
 * @param resources  NULL, or room for `*count` entries
 * @param count      in: room; out: how many there are
 * @return UFX_OK, UFX_ERR_BUFFER_TOO_SMALL with `*count` set, UFX_ERR_IO
 */
static inline ufx_status_t ufx_uct_md_query_resources(ufx_uct_md_h md,
                                                      ufx_uct_resource_t *resources, size_t *count)
{
    return md->ops->query_resources(md, resources, count);
}

/**
 * Lists the network interfaces that share the cable of a device: those of a RoCE or IPoIB port. Of
 * a device that is such an interface itself there are none.
 *
 * @param dev_name  of one of its resources
 * @param netdevs   NULL, or room for `*count` entries; the one whose address is used comes first
 * @param count     in: room; out: how many there are
 * @return UFX_OK, UFX_ERR_BUFFER_TOO_SMALL with `*count` set; UFX_ERR_UNSUPPORTED,
 * UFX_ERR_NO_DEVICE
 */
static inline ufx_status_t ufx_uct_md_query_netdevs(ufx_uct_md_h md, const char *dev_name,
                                                    ufx_uct_netdev_t *netdevs, size_t *count)
{
    return offsetof(ufx_uct_md_ops_t, query_netdevs) < md->ops->size
               ? md->ops->query_netdevs(md, dev_name, netdevs, count)
               : UFX_ERR_UNSUPPORTED;
}

/**
 * Registers memory for zero copy and remote access.
 *
 * @param params  ADDRESS and LENGTH required
 * @param memh    out: dereg it before the memory is unmapped
 * @return UFX_OK; UFX_ERR_UNSUPPORTED for device memory or a dmabuf; UFX_ERR_NO_MEMORY;
 *         UFX_ERR_INVALID_PARAM; UFX_ERR_IO
 */
static inline ufx_status_t ufx_uct_md_mem_reg(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                                              ufx_uct_mem_h *memh)
{
    return md->ops->mem_reg(md, params, memh);
}

/**
 * Ends a registration; with UFX_UCT_MD_FLAG_INVALIDATE remote access fails from now on, and nothing
 * of a peer touches the memory when the call has returned.
 *
 * @return UFX_OK, UFX_ERR_IO
 */
static inline ufx_status_t ufx_uct_md_mem_dereg(ufx_uct_md_h md, ufx_uct_mem_h memh)
{
    return md->ops->mem_dereg(md, memh);
}

/** Allocates and registers at least params->length bytes. @return as mem_reg */
static inline ufx_status_t ufx_uct_md_mem_alloc(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                                                ufx_uct_allocated_memory_t *mem)
{
    return md->ops->mem_alloc(md, params, mem);
}

/** Frees what mem_alloc gave. @return as mem_dereg */
static inline ufx_status_t ufx_uct_md_mem_free(ufx_uct_md_h md,
                                               const ufx_uct_allocated_memory_t *mem)
{
    return md->ops->mem_free(md, mem);
}

/** Writes rkey_packed_size bytes that a peer unpacks. @return UFX_OK, UFX_ERR_UNSUPPORTED */
static inline ufx_status_t ufx_uct_md_mkey_pack(ufx_uct_md_h md, ufx_uct_mem_h memh, void *buffer)
{
    return md->ops->mkey_pack(md, memh, buffer);
}

/**
 * Unpacks a peer's key for ifaces of this md.
 *
 * @param buffer, length  bytes from the peer; checked
 * @return UFX_OK; UFX_ERR_BAD_MESSAGE if they do not parse
 */
static inline ufx_status_t ufx_uct_md_rkey_unpack(ufx_uct_md_h md, const void *buffer,
                                                  size_t length, ufx_uct_rkey_bundle_t *rkey)
{
    return md->ops->rkey_unpack(md, buffer, length, rkey);
}

/** Releases an unpacked key; no operation may use it any more. */
static inline void ufx_uct_md_rkey_release(ufx_uct_md_h md, const ufx_uct_rkey_bundle_t *rkey)
{
    md->ops->rkey_release(md, rkey);
}

/* ---- Worker (libufx_uct) ---------------------------------------------------------------------*/

/** Makes a progress domain. @return UFX_OK, UFX_ERR_NO_MEMORY, UFX_ERR_IO */
UFX_API ufx_status_t ufx_uct_worker_create(ufx_uct_worker_h *worker) UFX_NOEXCEPT;

/** Ends it; its ifaces are closed before. */
UFX_API void ufx_uct_worker_destroy(ufx_uct_worker_h worker) UFX_NOEXCEPT;

/** Progresses all its ifaces and its mailbox. @return how many things happened; 0 if none */
UFX_API unsigned ufx_uct_worker_progress(ufx_uct_worker_h worker) UFX_NOEXCEPT;

/** Descriptor that becomes readable when a worker that was armed has something to do; borrowed. */
UFX_API ufx_status_t ufx_uct_worker_event_fd(ufx_uct_worker_h worker, int *fd) UFX_NOEXCEPT;

/** Arms it. @return UFX_OK: wait on the fd; UFX_ERR_BUSY: progress first, then arm again */
UFX_API ufx_status_t ufx_uct_worker_arm(ufx_uct_worker_h worker) UFX_NOEXCEPT;

/** Runs `fn(arg)` from the worker's next progress and wakes its fd. Any thread. */
static inline ufx_status_t ufx_uct_worker_post(ufx_uct_worker_h worker, void (*fn)(void *arg),
                                               void *arg)
{
    return worker->ops->post(worker, fn, arg);
}

/* ---- Interfaces ------------------------------------------------------------------------------*/

/**
 * Opens a transport on a device.
 *
 * @param params  TL_NAME and DEV_NAME required
 * @param iface   out: close it after its eps
 * @return UFX_OK; UFX_ERR_NO_DEVICE if there is no such transport or device; UFX_ERR_INVALID_PARAM;
 *         UFX_ERR_NO_MEMORY; UFX_ERR_IO
 */
static inline ufx_status_t ufx_uct_iface_open(ufx_uct_md_h md, const ufx_uct_iface_params_t *params,
                                              ufx_uct_iface_h *iface)
{
    return md->ops->iface_open(md, params, iface);
}

/** Closes an iface whose eps are destroyed. */
static inline void ufx_uct_iface_close(ufx_uct_iface_h iface)
{
    iface->ops->close(iface);
}

/** Fills `attr`; port_active and bandwidth are read from the device at each call. */
static inline ufx_status_t ufx_uct_iface_query(ufx_uct_iface_h iface, ufx_uct_iface_attr_t *attr)
{
    return iface->ops->query(iface, attr);
}

/** Fills `stats`. */
static inline ufx_status_t ufx_uct_iface_query_stats(ufx_uct_iface_h iface,
                                                     ufx_uct_iface_stats_t *stats)
{
    return iface->ops->query_stats(iface, stats);
}

/** Writes device_addr_len bytes that name the device to a peer. */
static inline ufx_status_t ufx_uct_iface_get_device_address(ufx_uct_iface_h iface, void *addr)
{
    return iface->ops->get_device_address(iface, addr);
}

/** Writes iface_addr_len bytes that name the iface to a peer. */
static inline ufx_status_t ufx_uct_iface_get_address(ufx_uct_iface_h iface, void *addr)
{
    return iface->ops->get_address(iface, addr);
}

/** 1 if a peer with these addresses can be reached as far as is known here, else 0. */
static inline int ufx_uct_iface_is_reachable(ufx_uct_iface_h iface, const void *device_addr,
                                             const void *iface_addr)
{
    return iface->ops->is_reachable(iface, device_addr, iface_addr);
}

/** Handles what arrived and completed; runs callbacks; never blocks. @return how much happened */
static inline unsigned ufx_uct_iface_progress(ufx_uct_iface_h iface)
{
    return iface->ops->progress(iface);
}

/** Descriptor that becomes readable when an armed iface has something to do; borrowed. */
static inline ufx_status_t ufx_uct_iface_event_fd_get(ufx_uct_iface_h iface, int *fd)
{
    return iface->ops->event_fd_get(iface, fd);
}

/** Arms it. @return UFX_OK: wait on the fd; UFX_ERR_BUSY: progress first, then arm again */
static inline ufx_status_t ufx_uct_iface_event_arm(ufx_uct_iface_h iface, unsigned events)
{
    return iface->ops->event_arm(iface, events);
}

/** Flushes all live eps of the iface; see ufx_uct_ep_flush(). CANCEL is refused here. */
static inline ufx_status_t ufx_uct_iface_flush(ufx_uct_iface_h iface, unsigned flags,
                                               ufx_uct_completion_t *comp)
{
    return iface->ops->flush(iface, flags, comp);
}

/** Operations after it are applied after those before it, per ep. */
static inline ufx_status_t ufx_uct_iface_fence(ufx_uct_iface_h iface)
{
    return iface->ops->fence(iface);
}

/**
 * Sets the handler of an active message id; NULL drops such messages.
 *
 * @param id   0..31
 * @param arg  handed to `cb`
 * @return UFX_OK, UFX_ERR_INVALID_PARAM for another id
 */
static inline ufx_status_t ufx_uct_iface_set_am_handler(ufx_uct_iface_h iface, uint8_t id,
                                                        ufx_uct_am_cb_t cb, void *arg)
{
    return iface->ops->set_am_handler(iface, id, cb, arg);
}

/** Gives back data that a handler kept by UFX_INPROGRESS; the iface must still be open. */
static inline void ufx_uct_iface_release_desc(ufx_uct_iface_h iface, void *data)
{
    iface->ops->release_desc(iface, data);
}

/**
 * What of a peer's ep has landed here: the rx token that the peer's outstanding_purge() takes.
 *
 * Final only once the local ep that faces it is quiet (ufx_uct_ep_invalidate) or gone.
 * @param tx_token, tx_token_length  of the peer's ufx_uct_ep_query(), as sent in the handshake
 * @param rx_token                   out: room for UFX_UCT_TOKEN_MAX bytes
 * @param rx_token_length            out
 * @param grade                      out: EXACT, or BLIND if the position cannot be known
 * @return UFX_OK; UFX_ERR_NO_ELEM if the token names nothing here; UFX_ERR_BAD_MESSAGE;
 *         UFX_ERR_UNSUPPORTED; UFX_ERR_IO if the device does not answer (grade OPEN is written)
 */
static inline ufx_status_t ufx_uct_iface_query_token(ufx_uct_iface_h iface, const void *tx_token,
                                                     size_t tx_token_length, void *rx_token,
                                                     size_t *rx_token_length,
                                                     ufx_uct_token_grade_t *grade)
{
    return iface->ops->query_token(iface, tx_token, tx_token_length, rx_token, rx_token_length,
                                   grade);
}

/**
 * Fault injection: with `up` 0 the iface behaves as if its link were cut (connections break, new
 * ones are refused, PORT_DOWN is reported) until it is called with 1 (PORT_UP is reported; before
 * it ADDR_CHANGED, if ufx_uct_iface_get_address() gives another address now).
 */
static inline ufx_status_t ufx_uct_iface_set_link(ufx_uct_iface_h iface, int up)
{
    return iface->ops->set_link(iface, up);
}

/* ---- Endpoints -------------------------------------------------------------------------------*/

/**
 * Creates an ep, connected to a peer's iface (CONNECT_TO_IFACE) or to be connected by
 * ufx_uct_ep_connect_to_ep().
 *
 * @return UFX_OK, UFX_ERR_UNSUPPORTED, UFX_ERR_NO_MEMORY, UFX_ERR_NO_RESOURCE, UFX_ERR_IO
 */
static inline ufx_status_t ufx_uct_ep_create(ufx_uct_iface_h iface,
                                             const ufx_uct_ep_params_t *params, ufx_uct_ep_h *ep)
{
    return iface->ops->ep_create(iface, params, ep);
}

/**
 * Destroys an ep in any state, without callbacks: completions of outstanding operations and pending
 * requests are dropped, so purge or flush(CANCEL) first. Legal inside the ep's own error handler.
 */
static inline void ufx_uct_ep_destroy(ufx_uct_ep_h ep)
{
    ep->ops->destroy(ep);
}

/** Writes ep_addr_len bytes for the peer's connect_to_ep. */
static inline ufx_status_t ufx_uct_ep_get_address(ufx_uct_ep_h ep, void *ep_addr)
{
    return ep->ops->get_address(ep, ep_addr);
}

/**
 * Connects to the peer's ep; both sides call it, in any order. Returns at once: the connection is
 * made by progress, posts before that give UFX_ERR_NO_RESOURCE or are queued, and a failure comes
 * to the error handler.
 */
static inline ufx_status_t ufx_uct_ep_connect_to_ep(ufx_uct_ep_h ep, const void *device_addr,
                                                    const void *iface_addr, const void *ep_addr)
{
    return ep->ops->connect_to_ep(ep, device_addr, iface_addr, ep_addr);
}

/** Fills the fields of `attr` that its field_mask names. Legal in every state. */
static inline ufx_status_t ufx_uct_ep_query(ufx_uct_ep_h ep, ufx_uct_ep_attr_t *attr)
{
    return ep->ops->query(ep, attr);
}

/** Sends 8 header bytes (host order) and `length` bytes of payload; length <= am.max_short - 8. */
static inline ufx_status_t ufx_uct_ep_am_short(ufx_uct_ep_h ep, uint8_t id, uint64_t header,
                                               const void *payload, size_t length)
{
    return ep->ops->am_short(ep, id, header, payload, length);
}

/** Sends what `pack` writes, at most am.max_bcopy bytes. @return its length, or a negative status
 */
static inline ssize_t ufx_uct_ep_am_bcopy(ufx_uct_ep_h ep, uint8_t id, ufx_uct_pack_cb_t pack,
                                          void *arg, unsigned flags)
{
    return ep->ops->am_bcopy(ep, id, pack, arg, flags);
}

/** Sends header (<= am.max_hdr) and iov as one message. */
static inline ufx_status_t ufx_uct_ep_am_zcopy(ufx_uct_ep_h ep, uint8_t id, const void *header,
                                               size_t header_length, const ufx_uct_iov_t *iov,
                                               size_t iov_count, unsigned flags,
                                               ufx_uct_completion_t *comp)
{
    return ep->ops->am_zcopy(ep, id, header, header_length, iov, iov_count, flags, comp);
}

/** Writes `length` <= put.max_short bytes to remote memory. */
static inline ufx_status_t ufx_uct_ep_put_short(ufx_uct_ep_h ep, const void *buffer, size_t length,
                                                uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    return ep->ops->put_short(ep, buffer, length, remote_addr, rkey);
}

/** Writes what `pack` gives to remote memory. @return its length, or a negative status */
static inline ssize_t ufx_uct_ep_put_bcopy(ufx_uct_ep_h ep, ufx_uct_pack_cb_t pack, void *arg,
                                           uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    return ep->ops->put_bcopy(ep, pack, arg, remote_addr, rkey);
}

/** Writes the iov, in order, to contiguous remote memory. */
static inline ufx_status_t ufx_uct_ep_put_zcopy(ufx_uct_ep_h ep, const ufx_uct_iov_t *iov,
                                                size_t iov_count, uint64_t remote_addr,
                                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp)
{
    return ep->ops->put_zcopy(ep, iov, iov_count, remote_addr, rkey, comp);
}

/** Reads `length` <= get.max_short bytes into `buffer`, which stays valid until the completion. */
static inline ufx_status_t ufx_uct_ep_get_short(ufx_uct_ep_h ep, void *buffer, size_t length,
                                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                ufx_uct_completion_t *comp)
{
    return ep->ops->get_short(ep, buffer, length, remote_addr, rkey, comp);
}

/** Reads `length` <= get.max_bcopy bytes and hands them to `unpack`, then completes. */
static inline ufx_status_t ufx_uct_ep_get_bcopy(ufx_uct_ep_h ep, ufx_uct_unpack_cb_t unpack,
                                                void *arg, size_t length, uint64_t remote_addr,
                                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp)
{
    return ep->ops->get_bcopy(ep, unpack, arg, length, remote_addr, rkey, comp);
}

/** Reads contiguous remote memory into the iov, in order. */
static inline ufx_status_t ufx_uct_ep_get_zcopy(ufx_uct_ep_h ep, const ufx_uct_iov_t *iov,
                                                size_t iov_count, uint64_t remote_addr,
                                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp)
{
    return ep->ops->get_zcopy(ep, iov, iov_count, remote_addr, rkey, comp);
}

/** ADD, AND, OR or XOR on 4 aligned bytes of remote memory, without an answer. */
static inline ufx_status_t ufx_uct_ep_atomic32_post(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op,
                                                    uint32_t operand, uint64_t remote_addr,
                                                    ufx_uct_rkey_t rkey)
{
    return ep->ops->atomic32_post(ep, op, operand, remote_addr, rkey);
}

/** ADD, AND, OR or XOR on 8 aligned bytes of remote memory, without an answer. */
static inline ufx_status_t ufx_uct_ep_atomic64_post(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op,
                                                    uint64_t operand, uint64_t remote_addr,
                                                    ufx_uct_rkey_t rkey)
{
    return ep->ops->atomic64_post(ep, op, operand, remote_addr, rkey);
}

/** As atomic32_post, also SWAP; the value before goes to `*result` before the completion. */
static inline ufx_status_t ufx_uct_ep_atomic32_fetch(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op,
                                                     uint32_t operand, uint32_t *result,
                                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                     ufx_uct_completion_t *comp)
{
    return ep->ops->atomic32_fetch(ep, op, operand, result, remote_addr, rkey, comp);
}

/** As atomic64_post, also SWAP; the value before goes to `*result` before the completion. */
static inline ufx_status_t ufx_uct_ep_atomic64_fetch(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op,
                                                     uint64_t operand, uint64_t *result,
                                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                     ufx_uct_completion_t *comp)
{
    return ep->ops->atomic64_fetch(ep, op, operand, result, remote_addr, rkey, comp);
}

/** If remote == compare, remote = swap; the value before goes to `*result`. 4 bytes. */
static inline ufx_status_t ufx_uct_ep_atomic32_cswap(ufx_uct_ep_h ep, uint32_t compare,
                                                     uint32_t swap, uint32_t *result,
                                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                     ufx_uct_completion_t *comp)
{
    return ep->ops->atomic32_cswap(ep, compare, swap, result, remote_addr, rkey, comp);
}

/** If remote == compare, remote = swap; the value before goes to `*result`. 8 bytes. */
static inline ufx_status_t ufx_uct_ep_atomic64_cswap(ufx_uct_ep_h ep, uint64_t compare,
                                                     uint64_t swap, uint64_t *result,
                                                     uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                                     ufx_uct_completion_t *comp)
{
    return ep->ops->atomic64_cswap(ep, compare, swap, result, remote_addr, rkey, comp);
}

/**
 * Queues a request behind those of the ep; its func runs from progress when there are resources, at
 * most once a progress call. While a request waits, other posts on the ep give UFX_ERR_NO_RESOURCE,
 * so nothing overtakes it. When the ep fails, requests stay queued for pending_purge(); those of an
 * ep that is DEAD run once more and see the error from their post.
 *
 * @return UFX_OK; UFX_ERR_BUSY if there are resources now (post instead); the ep's error
 */
static inline ufx_status_t ufx_uct_ep_pending_add(ufx_uct_ep_h ep, ufx_uct_pending_req_t *req)
{
    return ep->ops->pending_add(ep, req);
}

/** Takes all requests out of the queue, in order, giving each to `cb` (may be NULL). */
static inline void ufx_uct_ep_pending_purge(ufx_uct_ep_h ep, ufx_uct_pending_purge_cb_t cb,
                                            void *arg)
{
    ep->ops->pending_purge(ep, cb, arg);
}

/**
 * Waits for everything posted before on the ep.
 *
 * @param flags  LOCAL, or REMOTE (applied at the target), or CANCEL (ends it all: outstanding
 *               operations complete with UFX_ERR_CANCELED and the ep is DEAD; on a DEFERRED ep too)
 * @param comp   may be NULL: then the result tells only whether all is done now
 * @return UFX_OK: done; UFX_INPROGRESS; UFX_ERR_NO_RESOURCE; an error of the ep
 */
static inline ufx_status_t ufx_uct_ep_flush(ufx_uct_ep_h ep, unsigned flags,
                                            ufx_uct_completion_t *comp)
{
    return ep->ops->flush(ep, flags, comp);
}

/** Operations posted after it are applied after those posted before it.
 * @return UFX_OK; UFX_ERR_UNSUPPORTED without UFX_UCT_CAP_FENCE; the ep's error */
static inline ufx_status_t ufx_uct_ep_fence(ufx_uct_ep_h ep)
{
    return ep->ops->fence(ep);
}

/**
 * Makes the network say whether the peer's ep is there: one signaled operation without data.
 *
 * @param comp  may be NULL
 * @return as a posting call: UFX_OK, UFX_INPROGRESS, UFX_ERR_NO_RESOURCE, UFX_ERR_UNSUPPORTED
 * without UFX_UCT_CAP_CHECK, or the ep's error
 */
static inline ufx_status_t ufx_uct_ep_check(ufx_uct_ep_h ep, ufx_uct_completion_t *comp)
{
    return ep->ops->check(ep, comp);
}

/**
 * Closes this side of the connection for good: posts are refused, nothing of the peer can land
 * any more once it is quiet. Outstanding operations are kept (DEFERRED). Does not run the error
 * handler. AM handlers may still run, for what arrived before, until it is quiet.
 *
 * @param quiet  called when nothing can land any more and every received message was handed to its
 *               handler; its status is UFX_OK (tokens of the peer are then EXACT), or an error (the
 *               side could not be closed in order: BLIND at best)
 * @return UFX_OK: quiet now; UFX_INPROGRESS: `quiet` will be called; an error: as in `quiet`
 */
static inline ufx_status_t ufx_uct_ep_invalidate(ufx_uct_ep_h ep, ufx_uct_completion_t *quiet)
{
    return ep->ops->invalidate(ep, quiet);
}

/**
 * Hands out every outstanding operation of a DEFERRED ep, in posting order, with its verdict.
 *
 * @param grade     of the rx token
 * @param rx_token  of the peer's iface_query_token(); NULL with length 0: nothing landed
 *                  (with EXACT: every operation is NOT_LANDED)
 * @return UFX_OK: all handed out, the ep is PURGED; UFX_ERR_INVALID_PARAM if the ep is not DEFERRED
 *         (nothing changed); UFX_ERR_BAD_MESSAGE if the token does not parse (nothing changed);
 *         UFX_ERR_UNSUPPORTED; or the error with which `cb` stopped it (call again to go on)
 */
static inline ufx_status_t
ufx_uct_ep_outstanding_purge(ufx_uct_ep_h ep, ufx_uct_token_grade_t grade, const void *rx_token,
                             size_t rx_token_length, ufx_uct_purge_cb_t cb, void *arg)
{
    return ep->ops->outstanding_purge(ep, grade, rx_token, rx_token_length, cb, arg);
}

#ifdef __cplusplus
}
#endif

#endif
