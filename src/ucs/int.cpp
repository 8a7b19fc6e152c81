// SPDX-License-Identifier: BSD-3-Clause
// First source of the stateless services; it keeps the convenience library from being empty.
namespace ufx::ucs {}
