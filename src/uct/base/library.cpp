// SPDX-License-Identifier: BSD-3-Clause
// Place of uct/base/library.
namespace ufx::uct {}
