# tests/bench/ralloc.mk - contexts beside malloc, talloc, APR and Mesa's
#
# SPDX-License-Identifier: MIT

EXTRA_PROGRAMS += tests/bench/ralloc-bench tests/bench/ralloc-replay \
	tests/bench/ralloc-extremes
tests_bench_ralloc_bench_SOURCES = tests/bench/ralloc-bench.c tests/bench/measure.h
tests_bench_ralloc_bench_LDADD = slice/libslice.la -ldl

tests_bench_ralloc_replay_SOURCES = tests/bench/ralloc-replay.c \
	$(recording_sources)
tests_bench_ralloc_replay_LDADD = slice/libslice.la -ldl -lpthread

tests_bench_ralloc_extremes_SOURCES = tests/bench/ralloc-extremes.c \
	tests/bench/measure.h
tests_bench_ralloc_extremes_LDADD = slice/libslice.la -lpthread

bench-contexts: tests/bench/ralloc-bench tests/bench/ralloc-replay \
		tests/bench/ralloc-extremes
	tests/bench/ralloc-bench $(BENCH_CONTEXTS_FLAGS)
	tests/bench/ralloc-extremes
	xz -dc $(srcdir)/tests/data/mesa-compile.trace.xz \
	  | tests/bench/ralloc-replay $(BENCH_CONTEXTS_REPLAY_FLAGS)
.PHONY: bench-contexts
