// SPDX-License-Identifier: BSD-3-Clause
// The C handles of ucp: empty bases of the C++ classes, so that a handle converts by static_cast.
#ifndef UFX_UCP_HANDLES_H
#define UFX_UCP_HANDLES_H

#include <ufx/ucp.h>

struct ufx_ucp_context {};
struct ufx_ucp_worker {};
struct ufx_ucp_listener {};
struct ufx_ucp_conn_request {};
struct ufx_ucp_ep {};
struct ufx_ucp_mem {};
struct ufx_ucp_rkey {};
struct ufx_ucp_request {};

#endif
