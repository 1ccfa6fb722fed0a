#!/bin/sh
# glib-rebuild.sh - Debian's GLib 2.74 on our slices, and its own test suite
#
# Fetches the source package, builds it as it is and runs its suite; then
# replaces glib/gslice.c by the drop-in (slice/dropin/gslice, with foreign-none.c),
# links libglib to libslice and runs the suite again.  Passes if every test
# that passed before passes now.  Half an hour on two cores; what was built
# stays in GLIB_REBUILD_DIR for the next time, and programs can be run on it
# with LD_LIBRARY_PATH.
#
#   GLIB_REBUILD_DIR  where; glib-rebuild in the build directory
#   GLIB_SUITES       which suites; "glib gobject gio" and all others if empty
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/clients-lib.sh"
. "$(dirname "$0")/apt-lists.sh"

: "${GLIB_REBUILD_DIR:=$top_builddir/glib-rebuild}"
: "${GLIB_SUITES:=}"
packages="dpkg-dev meson ninja-build gettext libffi-dev libmount-dev
  libpcre2-dev libselinux1-dev libelf-dev libxml2-utils zlib1g-dev
  dbus-daemon libdbus-1-dev desktop-file-utils shared-mime-info"
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

have_dropin || skip_all "no drop-in was built"
missing=$(need_packages $packages)
test -z "$missing" || skip_all "not installed: $missing"
mkdir -p "$GLIB_REBUILD_DIR" && cd "$GLIB_REBUILD_DIR" || exit 99

fetch ()
{
  apt_lists "$GLIB_REBUILD_DIR/apt" && apt-get -q source glib2.0
  unset APT_CONFIG
}

ls -d glib2.0-2.74.*/glib >/dev/null 2>&1 || fetch >fetch.log 2>&1 \
  || skip_all "the source of glib2.0 2.74 could not be fetched (fetch.log)"
source=$(ls -d "$GLIB_REBUILD_DIR"/glib2.0-2.74.*/ 2>/dev/null | head -n 1)
source=${source%/}
test -n "$source" || skip_all "this Debian has no GLib 2.74"
build=$GLIB_REBUILD_DIR/build

# Both ways from one tree: what differs is swapped.
test -f "$source/glib/gslice.c.glib" \
  || cp -p "$source/glib/gslice.c" "$source/glib/gslice.c.glib"
test -f "$source/glib/meson.build.glib" \
  || cp -p "$source/glib/meson.build" "$source/glib/meson.build.glib"

use_glib ()
{
  cp "$source/glib/gslice.c.glib" "$source/glib/gslice.c"
  cp "$source/glib/meson.build.glib" "$source/glib/meson.build"
}

use_slice ()
{
  dropin=$source/glib/slice-dropin
  rm -rf "$dropin"
  mkdir -p "$dropin/port/os" "$dropin/include/slice"
  cp "$top_srcdir"/slice/dropin/gslice/gslice*.[ch] \
    "$top_srcdir"/slice/dropin/gslice/foreign.h \
    "$top_srcdir"/slice/dropin/gslice/foreign-none.c "$dropin"
  cp "$top_srcdir/slice/port/compiler.h" "$dropin/port"
  cp "$top_srcdir/slice/port/os/os.h" "$dropin/port/os"
  # It looks for its neighbour beside itself.
  sed 's,"compiler\.h","port/compiler.h",' "$top_srcdir/slice/port/tool.c" \
    > "$dropin/tool.c"
  cp "$top_srcdir"/slice/*.h "$top_builddir"/slice/version.h \
    "$dropin/include/slice"
  echo '/* glib/slice-dropin/ stands for this. */' > "$source/glib/gslice.c"
  libs=$top_builddir/slice/.libs
  sed -e "s,^  'gslice.c'\\,,  'gslice.c'\\, 'slice-dropin/gslice.c'\\, \
'slice-dropin/gslice-config.c'\\, 'slice-dropin/tool.c'\\, 'slice-dropin/foreign-none.c'\\,," \
    -e "s,link_args : \[noseh_link_args\\,,&'-L$libs'\\, '-lslice'\\, \
'-Wl\\,-rpath\\,$libs'\\,," \
    -e "s,^glib_c_args = \[,&'-I$dropin/include'\\, '-D_GNU_SOURCE'\\, ," \
    "$source/glib/meson.build.glib" > "$source/glib/meson.build"
}

