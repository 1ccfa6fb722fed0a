# tests/arena/local.mk - the tests of the arenas
#
# SPDX-License-Identifier: MIT

arena_tests = \
	%D%/misuse/test-arena-misuse \
	%D%/test-context \
	%D%/test-first-call \
	%D%/linear/test-linear \
	%D%/linear/test-linear-steps \
	%D%/linear/test-linear-text \
	%D%/test-failed-calls \
	%D%/test-locked \
	%D%/pool/test-pool \
	%D%/pool/test-pool-phases \
	%D%/test-resizes \
	%D%/source/test-source-file \
	%D%/source/test-source-use \
	%D%/test-sources \
	%D%/stack/test-stack \
	%D%/tlsf/test-tlsf \
	%D%/tlsf/test-tlsf-damage

slice_tests += $(arena_tests)

arena_test_sources = %D%/arena-test.c %D%/arena-test.h
%C%_misuse_test_arena_leaks_SOURCES = %D%/misuse/test-arena-leaks.c
%C%_misuse_test_arena_leaks_LDADD = $(slice_test_libs)
%C%_misuse_test_arena_misuse_SOURCES = %D%/misuse/test-arena-misuse.c \
	$(arena_test_sources)
%C%_misuse_test_arena_misuse_LDADD = $(slice_test_libs)
%C%_test_arena_oom_SOURCES = %D%/test-arena-oom.c $(arena_test_sources)
%C%_test_arena_oom_LDADD = $(slice_test_libs)
%C%_test_context_SOURCES = %D%/test-context.c $(arena_test_sources)
%C%_test_context_LDADD = $(slice_test_libs)
%C%_test_first_call_SOURCES = %D%/test-first-call.c $(arena_test_sources)
%C%_test_first_call_LDADD = $(slice_test_libs)
%C%_linear_test_linear_SOURCES = %D%/linear/test-linear.c $(arena_test_sources)
%C%_linear_test_linear_LDADD = $(slice_test_libs)
%C%_linear_test_linear_text_SOURCES = %D%/linear/test-linear-text.c \
	$(arena_test_sources)
%C%_linear_test_linear_text_LDADD = $(slice_test_libs)
%C%_linear_test_linear_steps_SOURCES = \
	%D%/linear/test-linear-steps.c \
	$(arena_test_sources) \
	slice/arena/arena-options.c \
	slice/arena/block/block-growth.c \
	slice/arena/block/block-map.c \
	slice/arena/block/block-reset.c \
	slice/arena/block/block-source.c \
	slice/arena/bump/bump.c \
	slice/arena/linear/linear.c \
	slice/arena/linear/linear-grow.c \
	slice/arena/linear/linear-mark.c \
	slice/arena/linear/linear-resize.c \
	slice/arena/source/source-map.c \
	slice/arena/source/source-owned.c \
	slice/arena/source/span.c \
	slice/arena/source/span-direct.c \
	slice/arena/source/span-shared.c \
	slice/arena/bump/traced.c \
	slice/arena/annotate.c
%C%_linear_test_linear_steps_CPPFLAGS = $(AM_CPPFLAGS) -DCHAIN_COUNT_LOOKS
%C%_linear_test_linear_steps_LDADD = $(alloc_test_libs) $(SLICE_THREAD_LIBS)
%C%_test_failed_calls_SOURCES = %D%/test-failed-calls.c $(arena_test_sources)
%C%_test_failed_calls_LDADD = $(slice_test_libs)
%C%_test_locked_SOURCES = %D%/test-locked.c $(arena_test_sources)
%C%_test_locked_LDADD = $(slice_test_libs) $(SLICE_THREAD_LIBS)
%C%_pool_test_pool_SOURCES = %D%/pool/test-pool.c $(arena_test_sources)
%C%_pool_test_pool_LDADD = $(slice_test_libs)
%C%_pool_test_pool_phases_SOURCES = %D%/pool/test-pool-phases.c \
	$(arena_test_sources)
%C%_pool_test_pool_phases_LDADD = $(slice_test_libs)
%C%_test_resizes_SOURCES = %D%/test-resizes.c $(arena_test_sources)
%C%_test_resizes_LDADD = $(slice_test_libs)
%C%_test_sources_SOURCES = %D%/test-sources.c $(arena_test_sources)
%C%_test_sources_LDADD = $(slice_test_libs)
%C%_source_test_source_file_SOURCES = %D%/source/test-source-file.c \
	$(arena_test_sources)
%C%_source_test_source_file_LDADD = $(slice_test_libs)
%C%_source_test_source_use_SOURCES = %D%/source/test-source-use.c \
	$(arena_test_sources)
%C%_source_test_source_use_LDADD = $(slice_test_libs)
%C%_stack_test_stack_SOURCES = %D%/stack/test-stack.c $(arena_test_sources)
%C%_stack_test_stack_LDADD = $(slice_test_libs)
%C%_tlsf_test_tlsf_SOURCES = %D%/tlsf/test-tlsf.c $(arena_test_sources)
%C%_tlsf_test_tlsf_LDADD = $(slice_test_libs)
%C%_tlsf_test_tlsf_damage_SOURCES = %D%/tlsf/test-tlsf-damage.c \
	$(arena_test_sources)
%C%_tlsf_test_tlsf_damage_LDADD = $(slice_test_libs)

# The examples in C++.
if HAVE_CXX
arena_examples = \
	docs/examples/one-owner \
	docs/examples/owner-and-consumer \
	docs/examples/many-consumers \
	docs/examples/words
if WITH_TESTS
check_PROGRAMS += $(arena_examples)
endif
endif
docs_examples_words_SOURCES = docs/examples/words.cc
docs_examples_words_CXXFLAGS = $(AM_CXXFLAGS) -std=c++17
docs_examples_words_LDADD = slice/libslice.la
docs_examples_one_owner_SOURCES = docs/examples/one-owner.cc
docs_examples_one_owner_LDADD = slice/libslice.la
docs_examples_owner_and_consumer_SOURCES = docs/examples/owner-and-consumer.cc
docs_examples_owner_and_consumer_LDADD = slice/libslice.la
docs_examples_many_consumers_SOURCES = docs/examples/many-consumers.cc
docs_examples_many_consumers_LDADD = slice/libslice.la

# What valgrind and AddressSanitizer see; the examples' output.
check_scripts += %D%/check-arena-examples.sh
slow_scripts += %D%/misuse/check-annotations.sh
slow_programs += %D%/misuse/annotate-misuse
check_PROGRAMS += docs/examples/events docs/examples/messages
needs_%C%_misuse_check_annotations = %D%/misuse/annotate-misuse
needs_%C%_check_arena_examples = docs/examples/events \
	docs/examples/messages $(arena_examples)
docs_examples_events_SOURCES = docs/examples/events.c
docs_examples_events_LDADD = slice/libslice.la
docs_examples_messages_SOURCES = docs/examples/messages.c
docs_examples_messages_LDADD = slice/libslice.la
%C%_misuse_annotate_misuse_SOURCES = %D%/misuse/annotate-misuse.c
%C%_misuse_annotate_misuse_LDADD = slice/libslice.la
