# tests/context/local.mk - the tests of the contexts: they link the library as
# any program would
#
# SPDX-License-Identifier: MIT

ralloc_tests = \
	tests/context/test-ralloc \
	tests/context/misuse/test-ralloc-bad-nodes \
	tests/context/random/test-ralloc-chaos \
	tests/context/report/test-ralloc-extension \
	tests/context/free/test-ralloc-free \
	tests/context/test-ralloc-gc \
	tests/context/free/test-ralloc-held \
	tests/context/report/test-ralloc-hooks \
	tests/context/test-ralloc-linear \
	tests/context/misuse/test-ralloc-misuse \
	tests/context/misuse/test-ralloc-misuse-debug \
	tests/context/misuse/test-ralloc-misuse-gc \
	tests/context/misuse/test-ralloc-misuse-null \
	tests/context/random/test-ralloc-model \
	tests/context/misuse/test-ralloc-names \
	tests/context/memory/test-ralloc-notes \
	tests/context/misuse/test-ralloc-pointers \
	tests/context/random/test-ralloc-random \
	tests/context/free/test-ralloc-references \
	tests/context/report/test-ralloc-report \
	tests/context/memory/test-ralloc-limit \
	tests/context/memory/test-ralloc-slack \
	tests/context/test-ralloc-string \
	tests/context/memory/test-ralloc-system \
	tests/context/free/test-ralloc-threads

slice_tests += $(ralloc_tests)

EXTRA_DIST += tests/context/ralloc-testlib.h \
	tests/context/misuse/ralloc-misuse.h
tests_context_test_ralloc_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_bad_nodes_LDADD = $(slice_test_libs)
tests_context_random_test_ralloc_chaos_LDADD = $(slice_test_libs)
tests_context_report_test_ralloc_extension_LDADD = $(slice_test_libs)
tests_context_free_test_ralloc_free_LDADD = $(slice_test_libs)
tests_context_test_ralloc_gc_LDADD = $(slice_test_libs)
tests_context_free_test_ralloc_held_LDADD = $(slice_test_libs)
tests_context_report_test_ralloc_hooks_LDADD = $(slice_test_libs)
tests_context_test_ralloc_linear_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_misuse_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_misuse_debug_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_misuse_gc_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_misuse_null_LDADD = $(slice_test_libs)
tests_context_random_test_ralloc_model_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_names_LDADD = $(slice_test_libs)
tests_context_memory_test_ralloc_notes_LDADD = $(slice_test_libs)
tests_context_misuse_test_ralloc_pointers_LDADD = $(slice_test_libs)
tests_context_random_test_ralloc_random_LDADD = $(slice_test_libs)
tests_context_free_test_ralloc_references_LDADD = $(slice_test_libs)
tests_context_report_test_ralloc_report_LDADD = $(slice_test_libs)
tests_context_memory_test_ralloc_oom_LDADD = $(slice_test_libs)
tests_context_memory_test_ralloc_limit_LDADD = $(slice_test_libs)
tests_context_memory_test_ralloc_slack_LDADD = $(slice_test_libs)
tests_context_test_ralloc_string_LDADD = $(slice_test_libs)
tests_context_memory_test_ralloc_system_LDADD = $(slice_test_libs)
tests_context_free_test_ralloc_threads_LDADD = $(slice_test_libs)

# C++: the operators.
if HAVE_CXX
if WITH_TESTS
check_PROGRAMS += tests/context/test-ralloc-cxx
TESTS += tests/context/test-ralloc-cxx
endif
endif
tests_context_test_ralloc_cxx_SOURCES = tests/context/test-ralloc-cxx.cc
tests_context_test_ralloc_cxx_LDADD = $(slice_test_libs)

# What memcheck sees.
dist_check_SCRIPTS += tests/context/misuse/test-ralloc-tools.sh
needs_tests_context_misuse_test_ralloc_tools = \
	tests/context/misuse/ralloc-faults
if WITH_TESTS
check_PROGRAMS += tests/context/misuse/ralloc-faults
TESTS += tests/context/misuse/test-ralloc-tools.sh
endif
tests_context_misuse_ralloc_faults_SOURCES = \
	tests/context/misuse/ralloc-faults.c
tests_context_misuse_ralloc_faults_LDADD = slice/libslice.la

# The example compiler on real programs.
dist_check_SCRIPTS += tests/examples/test-example-pl0.sh
needs_tests_examples_test_example_pl0 = docs/examples/pl0c
if WITH_TESTS
TESTS += tests/examples/test-example-pl0.sh
endif

# Mesa's own compiler with our contexts: by hand, it fetches and builds Mesa.
EXTRA_DIST += tests/clients/mesa/mesa-ralloc.sh \
	tests/clients/mesa/mesa-many.cpp \
	tests/clients/mesa/mesa-limit.h
check-mesa: all
	$(SHELL) $(top_srcdir)/tests/clients/mesa/mesa-ralloc.sh slice/.libs \
	mesa
.PHONY: check-mesa

# One flipped byte in a live node's header, some hundred times.
if WITH_TESTS
check_PROGRAMS += tests/context/misuse/ralloc-flips
TESTS += tests/context/misuse/ralloc-flips
endif
tests_context_misuse_ralloc_flips_SOURCES = tests/context/misuse/ralloc-flips.c
tests_context_misuse_ralloc_flips_LDADD = slice/libslice.la
