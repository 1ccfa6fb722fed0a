# slice/heap/local.mk - the heap (layer 8): blocks that are freed without size
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libheap.la
%C%_libheap_la_SOURCES = \
	%D%/guard.c \
	%D%/heap.c \
	%D%/heap.h \
	%D%/lend.c \
	%D%/mapped.c \
	%D%/medium.c \
	%D%/resize.c \
	%D%/runs.c
%C%_libheap_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libheap.la

pkginclude_HEADERS += slice/heap.h
