# slice/local.mk - the library, floor by floor
#
# Each floor is a convenience library that holds itself and, through LIBADD,
# the one beneath it.  A unit test links its own floor's library alone: a call
# upwards is then a link error.  Floors 7 and 8 have fragments of their own.
#
# SPDX-License-Identifier: MIT

# For floors that stand on the slices as a program does: see own.h.
slice_own_cppflags = $(AM_CPPFLAGS) -include $(top_srcdir)/slice/base/own.h

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
	%D%/liballoc.la \
	%D%/libobserve.la

# --- floor 0: the system, threads, atomics ---

%C%_libport_la_SOURCES = \
	%D%/port/annotate.c \
	%D%/port/annotate.h \
	%D%/port/compiler.h \
	%D%/port/lock.c \
	%D%/port/lock.h \
	%D%/port/os.h \
	%D%/port/os-linux.c \
	%D%/port/os-module.c \
	%D%/port/os-posix.c \
	%D%/port/tls.c \
	%D%/port/tls.h \
	%D%/port/tool.c
%C%_libport_la_CFLAGS = $(slice_cflags)

# --- floor 1: knows nothing of slices ---

%C%_libbase_la_SOURCES = \
	%D%/base/align.h \
	%D%/base/check.h \
	%D%/base/diag.c \
	%D%/base/diag.h \
	%D%/base/errors.h \
	%D%/base/list.h \
	%D%/base/option.c \
	%D%/base/option.h \
	%D%/base/own.h \
	%D%/base/own-extent.c \
	%D%/base/own-extent.h \
	%D%/base/probe.h \
	%D%/base/sizeclass.c \
	%D%/base/sizeclass.h \
	%D%/base/trace.c \
	%D%/base/trace.h
%C%_libbase_la_CFLAGS = $(slice_cflags)
%C%_libbase_la_LIBADD = %D%/libport.la

# --- floor 2: regions and runs of pages ---

%C%_libpage_la_SOURCES = \
	%D%/core/map.c \
	%D%/core/map.h \
	%D%/core/meta.c \
	%D%/core/meta.h \
	%D%/core/page.c \
	%D%/core/page-look.c \
	%D%/core/page-trim.c \
	%D%/core/page-floor.h \
	%D%/core/page.h \
	%D%/core/region.h \
	%D%/core/source.c \
	%D%/core/source.h \
	%D%/core/unitset.h
%C%_libpage_la_CFLAGS = $(slice_cflags)
%C%_libpage_la_LIBADD = %D%/libbase.la

# --- floor 3: chunks of one class ---

%C%_libslab_la_SOURCES = \
	%D%/core/place.h \
	%D%/core/slab.c \
	%D%/core/slab.h \
	%D%/core/slab-class.h \
	%D%/core/slab-give.c \
	%D%/core/slab-look.c \
	%D%/core/taker.c \
	%D%/core/taker.h
%C%_libslab_la_CFLAGS = $(slice_cflags)
%C%_libslab_la_LIBADD = %D%/libpage.la

# --- floor 4: full and empty magazines ---

%C%_libdepot_la_SOURCES = \
	%D%/core/depot.c \
	%D%/core/depot-magazine.c \
	%D%/core/depot.h
%C%_libdepot_la_CFLAGS = $(slice_cflags)
%C%_libdepot_la_LIBADD = %D%/libslab.la

# --- floor 5: each thread's magazines ---

%C%_libmagazine_la_SOURCES = \
	%D%/core/adapt.c \
	%D%/core/magazine.c \
	%D%/core/adapt.h \
	%D%/core/magazine.h \
	%D%/core/record.c \
	%D%/core/record.h \
	%D%/core/record-look.c \
	%D%/core/record-registry.h
%C%_libmagazine_la_CFLAGS = $(slice_cflags)
%C%_libmagazine_la_LIBADD = %D%/libdepot.la

# --- floor 6: the entry points ---

%C%_liballoc_la_SOURCES = \
	%D%/core/aligned.c \
	%D%/core/alloc.c \
	%D%/core/alloc.h \
	%D%/core/block-check.c \
	%D%/core/block-check.h \
	%D%/core/bulk.c \
	%D%/core/failure.c \
	%D%/core/fork.c \
	%D%/core/guard.c \
	%D%/core/guard-contents.c \
	%D%/core/guard-contents.h \
	%D%/core/guard-exit.c \
	%D%/core/guard-quick.c \
	%D%/core/guard-state.h \
	%D%/core/guard-tool.c \
	%D%/core/guard.h \
	%D%/core/own.c \
	%D%/core/route.c \
	%D%/core/route.h \
	%D%/core/trace.c \
	%D%/core/trim.c
%C%_liballoc_la_CFLAGS = $(slice_cflags)
%C%_liballoc_la_LIBADD = %D%/libmagazine.la

# --- floor 7: observe reads the floors; it holds itself alone ---

%C%_libobserve_la_SOURCES = \
	%D%/observe/dump.c \
	%D%/observe/leaks.c \
	%D%/observe/leaks.h \
	%D%/observe/stats.c \
	%D%/observe/walk.c
%C%_libobserve_la_CFLAGS = $(slice_cflags)

# --- the library ---
# Its parts: liballoc (floors 0 to 6) and what floor 7 adds (`+=' in the
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
EXTRA_%C%_libslice_la_DEPENDENCIES = %D%/libslice.map %D%/libslice.ld
if HAVE_VERSION_SCRIPT
%C%_libslice_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/%D%/libslice.map
endif
if HAVE_LAYOUT_SCRIPT
layout_script = $(top_srcdir)/%D%/libslice.ld
%C%_libslice_la_LDFLAGS += -Wl,-T,$(layout_script)
endif

pkginclude_HEADERS += \
	%D%/hooks.h \
	%D%/libslice.h \
	%D%/options.h \
	%D%/slice.h \
	%D%/source.h \
	%D%/stats.h \
	%D%/walk.h
nodist_pkginclude_HEADERS += %D%/version.h

pkgconfig_DATA = %D%/slice.pc

EXTRA_DIST += %D%/libslice.map %D%/libslice.ld %D%/libslice-gdb.py

# gdb looks for NAME-gdb.py beside the file that is loaded, links followed, and
# then in its own folder, which is under /usr where the system's gdb is.  What
# lies elsewhere it loads if it is told to (docs/DEBUGGING).
gdb_directory = \
	case '$(prefix)' in \
	/usr) directory='$(DESTDIR)$(datadir)/gdb/auto-load$(libdir)' ;; \
	*) directory='$(DESTDIR)$(libdir)' ;; \
	esac
install-data-hook: install-gdb
install-gdb:
	@$(gdb_directory); \
	. ./slice/libslice.la && \
	set -- $$library_names && \
	test $$# != 0 || exit 0; \
	$(MKDIR_P) "$$directory" && \
	echo "installing $$directory/$$1-gdb.py" && \
	$(INSTALL_DATA) $(srcdir)/slice/libslice-gdb.py \
	  "$$directory/$$1-gdb.py"
uninstall-hook: uninstall-gdb
uninstall-gdb:
	$(gdb_directory); rm -f "$$directory"/libslice.*-gdb.py
.PHONY: install-gdb uninstall-gdb

include slice/context/local.mk
include slice/arena/local.mk
include slice/dropin/local.mk
include slice/tools/local.mk
