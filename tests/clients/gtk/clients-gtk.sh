#!/bin/sh
# clients-gtk.sh - GTK 3 programs on the drop-in, looked at
#
# Under Xvfb: each program is started, used by keyboard for a minute and asked
# to close, without the drop-in and with it, every block checked.  It must end
# by itself, with nothing reported, and its two pictures, one after the start
# and one at the end, must be the same pixel by pixel.
#
#   CLIENTS_SECONDS  how long each runs; 60
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../../check-lib.sh"
. "$(dirname "$0")/../clients-lib.sh"

have_dropin || skip_all "no drop-in was built, or with a sanitizer"
missing=$(need_packages gtk-3-examples xvfb x11-apps imagemagick libxtst-dev \
  adwaita-icon-theme dbus-daemon)
test -z "$missing" || skip_all "not installed: $missing"
seconds=${CLIENTS_SECONDS:-60}
# Seconds until the first picture, and from the last key to the second.
calm=6
key_msec=500
n_keys=$(((seconds - 2 * calm) * 1000 / key_msec))
test $n_keys -gt 0 || n_keys=1

$CC -O1 -o "$temporary/x-hand" "$top_srcdir/tests/clients/gtk/x-hand.c" \
  -lX11 -lXtst 2>"$temporary/said" \
  || { fail "x-hand is built" "$(cat "$temporary/said")"; finish; }

# A screen of our own, on a number that is free.
Xvfb -displayfd 3 -screen 0 1600x1200x24 -nolisten tcp \
  3>"$temporary/display" >"$temporary/xvfb" 2>&1 &
x_server=$!
trap 'kill $x_server 2>/dev/null; rm -rf "$temporary"' EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do
  test -s "$temporary/display" && break
  sleep 1
done
test -s "$temporary/display" \
  || { fail "Xvfb starts" "$(cat "$temporary/xvfb")"; finish; }
DISPLAY=:$(cat "$temporary/display")

# The same settings for both, and nothing that moves by itself.
HOME=$temporary/home
XDG_CONFIG_HOME=$HOME/config
mkdir -p "$XDG_CONFIG_HOME/gtk-3.0"
cat > "$XDG_CONFIG_HOME/gtk-3.0/settings.ini" <<'END'
[Settings]
gtk-enable-animations=0
gtk-cursor-blink=0
END
GSETTINGS_BACKEND=memory NO_AT_BRIDGE=1 GTK_THEME=Adwaita GDK_BACKEND=x11
DBUS_SESSION_BUS_ADDRESS=disabled: LC_ALL=C.UTF-8
export DISPLAY HOME XDG_CONFIG_HOME GSETTINGS_BACKEND NO_AT_BRIDGE GTK_THEME \
  GDK_BACKEND DBUS_SESSION_BUS_ADDRESS LC_ALL

# picture FILE
picture ()
{
  xwd -root -silent | convert xwd:- "$1" 2>&1
}

# use NAME KEY COMMAND...: runs it for a minute; leaves NAME-1.png, NAME-2.png,
# NAME.said and NAME.code
use ()
{
  use_name=$temporary/$1
  use_key=$2
  shift 2
  "$@" >"$use_name.said" 2>&1 &
  program=$!
  sleep $calm
  picture "$use_name-1.png"
  "$temporary/x-hand" keys "$use_key" $n_keys $key_msec 2>>"$use_name.said"
  sleep $calm
  picture "$use_name-2.png"
  # What can be closed, closes; a dialog may come up first.
  for i in 1 2 3 4 5; do
    "$temporary/x-hand" close 2>/dev/null
    sleep 1
    kill -0 $program 2>/dev/null || break
  done
  kill -0 $program 2>/dev/null && kill $program
  code=0
  wait $program || code=$?
  echo $code > "$use_name.code"
}

# differing A B: pixels, without those under $mask
differing ()
{
  for side in "$1" "$2"; do
    convert "$side" ${mask:+-fill black -draw "rectangle $mask"} \
      "$temporary/$(basename "$side" .png)-masked.png"
  done
  compare -metric AE "$temporary/$(basename "$1" .png)-masked.png" \
    "$temporary/$(basename "$2" .png)-masked.png" null: 2>&1 || :
}

# colours FILE: so that two empty screens are not taken for success
colours ()
{
  identify -format '%k' "$1"
}

# Program, key, and what moves by itself in the picture: the widget factory has
# a progress bar that goes to and fro.
for case in gtk3-widget-factory:Tab:550,90,870,104 gtk3-demo:Down:; do
  program_name=${case%%:*}
  mask=${case##*:}
  key=${case#*:}
  key=${key%:*}
  use without "$key" "$program_name"
  SLICE_OPTIONS=count use with "$key" \
    sh "$slice_run" --stats --debug-blocks "$program_name"
  said=$temporary/with.said
  expect_none "$program_name, $seconds s, $n_keys keys, --debug-blocks: \
$(n_allocated "$said") blocks allocated, $(n_freed "$said") freed, \
$(n_passed_on "$said") passed on, $(n_sent_home "$said") came home" \
    "$(test "$(cat "$temporary/with.code")" = "$(cat "$temporary/without.code")" \
         || echo "ended with $(cat "$temporary/with.code") instead of \
$(cat "$temporary/without.code")"
       test "$(cat "$temporary/with.code")" = 0 || cat "$said"
       grep -e '^slice: .*\[' -e CRITICAL "$said"
       n=$(n_allocated "$said")
       test "${n:-0}" -gt 20000 || cat "$said")"
  for i in 1 2; do
    expect_none "$program_name: picture $i is the same \
($(colours "$temporary/with-$i.png") colours)" \
      "$(n=$(differing "$temporary/without-$i.png" "$temporary/with-$i.png")
         test "$n" = 0 || echo "$n pixels differ"
         test "$(colours "$temporary/with-$i.png")" -gt 50 || echo "empty")"
  done
  expect_none "$program_name: the keys had an effect" \
    "$(test "$(differing "$temporary/with-1.png" "$temporary/with-2.png")" != 0 \
         || echo "the pictures before and after are the same")"
  if test -n "${CLIENTS_PICTURES-}"; then
    mkdir -p "$CLIENTS_PICTURES"
    for i in 1 2; do
      cp "$temporary/without-$i.png" "$CLIENTS_PICTURES/$program_name-$i-without.png"
      cp "$temporary/with-$i.png" "$CLIENTS_PICTURES/$program_name-$i-with.png"
    done
  fi
done
finish
