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
	%D%/exports.c \
	%D%/in-context.c \
	%D%/locked.c \
	%D%/locked.h \
	%D%/question.c \
	%D%/block/block-growth.c \
	%D%/block/block-map.c \
	%D%/block/block-reset.c \
	%D%/block/block-source.c \
	%D%/block/block-source.h \
	%D%/bump/bump.c \
	%D%/bump/bump.h \
	%D%/bump/traced.c \
	%D%/bump/traced.h \
	%D%/linear/linear-grow.c \
	%D%/linear/linear-mark.c \
	%D%/linear/linear-resize.c \
	%D%/linear/linear-string.c \
	%D%/linear/linear.c \
	%D%/linear/linear.h \
	%D%/pool/pool-bits.c \
	%D%/pool/pool-blocks.c \
	%D%/pool/pool-locked.c \
	%D%/pool/pool-map.c \
	%D%/pool/pool-plain.c \
	%D%/pool/pool-report.c \
	%D%/pool/pool-track.c \
	%D%/pool/pool.c \
	%D%/pool/pool.h \
	%D%/source/source-file.c \
	%D%/source/source-fixed.c \
	%D%/source/source-huge.c \
	%D%/source/source-map.c \
	%D%/source/source-map.h \
	%D%/source/source-owned.c \
	%D%/source/source-owned.h \
	%D%/source/span-bits.h \
	%D%/source/span-direct.c \
	%D%/source/span-shared.c \
	%D%/source/span.c \
	%D%/source/span.h \
	%D%/stack/stack-check.c \
	%D%/stack/stack-resize.c \
	%D%/stack/stack.c \
	%D%/stack/stack.h \
	%D%/tlsf/tlsf-block.h \
	%D%/tlsf/tlsf-fixed.c \
	%D%/tlsf/tlsf-index.c \
	%D%/tlsf/tlsf-life.c \
	%D%/tlsf/tlsf-locked.c \
	%D%/tlsf/tlsf-region.c \
	%D%/tlsf/tlsf-tail.c \
	%D%/tlsf/tlsf-walk.c \
	%D%/tlsf/tlsf.c \
	%D%/tlsf/tlsf.h
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
