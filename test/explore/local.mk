# SPDX-License-Identifier: BSD-3-Clause
# interleavings of the failover core.
