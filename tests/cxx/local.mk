# tests/cxx/local.mk - the tests of slice.hpp and of LLVM on our pages
#
# SPDX-License-Identifier: MIT

if HAVE_CXX
cxx_tests = %D%/test-containers %D%/test-hpp %D%/test-llvm %D%/test-objects
if WITH_TESTS
check_PROGRAMS += $(cxx_tests)
TESTS += $(cxx_tests) %D%/check-cxx.sh %D%/check-cxx-types.sh \
	%D%/check-modules.sh %D%/check-rtti.sh
tiered_tests += %D%/check-cxx.sh %D%/check-rtti.sh
endif
endif
%C%_test_hpp_SOURCES = %D%/test-hpp.cc
%C%_test_hpp_CXXFLAGS = $(AM_CXXFLAGS) -std=c++17
%C%_test_hpp_LDADD = $(slice_test_libs) $(SLICE_DL_LIBS)
%C%_test_containers_SOURCES = %D%/test-containers.cc %D%/containers.h
%C%_test_containers_LDADD = slice/libslice.la
# Most of its time is the compiler's: it is built in the cheapest way here, and
# by check-cxx.sh with optimisation, in the second tier.
%D%/test-containers.$(OBJEXT): quick_cxxflags := $(if \
	$(filter -O2,$(CXXFLAGS)),-O0 -g0)
%C%_test_objects_SOURCES = %D%/test-objects.cc
%C%_test_objects_LDADD = slice/libslice.la
%C%_test_llvm_SOURCES = %D%/test-llvm.cc
%C%_test_llvm_CPPFLAGS = $(AM_CPPFLAGS) $(LLVM_CPPFLAGS)
%C%_test_llvm_LDADD = $(slice_test_libs) $(LLVM_LIBS)

dist_check_SCRIPTS += %D%/check-cxx.sh %D%/check-cxx-types.sh \
	%D%/check-modules.sh %D%/check-rtti.sh
# check-cxx.sh builds it, in the second tier and for each compiler.
EXTRA_DIST += %D%/test-allocators.cc
