# tests/mutate/local.mk - faults at random places, one at a time
#
#   make mutate N=20 SEED=7 MUTATE='--quick=3'
#
# What was judged is in mutate.rows of the build, to which each run adds; the
# table in docs/results is written from it.
#
# SPDX-License-Identifier: MIT

EXTRA_DIST += %D%/equivalent.txt %D%/mutate.py

# Tests of the whole; those of contexts come later, and what needs libslice as
# a shared library, or more than one source, not at all.
mutate_slice_tests = tests/misuse/misuse tests/schedule/schedule \
	$(filter-out tests/arena/% tests/context% %/test-dlopen, \
	$(slice_tests) $(failure_tests) $(leak_tests))
mutate_all_tests = tests/context/test-ralloc \
	tests/context/misuse/test-ralloc-bad-nodes \
	tests/context/free/test-ralloc-free tests/context/test-ralloc-linear \
	tests/context/free/test-ralloc-threads \
	tests/arena/linear/test-linear tests/arena/pool/test-pool \
	tests/arena/stack/test-stack \
	tests/arena/tlsf/test-tlsf tests/arena/test-context

mutate_context_tests = $(filter tests/context/%, \
	$(slice_tests) $(failure_tests))
mutate_arena_tests = $(filter-out %/test-linear-steps, \
	$(arena_tests) tests/arena/test-arena-oom)

N = 10
SEED = 1
MUTATE =
PYTHON = python3
mutate: $(BUILT_SOURCES)
	$(PYTHON) $(top_srcdir)/%D%/mutate.py --source='$(top_srcdir)' \
	  --build=. --compiler='$(CC)' --glib='$(GLIB_CFLAGS)' \
	  --glib-libs='$(GLIB_LIBS)' -n $(N) --seed=$(SEED) \
	  --table='$(top_srcdir)/docs/results/mutations.txt' $(MUTATE) \
	  'library=$(library_sources)' 'scheduled=$(scheduled_sources)' \
	  'base=$(base_tests)' 'page=$(page_tests)' 'slab=$(slab_tests)' \
	  'depot=$(depot_tests)' 'magazine=$(magazine_tests)' \
	  'alloc=$(alloc_tests)' 'observe=$(observe_tests)' \
	  'context=$(mutate_context_tests)' 'arena=$(mutate_arena_tests)' \
	  'slice=$(mutate_slice_tests)' 'all=$(mutate_all_tests)'
.PHONY: mutate
