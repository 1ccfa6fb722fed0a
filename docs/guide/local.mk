# docs/guide/local.mk - the guide, for those who use slice; the index of all
#
# SPDX-License-Identifier: MIT

guidedir = $(docdir)/guide
dist_guide_DATA = \
	%D%/arenas.md \
	%D%/contexts.md \
	%D%/cxx.md \
	%D%/debugging.md \
	%D%/malloc.md \
	%D%/porting-from-glib.md \
	%D%/porting-from-ralloc-and-talloc.md \
	%D%/start.md \
	%D%/tracing.md \
	%D%/tuning.md

# Installed beside the README.
dist_doc_DATA += docs/README.md

# The examples that chapters lead to, besides that of the contexts.
dist_examples_DATA += \
	docs/examples/events.c \
	docs/examples/generators.cc \
	docs/examples/llvm-front-end.cc \
	docs/examples/lua-states.c \
	docs/examples/many-consumers.cc \
	docs/examples/messages.c \
	docs/examples/one-owner.cc \
	docs/examples/owner-and-consumer.cc \
	docs/examples/python-objects.c \
	docs/examples/words.cc
