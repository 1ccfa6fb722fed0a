# slice/local.mk - the library, layer by layer
#
# Each layer is a folder and a convenience library.  The library holds its own
# layer and, through LIBADD, the one beneath it.  A unit test links the library
# of its layer alone, so a call upwards is a link error.  Layers 8 (but for
# observe) and 9 have fragments of their own.
#
# SPDX-License-Identifier: MIT

# No GLib in here.
slice_cflags = \
	$(SLICE_WARN_CFLAGS) \
	$(SLICE_COVERAGE_CFLAGS) \
	$(SLICE_LIB_CFLAGS)

noinst_LTLIBRARIES += \
	%D%/libport.la \
	%D%/libbase.la \
	%D%/libpage.la \
	%D%/libslab.la \
	%D%/libdepot.la \
	%D%/libmagazine.la \
	%D%/libchecking.la \
	%D%/liballoc.la \
	%D%/libobserve.la

# --- layer 0: the system, threads, atomics ---

%C%_libport_la_SOURCES = \
	%D%/port/annotate.c \
	%D%/port/annotate.h \
	%D%/port/compiler.h \
	%D%/port/malloc-family.h \
	%D%/port/memory-pool.h \
	%D%/port/probe.h \
	%D%/port/ticks.h \
	%D%/port/tool.c \
	%D%/port/os/os-linux.c \
	%D%/port/os/os-module.c \
	%D%/port/os/os-posix.c \
	%D%/port/os/os.h \
	%D%/port/thread/asleep.c \
	%D%/port/thread/asleep.h \
	%D%/port/thread/lock.c \
	%D%/port/thread/lock.h \
	%D%/port/thread/one-thread.h \
	%D%/port/thread/shard.c \
	%D%/port/thread/shard.h \
	%D%/port/thread/tls.c \
	%D%/port/thread/tls.h
%C%_libport_la_CFLAGS = $(slice_cflags)

# --- layer 1: knows nothing of slices ---

%C%_libbase_la_SOURCES = \
	%D%/base/align.h \
	%D%/base/check.h \
	%D%/base/diag.c \
	%D%/base/diag.h \
	%D%/base/errors.h \
	%D%/base/list.h \
	%D%/base/option.c \
	%D%/base/option.h \
	%D%/base/sizeclass.c \
	%D%/base/sizeclass.h \
	%D%/base/trace.c \
	%D%/base/trace.h
%C%_libbase_la_CFLAGS = $(slice_cflags)
%C%_libbase_la_LIBADD = %D%/libport.la

# --- layer 2: regions and runs of pages ---

%C%_libpage_la_SOURCES = \
	%D%/page/source/extent.c \
	%D%/page/granuleset.h \
	%D%/page/meta.c \
	%D%/page/meta.h \
	%D%/page/page-state.h \
	%D%/page/page-stats.c \
	%D%/page/page-trim.c \
	%D%/page/page.c \
	%D%/page/page.h \
	%D%/page/region.c \
	%D%/page/region.h \
	%D%/page/source/source.c \
	%D%/page/source/source.h \
	%D%/page/map/extent-cache.c \
	%D%/page/map/extent-cache.h \
	%D%/page/map/map.c \
	%D%/page/map/map.h
%C%_libpage_la_CFLAGS = $(slice_cflags)
%C%_libpage_la_LIBADD = %D%/libbase.la

# --- layer 3: chunks of one class ---

%C%_libslab_la_SOURCES = \
	%D%/slab/chunk.h \
	%D%/slab/last-allocator.c \
	%D%/slab/last-allocator.h \
	%D%/slab/slab-class.h \
	%D%/slab/slab-free.c \
	%D%/slab/slab-guard.c \
	%D%/slab/slab-guard.h \
	%D%/slab/slab-stats.c \
	%D%/slab/slab.c \
	%D%/slab/slab.h
%C%_libslab_la_CFLAGS = $(slice_cflags)
%C%_libslab_la_LIBADD = %D%/libpage.la

# --- layer 4: full and empty magazines ---

%C%_libdepot_la_SOURCES = \
	%D%/depot/depot-check.c \
	%D%/depot/depot-magazine.c \
	%D%/depot/depot-trim.c \
	%D%/depot/depot.c \
	%D%/depot/depot.h \
	%D%/depot/stack.c \
	%D%/depot/stack.h
%C%_libdepot_la_CFLAGS = $(slice_cflags)
%C%_libdepot_la_LIBADD = %D%/libslab.la

# --- layer 5: each thread's magazines ---

%C%_libmagazine_la_SOURCES = \
	%D%/magazine/adapt.c \
	%D%/magazine/adapt.h \
	%D%/magazine/relief.c \
	%D%/magazine/relief.h \
	%D%/magazine/magazine.c \
	%D%/magazine/magazine.h \
	%D%/magazine/record/parked.c \
	%D%/magazine/quarantine.c \
	%D%/magazine/quarantine.h \
	%D%/magazine/record/record-detach.c \
	%D%/magazine/record/record-registry.h \
	%D%/magazine/record/record-stats.c \
	%D%/magazine/record/record.c \
	%D%/magazine/record/record.h
