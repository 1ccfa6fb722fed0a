# slice/arena/local.mk - arenas (floor 7): linear, stack, pool, TLSF
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libarena.la
%C%_libarena_la_SOURCES = \
	%D%/block-source.c \
	%D%/block-source.h \
	%D%/bump.c \
	%D%/bump.h \
	%D%/exports.c \
	%D%/fault.c \
	%D%/fault.h \
	%D%/in-context.c \
	%D%/kinds.h \
	%D%/linear.c \
	%D%/linear.h \
	%D%/linear-grow.c \
	%D%/linear-string.c \
	%D%/pool.c \
	%D%/pool.h \
	%D%/pool-track.c \
	%D%/source-file.c \
	%D%/source-fixed.c \
	%D%/source-huge.c \
	%D%/source-owned.c \
	%D%/source-owned.h \
	%D%/span.c \
	%D%/span.h \
	%D%/span-shared.c \
	%D%/stack.c \
	%D%/stack.h \
	%D%/stack-check.c \
	%D%/stack-resize.c \
	%D%/told.c \
	%D%/told.h \
	%D%/tlsf.c \
	%D%/tlsf.h \
	%D%/tlsf-index.c \
	%D%/tlsf-life.c \
	%D%/tlsf-region.c \
	%D%/tlsf-tail.c \
	%D%/tlsf-walk.c \
	%D%/watch.c \
	%D%/watch.h
%C%_libarena_la_CPPFLAGS = $(slice_own_cppflags)
%C%_libarena_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libarena.la

pkginclude_HEADERS += \
	slice/arena.h \
	slice/linear.h \
	slice/pool.h \
	slice/slice.hpp \
	slice/slice-llvm.hpp \
	slice/slice-resource.hpp \
	slice/slice-strategy.hpp \
	slice/stack.h \
	slice/tlsf.h
