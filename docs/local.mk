# docs/local.mk - documents, manuals, and a site from them and the headers
#
# SPDX-License-Identifier: MIT

# The guides: docs/guide/local.mk lists them.

dist_doc_DATA += \
	%D%/hacking.md \
	%D%/platforms.md \
	%D%/slice-trace.schema.json

dist_man_MANS += %D%/man/slice.7 %D%/man/slice-errors.7 \
	%D%/man/slice-options.7

dist_design_DATA = \
	%D%/design/01-words-and-layers.md \
	%D%/design/02-life-of-a-block.md \
	%D%/design/03-pages.md \
	%D%/design/04-slabs.md \
	%D%/design/05-depot.md \
	%D%/design/06-magazines-and-modes.md \
	%D%/design/07-contexts.md \
	%D%/design/08-arenas.md \
	%D%/design/09-threads.md \
	%D%/design/10-invariants.md \
	%D%/design/11-numbers.md \
	%D%/design/12-rejected-ideas.md \
	%D%/design/13-tracing.md \
	%D%/design/14-heap.md \
	%D%/design/15-advice.md \
	%D%/design/abi.md \
	%D%/design/benchmark.md \
	%D%/design/bibliography.md \
	%D%/design/promises-and-limits.md \
	%D%/design/replayed-programs.md \
	%D%/design/scaling.md \
	%D%/design/trace-format.md
designdir = $(docdir)/design

dist_decisions_DATA = \
	%D%/decisions/README.md \
	%D%/decisions/0001-where-memory-is-mapped.md \
	%D%/decisions/0002-records-without-locks.md \
	%D%/decisions/0003-what-a-thread-may-hold.md \
	%D%/decisions/0004-the-class-of-a-size.md \
	%D%/decisions/0005-lines-that-threads-share.md \
	%D%/decisions/0006-where-time-and-memory-go.md \
	%D%/decisions/0007-where-the-contexts-costs-lie.md \
	%D%/decisions/0008-the-g_slice-drop-in.md \
	%D%/decisions/0009-what-hardened-costs.md \
	%D%/decisions/0014-shards-by-processor.md \
	%D%/decisions/0010-which-modes-there-are.md \
	%D%/decisions/0011-our-own-json.md \
	%D%/decisions/0012-malloc-by-slices.md \
	%D%/decisions/0013-one-of-each.md \
	%D%/decisions/0015-two-threads-in-one-tree.md \
	%D%/decisions/0016-where-the-rust-crate-lies.md \
	%D%/decisions/0017-two-linear-allocators.md \
	%D%/decisions/0018-advice-is-a-library-of-its-own.md \
	%D%/decisions/0019-a-mark-is-a-value.md
decisionsdir = $(docdir)/decisions

dist_results_DATA = \
	%D%/results/advice.txt \
	%D%/results/arena-counts.txt \
	%D%/results/arenas.txt \
	%D%/results/clients.txt \
	%D%/results/contexts.txt \
	%D%/results/costs.md \
	%D%/results/latency.svg \
	%D%/results/live.svg \
	%D%/results/malloc.txt \
	%D%/results/memory-linear.svg \
	%D%/results/memory-tlsf.svg \
	%D%/results/memory.txt \
	%D%/results/predictions.md \
	%D%/results/mutations.txt \
	%D%/results/phases.svg \
	%D%/results/ratios.svg \
	%D%/results/results.txt \
	%D%/results/sizes.svg \
	%D%/results/soak.txt \
	%D%/results/summary.json \
	%D%/results/table.txt \
	%D%/results/threads.svg
resultsdir = $(docdir)/results

# `make docs' where Doxygen is installed: a site of all documents and of the
# headers' comments, and man(3), in docs/api/.
EXTRA_DIST += %D%/doxygen-filter.awk %D%/groups.dox

# For who packages it: Debian's folder, to be copied to the top.
debian = %D%/packaging/debian
EXTRA_DIST += \
	%D%/packaging/meson/meson.build \
	%D%/packaging/meson/slice/meson.build \
	$(debian)/changelog \
	$(debian)/control \
	$(debian)/copyright \
	$(debian)/libslice-dev.install \
	$(debian)/libslice-dev.lintian-overrides \
	$(debian)/libslice-ralloc0.install \
	$(debian)/libslice-ralloc0.lintian-overrides \
	$(debian)/libslice-ralloc0.symbols \
	$(debian)/libslice0.install \
	$(debian)/libslice0.lintian-overrides \
	$(debian)/libslice0.symbols \
	$(debian)/rules \
	$(debian)/slice-tools.install \
	$(debian)/slice-tools.lintian-overrides \
	$(debian)/source/format

docs: docs/Doxyfile $(pkginclude_HEADERS)
	@test -n '$(DOXYGEN)' || { echo 'docs: install doxygen' >&2; exit 1; }
	$(AM_V_GEN)$(DOXYGEN) docs/Doxyfile

clean-local-docs:
	rm -rf docs/api

.PHONY: docs clean-local-docs

include docs/ralloc.mk
include docs/guide/local.mk
