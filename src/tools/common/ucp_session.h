// SPDX-License-Identifier: BSD-3-Clause
// ucp_session: a context, a worker and one endpoint to a peer, as both ends of a tool use them.
#ifndef UFX_TOOLS_COMMON_UCP_SESSION_H
#define UFX_TOOLS_COMMON_UCP_SESSION_H

#include <ufx/ucp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ufx::tools {

/** A rail event that may be kept. */
struct rail_event {
    std::string rail;
    unsigned index = 0;
    ufx_ucp_rail_state_t from = UFX_UCP_RAIL_UP;
    ufx_ucp_rail_state_t to = UFX_UCP_RAIL_UP;
    std::string cause;
    uint64_t time_ns = 0;
};

/** "UP", "SUSPECT", ... */
const char *rail_state_name(ufx_ucp_rail_state_t state);

/** The same; DRAINED for a rail that is DOWN because an administrator said so. */
const char *rail_state_name(const ufx_ucp_rail_attr_t &rail);

class ucp_session {
public:
    /**
     * @param devices rails, comma separated, or empty for the configured ones
     * @param name    for logs
     * @param threads several threads will use the worker and its endpoint
     */
    ucp_session(const std::string &devices, const std::string &name, bool threads = false);
    ucp_session(const ucp_session &) = delete;
    ucp_session &operator=(const ucp_session &) = delete;
    ~ucp_session();

    ufx_ucp_context_h context() const noexcept { return context_; }
    ufx_ucp_worker_h worker() const noexcept { return worker_; }

    /** Bytes by which a peer reaches this worker. */
    std::string address() const;

    /** Makes the endpoint to a peer's address. */
    void connect(const std::string &peer_address);

    /** The endpoint: made here, or by the peer; NULL before that. */
    ufx_ucp_ep_h ep() const noexcept { return ep_; }

    /** Throws if the endpoint has failed. */
    void throw_if_failed() const;

    bool closed_by_peer() const noexcept { return closed_by_peer_; }

    /** Called from progress for every change of a rail. */
    void on_rail_event(std::function<void(const rail_event &)> handler);

    /** Progress; if there is nothing to do, waits for the worker, `other_fd` or `timeout_ms`. */
    void progress(int other_fd, int timeout_ms);

    std::vector<ufx_ucp_rail_attr_t> rails() const;
    ufx_ucp_failover_stats_t failover_stats() const;

    /** Closes the endpoint; the request is the caller's to free, NULL: it is closed. */
    ufx_ucp_request_h begin_close(ufx_ucp_close_mode_t mode);
    /** Closes the endpoint; gives up waiting after `timeout_ms`. */
    void close(ufx_ucp_close_mode_t mode, int timeout_ms);

private:
    static void accept_cb(void *arg, ufx_ucp_ep_h ep) noexcept;
    static void ep_event_cb(void *arg, ufx_ucp_ep_h ep, const ufx_ucp_ep_event_t *event) noexcept;
    static void rail_event_cb(void *arg, const ufx_ucp_rail_event_t *event) noexcept;

    ufx_ucp_context_h context_ = nullptr;
    ufx_ucp_worker_h worker_ = nullptr;
    ufx_ucp_ep_h ep_ = nullptr;
    bool closed_by_peer_ = false;
    unsigned idle_ = 0;
    std::string failure_;
    std::function<void(const rail_event &)> rail_handler_;
};

/** Memory of this process that the peer may read, write and change by atomics. */
class ucp_memory {
public:
    ucp_memory(ufx_ucp_context_h context, size_t length);
    ucp_memory(const ucp_memory &) = delete;
    ucp_memory &operator=(const ucp_memory &) = delete;
    ~ucp_memory();

    unsigned char *data() const noexcept { return data_; }
    size_t length() const noexcept { return length_; }
    ufx_ucp_mem_h handle() const noexcept { return mem_; }

    /** Bytes that the peer unpacks. */
    std::string key() const;

private:
    ufx_ucp_context_h context_;
    ufx_ucp_mem_h mem_ = nullptr;
    unsigned char *data_ = nullptr;
    size_t length_;
};

/** The peer's key, unpacked for an endpoint. */
class ucp_remote_key {
public:
    ucp_remote_key(ufx_ucp_ep_h ep, const std::string &packed);
    ucp_remote_key(const ucp_remote_key &) = delete;
    ucp_remote_key &operator=(const ucp_remote_key &) = delete;
    ~ucp_remote_key();

    ufx_ucp_rkey_h handle() const noexcept { return rkey_; }

private:
    ufx_ucp_rkey_h rkey_ = nullptr;
};

} // namespace ufx::tools

#endif
