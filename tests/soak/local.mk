# tests/soak/local.mk - the long form of the proof: about an hour on two cores
#
#   make soak            all stages, and the table
#   make soak-STAGE      one of them: misuse failures contexts arenas load fuzz
#                        schedules race models seeded
#   make soak-table      what has been run up to now
#
# SPDX-License-Identifier: MIT

dist_check_SCRIPTS += %D%/soak.sh

if WITH_TESTS
check_PROGRAMS += %D%/arenas %D%/load
TESTS += %D%/arenas %D%/load
endif
%C%_arenas_LDADD = slice/libslice.la
%C%_load_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)

run_soak = $(AM_TESTS_ENVIRONMENT) srcdir='$(srcdir)' MAKE='$(MAKE)' \
	fuzz_targets='$(fuzz_targets)' \
	glib_flags='$(GLIB_CFLAGS) $(GLIB_LIBS)'; \
	export srcdir MAKE fuzz_targets glib_flags; \
	$(SHELL) $(top_srcdir)/%D%/soak.sh

soak: all
	$(run_soak)
soak-misuse soak-failures soak-contexts soak-arenas soak-load soak-fuzz soak-schedules \
soak-race soak-models soak-seeded: all
	$(run_soak) $(@:soak-%=%)
soak-table:
	@$(run_soak) table

.PHONY: soak soak-misuse soak-failures soak-contexts soak-arenas soak-load \
	soak-fuzz soak-schedules soak-race soak-models soak-seeded soak-table
