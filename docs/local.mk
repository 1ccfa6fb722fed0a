# docs/local.mk - manuals, and HTML from the headers' comments
#
# SPDX-License-Identifier: MIT

dist_doc_DATA += \
	%D%/BIBLIOGRAPHY \
	%D%/HACKING \
	%D%/promises-and-limits \
	%D%/reliability-checks \
	%D%/replayed-programs \
	%D%/slice-trace.schema.json \
	%D%/THEORY \
	%D%/THEORY-8-ARENAS \
	%D%/THEORY-13-TRACING \
	%D%/trace-format \
	%D%/tracing-checks

dist_man_MANS += %D%/man/slice.7 %D%/man/slice-errors.7 \
	%D%/man/slice-options.7

dist_decisions_DATA = \
	%D%/decisions/0001-where-memory-is-mapped \
	%D%/decisions/0002-records-without-locks \
	%D%/decisions/0003-what-a-thread-may-hold \
	%D%/decisions/0004-the-class-of-a-size \
	%D%/decisions/0005-lines-that-threads-share \
	%D%/decisions/0006-what-bounds-the-figures \
	%D%/decisions/0007-what-bounds-the-contexts \
	%D%/decisions/0008-what-bounds-the-g_slice-drop-in \
	%D%/decisions/0009-what-hardened-costs
decisionsdir = $(docdir)/decisions

# `make docs' where Doxygen is installed: HTML and man(3) in docs/api/.
docs: docs/Doxyfile $(pkginclude_HEADERS)
	@test -n '$(DOXYGEN)' || { echo 'docs: install doxygen' >&2; exit 1; }
	$(AM_V_GEN)$(DOXYGEN) docs/Doxyfile

clean-local-docs:
	rm -rf docs/api

.PHONY: docs clean-local-docs

include docs/ralloc.mk
include docs/guide/local.mk
