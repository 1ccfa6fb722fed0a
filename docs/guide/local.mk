# docs/guide/local.mk - the guide, for those who use slice
#
# SPDX-License-Identifier: MIT

guidedir = $(docdir)/guide
dist_guide_DATA = \
	%D%/debugging.md \
	%D%/porting-from-ralloc-and-talloc.md \
	%D%/tracing.md \
	%D%/tuning.md
