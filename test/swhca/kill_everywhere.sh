#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Kills a process of a fabric at (nearly) every one of its stores to the shared image; make check
# does so at a few.
UFX_SWHCA_KILLS=900 "${UFX_TEST_BUILDDIR:-.}/test_swhca" '*killed at any*'
