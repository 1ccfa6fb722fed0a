# tests/local.mk - `make check' and its sisters
#
# Each folder of slice/ has one here: a unit test <layer>/test-<file>.c for each
# .c, which links its own layer's library alone (an upward call does not link).
# A test of the whole links libslice.la as a program would.  All speak TAP.  The
# scripts look at the source, the interface (headers, library, machine code),
# builds of other kinds, debugging, and what is installed.
#
# To add a unit test: its name in the list of its layer, and one line
# `%C%_<layer>_test_<file>_LDADD = $(<layer>_test_libs)'; the source follows
# from the name.
#
# There are two tiers.  `make check' is the first, of some minutes; what takes
# long is in the second, `make check-slow', and what can do with less runs in
# both, with SLICE_TEST_TIER=2 in the second (check-lib.sh, testlib.h).
#
# SPDX-License-Identifier: MIT

if WITH_TESTS
check_LTLIBRARIES += %D%/libtest.la
endif
# A part of programs only: its objects are compiled once.
%C%_libtest_la_LIBTOOLFLAGS = --tag=disable-shared
%C%_libtest_la_SOURCES = %D%/testlib.c %D%/testlib.h \
	%D%/testmagazine.h %D%/testprocessor.h %D%/teststats.h

test_libs = %D%/libtest.la $(GLIB_LIBS) $(SLICE_THREAD_LIBS)
port_test_libs = slice/libport.la $(test_libs)
base_test_libs = slice/libbase.la $(test_libs)
page_test_libs = slice/libpage.la $(test_libs)
slab_test_libs = slice/libslab.la $(test_libs)
depot_test_libs = slice/libdepot.la $(test_libs)
magazine_test_libs = slice/libmagazine.la $(test_libs)
alloc_test_libs = slice/liballoc.la $(test_libs)
observe_test_libs = slice/libobserve.la slice/liballoc.la $(test_libs)
slice_test_libs = slice/libslice.la $(test_libs)

# --- programs --------------------------------------------------------------

port_tests = \
	%D%/port/test-asleep \
	%D%/port/test-lock \
	%D%/port/test-os-linux \
	%D%/port/test-os-module \
	%D%/port/test-os-posix \
	%D%/port/test-shard \
	%D%/port/test-tls \
	%D%/port/test-tool
%C%_port_test_asleep_LDADD = $(port_test_libs)
%C%_port_test_lock_LDADD = $(port_test_libs)
%C%_port_test_os_linux_LDADD = $(port_test_libs)
%C%_port_test_os_module_LDADD = $(port_test_libs)
%C%_port_test_os_posix_LDADD = $(port_test_libs)
%C%_port_test_shard_LDADD = $(port_test_libs)
%C%_port_test_tls_LDADD = $(port_test_libs)
%C%_port_test_tool_LDADD = $(port_test_libs)

base_tests = \
	%D%/base/test-diag \
	%D%/base/test-list \
	%D%/base/test-option \
	%D%/base/test-sizeclass
%C%_base_test_diag_LDADD = $(base_test_libs)
%C%_base_test_list_LDADD = $(base_test_libs)
%C%_base_test_option_LDADD = $(base_test_libs)
%C%_base_test_sizeclass_LDADD = $(base_test_libs)

page_tests = \
	%D%/page/test-map \
	%D%/page/test-map-notes \
	%D%/page/test-meta \
	%D%/page/test-page \
	%D%/page/test-source \
	%D%/page/test-granuleset
%C%_page_test_map_LDADD = $(page_test_libs)
%C%_page_test_map_notes_LDADD = $(page_test_libs)
%C%_page_test_meta_LDADD = $(page_test_libs)
%C%_page_test_page_LDADD = $(page_test_libs)
%C%_page_test_source_LDADD = $(page_test_libs)
%C%_page_test_granuleset_LDADD = $(page_test_libs)

slab_tests = \
	%D%/slab/test-one-thread \
	%D%/slab/test-slab \
	%D%/slab/test-slab-check
%C%_slab_test_one_thread_LDADD = $(slab_test_libs)
%C%_slab_test_slab_LDADD = $(slab_test_libs)
%C%_slab_test_slab_check_LDADD = $(slab_test_libs)

depot_tests = \
	%D%/depot/test-depot \
	%D%/depot/test-depot-check
%C%_depot_test_depot_LDADD = $(depot_test_libs)
%C%_depot_test_depot_check_LDADD = $(depot_test_libs)

