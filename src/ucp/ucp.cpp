// SPDX-License-Identifier: BSD-3-Clause
// Place of the ucp library.
namespace ufx::ucp {}
