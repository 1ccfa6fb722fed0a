# slice/dropin/ralloc/local.mk - Mesa's ralloc: library and stand-in headers
#
# The library's symbols have versions, so it needs a linker that knows them;
# link-time optimisation would lose them.
#
# SPDX-License-Identifier: MIT

# In a static library its names would clash with libslice's.
if WITH_SHARED
if HAVE_VERSION_SCRIPT
lib_LTLIBRARIES += slice/libslice-ralloc.la
slice_libslice_ralloc_la_SOURCES = slice/dropin/ralloc/mesa-ralloc.c
slice_libslice_ralloc_la_CFLAGS = $(slice_cflags) -fno-lto -fno-plt
slice_libslice_ralloc_la_LIBTOOLFLAGS = $(shared_only)
slice_libslice_ralloc_la_LIBADD = slice/libslice.la
slice_libslice_ralloc_la_LDFLAGS = \
	-no-undefined \
	-shared \
	-version-info $(SLICE_LT_VERSION) \
	$(SLICE_LIB_LDFLAGS) \
	-Wl,--version-script=$(top_srcdir)/slice/dropin/ralloc/libslice-ralloc.map
EXTRA_slice_libslice_ralloc_la_DEPENDENCIES = \
	slice/dropin/ralloc/libslice-ralloc.map
endif
endif

# util/ralloc.h of a Mesa is a line about its version, and this.
mesadir = $(pkgincludedir)
mesa_HEADERS = slice/dropin/ralloc/mesa-ralloc.h
mesa223dir = $(pkgincludedir)/mesa-22.3/util
mesa223_HEADERS = slice/dropin/ralloc/mesa-22.3/util/ralloc.h
mesa261dir = $(pkgincludedir)/mesa-26.1/util
mesa261_HEADERS = slice/dropin/ralloc/mesa-26.1/util/ralloc.h

EXTRA_DIST += slice/dropin/ralloc/libslice-ralloc.map