magazine_tests = \
	%D%/magazine/test-adapt \
	%D%/magazine/test-relief \
	%D%/magazine/test-magazine \
	%D%/magazine/test-parked
%C%_magazine_test_adapt_LDADD = $(magazine_test_libs)
%C%_magazine_test_relief_LDADD = $(magazine_test_libs)
%C%_magazine_test_magazine_LDADD = $(magazine_test_libs)
%C%_magazine_test_parked_LDADD = $(magazine_test_libs)

# Tests of the layer alloc link the observers above it, too, for their figures.
alloc_tests = \
	%D%/alloc/test-alloc \
	%D%/checking/test-block-registry \
	%D%/alloc/test-fork \
	%D%/checking/test-checking \
	%D%/checking/test-misuse \
	%D%/checking/test-retired \
	%D%/alloc/test-oom \
	%D%/alloc/test-threads \
	%D%/checking/test-tool-mode \
	%D%/alloc/test-trim
%C%_alloc_test_alloc_LDADD = $(observe_test_libs)
%C%_checking_test_block_registry_LDADD = $(alloc_test_libs)
%C%_alloc_test_fork_LDADD = $(observe_test_libs)
%C%_checking_test_checking_LDADD = $(observe_test_libs)
%C%_checking_test_misuse_LDADD = $(observe_test_libs)
%C%_checking_test_retired_LDADD = $(slice_test_libs)
%C%_alloc_test_oom_LDADD = $(observe_test_libs)
%C%_alloc_test_threads_LDADD = $(observe_test_libs)
%C%_checking_test_tool_mode_LDADD = $(observe_test_libs)
%C%_alloc_test_trim_LDADD = $(observe_test_libs)

heap_tests = \
	%D%/heap/test-aligned \
	%D%/heap/test-heap
%C%_heap_test_aligned_LDADD = $(slice_test_libs)
%C%_heap_test_heap_LDADD = $(slice_test_libs)

observe_tests = \
	%D%/observe/test-dump \
	%D%/observe/test-stats \
	%D%/observe/test-walk \
	%D%/observe/test-block-info
%C%_observe_test_dump_LDADD = $(observe_test_libs)
%C%_observe_test_stats_LDADD = $(observe_test_libs)
%C%_observe_test_walk_LDADD = $(observe_test_libs)
%C%_observe_test_block_info_LDADD = $(observe_test_libs)

slice_tests = \
	%D%/whole/test-batch \
	%D%/whole/test-between \
	%D%/whole/test-dlopen \
	%D%/whole/test-hooks \
	%D%/whole/test-model \
	%D%/whole/test-plain \
	%D%/whole/test-sizes
%C%_whole_test_batch_LDADD = $(slice_test_libs)
%C%_whole_test_between_LDADD = $(slice_test_libs) $(SLICE_DL_LIBS)
%C%_whole_test_failures_LDADD = $(slice_test_libs) $(SLICE_DL_LIBS)
%C%_whole_test_errno_LDADD = $(slice_test_libs) $(SLICE_DL_LIBS)
%C%_whole_test_dlopen_LDADD = $(test_libs) $(SLICE_DL_LIBS)
%C%_observe_test_leaks_LDADD = $(slice_test_libs)
%C%_whole_test_hooks_LDADD = $(slice_test_libs)
%C%_whole_test_model_LDADD = $(slice_test_libs)
%C%_whole_test_sizes_LDADD = $(slice_test_libs)

# These make memory fail themselves, at every point: not under memcheck, where
# they would take long, and where every block is a malloc of its own.
failure_tests = \
	%D%/arena/test-arena-oom \
	%D%/whole/test-errno \
	%D%/whole/test-failures \
	%D%/context/memory/test-ralloc-oom

memcheck_tests = \
	$(port_tests) \
	$(base_tests) \
	$(page_tests) \
	$(slab_tests) \
	$(depot_tests) \
	$(magazine_tests) \
	$(alloc_tests) \
	$(heap_tests) $(observe_tests) \
	$(slice_tests)

# These leave blocks behind on purpose, which memcheck would tell.
leak_tests = %D%/observe/test-leaks %D%/arena/misuse/test-arena-leaks

unit_tests = $(memcheck_tests) $(failure_tests) $(leak_tests)

