# tests/trace/local.mk - the tracer's tests
#
# SPDX-License-Identifier: MIT

trace_tests = %D%/test-arenas %D%/test-patterns %D%/test-trace-file
%C%_test_arenas_SOURCES = %D%/test-arenas.c %D%/make-trace.c \
	%D%/make-trace.h
%C%_test_arenas_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)
%C%_test_patterns_SOURCES = %D%/test-patterns.c %D%/make-trace.c \
	%D%/make-trace.h
%C%_test_patterns_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)
%C%_test_trace_file_SOURCES = %D%/test-trace-file.c %D%/make-trace.c \
	%D%/make-trace.h
%C%_test_trace_file_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)

# Programs of the scripts'.
%C%_check_schema_SOURCES = %D%/check-schema.c
%C%_check_schema_LDADD = slice/tools/libtrace.la

trace_scripts = %D%/test-hooks.sh %D%/test-record.sh %D%/test-report.sh \
	%D%/test-trace-tool.sh
EXTRA_DIST += \
	$(trace_scripts) \
	%D%/clients/classes.c \
	%D%/clients/consumers.c \
	%D%/clients/ends.c \
	%D%/clients/entries.cc \
	%D%/clients/forks.c \
	%D%/clients/nodes.c \
	%D%/clients/plugin.c \
	%D%/clients/plugged.c \
	%D%/clients/plugins.c \
	%D%/clients/race.c \
	%D%/clients/ring-malloc.c \
	%D%/clients/signals.c \
	%D%/clients/slices.c \
	%D%/clients/static.c \
	%D%/clients/threads.c \
	%D%/clients/unwinds.cc \
	%D%/clients/words.c \
	%D%/clients/wrapped.c \
	%D%/check-prediction.sh \
	%D%/make-large.c

if WITH_TRACE
if WITH_TESTS
check_PROGRAMS += $(trace_tests) %D%/check-schema
TESTS += $(trace_tests) $(trace_scripts)
endif
endif
