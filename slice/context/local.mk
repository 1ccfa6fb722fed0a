# slice/context/local.mk - contexts (layer 8): clients of slice.h
#
# SPDX-License-Identifier: MIT

noinst_LTLIBRARIES += %D%/libcontext.la
%C%_libcontext_la_SOURCES = \
	%D%/errors.h \
	%D%/gc.c \
	%D%/large.c \
	%D%/linear.c \
	%D%/linear-string.c \
	%D%/node.c \
	%D%/node.h \
	%D%/node-valid.c \
	%D%/ralloc.c \
	%D%/ralloc-extension.c \
	%D%/ralloc-free.c \
	%D%/ralloc-free.h \
	%D%/ralloc-free-blocks.c \
	%D%/ralloc-free-suspend.c \
	%D%/ralloc-limit.c \
	%D%/ralloc-reference.c \
	%D%/ralloc-report.c \
	%D%/ralloc-resize.c \
	%D%/ralloc-steal.c \
	%D%/ralloc-string.c \
	%D%/slack.c \
	%D%/trailing-header.c
%C%_libcontext_la_CFLAGS = $(slice_cflags)
slice_libslice_la_LIBADD += %D%/libcontext.la

pkginclude_HEADERS += \
	slice/ralloc.h \
	slice/ralloc-extension.h \
	slice/ralloc-linear.h
