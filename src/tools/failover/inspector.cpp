// SPDX-License-Identifier: BSD-3-Clause
// The judge of single chunks.
#include "tools/failover/inspector.h"

#include "tools/common/crc32.h"

namespace ufx::tools::failover {

bool inspector::accept(const chunk_header &header, const void *payload)
{
    const bool right = header.offset == shape_.offset(header.seq) &&
                       header.length == shape_.length(header.seq) &&
                       crc32(payload, header.length) == header.crc;
    if (header.seq >= seen_.size()) {
        seen_.resize(header.seq + 1);
    }
    const bool again = seen_[header.seq];
    seen_[header.seq] = true;
    bytes_ += header.length;
    duplicated_ += again ? 1 : 0;
    distinct_ += again ? 0 : 1;
    corrupted_ += right ? 0 : 1;
    return right && !again;
}

void inspector::in_order(uint64_t order)
{
    if (order != next_order_) {
        misordered_++;
    }
    next_order_ = order + 1;
}

fields inspector::result(uint64_t chunks) const
{
    return {{"lost", lost(chunks)},      {"duplicated", duplicated_}, {"corrupted", corrupted_},
            {"misordered", misordered_}, {"chunks", distinct_},       {"bytes", bytes_}};
}

} // namespace ufx::tools::failover
