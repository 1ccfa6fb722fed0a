# tests/trace/local.mk - the tracer's tests
#
# SPDX-License-Identifier: MIT

trace_tests = %D%/advice/test-advice-file %D%/analyse/test-arenas \
	%D%/format/test-json %D%/analyse/test-patterns \
	%D%/analyse/test-resample %D%/record/test-sample-gap \
	%D%/format/test-trace-file
%C%_advice_test_advice_file_SOURCES = %D%/advice/test-advice-file.c \
	slice/dropin/advice/sites/advice-file.c
%C%_advice_test_advice_file_LDADD = $(GLIB_LIBS)
%C%_format_test_json_SOURCES = %D%/format/test-json.c %D%/format/make-trace.c \
	%D%/format/make-trace.h
%C%_format_test_json_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)
%C%_analyse_test_arenas_SOURCES = %D%/analyse/test-arenas.c \
	%D%/format/make-trace.c \
	%D%/format/make-trace.h
%C%_analyse_test_arenas_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)
%C%_analyse_test_patterns_SOURCES = %D%/analyse/test-patterns.c \
	%D%/format/make-trace.c \
	%D%/format/make-trace.h
%C%_analyse_test_patterns_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)
%C%_analyse_test_resample_SOURCES = %D%/analyse/test-resample.c
%C%_analyse_test_resample_LDADD = slice/tools/libtrace.la $(GLIB_LIBS) -lm
%C%_record_test_sample_gap_SOURCES = %D%/record/test-sample-gap.c
%C%_record_test_sample_gap_LDADD = $(GLIB_LIBS) -lm
%C%_format_test_trace_file_SOURCES = %D%/format/test-trace-file.c \
	%D%/format/make-trace.c \
	%D%/format/make-trace.h
%C%_format_test_trace_file_LDADD = slice/tools/libtrace.la $(GLIB_LIBS)

# Programs of the scripts'.
%C%_check_schema_SOURCES = %D%/check-schema.c
%C%_check_schema_LDADD = slice/tools/libtrace.la
%C%_json_get_SOURCES = %D%/json-get.c
%C%_json_get_LDADD = slice/tools/libtrace.la

# The first tier tells whether programs are recorded and judged rightly; what is
# made of that, and every option, is for the second.
trace_scripts = %D%/analyse/test-answers.sh %D%/record/test-hooks.sh \
	%D%/advice/test-predict.sh \
	%D%/record/test-record.sh %D%/command/test-report.sh \
	%D%/record/test-sample.sh
trace_slow_scripts = %D%/advice/test-apply.sh %D%/analyse/test-headers.sh \
	%D%/record/test-limits.sh %D%/command/test-options.sh \
	%D%/analyse/test-pins.sh \
	%D%/command/test-trace-tool.sh %D%/record/test-watch.sh
