# tests/adaptors/local.mk - the allocators that slice-test and slice-bench
# drive, and the walk that both do
#
# SPDX-License-Identifier: MIT

adaptor_headers = \
	%D%/adaptor.h \
	%D%/faulty.h \
	%D%/functions.h \
	%D%/gslice.h \
	%D%/limit.h \
	%D%/loop.h \
	%D%/malloc.h \
	%D%/peer.h \
	%D%/pool.h \
	%D%/sized.h \
	%D%/slice.h \
	%D%/tlsf.h \
	%D%/walk-state.h \
	%D%/walk.h