# Programs that need libslice alone (no GLib).
%C%_whole_test_plain_LDADD = slice/libslice.la $(SLICE_THREAD_LIBS)

# --- scripts ---------------------------------------------------------------

check_scripts = \
	%D%/source/check-bootstrap.sh \
	%D%/source/check-configure.sh \
	%D%/source/check-layers.sh \
	%D%/source/check-style.sh \
	%D%/interface/check-layout.sh \
	%D%/interface/check-headers.sh \
	%D%/context/check-ralloc-types.sh \
	%D%/interface/check-exports.sh \
	%D%/source/check-docs.sh \
	%D%/source/check-guide.sh \
	%D%/interface/check-fastpath.sh \
	%D%/builds/check-fallbacks.sh \
	%D%/interface/check-fortify.sh \
	%D%/interface/check-setuid.sh \
	%D%/debugging/check-debugging.sh \
	%D%/builds/check-detector.sh \
	%D%/builds/check-noglib.sh \
	%D%/debugging/check-gdb.sh

# These take long, and find little that the others do not: in the second tier
# alone.
slow_scripts = \
	%D%/interface/check-abi.sh \
	%D%/builds/check-compilers.sh \
	%D%/builds/check-far.sh \
	%D%/builds/check-32bit.sh \
	%D%/interface/check-aliasing.sh \
	%D%/builds/check-cross.sh \
	%D%/builds/check-debian.sh \
	%D%/builds/check-full.sh \
	%D%/source/check-release.sh \
	%D%/builds/check-musl.sh \
	%D%/race/check-races.sh \
	%D%/builds/check-rust.sh \
	%D%/debugging/check-tools.sh \
	%D%/examples/test-examples.sh
# The programs that they alone run.
slow_programs =

# Less of these in the first tier, and all in the second.
tiered_tests = %D%/interface/check-headers.sh
if WITH_TESTS
tiered_tests += $(failure_tests) %D%/fuzz/fuzz-arena \
	%D%/fuzz/fuzz-context %D%/fuzz/fuzz-slice
endif

# Programs outside the tree, against what was installed.
installed_tests = %D%/installed/installcheck.sh \
	%D%/installed/installcheck-packages.sh

dist_check_SCRIPTS = \
	$(check_scripts) \
	$(slow_scripts) \
	$(installed_tests) \
	%D%/coverage/coverage.sh \
	%D%/driver.sh \
	%D%/source/rehearse-release.sh \
	%D%/run-test.sh \
	%D%/summary.sh

EXTRA_DIST += \
	%D%/matrix/matrix.sh \
	%D%/matrix/rows \
	%D%/check-lib.sh \
	%D%/interface/aliasing.c \
	%D%/installed/client.c \
	%D%/installed/client.cc \
	%D%/interface/frozen.c \
	%D%/installed/cmake/CMakeLists.txt \
	%D%/installed/meson/meson.build \
	%D%/installed/malloc-of.c \
	%D%/installed/ralloc.c \
	%D%/data/libslice-x86-64.abi.xz \
	%D%/day-clock.h \
	%D%/failing-malloc.h \
	%D%/hang.h \
	%D%/interface/libslice.abignore \
	%D%/misuse-texts.h \
	%D%/noglib/noglib-tests.sh \
	%D%/noglib/glib.h \
	%D%/noglib/noglib-data.c \
	%D%/noglib/noglib-test.c \
	%D%/race/first-calls.c \
	%D%/race/handover.c \
	%D%/race/resources.cc \
	%D%/valgrind.supp

# --- how they are compiled -------------------------------------------------

# With the usual flags the compiler takes half as long for the tests like this.
# The inline code is the same, and the machine code with -O2 is looked at by
# check-fastpath.sh.  What is measured (bench, stress, clients) stays as it is,
# and so does everything where other flags are chosen.
quick_flags := $(if $(filter -O2,$(CFLAGS)),-O1 -g1)
quick_cxxflags := $(if $(filter -O2,$(CXXFLAGS)),-O1 -g1)
quick_folders = port base page slab depot magazine alloc checking heap observe \
	whole context arena cxx fuzz soak schedule dropin trace
quick_objects = $(addsuffix /%.$(OBJEXT),$(addprefix tests/,$(quick_folders)))
$(quick_objects) $(%C%_schedule_schedule_OBJECTS) \
	$(%C%_arena_linear_test_linear_steps_OBJECTS): CFLAGS += $(quick_flags)
