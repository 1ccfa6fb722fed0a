# tests/local.mk - `make check' and its sisters
#
# A unit test test-<file>.c stands beside each .c of slice/ and links its own
# floor's library alone (an upward call does not link).  A test of the whole
# links libslice.la as a program would.  All speak TAP.
#
# To add a unit test: its name in the list of its floor, and one line
# `%C%_test_<file>_LDADD = $(<floor>_test_libs)'; the source follows from the
# name.
#
# SPDX-License-Identifier: MIT

test_libs = $(GLIB_LIBS) $(SLICE_THREAD_LIBS)
port_test_libs = slice/libport.la $(test_libs)
base_test_libs = slice/libbase.la $(test_libs)
page_test_libs = slice/libpage.la $(test_libs)
slab_test_libs = slice/libslab.la $(test_libs)
depot_test_libs = slice/libdepot.la $(test_libs)
magazine_test_libs = slice/libmagazine.la $(test_libs)
alloc_test_libs = slice/liballoc.la $(test_libs)
observe_test_libs = slice/libobserve.la slice/liballoc.la $(test_libs)
slice_test_libs = slice/libslice.la $(test_libs)

# What every program of tests/ is compiled and linked with.
tests_cflags = $(AM_CFLAGS) $(GLIB_CFLAGS)
tests_ldflags = -no-install

# --- programs --------------------------------------------------------------

port_tests =
base_tests =
page_tests =
slab_tests =
depot_tests =
magazine_tests =
alloc_tests =
observe_tests =
slice_tests =

unit_tests = \
	$(port_tests) \
	$(base_tests) \
	$(page_tests) \
	$(slab_tests) \
	$(depot_tests) \
	$(magazine_tests) \
	$(alloc_tests) \
	$(observe_tests) \
	$(slice_tests)

# --- scripts ---------------------------------------------------------------

check_scripts =

dist_check_SCRIPTS = \
	$(check_scripts) \
	%D%/run-test.sh

# --- how they are run ------------------------------------------------------

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' \
	$(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/%D%/run-test.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL) $(top_srcdir)/%D%/run-test.sh $(SHELL)
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(top_srcdir)'; export top_srcdir; \
	top_builddir='$(top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; \
	CXX='$(CXX)'; export CXX; \
	CLANG='$(CLANG)'; export CLANG; \
	CLANGXX='$(CLANGXX)'; export CLANGXX; \
	NM='$(NM)'; export NM; \
	OBJDUMP='$(OBJDUMP)'; export OBJDUMP; \
	READELF='$(READELF)'; export READELF; \
	TIMEOUT='$(TIMEOUT)'; export TIMEOUT; \
	VALGRIND='$(VALGRIND)'; export VALGRIND; \
	unset SLICE_OPTIONS G_SLICE G_DEBUG MALLOC_ARENA_MAX;

if WITH_TESTS
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests) $(check_scripts)
endif

include tests/bench/local.mk
include tests/stress/local.mk
