# SPDX-License-Identifier: BSD-3-Clause
# several processes, killed and stopped.