$(quick_objects): CXXFLAGS += $(quick_cxxflags)

# --- how they are run ------------------------------------------------------

library_sources = \
	$(slice_libport_la_SOURCES) \
	$(slice_libbase_la_SOURCES) \
	$(slice_libpage_la_SOURCES) \
	$(slice_libslab_la_SOURCES) \
	$(slice_libdepot_la_SOURCES) \
	$(slice_libmagazine_la_SOURCES) \
	$(slice_libchecking_la_SOURCES) \
	$(slice_liballoc_la_SOURCES) \
	$(slice_libobserve_la_SOURCES) \
	$(slice_context_libcontext_la_SOURCES) \
	$(slice_arena_libarena_la_SOURCES)

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/%D%/driver.sh \
	$(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/%D%/run-test.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL) $(top_srcdir)/%D%/run-test.sh $(SHELL)
AM_TESTS_ENVIRONMENT = \
	top_srcdir='$(top_srcdir)'; export top_srcdir; \
	top_builddir='$(top_builddir)'; export top_builddir; \
	CC='$(CC)'; export CC; \
	CXX='$(CXX)'; export CXX; \
	CLANG='$(CLANG)'; export CLANG; \
	CLANGXX='$(CLANGXX)'; export CLANGXX; \
	NM='$(NM)'; export NM; \
	OBJDUMP='$(OBJDUMP)'; export OBJDUMP; \
	READELF='$(READELF)'; export READELF; \
	TIMEOUT='$(TIMEOUT)'; export TIMEOUT; \
	VALGRIND='$(VALGRIND)'; export VALGRIND; \
	scheduled_sources='$(scheduled_sources)'; export scheduled_sources; \
	PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; \
	LAYOUT_SCRIPT='$(layout_script)'; export LAYOUT_SCRIPT; \
	LIBRARY_CFLAGS='$(CPPFLAGS) $(CFLAGS)'; export LIBRARY_CFLAGS; \
	LIBRARY_SOURCES='$(library_sources)'; export LIBRARY_SOURCES; \
	SLICE_LIB_CFLAGS='$(SLICE_LIB_CFLAGS)'; export SLICE_LIB_CFLAGS; \
	SLICE_LIB_LDFLAGS='$(SLICE_LIB_LDFLAGS)'; export SLICE_LIB_LDFLAGS; \
	libdir='$(libdir)'; export libdir; \
	includedir='$(includedir)'; export includedir; \
	docdir='$(docdir)'; export docdir; \
	mandir='$(mandir)'; export mandir; \
	pkgconfigdir='$(pkgconfigdir)'; export pkgconfigdir; \
	PUBLIC_HEADERS='$(pkginclude_HEADERS) $(nodist_pkginclude_HEADERS)'; \
	export PUBLIC_HEADERS; \
	unset G_SLICE G_DEBUG G_MESSAGES_DEBUG; \
	SLICE_OPTIONS=$${SLICE_TEST_OPTIONS-}; export SLICE_OPTIONS;

if WITH_TESTS
check_PROGRAMS += $(unit_tests)
# The scripts first: they take longest, and another processor has the rest.
TESTS += $(check_scripts) $(unit_tests)
slow_tests = $(slow_scripts) $(tiered_tests)
endif

# --- one test --------------------------------------------------------------

# make -s check-one T=tests/page/test-map, or T=test-map, or a script.  Of the
# programs the one is built, or those that the script wants: needs_<script>
# names them, with _ for what can't be in a name.
all_tests = $(check_PROGRAMS) $(dist_check_SCRIPTS) $(TESTS) $(slow_tests)
one = $(firstword $(filter $(T),$(all_tests)) \
	$(filter %/$(notdir $(T)),$(all_tests)) $(T))
one_name = $(basename $(one))
one_needs = $(if $(filter %.sh,$(one)),all \
	$(needs_$(subst -,_,$(subst /,_,$(one_name)))))
check-one: $(BUILT_SOURCES)
	@case '$(one)' in \
	'') echo 'check-one: T=tests/page/test-map, or a script' >&2; exit 1;; \
	*.sh) test -f '$(top_srcdir)/$(one)';; \
	*) echo ' $(check_PROGRAMS) ' | grep -q -F ' $(one)$(EXEEXT) ';; \
	esac || { echo 'check-one: there is no test $(one)' >&2; exit 1; }
	@needs='$(one_needs)'; \
	test -z "$$needs" || $(MAKE) $(AM_MAKEFLAGS) $$needs
	@rm -f $(one_name).log $(one_name).trs
	@$(MAKE) $(AM_MAKEFLAGS) $(one_name).log
	@if grep -q '^:test-result: [FXE][^F]' $(one_name).trs; then \
	  tail -n 60 $(one_name).log; exit 1; fi
