# slice/tools/local.mk - tools (floor 8): the tracer
#
# Built where configure has found libdw, libzstd and zlib.  The recorder needs
# the C library alone; it opens libunwind when it runs.
#
# SPDX-License-Identifier: MIT

trace_cflags = $(SLICE_WARN_CFLAGS) $(SLICE_COVERAGE_CFLAGS) \
	$(LIBDW_CFLAGS) $(LIBZSTD_CFLAGS) $(ZLIB_CFLAGS)
trace_libs = slice/libslice.la $(LIBDW_LIBS) $(LIBZSTD_LIBS) $(ZLIB_LIBS) \
	$(SLICE_DL_LIBS) -lm

if WITH_TRACE
bin_PROGRAMS += %D%/slice-trace
noinst_LTLIBRARIES += %D%/libtrace.la
pkglib_LTLIBRARIES += %D%/slice-trace-record.la
endif

# Everything but main(), for the tests.
%C%_libtrace_la_SOURCES = \
	%D%/analyse.c \
	%D%/analyse.h \
	%D%/analyse-lives.c \
	%D%/analyse-owners.c \
	%D%/analyse-parts.h \
	%D%/analyse-scopes.c \
	%D%/analyse-site.c \
	%D%/classify.c \
	%D%/classify.h \
	%D%/command-line.c \
	%D%/command-line.h \
	%D%/command-advise.c \
	%D%/command-compare.c \
	%D%/command-diff.c \
	%D%/command-dump.c \
	%D%/command-export.c \
	%D%/command-patterns.c \
	%D%/command-record.c \
	%D%/command-replay.c \
	%D%/command-report.c \
	%D%/commands.h \
	%D%/json.c \
	%D%/json.h \
	%D%/operations.c \
	%D%/operations.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/profile.c \
	%D%/profile.h \
	%D%/profile-callers.c \
	%D%/profile-depth.c \
	%D%/profile-json.c \
	%D%/profile-json.h \
	%D%/profile-parts.h \
	%D%/profile-pictures.c \
	%D%/profile-reading.c \
	%D%/replay-backends.c \
	%D%/replay.c \
	%D%/replay.h \
	%D%/replay-run.c \
	%D%/replay-write.c \
	%D%/resample.c \
	%D%/resample.h \
	%D%/report-html.c \
	%D%/report-svg.c \
	%D%/report-text.c \
	%D%/report.h \
	%D%/sites.c \
	%D%/sites.h \
	%D%/spool.h \
	%D%/stage.c \
	%D%/stage.h \
	%D%/symbols.c \
	%D%/symbols.h \
	%D%/tool.c \
	%D%/tool.h \
	%D%/trace-format.h \
	%D%/trace-read.c \
	%D%/trace-read.h \
	%D%/trace-read-parts.h \
	%D%/trace-stream.c \
	%D%/trace-write.c \
	%D%/trace-write.h \
	%D%/xxh64.c
%C%_libtrace_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSLICE_TRACE_LIBDIR='"$(pkglibdir)"'
%C%_libtrace_la_CFLAGS = $(trace_cflags)
%C%_libtrace_la_LIBADD = $(trace_libs)

%C%_slice_trace_SOURCES = %D%/main.c
%C%_slice_trace_CFLAGS = $(trace_cflags)
%C%_slice_trace_LDADD = %D%/libtrace.la

# Preloaded: its constructor comes first, it is never unloaded, and C++
# exceptions pass through it.  The compiler must not take its malloc for the
# one it knows.
%C%_slice_trace_record_la_SOURCES = \
	%D%/record.c \
	%D%/record.h \
	%D%/record-check.c \
	%D%/record-cxx.c \
	%D%/record-event.c \
	%D%/record-hooks.c \
	%D%/record-spool.c \
	%D%/record-stack.c \
	%D%/record-start.c \
	%D%/spool.h \
	%D%/trace-format.h \
	%D%/xxh64.c
%C%_slice_trace_record_la_CFLAGS = $(SLICE_WARN_CFLAGS) \
	-Wno-missing-prototypes -fvisibility=hidden \
	-ftls-model=initial-exec -fexceptions -fno-builtin
%C%_slice_trace_record_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,now
%C%_slice_trace_record_la_LIBADD = $(SLICE_DL_LIBS) $(SLICE_THREAD_LIBS)

pkginclude_HEADERS += slice/trace.h

if WITH_TRACE
dist_man_MANS += docs/man/slice-trace.1
else
EXTRA_DIST += docs/man/slice-trace.1
endif
