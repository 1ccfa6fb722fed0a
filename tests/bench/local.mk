# tests/bench/local.mk - the benchmark
#
# SPDX-License-Identifier: MIT
