# SPDX-License-Identifier: BSD-3-Clause
# instruction counts against a baseline.
