# tests/clients/local.mk - other people's programs on our allocator
#
# They try the g_slice drop-in, of which tests/dropin has short tests.  `make
# check-clients' takes ten minutes, needs Debian packages
# (CHECK_CLIENTS_INSTALL=yes installs them) and skips with a notice what it
# can not run.
#
# SPDX-License-Identifier: MIT

# A GLib program like any other: it knows nothing of us.
%C%_measure_LDADD =

client_scripts = \
	%D%/clients-glib.sh \
	%D%/clients-border.sh \
	%D%/clients-gst.sh \
	%D%/gtk/clients-gtk.sh

if WITH_TESTS
if WITH_SHARED
check_PROGRAMS += %D%/measure
endif
endif

dist_check_SCRIPTS += \
	$(client_scripts) \
	%D%/clients-report.sh \
	%D%/glib-rebuild.sh

EXTRA_DIST += \
	%D%/apt-lists.sh \
	%D%/clients-lib.sh \
	%D%/clients-report.py \
	%D%/gtk/x-hand.c

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