.PHONY: check-one

needs_%C%_builds_check_compilers = \
	%D%/whole/test-plain %D%/whole/test-sizes %D%/whole/test-model \
	%D%/context/test-ralloc %D%/context/free/test-ralloc-free \
	%D%/context/test-ralloc-linear \
	%D%/context/test-ralloc-string %D%/context/random/test-ralloc-model \
	%D%/arena/linear/test-linear %D%/arena/pool/test-pool \
	%D%/arena/stack/test-stack \
	%D%/arena/tlsf/test-tlsf
needs_%C%_source_check_docs = docs/Doxyfile
needs_%C%_debugging_check_tools = %D%/misuse/misuse

# --- more than `make check' ------------------------------------------------

# The programs alone, without the scripts.
check-unit: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(unit_tests)'

# The programs under memcheck; the slabs stay in use under the tool.
check-valgrind:
	@test -n '$(VALGRIND)' \
	  || { echo 'check-valgrind: install valgrind' >&2; exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) check-all STAGES=memcheck

# The programs in builds of their own, one a sanitizer.
check-sanitize: check-asan check-tsan

check-asan:
	$(call build_elsewhere,asan,-fsanitize=address$(comma)undefined)
check-tsan:
	$(call build_elsewhere,tsan,-fsanitize=thread)

comma = ,
build_elsewhere = \
	mkdir -p build-$(1) && cd build-$(1) \
	&& { test -f config.status \
	     || $(abs_top_srcdir)/configure --disable-static \
		--enable-debug=full CC='$(CC)' CXX='$(CXX)' \
		CFLAGS='-g -O1 -fno-omit-frame-pointer $(2)' \
		CXXFLAGS='-g -O1 -fno-omit-frame-pointer $(2)'; } \
	&& SLICE_TEST_SANITIZED=1 SLICE_TEST_OPTIONS=force-pool \
	   $(MAKE) $(AM_MAKEFLAGS) check-unit

# The other processors, all tests that need no GLib: some minutes for each.
check-cross:
	@SLICE_TEST_MATRIX=1 top_srcdir='$(top_srcdir)' \
	  top_builddir='$(abs_builddir)' CC='$(CC)' CLANG='$(CLANG)' \
	  READELF='$(READELF)' $(SHELL) $(top_srcdir)/%D%/builds/check-cross.sh

# All promises, each on its systems: a table.  As root; MATRIX has options and
# rows of the script.
check-matrix:
	@$(SHELL) $(top_srcdir)/%D%/matrix/matrix.sh $(MATRIX)

# The Rust crate beside others, which cargo fetches.
bench-rust: slice/libslice.la
	@CARGO_TARGET_DIR='$(abs_builddir)/slice/rust/target' \
	  SLICE_LIB_DIR='$(abs_builddir)/slice/.libs' \
	  LD_LIBRARY_PATH='$(abs_builddir)/slice/.libs' \
	  cargo run -q --release --manifest-path \
	    '$(top_srcdir)/slice/rust/peers/Cargo.toml'
.PHONY: check-cross check-matrix bench-rust

# The interface that check-abi.sh compares with: with a release, and before the
# first one with each change.
record-abi: slice/libslice.la
	@$(AM_TESTS_ENVIRONMENT) \
	SLICE_ABI_RECORD='$(abs_top_srcdir)/%D%/data/libslice-x86-64.abi.xz' \
	  $(SHELL) $(top_srcdir)/%D%/interface/check-abi.sh
.PHONY: record-abi

installcheck-local:
	INSTALLCHECK_DESTDIR='$(DESTDIR)' $(MAKE) $(AM_MAKEFLAGS) \
	  check-TESTS TESTS='$(installed_tests)'
MOSTLYCLEANFILES += \
	$(installed_tests:.sh=.log) $(installed_tests:.sh=.trs)

