# tests/schedule/local.mk - the schedule explorer
#
# The library once more, built to stop wherever another thread could come in
# between, and without port/thread/tls.c, in whose place the explorer's own
# stands.
#
# SPDX-License-Identifier: MIT

if WITH_TESTS
check_PROGRAMS += %D%/schedule
TESTS += %D%/schedule
endif

scheduled_sources = \
	slice/base/diag.c \
	slice/base/option.c \
	slice/page/source/extent.c \
	slice/page/map/extent-cache.c \
	slice/page/region.c \
	slice/base/sizeclass.c \
	slice/base/trace.c \
	slice/alloc/aligned.c \
	slice/alloc/alloc.c \
	slice/checking/registry/block-registry.c \
	slice/checking/registry/code-files.c \
	slice/alloc/batch.c \
	slice/alloc/block-info.c \
	slice/alloc/chain.c \
	slice/depot/depot.c \
	slice/depot/depot-check.c \
	slice/depot/depot-magazine.c \
	slice/depot/depot-trim.c \
	slice/depot/stack.c \
	slice/alloc/process/oom.c \
	slice/alloc/process/fork.c \
	slice/checking/checking.c \
	slice/checking/checking-blocks.c \
	slice/checking/checking-mallocs.c \
	slice/checking/checking-exit.c \
	slice/checking/checking-report.c \
	slice/checking/checking-retired.c \
	slice/checking/checking-tool.c \
	slice/magazine/adapt.c \
	slice/magazine/relief.c \
	slice/magazine/magazine.c \
	slice/page/map/map.c \
	slice/page/meta.c \
	slice/page/page.c \
	slice/page/page-stats.c \
	slice/page/page-trim.c \
	slice/magazine/record/parked.c \
	slice/magazine/quarantine.c \
	slice/magazine/record/record-detach.c \
	slice/magazine/record/record.c \
	slice/magazine/record/record-stats.c \
	slice/alloc/untraced.c \
	slice/alloc/dispatch.c \
	slice/alloc/process/exit-link.c \
	slice/slab/slab.c \
	slice/slab/slab-free.c \
	slice/slab/slab-guard.c \
	slice/slab/slab-stats.c \
	slice/page/source/source.c \
	slice/slab/last-allocator.c \
	slice/alloc/trace.c \
	slice/alloc/process/trim.c \
	slice/observe/stats.c \
	slice/observe/walk.c \
	slice/port/annotate.c \
	slice/port/thread/asleep.c \
	slice/port/thread/lock.c \
	slice/port/os/os-linux.c \
	slice/port/os/os-module.c \
	slice/port/os/os-posix.c \
	slice/port/thread/shard.c \
	slice/port/tool.c

%C%_schedule_SOURCES = %D%/schedule.c $(scheduled_sources)
%C%_schedule_CPPFLAGS = $(AM_CPPFLAGS) -DSLICE_SCHEDULE
%C%_schedule_CFLAGS = $(SLICE_WARN_CFLAGS) $(SLICE_LIB_CFLAGS)
%C%_schedule_LDADD = $(SLICE_THREAD_LIBS)
