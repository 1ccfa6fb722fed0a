# tests/stress/local.mk - the stress program
#
# It needs no GLib to be built; it is installed with its recording, so that
# the table can be made on any machine that has the library.
#
# SPDX-License-Identifier: MIT

slice_test_recording = tests/data/mesa-compile.trace.xz

bin_PROGRAMS += %D%/slice-test

%C%_slice_test_SOURCES = \
	%D%/verify/careful.c \
	%D%/verify/careful.h \
	%D%/child.c \
	%D%/table/columns.c \
	%D%/contestants/contestant.h \
	%D%/contestants/contestant-functions.c \
	%D%/contestants/contestant-gslice.c \
	%D%/contestants/contestant-limit.c \
	%D%/contestants/contestant-loop.c \
	%D%/contestants/contestant-malloc.c \
	%D%/contestants/contestant-slice.c \
	%D%/contestants/contestants.c \
	%D%/recording/expand.c \
	%D%/verify/expect.c \
	%D%/verify/lies.c \
	%D%/options.c \
	%D%/progress.c \
	%D%/table/report.c \
	%D%/result.c \
	%D%/run.c \
	%D%/slice-setup.c \
	%D%/slice-test.c \
	%D%/recording/stream.c \
	%D%/stress.h \
	%D%/support.c \
	%D%/table/table.c \
	%D%/table/table.h \
	$(adaptor_headers) \
	$(recording_sources)

# -fno-plt: every contestant that is called, is called as cheaply as can be.
%C%_slice_test_CFLAGS = $(AM_CFLAGS) -fno-plt
# _GNU_SOURCE for dladdr() and RTLD_DEFAULT.
%C%_slice_test_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-DSLICE_TEST_RECORDING='"$(pkgdatadir)/mesa-compile.trace.xz"'
%C%_slice_test_LDADD = \
	slice/libslice.la \
	$(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)

dist_pkgdata_DATA = $(slice_test_recording)
dist_man_MANS += docs/man/slice-test.1

check_scripts += %D%/test-stress.sh
tiered_tests += %D%/test-stress.sh
if WITH_TRACE
needs_%C%_test_stress = tests/trace/json-get
endif

# The main job: the announcement's comparison and the recording.
run_targets += run-stress
run-stress: %D%/slice-test$(EXEEXT)
	%D%/slice-test --table --replay=$(top_srcdir)/$(slice_test_recording)

# Minutes of verified walking, each mode and every way to free.
stress_targets += stress-walk
stress-walk: %D%/slice-test$(EXEEXT)
	%D%/slice-test --check --share --threads=4 --seconds=60
	%D%/slice-test --check --share --threads=4 --seconds=30 --eager
	%D%/slice-test --check --share --threads=4 --seconds=30 \
	  --max-size=4096
	%D%/slice-test --check --share --threads=4 --seconds=30 --mode=slab
	%D%/slice-test --check --threads=4 --seconds=30 --with-arenas \
	  --replay=$(top_srcdir)/$(slice_test_recording)
	%D%/slice-test --expect-caught=20

.PHONY: run-stress stress-walk