# The same without installing for good.
check-installed: all
	rm -rf stage
	$(MAKE) $(AM_MAKEFLAGS) install DESTDIR='$(abs_builddir)/stage' \
	  > stage.log 2>&1 || { cat stage.log; exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) installcheck-local \
	  DESTDIR='$(abs_builddir)/stage'
	$(MAKE) $(AM_MAKEFLAGS) uninstall DESTDIR='$(abs_builddir)/stage' \
	  > stage.log 2>&1 || { cat stage.log; exit 1; }
	@left=`find stage ! -type d; \
	  cd '$(abs_builddir)/stage' && for folder in '$(pkgincludedir)' \
	    '$(pkglibdir)' '$(pkgdatadir)' '$(cmakedir)' '$(docdir)'; do \
	    test ! -d ".$$folder" || echo "$$folder"; \
	  done`; \
	test -z "$$left" || { echo "left by uninstall: $$left"; exit 1; }

# All of these that a fresh machine can do, stage after stage, and one line of
# totals.  The logs of a stage are in check-logs/STAGE.
slow_stages = memcheck slow installed
STAGES = check $(slow_stages)
summary = $(SHELL) $(top_srcdir)/%D%/summary.sh
check-all: all
	@ulimit -c 0; status=0; for stage in $(STAGES); do \
	  rm -rf check-logs/$$stage check-logs/$$stage.count; \
	  $(MAKE) $(AM_MAKEFLAGS) stage-$$stage || status=1; \
	done; \
	$(summary) print $(STAGES) || status=1; \
	exit $$status
# The second tier: what check leaves out.
check-slow:
	$(MAKE) $(AM_MAKEFLAGS) check-all STAGES='$(slow_stages)'

# What takes longest is run first, so that both processors end together.
memcheck_first = %D%/context/misuse/test-ralloc-misuse \
	%D%/context/memory/test-ralloc-slack
memcheck_order = $(memcheck_first) \
	$(filter-out $(memcheck_first), $(memcheck_tests))
stage-check:
	@status=0; SLICE_TEST_STAGE=check $(MAKE) $(AM_MAKEFLAGS) check \
	  || status=1; $(summary) check $(TESTS) || status=1; exit $$status
stage-memcheck:
	@test -n '$(VALGRIND)' \
	  || { echo 'memcheck: no valgrind, not run'; exit 0; }; status=0; \
	SLICE_TEST_STAGE=memcheck SLICE_TEST_VALGRIND=1 \
	  SLICE_TEST_OPTIONS=force-pool $(MAKE) $(AM_MAKEFLAGS) \
	  check-TESTS TESTS='$(memcheck_order)' || status=1; \
	$(summary) memcheck $(memcheck_order) || status=1; exit $$status
stage-slow:
	@test -n '$(slow_tests)' || exit 0; status=0; \
	$(MAKE) $(AM_MAKEFLAGS) $(slow_programs) && \
	SLICE_TEST_STAGE=slow SLICE_TEST_TIER=2 $(MAKE) $(AM_MAKEFLAGS) \
	  check-TESTS TESTS='$(slow_tests)' || status=1; \
	$(summary) slow $(slow_tests) || status=1; exit $$status
stage-installed:
	@status=0; rm -f $(installed_tests:.sh=.log) $(installed_tests:.sh=.trs); \
	SLICE_TEST_STAGE=installed $(MAKE) $(AM_MAKEFLAGS) check-installed \
	  || status=1; \
	$(summary) installed $(installed_tests) || status=1; exit $$status
.PHONY: check-slow stage-check stage-memcheck stage-slow stage-installed
MOSTLYCLEANFILES += stage.log \
	$(slow_scripts:.sh=.log) $(slow_scripts:.sh=.trs)

# Lines and branches run by the programs, a line a source file.
# COVERAGE=missed: and the lines that are never run.  Nothing is inlined, for
# gcov counts the branches of every copy.
# The drop-ins are shared libraries, the tracer no part of the library.
# What runs under a tool alone is run by two scripts (their programs for the
# address sanitizer are linked with what is counted), and by the arenas' tests
# once more under memcheck, where each object is reported.
coverage_tool_tests = %D%/debugging/check-tools.sh \
	%D%/arena/misuse/check-annotations.sh
coverage_memcheck_tests = %D%/checking/test-tool-mode $(arena_tests)
coverage_tests = $(filter-out %.sh tests/clients/% tests/dropin/% \
	tests/trace/%, $(TESTS))
