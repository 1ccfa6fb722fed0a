# tests/bench/local.mk - the benchmark
#
# SPDX-License-Identifier: MIT
#
# To add it: as in tests/stress/local.mk, with bench_targets += ... for
# `make bench'.
