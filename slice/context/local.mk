# slice/context/local.mk - contexts (layer 8): clients of slice.h
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libcontext.la
%C%_libcontext_la_SOURCES = \
	%D%/about.c \
	%D%/aligned.c \
	%D%/large.c \
	%D%/mode.h \
	%D%/node-layout.h \
	%D%/node-memory.h \
	%D%/node-valid.c \
	%D%/node.c \
	%D%/node.h \
	%D%/owned.h \
	%D%/slack.c \
	%D%/trailing-header.c \
	%D%/gc/gc-slab.c \
	%D%/gc/gc-slab.h \
	%D%/gc/gc.c \
	%D%/gc/gc.h \
	%D%/linear/linear-object.c \
	%D%/linear/linear-prefix.h \
	%D%/linear/linear-string.c \
	%D%/linear/linear.c \
	%D%/linear/linear.h \
	%D%/ralloc/extension.h \
	%D%/ralloc/format.h \
	%D%/ralloc/ralloc-extension.c \
	%D%/ralloc/ralloc-limit.c \
	%D%/ralloc/ralloc-reference.c \
	%D%/ralloc/ralloc-resize.c \
	%D%/ralloc/ralloc-steal.c \
	%D%/ralloc/ralloc-string.c \
	%D%/ralloc/ralloc.c \
	%D%/ralloc/steal.h \
	%D%/ralloc/debug/debug.h \
	%D%/ralloc/debug/kept-text.c \
	%D%/ralloc/debug/kept-text.h \
	%D%/ralloc/debug/ralloc-report.c \
	%D%/ralloc/debug/ralloc-threads.c \
	%D%/ralloc/free/ralloc-free-blocks.c \
	%D%/ralloc/free/ralloc-free-plain.c \
	%D%/ralloc/free/ralloc-free-search.c \
	%D%/ralloc/free/ralloc-free-survive.c \
	%D%/ralloc/free/ralloc-free-suspend.c \
	%D%/ralloc/free/ralloc-free.c \
	%D%/ralloc/free/ralloc-free.h \
	%D%/ralloc/free/suspend.h
%C%_libcontext_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libcontext.la

pkginclude_HEADERS += \
	slice/ralloc.h \
	slice/ralloc-extension.h \
	slice/ralloc-linear.h \
	slice/ralloc-operators.hpp \
	slice/ralloc-string.h
