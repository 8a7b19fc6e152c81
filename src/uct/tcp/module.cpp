// SPDX-License-Identifier: BSD-3-Clause
// Place of uct/tcp/module.
namespace ufx::uct {}
