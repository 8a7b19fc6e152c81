// SPDX-License-Identifier: BSD-3-Clause
// Place of the pure core.
namespace ufx::ucp::core {}
