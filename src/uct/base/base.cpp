// SPDX-License-Identifier: BSD-3-Clause
// Place of uct/base/base.
namespace ufx::uct {}
