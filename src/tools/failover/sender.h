// SPDX-License-Identifier: BSD-3-Clause
// sender: cuts the file into numbered chunks, keeps many of them in flight, and counts.
#ifndef UFX_TOOLS_FAILOVER_SENDER_H
#define UFX_TOOLS_FAILOVER_SENDER_H

#include "tools/common/channel.h"
#include "tools/common/ucp_session.h"
#include "tools/failover/chunk.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ufx::tools::failover {

/** The file to send. */
class input_file {
public:
    explicit input_file(const std::string &path);

    uint64_t bytes() const noexcept { return bytes_; }
    uint32_t crc() const noexcept { return crc_; }
    void read(uint64_t offset, void *buffer, size_t length) const;

private:
    std::string path_;
    fd fd_;
    uint64_t bytes_ = 0;
    uint32_t crc_ = 0;
};

/**
 * One chunk in flight lives in an item: FREE, then posted; a put is announced by an active message
 * when it has completed; an item whose payload went through the landing zone is FREE again when its
 * last operation has completed and the receiver gave the slot back.
 */
class sender {
public:
    sender(const options &wanted, const input_file &input, ucp_session &session);

    /** Agrees with the receiver and connects to it. */
    void handshake(channel &peer);

    /** From here on silence is measured. */
    void begin();

    /** Posts what can be posted; with `more`, starts new chunks. */
    void pump(bool more);

    /** True if nothing is in flight. */
    bool idle() const noexcept { return free_.size() == items_.size(); }

    /** True once each byte of the file was sent. */
    bool whole() const noexcept { return next_seq_ >= shape_.chunks_per_pass(); }

    uint64_t chunks() const noexcept { return next_seq_; }
    uint64_t bytes_done() const noexcept { return bytes_done_; }
    size_t in_flight() const noexcept { return items_.size() - free_.size(); }
    uint64_t last_done_ns() const noexcept { return last_done_ns_; }
    uint64_t longest_silence_ns() const noexcept { return longest_silence_ns_; }

    /** Throws if an operation ended with an error. */
    void throw_if_failed() const;

    /** Says that this was all. */
    void end();

    /** What the receiver found, once it said so. */
    const std::optional<fields> &result() const noexcept { return result_; }

private:
    enum class step { MAIN, ANNOUNCE, LAST };

    struct item {
        sender *owner = nullptr;
        uint32_t index = 0;
        step at = step::MAIN;
        bool waits_for_credit = false;
        chunk_header header;
        std::vector<unsigned char> buffer; ///< SLOT_HEADER bytes, then the payload
    };

    void start(item &one);
    void post(item &one);
    ufx_status_t try_post(item &one);
    ufx_status_t post_am(item &one, const ufx_ucp_op_params_t &params, size_t payload);
    ufx_status_t post_list(item &one, const ufx_ucp_op_params_t &params);
    void done(item &one);
    void release_if_over(item &one);
    void fail(const std::string &text);

    static void op_cb(void *arg, ufx_ucp_request_h request,
                      const ufx_ucp_completion_t *completion) noexcept;
    static ufx_status_t credit_cb(void *arg, const ufx_ucp_am_t *am) noexcept;
    static ufx_status_t result_cb(void *arg, const ufx_ucp_am_t *am) noexcept;

    const options &wanted_;
    const input_file &input_;
    ucp_session &session_;
    geometry shape_;
    std::vector<item> items_;
    std::vector<item *> free_;
    std::deque<item *> blocked_; ///< had no resource
    std::unique_ptr<ucp_remote_key> key_;
    uint64_t landing_ = 0; ///< address of the landing zone
    uint64_t next_seq_ = 0;
    uint64_t next_order_ = 0;
    std::optional<uint64_t> doubled_; ///< the chunk that was sent twice on purpose
    uint64_t bytes_done_ = 0;
    uint64_t last_done_ns_ = 0;
    uint64_t longest_silence_ns_ = 0;
    std::string failure_;
    std::string end_text_;
    std::optional<fields> result_;
};

} // namespace ufx::tools::failover

#endif
