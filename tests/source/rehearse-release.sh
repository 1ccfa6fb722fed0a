#!/bin/sh
# rehearse-release.sh - `make release-check' of the release that HEAD would be
#
# A clone of HEAD gets what only a release has: the date of HEAD in NEWS, no
# word of "not released", a commit with both.  There release-check runs, whole,
# and signs with a key that is thrown away; then who has fetched the result
# verifies it.  Nothing is tagged, and this tree stays as it is.
#
# Wants git, gpg, doxygen and what a build from a clone wants; takes minutes.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

top_srcdir=$(cd "$top_srcdir" && pwd)
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
for tool in git gpg doxygen autoreconf; do
  command -v $tool > /dev/null 2>&1 || skip_all "no $tool"
done
git -C "$top_srcdir" rev-parse HEAD > /dev/null 2>&1 \
  || skip_all "no clone of the repository"

clone=$temporary/slice
GNUPGHOME=$temporary/gnupg RELEASE_KEY=rehearsal@slice.example
export GNUPGHOME RELEASE_KEY

# What steps 3 and 6 of docs/hacking.md do.
as_a_release ()
{
  cd "$clone" || return
  date=$(git log -1 --format=%cd --date=short)
  sed "s/ (not released)\$/ ($date)/" NEWS > new && cat new > NEWS
  sed 's/, which is not released: names may still change, and NEWS$/; NEWS/' \
    README > new && cat new > README
  rm new
  git -c user.name=rehearsal -c user.email=$RELEASE_KEY commit -q -a \
    -m "a rehearsal"
}

build ()
{
  cd "$clone" && ./bootstrap && mkdir build && cd build \
    && ../configure -q --without-tests && ${MAKE:-make} -s -j2
}

make_key ()
{
  mkdir -m 700 "$GNUPGHOME"
  gpg --batch --quiet --passphrase '' --quick-generate-key "$RELEASE_KEY" \
    default sign never
}

received ()
{
  cd "$clone/build/release" && gpg --batch --verify SHA256SUMS.asc SHA256SUMS \
    && sha256sum -c SHA256SUMS
}

step "HEAD is cloned" \
  git clone -q --no-hardlinks "$top_srcdir" "$clone" || finish
step "it gets what a release has" as_a_release || finish
step "it builds" build || finish
step "a key is made" make_key || finish
step "make release-check" \
  sh -c "cd '$clone/build' && ${MAKE:-make} -s release-check" || finish
grep -e '^ok' -e '^# ' "$temporary/log" | sed 's/^ok/# release-check: ok/'
expect_found "nothing was left out" '^none$' \
  "$(grep '# SKIP' "$temporary/log" || echo none)"
step "who has fetched it can verify it" received
sed 's/^/# /' "$temporary/log"
gpgconf --kill all
finish
