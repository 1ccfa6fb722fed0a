# slice/arena/local.mk - arenas (layer 8): linear, stack, pool, TLSF
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libarena.la
%C%_libarena_la_SOURCES = \
	%D%/annotate.c \
	%D%/annotate.h \
	%D%/arena-options.c \
	%D%/arena-options.h \
	%D%/arena-private.h \
	%D%/block-growth.c \
	%D%/block-source.c \
	%D%/block-source.h \
	%D%/bump.c \
	%D%/bump.h \
	%D%/exports.c \
	%D%/in-context.c \
	%D%/linear-grow.c \
	%D%/linear-string.c \
	%D%/linear.c \
	%D%/linear.h \
	%D%/misuse.c \
	%D%/misuse.h \
	%D%/pool-track.c \
	%D%/pool.c \
	%D%/pool.h \
	%D%/source-file.c \
	%D%/source-fixed.c \
	%D%/source-huge.c \
	%D%/source-owned.c \
	%D%/source-owned.h \
	%D%/span-shared.c \
	%D%/span.c \
	%D%/span.h \
	%D%/stack-check.c \
	%D%/stack-resize.c \
	%D%/stack.c \
	%D%/stack.h \
	%D%/tlsf-index.c \
	%D%/tlsf-life.c \
	%D%/tlsf-region.c \
	%D%/tlsf-tail.c \
	%D%/tlsf-walk.c \
	%D%/tlsf.c \
	%D%/tlsf.h \
	%D%/traced.c \
	%D%/traced.h
%C%_libarena_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libarena.la

pkginclude_HEADERS += \
	slice/arena.h \
	slice/linear.h \
	slice/pool.h \
	slice/slice.hpp \
	slice/slice-detail.hpp \
	slice/slice-llvm.hpp \
	slice/slice-operators.hpp \
	slice/slice-resource.hpp \
	slice/slice-strategy.hpp \
	slice/slice-unique.hpp \
	slice/stack.h \
	slice/tlsf.h
