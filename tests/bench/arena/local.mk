# tests/bench/arena/local.mk - the arenas' benchmarks
#
#   make bench-arena         against malloc, APR, LLVM, obstack and std::pmr
#   make bench-arena-counts  instructions of each call, by callgrind, and
#                            resident memory
#   make bench-arena-table  ratios to each peer, with their spread
#   make bench-tlsf          TLSF's worst case, in steps and in instructions,
#                            and its fragmentation
#   make bench-arena-memory  memory over time, source against source
#
# SPDX-License-Identifier: MIT

# TLSF with its steps counted.
%C%_tlsf_tlsf_worst_steps_SOURCES = \
	%D%/tlsf/tlsf-worst.c \
	slice/arena/tlsf/tlsf.c \
	slice/arena/tlsf/tlsf-fixed.c \
	slice/arena/tlsf/tlsf-index.c \
	slice/arena/tlsf/tlsf-life.c \
	slice/arena/tlsf/tlsf-locked.c \
	slice/arena/locked.c \
	slice/arena/tlsf/tlsf-region.c \
	slice/arena/tlsf/tlsf-tail.c \
	slice/arena/tlsf/tlsf-walk.c \
	slice/arena/arena-options.c \
	slice/arena/block/block-growth.c \
	slice/arena/block/block-map.c \
	slice/arena/block/block-reset.c \
	slice/arena/block/block-source.c \
	slice/arena/bump/bump.c \
	slice/arena/bump/traced.c \
	slice/arena/source/source-map.c \
	slice/arena/source/source-owned.c \
	slice/arena/source/span.c \
	slice/arena/source/span-direct.c \
	slice/arena/source/span-shared.c \
	slice/arena/annotate.c
%C%_tlsf_tlsf_worst_steps_CPPFLAGS = $(AM_CPPFLAGS) -DTLSF_COUNT_STEPS
%C%_tlsf_tlsf_worst_steps_LDADD = slice/liballoc.la $(SLICE_THREAD_LIBS)
%C%_tlsf_tlsf_worst_instructions_SOURCES = %D%/tlsf/tlsf-worst.c
%C%_tlsf_tlsf_worst_instructions_LDFLAGS = -no-install -Wl,-z,now
%C%_tlsf_tlsf_worst_instructions_LDADD = slice/libslice.la
slow_programs += %D%/tlsf/tlsf-worst-steps %D%/tlsf/tlsf-worst-instructions
needs_%C%_check_bench_arena = %D%/tlsf/tlsf-worst-steps \
	%D%/tlsf/tlsf-worst-instructions \
	%D%/memory/arena-memory %D%/arena-constant %D%/tlsf/tlsf-fragmentation \
	%D%/linear-replay %D%/arena-bench %D%/arena-counts \
	%D%/memory/arena-resident

%C%_memory_arena_memory_SOURCES = %D%/memory/arena-memory.c
%C%_memory_arena_memory_LDADD = slice/libslice.la
slow_programs += %D%/memory/arena-memory

%C%_arena_constant_SOURCES = %D%/arena-constant.c
%C%_arena_constant_LDFLAGS = -no-install
%C%_arena_constant_LDADD = slice/libslice.la
%C%_tlsf_tlsf_fragmentation_SOURCES = %D%/tlsf/tlsf-fragmentation.c
%C%_tlsf_tlsf_fragmentation_LDADD = slice/libslice.la
%C%_linear_replay_SOURCES = %D%/linear-replay.c $(recording_sources)
%C%_linear_replay_LDADD = slice/libslice.la
slow_programs += %D%/arena-constant %D%/tlsf/tlsf-fragmentation \
	%D%/linear-replay

if HAVE_CXX
slow_programs += %D%/arena-bench %D%/arena-counts %D%/memory/arena-resident
endif
%C%_arena_bench_SOURCES = %D%/arena-bench.cc %D%/arena-table.h \
	%D%/arena-libraries.h
%C%_arena_bench_CPPFLAGS = $(AM_CPPFLAGS) $(APR_CFLAGS) $(LLVM_CPPFLAGS)
%C%_arena_bench_CXXFLAGS = -std=c++17
%C%_arena_bench_LDFLAGS = -no-install
%C%_arena_bench_LDADD = slice/libslice.la $(APR_LIBS) $(LLVM_LIBS)

peers_cppflags = $(AM_CPPFLAGS) $(APR_CFLAGS) $(LLVM_CPPFLAGS) \
	$(TALLOC_CFLAGS) $(FOONATHAN_CPPFLAGS)
peers_libs = $(APR_LIBS) $(LLVM_LIBS) $(TALLOC_LIBS) $(FOONATHAN_LIBS)

%C%_arena_counts_SOURCES = %D%/arena-counts.cc %D%/arena-peers.h \
	%D%/arena-libraries.h
%C%_arena_counts_CPPFLAGS = $(peers_cppflags)
%C%_arena_counts_CXXFLAGS = -std=c++17 -O2
%C%_arena_counts_LDFLAGS = -no-install
%C%_arena_counts_LDADD = slice/libslice.la $(peers_libs)
%C%_memory_arena_resident_SOURCES = %D%/memory/arena-resident.cc \
	%D%/arena-peers.h \
	%D%/arena-libraries.h
%C%_memory_arena_resident_CPPFLAGS = $(peers_cppflags)
%C%_memory_arena_resident_CXXFLAGS = -std=c++17 -O2
%C%_memory_arena_resident_LDFLAGS = -no-install
%C%_memory_arena_resident_LDADD = slice/libslice.la $(peers_libs)

# Each is run a little by `make check-slow', too.
slow_scripts += %D%/check-bench-arena.sh
EXTRA_DIST += %D%/memory/plot-memory %D%/arena-counts.sh

bench_targets += bench-arena bench-arena-counts bench-tlsf bench-arena-memory
bench-arena-table: %D%/arena-bench %D%/tlsf/tlsf-worst-steps %D%/linear-replay \
		   %D%/tlsf/tlsf-worst-instructions %D%/tlsf/tlsf-fragmentation
	%D%/arena-bench 9 --table
	xz -dc $(srcdir)/tests/data/mesa-compile.trace.xz | %D%/linear-replay 75
bench-arena: %D%/arena-bench %D%/arena-constant
	%D%/arena-bench 9
	%D%/arena-constant 9
bench-arena-counts: %D%/arena-counts %D%/memory/arena-resident
	$(SHELL) $(srcdir)/%D%/arena-counts.sh %D%/arena-counts
bench-tlsf: %D%/tlsf/tlsf-worst-steps %D%/tlsf/tlsf-worst-instructions \
	    %D%/tlsf/tlsf-fragmentation
	%D%/tlsf/tlsf-worst-steps
	%D%/tlsf/tlsf-worst-instructions
	%D%/tlsf/tlsf-fragmentation
bench-arena-memory: %D%/memory/arena-memory
	$(MKDIR_P) bench-results
	$(SHELL) $(srcdir)/%D%/memory/plot-memory %D%/memory/arena-memory \
	bench-results

.PHONY: bench-arena bench-arena-counts bench-arena-table bench-tlsf bench-arena-memory
