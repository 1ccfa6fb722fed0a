# slice/packaging/local.mk - what linkers, debuggers and build systems read
#
# The CMake files are made here and not by configure, since `make prefix=...'
# may move the installation.
#
# SPDX-License-Identifier: MIT

pkgconfig_DATA = %D%/slice.pc
if WITH_SHARED
pkgconfig_DATA += %D%/slice-malloc.pc
if HAVE_VERSION_SCRIPT
pkgconfig_DATA += %D%/slice-ralloc.pc
endif
endif

cmakedir = $(libdir)/cmake/slice
nodist_cmake_DATA = \
	%D%/slice-config.cmake \
	%D%/slice-config-version.cmake

$(nodist_cmake_DATA): %D%/%.cmake: %D%/%.cmake.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && rm -f $@ $@.tmp \
	&& $(SED) -e 's|@libdir[@]|$(libdir)|g' \
		-e 's|@includedir[@]|$(includedir)|g' \
		-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' \
		-e 's|@SLICE_VERSION_MAJOR[@]|$(SLICE_VERSION_MAJOR)|g' \
		-e 's|@SLICE_VERSION_MINOR[@]|$(SLICE_VERSION_MINOR)|g' \
		-e 's|@SLICE_POINTER_BYTES[@]|$(SLICE_POINTER_BYTES)|g' \
		$(srcdir)/$@.in > $@.tmp \
	&& chmod a-w $@.tmp && mv $@.tmp $@

CLEANFILES += $(nodist_cmake_DATA)
EXTRA_DIST += \
	%D%/libslice-gdb.py \
	%D%/libslice.ld \
	%D%/libslice.map \
	%D%/slice-config.cmake.in \
	%D%/slice-config-version.cmake.in

# gdb looks for NAME-gdb.py beside the file that is loaded, links followed, and
# then in its own folder, which is under /usr where the system's gdb is.  What
# lies elsewhere it loads if gdb is configured to (docs/guide/debugging.md).
gdb_directory = \
	case '$(prefix)' in \
	/usr) directory='$(DESTDIR)$(datadir)/gdb/auto-load$(libdir)' ;; \
	*) directory='$(DESTDIR)$(libdir)' ;; \
	esac
install-data-hook: install-gdb
install-gdb:
	@$(gdb_directory); \
	. ./slice/libslice.la && \
	set -- $$library_names && \
	test $$# != 0 || exit 0; \
	$(MKDIR_P) "$$directory" && \
	echo "installing $$directory/$$1-gdb.py" && \
	$(INSTALL_DATA) $(srcdir)/%D%/libslice-gdb.py \
	  "$$directory/$$1-gdb.py"
uninstall-hook: uninstall-gdb
uninstall-gdb:
	$(gdb_directory); rm -f "$$directory"/libslice.*-gdb.py
.PHONY: install-gdb uninstall-gdb
