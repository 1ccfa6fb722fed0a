# tests/adaptors/local.mk - the allocators that slice-test and slice-bench
# drive, and the walk that both do
#
# SPDX-License-Identifier: MIT

adaptor_headers = \
	%D%/adaptor.h \
	%D%/allocators/faulty.h \
	%D%/allocators/functions.h \
	%D%/allocators/gslice.h \
	%D%/allocators/limit.h \
	%D%/allocators/loop.h \
	%D%/allocators/malloc.h \
	%D%/peer.h \
	%D%/allocators/pool.h \
	%D%/allocators/sized.h \
	%D%/allocators/slice.h \
	%D%/allocators/tlsf.h \
	%D%/walk-state.h \
	%D%/walk.h
