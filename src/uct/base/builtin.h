// SPDX-License-Identifier: BSD-3-Clause
// The components that are compiled in.
#ifndef UFX_UCT_BASE_BUILTIN_H
#define UFX_UCT_BASE_BUILTIN_H

#include <ufx/uct_ops.h>

namespace ufx::uct {

extern const ufx_uct_component_t self_component; // src/uct/self/self_md.cpp
extern const ufx_uct_component_t tcp_component;  // src/uct/tcp/md.cpp

} // namespace ufx::uct

#endif