%C%_libmagazine_la_CFLAGS = $(slice_cflags)
%C%_libmagazine_la_LIBADD = %D%/libdepot.la

# --- layer 6: the checking modes and the registry of live blocks ---

%C%_libchecking_la_SOURCES = \
	%D%/checking/checking-blocks.c \
	%D%/checking/checking-contents.h \
	%D%/checking/checking-exit.c \
	%D%/checking/checking-mallocs.c \
	%D%/checking/checking-report.c \
	%D%/checking/checking-retired.c \
	%D%/checking/checking-state.h \
	%D%/checking/checking-tool.c \
	%D%/checking/checking.c \
	%D%/checking/checking.h \
	%D%/checking/registry/block-registry.c \
	%D%/checking/registry/block-registry.h \
	%D%/checking/registry/code-files.c \
	%D%/checking/registry/code-files.h
%C%_libchecking_la_CFLAGS = $(slice_cflags)
%C%_libchecking_la_LIBADD = %D%/libmagazine.la

# --- layer 7: the entry points ---

%C%_liballoc_la_SOURCES = \
	%D%/alloc/aligned.c \
	%D%/alloc/alloc.c \
	%D%/alloc/alloc.h \
	%D%/alloc/batch.c \
	%D%/alloc/block-info.c \
	%D%/alloc/chain.c \
	%D%/alloc/dispatch.c \
	%D%/alloc/dispatch.h \
	%D%/alloc/process/exit-link.c \
	%D%/alloc/process/fork.c \
	%D%/alloc/process/oom.c \
	%D%/alloc/trace.c \
	%D%/alloc/process/trim.c \
	%D%/alloc/untraced-slice.h \
	%D%/alloc/untraced.c \
	%D%/alloc/untraced.h
%C%_liballoc_la_CFLAGS = $(slice_cflags)
# (exit-link.c says why.)
%D%/alloc/process/liballoc_la-exit-link.o %D%/alloc/process/liballoc_la-exit-link.lo: \
	override CFLAGS += -fno-lto
%C%_liballoc_la_LIBADD = %D%/libchecking.la

# --- layer 8: observe reads all layers; its library holds itself alone ---

%C%_libobserve_la_SOURCES = \
	%D%/observe/dump.c \
	%D%/observe/leaks.c \
	%D%/observe/leaks.h \
	%D%/observe/stats.c \
	%D%/observe/walk.c
%C%_libobserve_la_CFLAGS = $(slice_cflags)

# --- the library ---
# Its parts: liballoc (layers 0 to 7) and what layer 8 adds (`+=' in the
# fragments below).

lib_LTLIBRARIES += %D%/libslice.la
%C%_libslice_la_SOURCES =
%C%_libslice_la_LIBADD = \
	%D%/liballoc.la \
	%D%/libobserve.la \
	$(SLICE_THREAD_LIBS)
%C%_libslice_la_LDFLAGS = \
	-no-undefined \
	-version-info $(SLICE_LT_VERSION) \
	$(SLICE_LIB_LDFLAGS)
EXTRA_%C%_libslice_la_DEPENDENCIES = \
	%D%/packaging/libslice.map \
	%D%/packaging/libslice.ld
if HAVE_VERSION_SCRIPT
%C%_libslice_la_LDFLAGS += \
	-Wl,--version-script=$(top_srcdir)/%D%/packaging/libslice.map
endif
if HAVE_LAYOUT_SCRIPT
layout_script = $(top_srcdir)/%D%/packaging/libslice.ld
%C%_libslice_la_LDFLAGS += -Wl,-T,$(layout_script)
endif

pkginclude_HEADERS += \
	%D%/address.h \
	%D%/handlers.h \
	%D%/hooks.h \
	%D%/libslice.h \
	%D%/options.h \
	%D%/slice.h \
	%D%/source.h \
	%D%/stats.h \
	%D%/walk.h
nodist_pkginclude_HEADERS += %D%/version.h

EXTRA_DIST += \
	%D%/rust/Cargo.lock \
	%D%/rust/Cargo.toml \
	%D%/rust/build.rs \
	%D%/rust/collections/Cargo.lock \
	%D%/rust/collections/Cargo.toml \
	%D%/rust/collections/src/lib.rs \
	%D%/rust/collections/tests/collections.rs \
	%D%/rust/collections/tests/resize.rs \
	%D%/rust/peers/Cargo.lock \
	%D%/rust/peers/Cargo.toml \
	%D%/rust/peers/src/main.rs \
	%D%/rust/src/global.rs \
	%D%/rust/src/lib.rs \
	%D%/rust/src/owned.rs \
	%D%/rust/src/pool.rs \
	%D%/rust/src/raw.rs \
	%D%/rust/src/scope.rs \
	%D%/rust/tests/blocks.rs \
	%D%/rust/tests/scopes.rs

include slice/heap/local.mk
include slice/context/local.mk
include slice/arena/local.mk
include slice/dropin/local.mk
include slice/tools/local.mk
include slice/packaging/local.mk
