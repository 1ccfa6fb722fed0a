# tests/bench/local.mk - the benchmark
#
# One program, built once for each adaptor: the frame is a library, the
# workloads are compiled anew each time, since an adaptor is inline code.  To
# add an allocator: a header in tests/adaptors, and the lines that
# slice-bench-limit has below.
#
# SPDX-License-Identifier: MIT

EXTRA_LTLIBRARIES += %D%/libbench.la
CLEANFILES += %D%/libbench.la
%C%_libbench_la_SOURCES = \
	%D%/frame/bench.c \
	%D%/frame/bench.h \
	%D%/frame/gang.c \
	%D%/frame/latency.c \
	%D%/frame/latency.h \
	%D%/frame/measure.c \
	%D%/frame/observe.c \
	%D%/frame/report.c
%C%_libbench_la_LIBTOOLFLAGS = --tag=disable-shared
%C%_libbench_la_LIBADD = -lm

slice_bench_sources = \
	%D%/frame/adaptor.c \
	%D%/load/load.h \
	%D%/load/load-batch.c \
	%D%/load/load-colour.c \
	%D%/load/load-live.c \
	%D%/load/load-memory.c \
	%D%/load/load-replay.c \
	%D%/load/load-server.c \
	%D%/load/load-set.c \
	%D%/load/load-slice-test.c \
	%D%/load/load-table.c \
	%D%/load/load-scratch.c \
	%D%/load/load-thread.c \
	%D%/load/load-tree.c \
	%D%/frame/measured.h \
	$(adaptor_headers)

# Programs of make check are run where they are built.
slice_bench_cppflags = $(AM_CPPFLAGS) \
	-DBENCH_SLICE_TRACE='"$(abs_top_builddir)/slice/tools/slice-trace"' \
	-DBENCH_TRACES='"$(abs_top_srcdir)/tests/data/traces"'

# -fno-plt: every allocator that is called, is called as cheaply as can be.
slice_bench_cflags = $(AM_CFLAGS) -fno-plt
slice_bench_libs = %D%/libbench.la $(SLICE_THREAD_LIBS)
slice_bench_programs = \
	%D%/slice-bench \
	%D%/slice-bench-functions \
	%D%/slice-bench-gslice \
	%D%/slice-bench-limit \
	%D%/slice-bench-malloc \
	%D%/slice-bench-pool \
	%D%/slice-bench-sized \
	%D%/slice-bench-tlsf
slow_programs += $(slice_bench_programs) %D%/slice-bench-faulty
needs_%C%_test_bench = $(slice_bench_programs) %D%/slice-bench-faulty \
	%D%/trace-convert

%C%_slice_bench_SOURCES = $(slice_bench_sources)
%C%_slice_bench_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/slice.h>'
%C%_slice_bench_CFLAGS = $(slice_bench_cflags)
# -no-install: the program itself and no script around it.
%C%_slice_bench_LDFLAGS = -no-install
%C%_slice_bench_LDADD = $(slice_bench_libs) slice/libslice.la

%C%_slice_bench_functions_SOURCES = $(slice_bench_sources)
%C%_slice_bench_functions_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/functions.h>'
%C%_slice_bench_functions_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_functions_LDFLAGS = -no-install
%C%_slice_bench_functions_LDADD = $(slice_bench_libs) slice/libslice.la

%C%_slice_bench_gslice_SOURCES = $(slice_bench_sources)
%C%_slice_bench_gslice_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/gslice.h>'
%C%_slice_bench_gslice_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_gslice_LDADD = $(slice_bench_libs) $(SLICE_DL_LIBS)

%C%_slice_bench_limit_SOURCES = $(slice_bench_sources)
%C%_slice_bench_limit_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/limit.h>'
%C%_slice_bench_limit_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_limit_LDADD = $(slice_bench_libs)

%C%_slice_bench_malloc_SOURCES = $(slice_bench_sources)
%C%_slice_bench_malloc_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/malloc.h>'
%C%_slice_bench_malloc_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_malloc_LDADD = $(slice_bench_libs) $(SLICE_DL_LIBS)

%C%_slice_bench_pool_SOURCES = $(slice_bench_sources)
%C%_slice_bench_pool_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/pool.h>'
%C%_slice_bench_pool_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_pool_LDFLAGS = -no-install
%C%_slice_bench_pool_LDADD = $(slice_bench_libs) slice/libslice.la

%C%_slice_bench_sized_SOURCES = $(slice_bench_sources)
%C%_slice_bench_sized_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/sized.h>'
%C%_slice_bench_sized_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_sized_LDADD = $(slice_bench_libs) $(SLICE_DL_LIBS)

