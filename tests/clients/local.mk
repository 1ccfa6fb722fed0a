# tests/clients/local.mk - other people's programs on our allocator
#
# client.c and client.cc are compiled by installcheck.sh against what was
# installed; the rest tries the g_slice drop-in.  A short part runs in `make
# check'; `make check-clients' takes ten minutes, needs Debian packages
# (CHECK_CLIENTS_INSTALL=yes installs them) and skips with a notice what it
# can not run.
#
# SPDX-License-Identifier: MIT

dropin_tests = %D%/test-gslice %D%/test-gslice-load
dropin_libs = slice/dropin/libslice-gslice.la slice/libslice.la

%C%_test_gslice_LDADD = $(dropin_libs) $(test_libs)
%C%_test_gslice_load_LDADD = $(dropin_libs) $(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)
%C%_test_gslice_load_CFLAGS = $(SLICE_WARN_CFLAGS) $(SLICE_COVERAGE_CFLAGS)
# A GLib program like any other: it knows nothing of us.
%C%_measure_LDADD =
%C%_border_LDADD = $(GLIB_LIBS) $(SLICE_THREAD_LIBS) $(SLICE_DL_LIBS)

# This one's malloc is libslice-malloc's; the compiler must not leave calls out.
malloc_tests = %D%/test-malloc
%C%_test_malloc_LDADD = slice/dropin/libslice-malloc.la slice/libslice.la \
	$(test_libs)
%C%_test_malloc_CFLAGS = $(AM_CFLAGS) \
	-fno-builtin -Wno-use-after-free
%C%_malloc_misuse_LDADD =
%C%_malloc_misuse_CFLAGS = -fno-builtin -w

dropin_scripts = %D%/test-dropin.sh %D%/test-malloc-programs.sh
needs_%C%_test_malloc_programs = $(malloc_tests) %D%/malloc-misuse %D%/border \
	tests/context/test-ralloc-free tests/context/test-ralloc-string \
	tests/arena/test-linear
needs_%C%_test_dropin = $(dropin_tests) %D%/border
client_scripts = \
	%D%/clients-glib.sh \
	%D%/clients-border.sh \
	%D%/clients-gst.sh \
	%D%/clients-gtk.sh

if WITH_TESTS
if WITH_SHARED
check_PROGRAMS += $(dropin_tests) %D%/border %D%/measure
check_PROGRAMS += $(malloc_tests) %D%/malloc-misuse
TESTS += $(dropin_tests) $(malloc_tests) $(dropin_scripts)
tiered_tests += $(malloc_tests) %D%/test-malloc-programs.sh
endif
endif

dist_check_SCRIPTS += \
	$(dropin_scripts) \
	$(client_scripts) \
	%D%/clients-report.sh \
	%D%/glib-rebuild.sh

EXTRA_DIST += \
	%D%/apt-lists.sh \
	%D%/clients-lib.sh \
	%D%/clients-report.py \
	%D%/x-hand.c

# All programs; then GLib itself, rebuilt (half an hour); then the figures.
check-clients: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
	SLICE_TEST_TIMEOUT=$${SLICE_TEST_TIMEOUT:-1800} \
	  $(MAKE) $(AM_MAKEFLAGS) check-TESTS \
	  TESTS='$(dropin_tests) $(dropin_scripts) $(client_scripts)'
check-glib: all
	SLICE_TEST_TIMEOUT=$${SLICE_TEST_TIMEOUT:-7200} \
	  $(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS=%D%/glib-rebuild.sh
report-clients: all
	$(MAKE) $(AM_MAKEFLAGS) %D%/measure$(EXEEXT)
	@top_srcdir='$(top_srcdir)' top_builddir='$(top_builddir)' \
	  $(SHELL) $(srcdir)/%D%/clients-report.sh
MOSTLYCLEANFILES += $(client_scripts:.sh=.log) $(client_scripts:.sh=.trs) \
	%D%/glib-rebuild.log %D%/glib-rebuild.trs

.PHONY: check-clients check-glib report-clients
