# tests/ralloc.mk - the tests of the contexts: they link the library as any
# program would
#
# SPDX-License-Identifier: MIT

ralloc_tests = \
	tests/test-ralloc \
	tests/test-ralloc-bad-nodes \
	tests/test-ralloc-chaos \
	tests/test-ralloc-extension \
	tests/test-ralloc-free \
	tests/test-ralloc-gc \
	tests/test-ralloc-hooks \
	tests/test-ralloc-linear \
	tests/test-ralloc-misuse \
	tests/test-ralloc-model \
	tests/test-ralloc-pointers \
	tests/test-ralloc-random \
	tests/test-ralloc-references \
	tests/test-ralloc-report \
	tests/test-ralloc-slack \
	tests/test-ralloc-string \
	tests/test-ralloc-system \
	tests/test-ralloc-threads

slice_tests += $(ralloc_tests)

EXTRA_DIST += tests/ralloc-testlib.h
tests_test_ralloc_LDADD = $(slice_test_libs)
tests_test_ralloc_bad_nodes_LDADD = $(slice_test_libs)
tests_test_ralloc_chaos_LDADD = $(slice_test_libs)
tests_test_ralloc_extension_LDADD = $(slice_test_libs)
tests_test_ralloc_free_LDADD = $(slice_test_libs)
tests_test_ralloc_gc_LDADD = $(slice_test_libs)
tests_test_ralloc_hooks_LDADD = $(slice_test_libs)
tests_test_ralloc_linear_LDADD = $(slice_test_libs)
tests_test_ralloc_misuse_LDADD = $(slice_test_libs)
tests_test_ralloc_model_LDADD = $(slice_test_libs)
tests_test_ralloc_pointers_LDADD = $(slice_test_libs)
tests_test_ralloc_random_LDADD = $(slice_test_libs)
tests_test_ralloc_references_LDADD = $(slice_test_libs)
tests_test_ralloc_report_LDADD = $(slice_test_libs)
tests_test_ralloc_oom_LDADD = $(slice_test_libs)
tests_test_ralloc_slack_LDADD = $(slice_test_libs)
tests_test_ralloc_string_LDADD = $(slice_test_libs)
tests_test_ralloc_system_LDADD = $(slice_test_libs)
tests_test_ralloc_threads_LDADD = $(slice_test_libs)

# C++: the operators.
if HAVE_CXX
if WITH_TESTS
check_PROGRAMS += tests/test-ralloc-cxx
TESTS += tests/test-ralloc-cxx
endif
endif
tests_test_ralloc_cxx_SOURCES = tests/test-ralloc-cxx.cc
tests_test_ralloc_cxx_LDADD = $(slice_test_libs)

# What memcheck sees.
dist_check_SCRIPTS += tests/test-ralloc-tools.sh
needs_tests_test_ralloc_tools = tests/ralloc-faults
if WITH_TESTS
check_PROGRAMS += tests/ralloc-faults
TESTS += tests/test-ralloc-tools.sh
endif
tests_ralloc_faults_SOURCES = tests/ralloc-faults.c
tests_ralloc_faults_LDADD = slice/libslice.la

# The example compiler on real programs.
dist_check_SCRIPTS += tests/test-example-pl0.sh
needs_tests_test_example_pl0 = docs/examples/pl0c
if WITH_TESTS
TESTS += tests/test-example-pl0.sh
endif

# Mesa's own compiler with our contexts: by hand, it fetches and builds Mesa.
EXTRA_DIST += tests/clients/mesa-ralloc.sh tests/clients/mesa-many.cpp \
	tests/clients/mesa-limit.h
check-mesa: all
	$(SHELL) $(top_srcdir)/tests/clients/mesa-ralloc.sh slice/.libs mesa
.PHONY: check-mesa

# One flipped byte in a live node's header, some hundred times.
if WITH_TESTS
check_PROGRAMS += tests/ralloc-flips
TESTS += tests/ralloc-flips
endif
tests_ralloc_flips_SOURCES = tests/ralloc-flips.c
tests_ralloc_flips_LDADD = slice/libslice.la
