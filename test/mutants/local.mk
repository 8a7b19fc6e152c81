# SPDX-License-Identifier: BSD-3-Clause
# wrong versions of the core that tests must kill.