needs_%C%_analyse_test_answers = %D%/json-get
needs_%C%_analyse_test_headers = %D%/json-get
needs_%C%_record_test_limits = %D%/json-get
needs_%C%_command_test_options = %D%/json-get
needs_%C%_analyse_test_pins = %D%/check-schema %D%/json-get
needs_%C%_record_test_record = %D%/json-get
needs_%C%_command_test_report = %D%/json-get
needs_%C%_record_test_sample = %D%/check-schema %D%/json-get
needs_%C%_record_test_watch = %D%/json-get
needs_%C%_command_test_trace_tool = %D%/check-schema %D%/json-get
EXTRA_DIST += \
	$(trace_scripts) \
	$(trace_slow_scripts) \
	%D%/trace-lib.sh \
	%D%/clients/answers.c \
	%D%/clients/answers-cxx.cc \
	%D%/clients/answers-lib.c \
	%D%/clients/answers-lib.h \
	%D%/clients/applied.c \
	%D%/clients/applied-cxx.cc \
	%D%/clients/applied-plugin.c \
	%D%/clients/backing.c \
	%D%/clients/before-after.c \
	%D%/clients/burst.c \
	%D%/clients/through.c \
	%D%/clients/classes.c \
	%D%/clients/watched.c \
	%D%/clients/consumers.c \
	%D%/clients/ends.c \
	%D%/clients/entries.cc \
	%D%/clients/failed.c \
	%D%/clients/forks.c \
	%D%/clients/handlers.cc \
	%D%/clients/headers.cc \
	%D%/clients/late.c \
	%D%/clients/late-plugin.c \
	%D%/clients/lines.c \
	%D%/clients/lines-cxx.cc \
	%D%/clients/many.c \
	%D%/clients/obtained.c \
	%D%/clients/pinned.c \
	%D%/clients/pinned-slices.c \
	%D%/clients/plugin.c \
	%D%/clients/plugged.c \
	%D%/clients/plugins.c \
	%D%/clients/race.c \
	%D%/clients/random.h \
	%D%/clients/raising.cc \
	%D%/clients/ring-malloc.c \
	%D%/clients/sampled.c \
	%D%/clients/signals.c \
	%D%/clients/slices.c \
	%D%/clients/static.c \
	%D%/clients/threads.c \
	%D%/clients/tried.c \
	%D%/clients/unwinds.cc \
	%D%/clients/wrapped.c \
	%D%/record/check-overhead.sh \
	%D%/record/check-sampling.sh \
	%D%/format/fuzz-json.c \
	%D%/format/fuzz-trace.c \
	%D%/format/make-large.c

if WITH_TRACE
if WITH_TESTS
check_PROGRAMS += $(trace_tests) %D%/check-schema %D%/json-get
TESTS += $(trace_scripts) $(trace_tests)
slow_tests += $(trace_slow_scripts)
endif
endif

# The readers under libFuzzer, with ASan and UBSan, for FUZZ_SECONDS; they begin
# with small traces recorded here, and what is written of them.
trace_fuzz_flags = -std=gnu11 -g -O1 -w -I. -I$(srcdir) \
	-iquote $(srcdir)/slice -DSLICE_TRACE_LIBDIR='"."' -pthread \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined \
	$(LIBDW_CFLAGS) $(LIBZSTD_CFLAGS) $(ZLIB_CFLAGS)
trace_fuzz_run = -max_len=65536 -rss_limit_mb=4096 -timeout=60 \
	-max_total_time=$(FUZZ_SECONDS)
fuzz-trace fuzz-json: all
	@test -n '$(CLANG)' || { echo '$@: install clang' >&2; exit 1; }
	$(MKDIR_P) fuzz-corpus/trace fuzz-corpus/json
	@$(CC) -O1 -I. -I$(srcdir) $(srcdir)/%D%/clients/ends.c \
	  -o %D%/fuzz-ends && for n in 1 2; do \
	  slice/tools/slice-trace record -q -o fuzz-corpus/trace/seed-$$n \
	    %D%/fuzz-ends status; done; \
	  slice/tools/slice-trace record -q --sample 64 -o \
	    fuzz-corpus/trace/seed-sampled %D%/fuzz-ends status; :
	@{ printf '{"patterns":'; \
	  slice/tools/slice-trace patterns fuzz-corpus/trace/seed-1; \
	  printf ',"replay":'; slice/tools/slice-trace replay --repeats 1 \
	    fuzz-corpus/trace/seed-1; echo '}'; } > fuzz-corpus/json/seed
	$(CLANG) $(trace_fuzz_flags) -fsanitize=fuzzer \
	  $(srcdir)/%D%/format/$@.c \
	  $(addprefix $(srcdir)/, $(filter %.c, \
	    $(slice_tools_libtrace_la_SOURCES))) \
	  $(nodist_slice_tools_libtrace_la_SOURCES) \
	  slice/.libs/libslice.a $(LIBDW_LIBS) $(LIBZSTD_LIBS) $(ZLIB_LIBS) \
	  -ldl -lm -o %D%/$@-libfuzzer
	%D%/$@-libfuzzer $(trace_fuzz_run) fuzz-corpus/$(@:fuzz-%=%)
CLEANFILES += %D%/fuzz-ends %D%/fuzz-trace-libfuzzer %D%/fuzz-json-libfuzzer
.PHONY: fuzz-trace fuzz-json
