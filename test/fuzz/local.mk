# SPDX-License-Identifier: BSD-3-Clause
# fuzz targets and their seeds.
