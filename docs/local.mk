# SPDX-License-Identifier: BSD-3-Clause
# Guides and man pages.
