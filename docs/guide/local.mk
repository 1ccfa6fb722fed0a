# docs/guide/local.mk - the guide, for those who use slice
#
# SPDX-License-Identifier: MIT

guidedir = $(docdir)/guide
dist_guide_DATA = \
	%D%/arenas.md \
	%D%/contexts.md \
	%D%/cxx.md \
	%D%/debugging.md \
	%D%/porting-from-glib.md \
	%D%/porting-from-ralloc-and-talloc.md \
	%D%/start.md \
	%D%/tracing.md \
	%D%/tuning.md
