# tests/bench/context/local.mk - contexts beside malloc, talloc, APR and Mesa's
#
# SPDX-License-Identifier: MIT

EXTRA_PROGRAMS += tests/bench/context/ralloc-bench \
	tests/bench/context/ralloc-replay \
	tests/bench/context/ralloc-extremes
tests_bench_context_ralloc_bench_SOURCES = tests/bench/context/ralloc-bench.c \
	tests/bench/measure.h
tests_bench_context_ralloc_bench_LDADD = slice/libslice.la -ldl

tests_bench_context_ralloc_replay_SOURCES = \
	tests/bench/context/ralloc-replay.c \
	$(recording_sources)
tests_bench_context_ralloc_replay_LDADD = slice/libslice.la -ldl -lpthread

tests_bench_context_ralloc_extremes_SOURCES = \
	tests/bench/context/ralloc-extremes.c \
	tests/bench/measure.h
tests_bench_context_ralloc_extremes_LDADD = slice/libslice.la -lpthread

bench-contexts: tests/bench/context/ralloc-bench \
	tests/bench/context/ralloc-replay \
		tests/bench/context/ralloc-extremes
	tests/bench/context/ralloc-bench $(BENCH_CONTEXTS_FLAGS)
	tests/bench/context/ralloc-extremes
	xz -dc $(srcdir)/tests/data/mesa-compile.trace.xz \
	  | tests/bench/context/ralloc-replay $(BENCH_CONTEXTS_REPLAY_FLAGS)
.PHONY: bench-contexts
