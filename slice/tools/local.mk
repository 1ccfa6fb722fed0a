# slice/tools/local.mk - tools (layer 9): the tracer
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
	%D%/trace/analyse/analyse-lives.c \
	%D%/trace/analyse/analyse-owners.c \
	%D%/trace/analyse/analyse-parts.h \
	%D%/trace/analyse/analyse-scopes.c \
	%D%/trace/analyse/analyse-site.c \
	%D%/trace/analyse/analyse.c \
	%D%/trace/analyse/analyse.h \
	%D%/trace/analyse/classify/classify-numbers.c \
	%D%/trace/analyse/classify/classify-numbers.h \
	%D%/trace/analyse/classify/classify.c \
	%D%/trace/analyse/classify/classify.h \
	%D%/trace/apply/apply-paths.c \
	%D%/trace/apply/apply-regions.c \
	%D%/trace/apply/apply.c \
	%D%/trace/apply/apply.h \
	%D%/trace/command/command-line.c \
	%D%/trace/command/command-line.h \
	%D%/trace/command/command-run.c \
	%D%/trace/command/commands.h \
	%D%/trace/command/stage-process.c \
	%D%/trace/command/stage-process.h \
	%D%/trace/command/advise/advice-worth.c \
	%D%/trace/command/advise/advice-write.c \
	%D%/trace/command/advise/advice.c \
	%D%/trace/command/advise/advice.h \
	%D%/trace/command/advise/command-advise.c \
	%D%/trace/command/advise/command-apply.c \
	%D%/trace/command/measure/command-compare.c \
	%D%/trace/command/measure/command-predict.c \
	%D%/trace/command/measure/command-replay.c \
	%D%/trace/command/measure/command-time.c \
	%D%/trace/command/measure/replay-parts.h \
	%D%/trace/command/measure/replay-site.c \
	%D%/trace/command/record/command-record.c \
	%D%/trace/command/record/record-directory.c \
	%D%/trace/command/record/record-parts.h \
	%D%/trace/command/record/record-plain.c \
	%D%/trace/command/show/command-diff.c \
	%D%/trace/command/show/command-dump.c \
	%D%/trace/command/show/command-export.c \
	%D%/trace/command/show/command-patterns.c \
	%D%/trace/command/show/command-pins.c \
	%D%/trace/command/show/command-report.c \
	%D%/trace/command/watch/command-watch.c \
	%D%/trace/command/watch/watch-live.c \
	%D%/trace/command/watch/watch-parts.h \
	%D%/trace/command/watch/watch-process.c \
	%D%/trace/command/watch/watch-show.c \
	%D%/trace/common/stage/json.c \
	%D%/trace/common/stage/json.h \
	%D%/trace/common/measure.c \
	%D%/trace/common/measure.h \
	%D%/trace/common/stage/origin.c \
	%D%/trace/common/stage/origin.h \
	%D%/trace/common/paths.c \
	%D%/trace/common/paths.h \
	%D%/trace/common/stage/stage.c \
	%D%/trace/common/stage/stage.h \
	%D%/trace/common/table.c \
	%D%/trace/common/table.h \
	%D%/trace/common/tool.c \
	%D%/trace/common/tool.h \
	%D%/trace/export/export-dhat.c \
	%D%/trace/export/export-folded.c \
	%D%/trace/export/export-massif.c \
	%D%/trace/export/export-pprof.c \
	%D%/trace/export/export.h \
	%D%/trace/format/operations.c \
	%D%/trace/format/operations.h \
	%D%/trace/format/read/trace-blocks.c \
	%D%/trace/format/trace-format.h \
	%D%/trace/format/trace-names.c \
	%D%/trace/format/read/trace-read-parts.h \
	%D%/trace/format/read/trace-read.c \
	%D%/trace/format/read/trace-read.h \
	%D%/trace/format/read/trace-stream.c \
	%D%/trace/format/read/trace-twins.c \
	%D%/trace/format/trace-write.c \
	%D%/trace/format/trace-write.h \
	%D%/trace/format/xxh64.c \
	%D%/trace/pack/pack-chunks.c \
	%D%/trace/pack/pack-clock.c \
	%D%/trace/pack/pack-clock.h \
	%D%/trace/pack/pack-parts.h \
	%D%/trace/pack/pack-process.c \
	%D%/trace/pack/pack-rss.c \
	%D%/trace/pack/pack.c \
	%D%/trace/pack/pack.h \
	%D%/trace/pack/spool.h \
	%D%/trace/pins/heap-bins.c \
	%D%/trace/pins/heap-bins.h \
	%D%/trace/pins/heap-model.c \
	%D%/trace/pins/heap-model.h \
	%D%/trace/pins/heap-segments.c \
	%D%/trace/pins/pins-draw.c \
	%D%/trace/pins/pins-write.c \
	%D%/trace/pins/pins.c \
	%D%/trace/pins/pins.h \
	%D%/trace/profile/write/call-tree.c \
	%D%/trace/profile/write/call-tree.h \
	%D%/trace/profile/profile-callers.c \
	%D%/trace/profile/profile-depth.c \
	%D%/trace/profile/write/profile-flames.c \
	%D%/trace/profile/write/profile-json.c \
	%D%/trace/profile/write/profile-json.h \
	%D%/trace/profile/profile-parts.h \
	%D%/trace/profile/write/profile-pictures.c \
	%D%/trace/profile/profile-reading.c \
	%D%/trace/profile/profile-sampled.c \
	%D%/trace/profile/profile.c \
	%D%/trace/profile/profile.h \
	%D%/trace/replay/replay-backends.c \
	%D%/trace/replay/replay-run.c \
	%D%/trace/replay/replay-write.c \
	%D%/trace/replay/replay.c \
	%D%/trace/replay/replay.h \
	%D%/trace/replay/resample.c \
	%D%/trace/replay/resample.h \
	%D%/trace/report/page.c \
	%D%/trace/report/page.h \
	%D%/trace/report/report-diff.c \
	%D%/trace/report/report-html.c \
	%D%/trace/report/report-series.c \
	%D%/trace/report/report-summary.c \
	%D%/trace/report/report-svg.c \
	%D%/trace/report/report-text.c \
	%D%/trace/report/report.h \
	%D%/trace/sites/frames.c \
	%D%/trace/sites/frames.h \
	%D%/trace/sites/inlines.c \
	%D%/trace/sites/inlines.h \
	%D%/trace/sites/names.c \
	%D%/trace/sites/names.h \
	%D%/trace/sites/sites.c \
	%D%/trace/sites/sites.h \
	%D%/trace/sites/symbols.c \
	%D%/trace/sites/symbols.h \
	%D%/trace/sites/wrappers.c \
	%D%/trace/trial/trial-run.c \
	%D%/trace/trial/trial-owners.c \
	%D%/trace/trial/trial-site.c \
	%D%/trace/trial/trial.h
