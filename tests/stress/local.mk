# tests/stress/local.mk - the stress program
#
# SPDX-License-Identifier: MIT
#
# To add the program:
#   noinst_PROGRAMS += %D%/slice-test
#   %C%_slice_test_SOURCES = ...
#   %C%_slice_test_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)
#   run_targets += run-slice-test      (make run, ./bootstrap run)
#   run-slice-test: all
#   	tests/stress/slice-test --table
#   stress_targets += ...              (make stress)
#   check_scripts += ... .sh           (make check; speaks TAP)
