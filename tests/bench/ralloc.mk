# tests/bench/ralloc.mk - contexts beside malloc, talloc, APR and Mesa's
#
# SPDX-License-Identifier: MIT

EXTRA_PROGRAMS = tests/bench/ralloc-bench
tests_bench_ralloc_bench_SOURCES = tests/bench/ralloc-bench.c
tests_bench_ralloc_bench_LDADD = slice/libslice.la -ldl

bench-contexts: tests/bench/ralloc-bench
	tests/bench/ralloc-bench $(BENCH_CONTEXTS_FLAGS)
.PHONY: bench-contexts