# build_and_test NAME: leaves NAME.ok and NAME.bad, lists of tests
build_and_test ()
{
  test -f "$build/build.ninja" || meson setup "$build" "$source" \
    --buildtype=plain -Dc_args="-O2" -Dglib_debug=disabled \
    -Ddefault_library=shared -Dman=false -Dgtk_doc=false \
    -Dinstalled_tests=false -Dtests=true -Dselinux=enabled \
    >setup.log 2>&1 || return 1
  ninja -C "$build" -j "$jobs" >"$1.ninja.log" 2>&1 || return 1
  # GLib's own suite tells it all in this file.
  rm -f "$build/meson-logs/testlog.json"
  HOME=$GLIB_REBUILD_DIR DBUS_SESSION_BUS_ADDRESS=none: LC_ALL=C.UTF-8 \
    meson test -C "$build" --no-rebuild --num-processes "$jobs" \
    --timeout-multiplier 4 \
    $(for suite in $GLIB_SUITES; do echo "--suite $suite"; done) \
    >"$1.test.log" 2>&1
  results "$1" "$build/meson-logs/testlog.json"
}

# results NAME FILE: sorts the names of the tests by how they ended
results ()
{
  python3 - "$1" "$2" <<'END'
import json, sys
name, path = sys.argv[1:]
ends = {}
for line in open(path):
    test = json.loads(line)
    ends.setdefault(test["result"], set()).add(test["name"])
with open(name + ".ok", "w") as out:
    for test in sorted(ends.get("OK", ())):
        print(test, file=out)
with open(name + ".bad", "w") as out:
    for end in sorted(ends):
        if end not in ("OK", "SKIP"):
            for test in sorted(ends[end]):
                print(test, end, file=out)
print(", ".join("%d %s" % (len(ends[end]), end) for end in sorted(ends)))
END
}

use_glib
if test -s glib.ok && test -f glib.result; then
  before=$(cat glib.result)
else
  before=$(build_and_test glib) || { fail "GLib as it is can be built" \
    "$(tail -n 20 glib.ninja.log setup.log 2>&1)"; finish; }
  echo "$before" > glib.result
fi
pass "GLib as it is: $before"

use_slice
now=$(build_and_test slice) || { fail "GLib on slices can be built" \
  "$(tail -n 20 slice.ninja.log 2>&1)"; finish; }
pass "GLib on slices: $now"

glib=$build/glib/libglib-2.0.so.0
expect_found "libglib is linked to libslice" 'libslice\.so\.0' \
  "$($READELF -d "$glib")"
expect_none "and exports the same slice calls" \
  "$(for name in alloc alloc0 copy free1 free_chain_with_offset set_config \
         get_config get_config_state; do
       $NM -D --defined-only "$glib" | grep -q " T g_slice_$name\$" \
         || echo "g_slice_$name is missing"
     done)"

# Which code answers: with `count', every list node of GLib's is counted.
SLICE_OPTIONS=count:stats LD_LIBRARY_PATH=$build/glib \
  "$build/glib/tests/list" >list.log 2>&1
n=$(n_allocated list.log)
if test "${n:-0}" -gt 100; then
  pass "GLib's list test allocates $n blocks from us"
else
  fail "GLib's list test allocates from us" "$(cat list.log)"
fi

expect_none "what passed with GLib's own slices passes with ours" \
  "$(comm -23 glib.ok slice.ok; sed 's/^/# failed: /' slice.bad \
       | grep -v -x -F -f "$(sed 's/^/# failed: /' glib.bad \
            > glib.bad.marked; echo glib.bad.marked)")"
echo "# the same fail with both: $(tr '\n' ' ' < glib.bad)"
use_glib
finish
