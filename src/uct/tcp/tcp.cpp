// SPDX-License-Identifier: BSD-3-Clause
// Place of uct/tcp/tcp.
namespace ufx::uct {}
