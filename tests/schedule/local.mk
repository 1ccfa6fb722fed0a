# tests/schedule/local.mk - the schedule explorer
#
# The library once more, built to stop wherever another thread could come in
# between, and without port/tls.c, in whose place the explorer's own stands.
#
# SPDX-License-Identifier: MIT

if WITH_TESTS
check_PROGRAMS += %D%/schedule
TESTS += %D%/schedule
endif

scheduled_sources = \
	slice/base/diag.c \
	slice/base/option.c \
	slice/base/own-extent.c \
	slice/base/sizeclass.c \
	slice/base/trace.c \
	slice/core/aligned.c \
	slice/core/alloc.c \
	slice/core/block-check.c \
	slice/core/bulk.c \
	slice/core/depot.c \
	slice/core/depot-magazine.c \
	slice/core/failure.c \
	slice/core/fork.c \
	slice/core/guard.c \
	slice/core/guard-contents.c \
	slice/core/guard-exit.c \
	slice/core/guard-quick.c \
	slice/core/guard-tool.c \
	slice/core/adapt.c \
	slice/core/magazine.c \
	slice/core/map.c \
	slice/core/meta.c \
	slice/core/page.c \
	slice/core/page-look.c \
	slice/core/page-trim.c \
	slice/core/record.c \
	slice/core/record-look.c \
	slice/core/own.c \
	slice/core/route.c \
	slice/core/slab.c \
	slice/core/slab-give.c \
	slice/core/slab-look.c \
	slice/core/source.c \
	slice/core/taker.c \
	slice/core/trace.c \
	slice/core/trim.c \
	slice/observe/stats.c \
	slice/observe/walk.c \
	slice/port/annotate.c \
	slice/port/lock.c \
	slice/port/os-linux.c \
	slice/port/os-module.c \
	slice/port/os-posix.c \
	slice/port/tool.c

%C%_schedule_SOURCES = %D%/schedule.c $(scheduled_sources)
%C%_schedule_CPPFLAGS = $(AM_CPPFLAGS) -DSLICE_SCHEDULE
%C%_schedule_CFLAGS = $(SLICE_WARN_CFLAGS) $(SLICE_LIB_CFLAGS)
%C%_schedule_LDADD = $(SLICE_THREAD_LIBS)
