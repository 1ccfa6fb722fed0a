# tests/misuse/local.mk - one fault a case, each in a process of its own
#
# No built-in functions: the compiler must not fold the faults away.
#
# SPDX-License-Identifier: MIT

if WITH_TESTS
check_PROGRAMS += %D%/misuse
TESTS += %D%/misuse
endif

misuse_sources = \
	%D%/cases-contents.c \
	%D%/cases-free.c \
	%D%/cases-resource.c \
	%D%/cases-thread.c \
	%D%/misuse.c \
	%D%/misuse.h
misuse_flags = -fno-builtin -Wno-stringop-overflow -Wno-use-after-free \
	-Wno-array-bounds -Wno-frame-address

%C%_misuse_SOURCES = $(misuse_sources)
%C%_misuse_CFLAGS = $(AM_CFLAGS) $(misuse_flags)
%C%_misuse_LDADD = slice/libslice.la $(GLIB_LIBS) $(SLICE_THREAD_LIBS) \
	$(SLICE_DL_LIBS)

# The table of 28 faults over allocators.
compare-misuse: %D%/misuse$(EXEEXT)
	%D%/misuse --compare --runs=10

.PHONY: compare-misuse