%C%_slice_bench_tlsf_SOURCES = $(slice_bench_sources)
%C%_slice_bench_tlsf_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/tlsf.h>'
%C%_slice_bench_tlsf_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_tlsf_LDFLAGS = -no-install
%C%_slice_bench_tlsf_LDADD = $(slice_bench_libs) slice/libslice.la

# Goes wrong on purpose: for test-bench.sh.
%C%_slice_bench_faulty_SOURCES = $(slice_bench_sources)
%C%_slice_bench_faulty_CPPFLAGS = $(slice_bench_cppflags) \
	-DADAPTOR='<tests/adaptors/allocators/faulty.h>'
%C%_slice_bench_faulty_CFLAGS = $(slice_bench_cflags)
%C%_slice_bench_faulty_LDADD = $(slice_bench_libs)

slow_scripts += %D%/test-bench.sh

# Real programs, recorded: slice-bench replay-compiler and so on.
EXTRA_DIST += \
	tests/data/traces/README \
	tests/data/traces/compiler.trace \
	tests/data/traces/git.trace \
	tests/data/traces/glsl-compiler.hot \
	tests/data/traces/interpreter.trace \
	tests/data/traces/words.py

EXTRA_DIST += \
	%D%/comparison/cases.py \
	%D%/comparison/compare \
	%D%/comparison/depot-simulation \
	%D%/comparison/figures.py \
	%D%/comparison/malloc-programs.py \
	%D%/comparison/peers \
	%D%/comparison/plots.py \
	%D%/comparison/record-results \
	%D%/comparison/workloads.py

%C%_trace_convert_SOURCES = %D%/trace-convert.c $(recording_sources)
slow_programs += %D%/trace-convert

EXTRA_DIST += docs/man/slice-bench.1

# --- make bench --------------------------------------------------------------
# About ten minutes.  BENCH_FLAGS goes to compare: BENCH_FLAGS='--set=full
# --rounds=9', BENCH_FLAGS=--add=mine=/usr/local/lib/libmine.so
#
# Where there is cargo, today's versions of the peers are built into BENCH_PEERS
# first; PEERS_FLAGS goes there.

BENCH_PEERS = $${XDG_CACHE_HOME:-$$HOME/.cache}/slice-peers

bench-peers:
	CC='$(CC)' CXX='$(CXX)' PYTHONDONTWRITEBYTECODE=1 \
	python3 $(srcdir)/%D%/comparison/peers $(PEERS_FLAGS) "$(BENCH_PEERS)"

slice_bench_trace = %D%/mesa-compile.trace
CLEANFILES += $(slice_bench_trace)

$(slice_bench_trace): $(slice_test_recording) %D%/trace-convert$(EXEEXT)
	$(AM_V_GEN)%D%/trace-convert $(top_srcdir)/$(slice_test_recording) $@

bench_targets += bench-compare
bench-compare: $(slice_bench_programs) $(slice_bench_trace) bench-peers
	CC='$(CC)' BENCH_CFLAGS='$(CFLAGS)' PYTHONDONTWRITEBYTECODE=1 \
	python3 $(srcdir)/%D%/comparison/compare --programs=%D% \
	  --trace=$(slice_bench_trace) --output=bench-results \
	  --peers="$(BENCH_PEERS)" --histograms $(BENCH_FLAGS)

# The full run, twelve to fifteen minutes, whose results the documentation
# shows: docs/results in the source tree.
bench-record: $(slice_bench_programs) $(slice_bench_trace) \
	      $(bench_record_programs) bench-peers
	CC='$(CC)' BENCH_CFLAGS='$(CFLAGS)' \
	$(SHELL) $(srcdir)/%D%/comparison/record-results %D% \
	$(slice_bench_trace) \
	  bench-results $(srcdir)/docs/results --peers="$(BENCH_PEERS)" \
	  $(BENCH_FLAGS)

clean-local: clean-local-bench
clean-local-bench:
	rm -rf bench-results

.PHONY: bench-compare bench-peers bench-record clean-local-bench

bench_record_programs = tests/bench/context/ralloc-bench
if HAVE_CXX
bench_record_programs += tests/bench/arena/arena-bench
endif

include tests/bench/context/local.mk

# What a block costs in each mode, beside GSlice: `make bench-modes'.
if WITH_TESTS
slow_programs += %D%/mode-cost
endif
%C%_mode_cost_SOURCES = %D%/mode-cost.c %D%/measure.h
%C%_mode_cost_LDADD = slice/libslice.la $(GLIB_LIBS)
bench-modes: %D%/mode-cost$(EXEEXT)
	%D%/mode-cost
.PHONY: bench-modes
