#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# An example goes on where posting calls answer that queues are full: here one operation may wait.
set -eu
UFX_PENDING_MAX=1 exec ./kv_transfer 60
