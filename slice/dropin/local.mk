# slice/dropin/local.mk - drop-ins (layer 9): malloc, g_slice, Mesa's ralloc
#
# libslice-gslice is for LD_PRELOAD (slice-run) and for linking before
# -lglib-2.0.  Its name has no version: what it exports is GLib's.  It is
# linked to libslice and holds no allocator of its own; port/os/os-linux.c and
# port/tool.c, which have no state, are compiled in.
#
# SPDX-License-Identifier: MIT

# What is a shared library only: its objects are not compiled for a static one.
shared_only = --tag=disable-static

include slice/dropin/ralloc/local.mk
if WITH_SHARED
lib_LTLIBRARIES += %D%/libslice-gslice.la
bin_SCRIPTS += %D%/slice-run
dist_man_MANS += docs/man/slice-run.1
else
EXTRA_DIST += docs/man/slice-run.1
endif
%C%_libslice_gslice_la_SOURCES = \
	%D%/gslice/foreign.c \
	%D%/gslice/foreign.h \
	%D%/gslice/gslice.c \
	%D%/gslice/gslice-calls.h \
	%D%/gslice/gslice-config.c \
	%D%/gslice/gslice-config.h \
	slice/port/os/os-linux.c \
	slice/port/tool.c
# The compiler must not treat its free() like the C library's.
%C%_libslice_gslice_la_CFLAGS = \
	$(slice_cflags) \
	$(SLICE_DROPIN_CFLAGS) \
	-fno-builtin-free
%C%_libslice_gslice_la_LIBTOOLFLAGS = $(shared_only)
%C%_libslice_gslice_la_LIBADD = \
	slice/libslice.la \
	$(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)
%C%_libslice_gslice_la_LDFLAGS = \
	-no-undefined \
	-avoid-version \
	-shared \
	$(SLICE_DROPIN_LDFLAGS) \
	$(SLICE_LIB_LDFLAGS)

# libslice-malloc is for LD_PRELOAD (slice-run --malloc) and for linking before
# the C library.  Its names are the C library's.
if WITH_SHARED
lib_LTLIBRARIES += %D%/libslice-malloc.la
endif
%C%_libslice_malloc_la_SOURCES = \
	%D%/malloc/malloc.c \
	%D%/malloc/malloc-calls.h \
	%D%/malloc/malloc-delete.c \
	%D%/malloc/malloc-info.c \
	%D%/malloc/malloc-new.c \
	%D%/malloc/malloc-new.h \
	%D%/malloc/malloc-next.c \
	%D%/malloc/malloc-next.h
# The compiler must not know what these functions do, or it would make calloc()
# of malloc() and memset().
%C%_libslice_malloc_la_CFLAGS = \
	$(slice_cflags) \
	$(SLICE_DROPIN_CFLAGS) \
	-fno-builtin
%C%_libslice_malloc_la_LIBTOOLFLAGS = $(shared_only)
%C%_libslice_malloc_la_LIBADD = \
	slice/libslice.la \
	$(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)
# Not -Bsymbolic: a form of operator new calls another by its name, and that may
# be the program's own.
%C%_libslice_malloc_la_LDFLAGS = \
	-no-undefined \
	-avoid-version \
	-shared \
	$(SLICE_DROPIN_LDFLAGS) \
	$(SLICE_LIB_LDFLAGS:-Wl,-Bsymbolic=)

# libslice-advice is for LD_PRELOAD (slice-run --advice): it serves the calls of
# some sites and passes all others on.  slice-trace-trial is for slice-trace
# predict: the same calls, with the arena of one site in place of regions.
if WITH_SHARED
lib_LTLIBRARIES += %D%/libslice-advice.la
noinst_LTLIBRARIES += %D%/libadvice.la
if WITH_TRACE
pkglib_LTLIBRARIES += %D%/slice-trace-trial.la
endif
endif
# What both have in common.
%C%_libadvice_la_SOURCES = \
	%D%/advice/advice.h \
	%D%/advice/memory/advice-chunks.h \
	%D%/advice/sites/advice-file.c \
	%D%/advice/advice-malloc.c \
	%D%/advice/sites/advice-modules.c \
	%D%/advice/sites/advice-modules.h \
	%D%/advice/advice-new.c \
	%D%/advice/memory/advice-region.h \
	%D%/advice/advice-log.c \
	%D%/advice/advice-log.h \
	%D%/advice/sites/advice-sites.c \
	%D%/advice/sites/advice-sites.h \
	%D%/advice/advice-start.c \
	%D%/advice/advice-start.h \
	%D%/malloc/malloc-calls.h \
	%D%/malloc/malloc-delete.c \
	%D%/malloc/malloc-new.h \
	%D%/malloc/malloc-next.c \
	%D%/malloc/malloc-next.h
advice_cflags = \
	$(slice_cflags) \
	$(SLICE_DROPIN_CFLAGS) \
	-fno-builtin
%C%_libadvice_la_CFLAGS = $(advice_cflags)
%C%_libadvice_la_LIBTOOLFLAGS = $(shared_only)
advice_libs = \
	%D%/libadvice.la \
	slice/libslice.la \
	$(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)
advice_ldflags = \
	-no-undefined \
	-avoid-version \
	-shared \
	$(SLICE_DROPIN_LDFLAGS) \
	$(SLICE_LIB_LDFLAGS:-Wl,-Bsymbolic=)

%C%_libslice_advice_la_SOURCES = \
	%D%/advice/memory/advice-chunks.c \
	%D%/advice/memory/advice-region.c
%C%_libslice_advice_la_CFLAGS = $(advice_cflags)
%C%_libslice_advice_la_LIBTOOLFLAGS = $(shared_only)
%C%_libslice_advice_la_LIBADD = $(advice_libs)
%C%_libslice_advice_la_LDFLAGS = $(advice_ldflags)

%C%_slice_trace_trial_la_SOURCES = \
	%D%/advice/advice-trial.c \
	%D%/advice/trial-owners.c \
	%D%/advice/trial-owners.h
%C%_slice_trace_trial_la_CFLAGS = $(advice_cflags)
%C%_slice_trace_trial_la_LIBTOOLFLAGS = $(shared_only)
%C%_slice_trace_trial_la_LIBADD = $(advice_libs)
%C%_slice_trace_trial_la_LDFLAGS = -module $(advice_ldflags)

# It needs GLib's headers, so it is not among those that are checked alone.
gsliceincludedir = $(pkgincludedir)
gsliceinclude_HEADERS = slice/gslice.h

%D%/slice-run: %D%/slice-run.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && rm -f $@ $@.tmp \
	&& $(SED) -e 's|@libdir[@]|$(libdir)|g' \
		-e 's|@bindir[@]|$(bindir)|g' \
		-e 's|@exec_prefix[@]|$(exec_prefix)|g' \
		-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' \
		$(srcdir)/%D%/slice-run.in > $@.tmp \
	&& chmod a+x,a-w $@.tmp && mv $@.tmp $@

# foreign-none.c: for a libglib that is built with gslice.c (tests/clients).
EXTRA_DIST += %D%/slice-run.in %D%/gslice/foreign-none.c
CLEANFILES += %D%/slice-run
