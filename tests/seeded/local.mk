# tests/seeded/local.mk - faults built in on purpose, for the stages to find
#
# SPDX-License-Identifier: MIT

dist_check_SCRIPTS += %D%/seeded.sh

seeded:
	$(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)' \
	scheduled_sources='$(scheduled_sources)' \
	glib_flags='$(GLIB_CFLAGS) $(GLIB_LIBS)' \
	$(SHELL) $(top_srcdir)/%D%/seeded.sh
.PHONY: seeded
