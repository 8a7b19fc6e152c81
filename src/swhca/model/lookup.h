// SPDX-License-Identifier: BSD-3-Clause
// Handles of objects: their place in a table of the image.
#ifndef UFX_SWHCA_MODEL_LOOKUP_H
#define UFX_SWHCA_MODEL_LOOKUP_H

#include "swhca/fabric/image.h"
#include "swhca/fabric/repair.h"

#include <cstddef>
#include <cstdint>

namespace ufx::swhca {

// no_index if the table is full.
template <class T, size_t Size>
[[nodiscard]] uint32_t first_free(const T (&table)[Size]) noexcept
{
    for (uint32_t i = 0; i < Size; i++) {
        if (!table[i].in_use) {
            return i;
        }
    }
    return no_index;
}

// Last of all, so that somebody who is killed leaves no half object.
template <class T>
void publish(T &one) noexcept
{
    in_this_order();
    one.in_use = true;
}

// nullptr unless the handle is one of this context.
template <class T, size_t Size>
[[nodiscard]] T *lookup(T (&table)[Size], uint32_t context_index, uint32_t handle) noexcept
{
    if (handle >= Size || !table[handle].in_use || table[handle].context != context_index) {
        return nullptr;
    }
    return &table[handle];
}

} // namespace ufx::swhca

#endif
