#!/bin/sh
# check-debian.sh - the Debian packages of docs/packaging: they build, lintian
# finds nothing, and two builds are equal
#
# Wants debhelper, fakeroot or root, and lintian; slow.  The tests do not run
# once more in there.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

for tool in dh dpkg-buildpackage; do
  command -v "$tool" > /dev/null 2>&1 || skip_all "install debhelper"
done
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' \
  "$top_builddir/config.h")
# What a release holds.
(cd "$top_builddir" \
 && ${MAKE:-make} -s distdir distdir="$temporary/source") \
  > "$temporary/said" 2>&1 \
  || { fail "make distdir" "$(tail -n 20 "$temporary/said")"; finish; }
cp -R "$temporary/source/docs/packaging/debian" "$temporary/source/debian"
# The compilers of the packages are the distribution's.
unset CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MFLAGS MAKELEVEL
DEB_BUILD_OPTIONS="nocheck parallel=2"
SOURCE_DATE_EPOCH=1700000000
export DEB_BUILD_OPTIONS SOURCE_DATE_EPOCH

# build FOLDER: what goes wrong; the packages are in FOLDER
build ()
{
  mkdir -p "$temporary/$1"
  cp -R "$temporary/source" "$temporary/$1/slice-$version"
  (cd "$temporary/$1/slice-$version" && dpkg-buildpackage -d -us -uc -b) \
    > "$temporary/said" 2>&1 || tail -n 20 "$temporary/said"
}

# differing A B: the packages that are not the same bytes in both folders
differing ()
{
  for package in "$temporary/$1"/*.deb; do
    cmp "$package" "$temporary/$2/${package##*/}" 2>&1
  done
}

expect_none "the packages build" "$(build one)"
equal "as many as debian/control has, without those of debug information" \
  "$(ls "$temporary/one" | grep '\.deb$' | grep -vc dbgsym)" \
  "$(grep -c '^Package:' "$temporary/source/debian/control")"
if command -v lintian > /dev/null 2>&1; then
  expect_none "lintian finds nothing" \
    "$(lintian --allow-root -I "$temporary"/one/*.changes 2>&1)"
else
  skip "lintian finds nothing" "no lintian"
fi
expect_none "they build a second time, elsewhere" "$(build two)"
expect_none "both are the same" "$(differing one two)"

# Can it fail?
for package in "$temporary"/two/libslice0_*.deb; do
  echo changed >> "$package"
done
expect_found "another package is found" 'libslice0_' "$(differing one two)"

finish
