# slice/packaging/local.mk - what pkg-config, CMake and Meson read
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
	%D%/slice-config.cmake.in \
	%D%/slice-config-version.cmake.in