coverage_ldflags = --coverage -Wl,-u,sli_coverage_hook
coverage:
	mkdir -p build-coverage && cd build-coverage \
	&& { test -f config.status \
	     || $(abs_top_srcdir)/configure --disable-shared \
		--enable-coverage CC='$(CC)' CXX='$(CXX)' CFLAGS='-g -O0 -w' \
		CPPFLAGS='-Dalways_inline=noinline -D__always_inline__=__noinline__' \
		LDFLAGS='$(coverage_ldflags)'; } \
	&& $(MAKE) $(AM_MAKEFLAGS) check-coverage \
	&& GCOV='$(GCOV)' AWK='$(AWK)' \
	   $(SHELL) $(abs_top_srcdir)/%D%/coverage/coverage.sh $(COVERAGE)
check-coverage: $(BUILT_SOURCES)
	find . -name '*.gcda' -exec rm -f {} +
	$(MAKE) $(AM_MAKEFLAGS) $(coverage_tests) \
	%D%/arena/misuse/annotate-misuse
	@$(AM_TESTS_ENVIRONMENT) SLICE_TEST_TIMEOUT=3000; \
	export SLICE_TEST_TIMEOUT; \
	run () { \
	  $(SHELL) $(top_srcdir)/%D%/run-test.sh "$$@" > coverage.log 2>&1 \
	    && ! grep '^not ok' coverage.log > /dev/null \
	    || { echo "coverage: $$* failed"; tail -5 coverage.log; }; \
	}; \
	for test in $(coverage_tests); do run ./$$test; done; \
	CC="$$CC $(coverage_ldflags)"; \
	for test in $(coverage_tool_tests); do \
	  run $(SHELL) $(top_srcdir)/$$test; \
	done; \
	test -n "$$VALGRIND" || exit 0; \
	SLICE_TEST_VALGRIND=1 SLICE_OPTIONS=force-pool; \
	export SLICE_TEST_VALGRIND; \
	for test in $(coverage_memcheck_tests); do run ./$$test; done

if WITH_COVERAGE
slice_libport_la_SOURCES += %D%/coverage/coverage-hook.c
endif

clean-local-tests:
	rm -rf build-asan build-tsan build-coverage stage check-logs

.PHONY: check-unit check-valgrind check-sanitize check-asan check-tsan \
	check-installed check-all coverage check-coverage clean-local-tests

# --- programs that are no tests --------------------------------------------
# Fragments add targets to these lists, and write the targets.

run_targets =
stress_targets =
bench_targets =

include tests/misuse/local.mk
include tests/model/local.mk
include tests/schedule/local.mk
include tests/fuzz/local.mk
include tests/seeded/local.mk
include tests/mutate/local.mk
include tests/arena/local.mk
include tests/cxx/local.mk
include tests/adaptors/local.mk
include tests/recording/local.mk
include tests/bench/local.mk
include tests/bench/arena/local.mk
include tests/clients/local.mk
include tests/dropin/local.mk
include tests/stress/local.mk
include tests/predictions/local.mk
include tests/trace/local.mk
include tests/soak/local.mk

# The compilers' own analyzers, over the library.  An allocator hands out what
# it got: gcc takes that for leaks.  No -w, it silences the analyzer, too.
analyze: all
	@status=0; for source in $(analyzed_sources); do \
	  $(CC) -std=gnu11 -O1 -fanalyzer -Werror -Wno-analyzer-malloc-leak \
	    -I. -I$(srcdir) -iquote $(srcdir)/slice -c $(srcdir)/$$source \
	    -o /dev/null || status=1; \
	  test -z '$(CLANG)' || $(CLANG) --analyze -Xclang -analyzer-werror \
	    -std=gnu11 -w -I. -I$(srcdir) -iquote $(srcdir)/slice \
	    $(srcdir)/$$source -o /dev/null || status=1; \
	done; exit $$status
analyzed_sources = $(fuzz_sources) slice/observe/dump.c

.PHONY: analyze

# The main job.
run stress bench: all
	@case $@ in \
	run) targets='$(run_targets)' ;; \
	stress) targets='$(stress_targets)' ;; \
	bench) targets='$(bench_targets)' ;; \
	esac; \
	for target in $$targets; do \
	  $(MAKE) $(AM_MAKEFLAGS) $$target || exit 1; \
	done

.PHONY: run stress bench

include tests/context/local.mk

EXTRA_PROGRAMS += $(slow_programs)
CLEANFILES += $(slow_programs)
