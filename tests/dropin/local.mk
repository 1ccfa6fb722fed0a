# tests/dropin/local.mk - the tests of the drop-ins
#
# SPDX-License-Identifier: MIT

dropin_tests = %D%/test-gslice %D%/test-gslice-load
dropin_libs = slice/dropin/libslice-gslice.la slice/libslice.la

%C%_test_gslice_LDADD = $(dropin_libs) $(test_libs)
%C%_test_gslice_load_LDADD = $(dropin_libs) $(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)
%C%_test_gslice_load_CFLAGS = $(SLICE_WARN_CFLAGS) $(SLICE_COVERAGE_CFLAGS)
# A GLib program like any other: it knows nothing of us.
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
	tests/context/free/test-ralloc-free tests/context/test-ralloc-string \
	tests/arena/linear/test-linear
needs_%C%_test_dropin = $(dropin_tests) %D%/border

if WITH_TESTS
if WITH_SHARED
check_PROGRAMS += $(dropin_tests) %D%/border
check_PROGRAMS += $(malloc_tests) %D%/malloc-misuse
TESTS += $(dropin_tests) $(malloc_tests) $(dropin_scripts)
tiered_tests += $(malloc_tests) %D%/test-malloc-programs.sh
endif
endif

dist_check_SCRIPTS += $(dropin_scripts)
