#!/bin/sh
# check-release.sh - what a release needs: one version everywhere, manuals
# without errors, and a tarball and an installation that anyone can repeat
#
# SLICE_RELEASE=FOLDER (`make release-check'): also what only a release has: a
# date in NEWS, a clean tree, HTML.  If nothing fails, FOLDER has the tarball,
# its SHA256SUMS and, if RELEASE_KEY names a key of gpg's, a signature of that.
# SLICE_TEST_MATRIX=1 as well builds and installs twice.  rehearse-release.sh
# does all of it with a date and a key of its own.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

top_srcdir=$(cd "$top_srcdir" && pwd)
top_builddir=$(cd "$top_builddir" && pwd)
release=${SLICE_RELEASE-}
unset MAKEFLAGS MFLAGS MAKELEVEL
make=${MAKE:-make}
version=$(sed -n 's/^AC_INIT(\[slice\], \[\(.*\)\])$/\1/p' \
  "$top_srcdir/configure.ac")
name=slice-$version

# --- one version ---

# differs SOURCE VERSION: where it says another one
differs ()
{
  # File, and what takes its version out.
  while read -r file program; do
    said=$(sed -n "$program" "$1/$file" | head -n 1)
    test "$said" = "$2" || echo "$file: '$said', not $2"
  done << 'END'
configure.ac s/^AC_INIT(\[slice\], \[\(.*\)\])$/\1/p
NEWS s/^\([0-9][0-9.]*\) (.*)$/\1/p
README s/^This is version \([0-9.]*[0-9]\).*/\1/p
docs/man/slice-run.1 s/^\.TH .* "slice \([0-9.]*\)".*/\1/p
docs/packaging/debian/changelog s/^slice (\([0-9.]*\)-.*/\1/p
docs/packaging/meson/meson.build s/^project ('slice', 'c', version : '\([0-9.]*\)'.*/\1/p
slice/rust/Cargo.toml s/^version = "\(.*\)"$/\1/p
slice/rust/collections/Cargo.toml s/^version = "\(.*\)"$/\1/p
END
}

# unready SOURCE: why this is no release yet
unready ()
{
  sed -n '1,/^[0-9]/p' "$1/NEWS" \
    | grep -q -E '^[0-9.]+ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$' \
    || echo "NEWS: the version has no date"
  ! grep -q 'is not released' "$1/README" || echo "README: is not released"
  ! git -C "$1" status --porcelain 2> /dev/null | grep . \
    || echo "the tree has what is not committed"
}

# --- manuals and HTML ---

# complaints MANUAL...: groff's
complaints ()
{
  for manual; do
    MANROFFSEQ= MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 \
      -Z "$manual" 2>&1 > /dev/null | sed "s|^|${manual##*/}: |"
  done
}

# --- twice the same ---

# pack BUILD FOLDER: the tarball; says what goes wrong
pack ()
{
  mkdir -p "$2"
  (cd "$1" && $make -s dist-xz) > "$temporary/said" 2>&1 \
    || tail -n 20 "$temporary/said"
  mv "$1/$name.tar.xz" "$2"
}

# install TARBALL FOLDER: from it, into FOLDER/stage
install ()
{
  mkdir -p "$2"
  (cd "$2" && xz -dc "$1" | tar xf - && cd "$name" \
   && ./configure -q --without-tests --prefix=/usr \
        CFLAGS="-g -O2 -ffile-prefix-map=$2/$name=." \
   && $make -s -j2 && $make -s install DESTDIR="$2/stage") \
    > "$temporary/said" 2>&1 || tail -n 20 "$temporary/said"
}

# --- checksums and signature ---

# sign FOLDER: the checksum of its tarball, and with $RELEASE_KEY the signature;
# says what goes wrong
sign ()
{
  (cd "$1" && sha256sum "$name.tar.xz" > SHA256SUMS) 2>&1
  test -z "${RELEASE_KEY-}" \
    || gpg --batch --yes --quiet --local-user "$RELEASE_KEY" --armor \
         --detach-sign "$1/SHA256SUMS" 2>&1
}

# verify FOLDER: what is wrong for who has fetched it
verify ()
{
  (cd "$1" && { gpg --batch --quiet --verify SHA256SUMS.asc SHA256SUMS \
                  > "$temporary/said" 2>&1 || cat "$temporary/said"; } \
   && sha256sum --quiet -c SHA256SUMS 2>&1)
}

expect_none "version $version is said everywhere" \
  "$(differs "$top_srcdir" "$version")"
expect_found "another version is found in each file" '^8$' \
  "$(differs "$top_srcdir" 99.0 | wc -l | tr -d ' ')"

mkdir "$temporary/early"
echo "$version (not released)" > "$temporary/early/NEWS"
echo "This is version $version, which is not released" \
  > "$temporary/early/README"
found=$(unready "$temporary/early")
expect_found "NEWS without a date is found" '^NEWS: ' "$found"
expect_found "what is not released is found" '^README: ' "$found"
echo "$version (2026-01-31)" > "$temporary/early/NEWS"
: > "$temporary/early/README"
expect_none "a release is none of it" "$(unready "$temporary/early")"

if command -v man > /dev/null 2>&1; then
  expect_none "groff has nothing to say to the manuals" \
    "$(complaints "$top_srcdir"/docs/man/*.[17])"
  printf '.TH X 1\n.SH NAME\n.nosuchmacro\n' > "$temporary/bad.1"
  expect_found "a manual with an error is found" '^bad.1: .*nosuchmacro' \
    "$(complaints "$temporary/bad.1")"
else
  skip "groff has nothing to say to the manuals" "no man"
fi

# A build tree of its own, so that the tarball does not depend on this one.
mkdir "$temporary/other"
expect_none "the tarball is made" "$(pack "$top_builddir" "$temporary/one")"
expect_none "and from another build tree" \
  "$(cd "$temporary/other" \
     && "$top_srcdir/configure" -q --without-tests --without-trace 2>&1 \
     && pack "$temporary/other" "$temporary/two")"
expect_none "both are the same bytes" \
  "$(cmp "$temporary/one/$name.tar.xz" "$temporary/two/$name.tar.xz" 2>&1)"
echo >> "$temporary/two/$name.tar.xz"
expect_found "another tarball is found" 'EOF' \
  "$(cmp "$temporary/one/$name.tar.xz" "$temporary/two/$name.tar.xz" 2>&1)"

# With a key that is thrown away, in a home that does not last.
check_signature ()
{
  (
    GNUPGHOME=$temporary/gnupg RELEASE_KEY=test@slice.example
    export GNUPGHOME
    mkdir -m 700 "$GNUPGHOME"
    gpg --batch --quiet --passphrase '' --quick-generate-key "$RELEASE_KEY" \
      default sign never > "$temporary/said" 2>&1 || cat "$temporary/said"
    sign "$temporary/one"
    verify "$temporary/one" | sed 's/^/signed: /'
    cp -R "$temporary/one" "$temporary/changed"
    echo >> "$temporary/changed/$name.tar.xz"
    verify "$temporary/changed" | sed 's/^/tarball: /'
    (cd "$temporary/changed" && sha256sum "$name.tar.xz" > SHA256SUMS)
    verify "$temporary/changed" | sed 's/^/sums: /'
    gpgconf --kill all
  )
  rm -rf "$temporary/gnupg" "$temporary/one/SHA256SUMS"*
}

if command -v gpg > /dev/null 2>&1; then
  found=$(check_signature)
  expect_none "what is signed is verified" \
    "$(echo "$found" | grep -v -e '^tarball: ' -e '^sums: ')"
  expect_found "a changed tarball is found" '^tarball: .*FAILED' "$found"
  expect_found "changed checksums are found" '^sums: .*BAD signature' "$found"
else
  skip "what is signed is verified" "no gpg"
fi

if test "${SLICE_TEST_MATRIX:-0}" = 1 || test -n "$release"; then
  expect_none "it builds" \
    "$(install "$temporary/one/$name.tar.xz" "$temporary/three")"
  expect_none "and in a folder of another name" \
    "$(install "$temporary/one/$name.tar.xz" "$temporary/fourth-folder")"
  expect_none "what is installed is the same bytes" \
    "$(diff -r "$temporary/three/stage" "$temporary/fourth-folder/stage" 2>&1)"
  echo "# $(find "$temporary/three/stage" -type f | wc -l) files compared"
fi

test -n "$release" || finish

# --- a release ---

expect_none "this is a release" "$(unready "$top_srcdir")"
if command -v doxygen > /dev/null 2>&1; then
  expect_none "HTML is made" \
    "$(cd "$top_builddir" && $make -s docs DOXYGEN=doxygen 2>&1 | grep -i -E 'warning|error'
       test -s "$top_builddir/docs/api/html/index.html" || echo "no HTML")"
else
  fail "HTML is made" "install doxygen"
fi
if test $n_failed = 0; then
  mkdir -p "$release"
  cp "$temporary/one/$name.tar.xz" "$release"
  expect_none "SHA256SUMS is made, and signed if there is a key" \
    "$(sign "$release")"
  echo "# $release: $(ls "$release" | tr '\n' ' ')"
fi
finish
