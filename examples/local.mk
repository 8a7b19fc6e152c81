# SPDX-License-Identifier: BSD-3-Clause
# Programs to learn from; tests run them.
