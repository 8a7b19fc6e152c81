// SPDX-License-Identifier: BSD-3-Clause
// Slow paths of the queue of outstanding operations.
#include "op_queue.h"

#include <algorithm>
#include <bit>

namespace ufx::uct {

op_queue::op_queue(size_t max_ops, size_t max_data)
    : mask_(std::bit_ceil(std::max<size_t>(max_ops, 2)) - 1),
      data_mask_(std::bit_ceil(std::max<size_t>(max_data, 64)) - 1),
      memory_(::new (std::align_val_t{alignof(op_record)})
                  std::byte[(mask_ + 1) * sizeof(op_record) + data_mask_ + 1])
{
    records_ = reinterpret_cast<op_record *>(memory_.get());
    std::uninitialized_default_construct_n(records_, mask_ + 1);
    ring_ = memory_.get() + (mask_ + 1) * sizeof(op_record);
}

uint64_t op_queue::bytes() const noexcept
{
    uint64_t sum = 0;
    for (uint64_t index = first_; index != next_; ++index) {
        sum += records_[index & mask_].length;
    }
    return sum;
}

// Data of one operation is contiguous: what does not fit before the end of the ring starts over.
// Where nothing is stored it begins at a lap, so that the whole ring can be used; nothing moves
// before it is posted.
op_record *op_queue::reserve_ring(op_record &record, size_t data_bytes) noexcept
{
    const uint64_t capacity = data_mask_ + 1;
    const uint64_t need = rounded(data_bytes);
    const bool is_clear = data_until_ <= first_;
    uint64_t start = data_tail_;
    if (is_clear || (start & data_mask_) + need > capacity) {
        start = (start + data_mask_) & ~data_mask_;
    }
    const uint64_t used = is_clear ? 0 : start - oldest_data();
    if (used + need > capacity) {
        return nullptr;
    }
    record.data_start = start;
    record.data_at = static_cast<uint32_t>(ring_ + (start & data_mask_) -
                                           reinterpret_cast<std::byte *>(&record));
    return &record;
}

// Where it begins; there is some. Records leave without a look at them, so it is looked for here,
// at each record once at most.
uint64_t op_queue::oldest_data() noexcept
{
    data_oldest_ = std::max(data_oldest_, first_);
    while (at(data_oldest_).is_inline()) {
        ++data_oldest_; // ends before data_until_
    }
    return at(data_oldest_).data_start;
}

op_record *op_queue::push_marker(bool remote, ufx_uct_completion_t *comp) noexcept
{
    op_record *record = reserve(0);
    if (record == nullptr) {
        return nullptr;
    }
    record->set_kind(remote ? UFX_UCT_OP_FLUSH_REMOTE : UFX_UCT_OP_FLUSH_LOCAL, UFX_UCT_FORM_SHORT,
                     0, 0, 0);
    record->length = 0;
    record->comp = comp;
    commit(*record, 0);
    record->marker = true;
    return record;
}

bool op_queue::complete(uint64_t index, ufx_status_t status) noexcept
{
    if (index - first_ >= next_ - first_ || at(index).done) {
        return false;
    }
    if (index == first_) {
        complete_front(status);
        return true;
    }
    op_record &record = at(index);
    ufx_uct_completion_t *comp = record.comp;
    record.done = true;
    ++done_;
    failed_ += status != UFX_OK;
    finish(comp, status);
    return true;
}

void op_queue::complete_until(uint64_t end, ufx_status_t status) noexcept
{
    while (!empty() && first_ < end) {
        op_record &record = front();
        if (record.done) {
            --done_;
            pop();
            continue;
        }
        ufx_uct_completion_t *comp = record.comp;
        failed_ += status != UFX_OK;
        pop();
        finish(comp, status);
    }
    if (status == UFX_OK) {
        advance();
    }
}

void op_queue::advance() noexcept
{
    while (!empty()) {
        op_record &record = front();
        if (record.done) {
            --done_;
            pop();
        } else if (record.marker) {
            ufx_uct_completion_t *comp = record.comp;
            pop();
            finish(comp, UFX_OK);
        } else {
            return;
        }
    }
}

void op_queue::drop() noexcept
{
    failed_ += next_ - first_ - done_;
    done_ = 0;
    first_ = next_;
}

ufx_uct_op_desc_t describe(const op_record &record, uint64_t index) noexcept
{
    ufx_uct_op_desc_t desc{};
    desc.kind = static_cast<ufx_uct_op_kind_t>(record.kind);
    desc.form = static_cast<ufx_uct_op_form_t>(record.form);
    desc.index = index;
    desc.length = record.length;
    desc.comp = record.comp;
    if (record.kind == UFX_UCT_OP_AM) {
        desc.am_id = record.am_id;
        desc.header = record.header_length == 0 ? nullptr : record.data();
        desc.header_length = record.header_length;
    } else if (!record.is_flush() && record.kind != UFX_UCT_OP_CHECK) {
        desc.remote_addr = record.remote_addr;
        desc.rkey = record.rkey;
    }
    switch (record.kind) {
    case UFX_UCT_OP_AM:
    case UFX_UCT_OP_PUT:
        if (record.form != UFX_UCT_FORM_ZCOPY) {
            desc.payload = record.payload();
        }
        break;
    case UFX_UCT_OP_GET:
        if (record.form == UFX_UCT_FORM_BCOPY) {
            desc.unpack_cb = record.unpack.cb;
            desc.unpack_arg = record.unpack.arg;
        } else if (record.form == UFX_UCT_FORM_SHORT) {
            desc.result = record.result;
        }
        break;
    case UFX_UCT_OP_ATOMIC_FETCH:
        desc.result = record.result;
        [[fallthrough]];
    case UFX_UCT_OP_ATOMIC_POST:
        desc.atomic_op = static_cast<ufx_uct_atomic_op_t>(record.atomic_op);
        desc.atomic_size = record.atomic_size;
        desc.operand = record.atomic.operand;
        desc.compare = record.atomic.compare;
        break;
    default:
        break;
    }
    if (record.form == UFX_UCT_FORM_ZCOPY && record.iov_count != 0) {
        desc.iov = record.iov();
        desc.iov_count = record.iov_count;
    }
    return desc;
}

} // namespace ufx::uct
