# clients-lib.sh - what the tests with other people's programs share
#
# Read by `.' after check-lib.sh.  The programs come from Debian packages,
# named where they are needed.  What is not installed is skipped with a
# notice; with CHECK_CLIENTS_INSTALL=yes, as root or through sudo, it is
# installed first.
#
# SPDX-License-Identifier: MIT

top_builddir=$(cd "$top_builddir" && pwd)
top_srcdir=$(cd "$top_srcdir" && pwd)
slice_run=$top_builddir/slice/dropin/slice-run
SLICE_RUN_PRELOAD=$top_builddir/slice/.libs/libslice.so.0
SLICE_RUN_PRELOAD=$SLICE_RUN_PRELOAD:$top_builddir/slice/dropin/.libs/libslice-gslice.so
export SLICE_RUN_PRELOAD
: "${READELF:=readelf}"
unset G_SLICE G_DEBUG SLICE_RUN SLICE_RUN_G_SLICE

# GLib's own tests, from libglib2.0-tests.
installed_tests=/usr/libexec/installed-tests/glib

# have_package NAME
have_package ()
{
  command -v dpkg-query >/dev/null 2>&1 \
    && test "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" \
       = installed
}

# install_packages NAME...: if we may and can
install_packages ()
{
  test "${CHECK_CLIENTS_INSTALL-}" = yes || return 1
  as_root=
  test "$(id -u)" = 0 || as_root=sudo
  { DEBIAN_FRONTEND=noninteractive
    export DEBIAN_FRONTEND
    $as_root apt-get -q update \
      && $as_root apt-get -q -y --no-install-recommends install "$@"
  } </dev/null >"$temporary/apt" 2>&1 || sed 's/^/# /' "$temporary/apt"
}

# missing_of NAME...: those that are not installed
missing_of ()
{
  for package; do
    have_package "$package" || printf '%s ' "$package"
  done
}

# need_packages NAME...: the packages that are still missing after all; empty
# if none
need_packages ()
{
  missing=$(missing_of "$@")
  if test -n "$missing"; then
    # A list of words.
    install_packages $missing >&2
    missing=$(missing_of "$@")
  fi
  echo "$missing"
}

# have_dropin: was it built, and without a sanitizer (which must come first
# in a process)?
have_dropin ()
{
  for library in $(IFS=:; echo $SLICE_RUN_PRELOAD); do
    test -f "$library" || return 1
    ! $NM -D "$library" | grep -q -E ' U __(asan|tsan|ubsan)_' || return 1
  done
}

# said_number FILE PATTERN: the first number in the first line that matches
said_number ()
{
  sed -n "s/.*$2.*/&/; /$2/{s/^[^0-9]*\([0-9]*\).*/\1/p;q}" "$1"
}

# n_allocated FILE, n_freed FILE: what the drop-in counted (option count)
n_allocated ()
{
  sed -n 's/^slice-gslice: \([0-9]*\) blocks allocated.*/\1/p' "$1" | tail -n 1
}

n_freed ()
{
  sed -n 's/^slice-gslice: .* allocated, \([0-9]*\) freed.*/\1/p' "$1" \
    | tail -n 1
}

# n_passed_on FILE, n_sent_home FILE: the two crossings
n_passed_on ()
{
  sed -n "s/^slice-gslice: \([0-9]*\) blocks of GLib's passed on.*/\1/p" "$1" \
    | tail -n 1
}

n_sent_home ()
{
  sed -n "s/^slice-gslice: .* on, \([0-9]*\) of ours came .*/\1/p" "$1" \
    | tail -n 1
}

# said_border FILE KEY
said_border ()
{
  sed -n "s/^$2: \([^,]*\).*/\1/p" "$1"
}

# border_findings FILE MODE: what is wrong; FILE has the program's output and
# the drop-in's.  Large blocks are known, and counted, with debug-blocks only.
border_findings ()
{
  large_in=$(sed -n 's/^large: \([0-9]*\) in.*/\1/p' "$1")
  large_out=$(sed -n 's/^large: .*, \([0-9]*\) out.*/\1/p' "$1")
  passed_on=$(said_border "$1" 'passed on')
  came_home=$(said_border "$1" 'came home')
  if test "$2" = debug-blocks; then
    passed_on=$((passed_on + large_in))
    came_home=$((came_home + large_out))
  fi
  test "$(n_passed_on "$1")" = "$passed_on" \
    || echo "passed on: $(n_passed_on "$1") instead of $passed_on"
  test "$(n_sent_home "$1")" = "$came_home" \
    || echo "came home: $(n_sent_home "$1") instead of $came_home"
  test "$(said_border "$1" live)" = 0 \
    || echo "alive at the end: $(said_border "$1" live)"
  test "$(said_border "$1" malloc)" = "as before" \
    || echo "malloc holds more than before"
}
