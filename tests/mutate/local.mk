# tests/mutate/local.mk - faults taken at random, one at a time
#
#   make mutate N=20 SEED=7 MUTATE='--quick=3'
#
# What was judged is in mutate.rows of the build, to which each run adds; the
# table in docs/results is written from it.
#
# SPDX-License-Identifier: MIT

EXTRA_DIST += %D%/equivalent.txt %D%/mutate.py

# Tests of the whole; those of contexts and arenas come later.
mutate_slice_tests = tests/misuse/misuse tests/schedule/schedule \
	$(filter-out tests/arena/% tests/test-ralloc%, \
	$(slice_tests) $(failure_tests) $(leak_tests))

N = 10
SEED = 1
MUTATE =
PYTHON = python3
mutate: $(BUILT_SOURCES)
	$(PYTHON) $(top_srcdir)/%D%/mutate.py --source='$(top_srcdir)' \
	  --compiler='$(CC)' -n $(N) --seed=$(SEED) \
	  --table='$(top_srcdir)/docs/results/mutations.txt' $(MUTATE) \
	  'base=$(base_tests)' 'page=$(page_tests)' 'slab=$(slab_tests)' \
	  'depot=$(depot_tests)' 'magazine=$(magazine_tests)' \
	  'alloc=$(alloc_tests)' 'observe=$(observe_tests)' \
	  'slice=$(mutate_slice_tests)' \
	  'all=$(filter-out %.sh,$(TESTS))'
.PHONY: mutate
