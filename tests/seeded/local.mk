# tests/seeded/local.mk - faults built in on purpose, for the stages to find
#
# SPDX-License-Identifier: MIT

slow_scripts += %D%/seeded.sh
EXTRA_DIST += \
	%D%/fault.c \
	%D%/fault.h \
	%D%/faults.patch \
	%D%/seeded-lib.sh

seeded:
	$(AM_TESTS_ENVIRONMENT) $(SHELL) $(top_srcdir)/%D%/seeded.sh all
.PHONY: seeded
