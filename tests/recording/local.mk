# tests/recording/local.mk - what interprets a recorded compile
#
# SPDX-License-Identifier: MIT

recording_sources = \
	%D%/recording.c \
	%D%/recording.h \
	%D%/recording-read.c