nodist_%C%_libtrace_la_SOURCES = %D%/trace/report/page-files.c
%C%_libtrace_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DSLICE_TRACE_LIBDIR='"$(pkglibdir)"' \
	-DSLICE_TRACE_SLICEDIR='"$(libdir)"' \
	-DSLICE_TRACE_BINDIR='"$(bindir)"' \
	-DSLICE_TRACE_PREFIX='"$(exec_prefix)"'
%C%_libtrace_la_CFLAGS = $(trace_cflags)
# A part of programs only: its objects are compiled once.
%C%_libtrace_la_LIBTOOLFLAGS = --tag=disable-shared
%C%_libtrace_la_LIBADD = $(trace_libs)

# The report's HTML and CSS, in the program.
trace_template = %D%/trace/report/template
trace_page = \
	$(trace_template)/changes.html \
	$(trace_template)/diff.html \
	$(trace_template)/head.html \
	$(trace_template)/page.css \
	$(trace_template)/page.html \
	$(trace_template)/page.js \
	$(trace_template)/sampled.html \
	$(trace_template)/shapes.html \
	$(trace_template)/shares.html \
	$(trace_template)/site.html \
	$(trace_template)/tail.html \
	$(trace_template)/total.html
EXTRA_DIST += $(trace_template)/embed.awk $(trace_page)
CLEANFILES += %D%/trace/report/page-files.c
%D%/trace/report/page-files.c: $(trace_template)/embed.awk $(trace_page)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)LC_ALL=C $(AWK) -f $^ > $@-tmp && mv -f $@-tmp $@

%C%_slice_trace_SOURCES = %D%/trace/command/main.c
%C%_slice_trace_CFLAGS = $(trace_cflags)
%C%_slice_trace_LDADD = %D%/libtrace.la

# Preloaded: its constructor comes first, it is never unloaded, and C++
# exceptions pass through it.  The compiler must not take its malloc for the
# one it knows.
%C%_slice_trace_record_la_SOURCES = \
	%D%/trace/format/trace-format.h \
	%D%/trace/format/xxh64.c \
	%D%/trace/pack/spool.h \
	%D%/trace/record/record-cxx.c \
	%D%/trace/record/record-event.c \
	%D%/trace/record/record-hooks.c \
	%D%/trace/record/record-sample.c \
	%D%/trace/record/record-sample.h \
	%D%/trace/record/record-start.c \
	%D%/trace/record/record-watch.c \
	%D%/trace/record/record.c \
	%D%/trace/record/record.h \
	%D%/trace/record/sample-gap.h \
	%D%/trace/record/spool/record-chunks.c \
	%D%/trace/record/spool/record-log.c \
	%D%/trace/record/spool/record-reserve.c \
	%D%/trace/record/spool/record-spool.c \
	%D%/trace/record/spool/record-spool.h \
	%D%/trace/record/stack/record-check.c \
	%D%/trace/record/stack/record-modules.c \
	%D%/trace/record/stack/record-stack.c \
	%D%/trace/record/stack/record-stack.h \
	%D%/trace/record/stack/record-unwind.c
%C%_slice_trace_record_la_CFLAGS = $(SLICE_WARN_CFLAGS) \
	-Wno-missing-prototypes -fvisibility=hidden \
	-ftls-model=initial-exec -fexceptions -fno-builtin
%C%_slice_trace_record_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,initfirst -Wl,-z,nodelete -Wl,-z,now
%C%_slice_trace_record_la_LIBTOOLFLAGS = $(shared_only)
%C%_slice_trace_record_la_LIBADD = $(SLICE_DL_LIBS) $(SLICE_THREAD_LIBS)

pkginclude_HEADERS += slice/trace.h

if WITH_TRACE
dist_man_MANS += docs/man/slice-trace.1
else
EXTRA_DIST += docs/man/slice-trace.1
endif
