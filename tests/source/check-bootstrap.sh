#!/bin/sh
# check-bootstrap.sh - bootstrap on machines of its own making
#
# Debian's programs are scripts here that know a few packages and write down
# what they are asked for.  Nothing is installed, and without --install nothing
# is asked for either.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

bootstrap=$(cd "$top_srcdir" && pwd)/bootstrap
test -f "$bootstrap" || skip_all "no bootstrap"
unset NO_INSTALL CONFIGURE_FLAGS
bin=$temporary/bin
tree=$temporary/tree
calls=$temporary/calls
mkdir "$bin" "$tree"
cp "$bootstrap" "$tree"
mkdir "$tree/m4" "$tree/slice" "$tree/tests" "$tree/docs"
touch "$tree/configure.ac" "$tree/Makefile.am"

# program NAME: its script comes from standard input
program ()
{
  { echo '#!/bin/sh'; cat; } > "$bin/$1"
  chmod +x "$bin/$1"
}

program id <<'END'
echo 0
END
program dpkg-query <<'END'
status=0
for package; do
  case $package in -* | *'{'*) continue ;; esac
  while read -r name; do
    test "$name" != "$package" || { echo "$name installed"; continue 2; }
  done < "$STATE/installed"
  status=1
done
exit $status
END
program apt-cache <<'END'
echo "$2:"
echo "  Installed: (none)"
grep -qx "$2" "$STATE/available" && echo "  Candidate: 1.0-1" \
  || echo "  Candidate: (none)"
END
program apt-get <<'END'
echo "apt-get $*" >> "$STATE/calls"
case " $* " in
*" update "*) test ! -f "$STATE/no-network" ; exit ;;
*" --no-remove "*) ;;
*) echo "may remove packages" >> "$STATE/calls" ;;
esac
status=0
for package; do
  case $package in -* | install) continue ;; esac
  if ! grep -qx "$package" "$STATE/available" \
     || grep -qx "$package" "$STATE/conflicts"; then
    status=100
  fi
done
test $status != 0 || for package; do
  echo "$package" >> "$STATE/installed"
done
exit $status
END
program autoreconf <<'END'
echo autoreconf >> "$STATE/calls"
mkdir -p build-aux
for file in $GENERATED; do
  echo > $file
  if test $file = configure && test -f "$STATE/interrupted"; then
    test -s "$STATE/interrupted" && kill -$(cat "$STATE/interrupted") $PPID
    exit 1
  fi
done
END
GENERATED=$(sed -n '/^generated="/,/"$/p' "$bootstrap" | tr -d '"' \
            | sed 's/^generated=//' | tr '\n' ' ')
export GENERATED

# machine AVAILABLE...: a fresh one, which can get these packages
machine ()
{
  rm -rf "$temporary/state"
  (cd "$tree" && rm -f $GENERATED autoreconf.unfinished)
  STATE=$temporary/state
  export STATE
  mkdir "$STATE"
  : > "$STATE/installed"
  : > "$STATE/conflicts"
  printf '%s\n' "$@" > "$STATE/available"
}

run_bootstrap ()
{
  : > "$STATE/calls"
  (cd "$tree" && PATH=$bin:$PATH sh ./bootstrap "$@") > "$temporary/said" 2>&1
  status=$?
}

# expect NAME CONDITION...: a command that must succeed
expect ()
{
  name=$1
  shift
  if "$@"; then
    pass "$name"
  else
    fail "$name" "status $status
$(cat "$STATE/calls" "$temporary/said")"
  fi
}

is_installed ()
{
  for package; do
    grep -qx "$package" "$STATE/installed" || return 1
  done
}
has_call () { grep -q -e "$1" "$STATE/calls"; }
has_no_call () { ! has_call "$1"; }
has_said () { grep -q -e "$1" "$temporary/said"; }

has_not_said () { ! has_said "$1"; }

needed=$(sed -n '/^packages_needed="/,/"$/p' "$bootstrap" | tr -d '"' \
         | sed 's/^packages_needed=//')
wanted="libglib2.0-tests gstreamer1.0-tools valgrind abigail-tools libjemalloc2
  libtbbmalloc2 libdw-dev libzstd-dev zlib1g-dev libunwind8 python3
  gnuplot-nox"

# --- unasked nothing is installed ---
machine $needed $wanted libmimalloc3 libtcmalloc-minimal4
run_bootstrap check
expect "without --install nothing is asked for" test ! -s "$STATE/calls"
expect "what is needed and missing ends it" test "$status" = 1
expect "what is missing is said" has_said "needed.*libglib2.0-dev"
expect "what is wanted, too, by the names that there are" \
  has_said "skipped:.* libmimalloc3 libtcmalloc-minimal4"
expect "and no other" has_not_said "[|]"
expect "with the command to type" has_said "bootstrap --install check$"
expect "and the package manager's" has_said "apt-get install gcc.*gnuplot-nox$"
NO_INSTALL=1
export NO_INSTALL
run_bootstrap --install
unset NO_INSTALL
expect "NO_INSTALL says the same" test ! -s "$STATE/calls" -a "$status" = 1

machine $needed $wanted
printf '%s\n' $needed > "$STATE/installed"
run_bootstrap
expect "what is only wanted does not end it" test "$status" = 0
expect "but is said" has_said "skipped:.* valgrind"
expect "and only autoreconf is run" test "$(cat "$STATE/calls")" = autoreconf

machine
run_bootstrap
expect "without lists of packages: how to get them" has_said "apt-get update"

# --- asked for ---
machine $needed $wanted libmimalloc2.0 libtcmalloc-minimal4
run_bootstrap --install
expect "all that is needed and wanted is installed" is_installed $needed \
  $wanted libmimalloc2.0 libtcmalloc-minimal4
expect "and nothing is removed" has_no_call "may remove"
expect "nor what other compilers conflict with" has_no_call multilib
expect "configure is made" test -f "$tree/configure"
run_bootstrap --install
expect "again: nothing is to be done" test ! -s "$STATE/calls"
touch -d '+1 minute' "$tree/Makefile.am"
run_bootstrap --install
expect "a newer Makefile.am makes configure again" has_call autoreconf
touch -d '-1 minute' "$tree/Makefile.am"

machine $needed $wanted libmimalloc3 libtcmalloc-minimal4t64
run_bootstrap --install
expect "names of a later release" is_installed $needed $wanted libmimalloc3 \
  libtcmalloc-minimal4t64

machine $needed $wanted libmimalloc3
run_bootstrap --install
expect "one that there is not: the others are installed" is_installed $needed \
  $wanted libmimalloc3
expect "and it is named" has_said "no package libtcmalloc-minimal4|"
run_bootstrap --install
expect "and not asked for again" has_no_call apt-get

machine $needed $wanted libmimalloc3 libtcmalloc-minimal4
echo valgrind > "$STATE/conflicts"
run_bootstrap --install
expect "one that conflicts: the others are installed" is_installed $needed \
  python3 gnuplot-nox
expect "and that is no error" test "$status" = 0

machine $needed $wanted libmimalloc3 libtcmalloc-minimal4
touch "$STATE/no-network"
run_bootstrap --install
expect "an error of apt-get update is none if all can be had" is_installed \
  $needed $wanted
expect "and bootstrap goes on" test "$status" = 0

machine gcc make
run_bootstrap --install
expect "what is needed and not to be had ends it" test "$status" = 1
expect "by name" has_said "no package.* libglib2.0-dev"

machine $needed
run_bootstrap --install
expect "nothing of what is wanted can be had: configure is made" test -f \
  "$tree/configure"

# --- an autoreconf that does not come to its end ---
for signal in '' INT TERM KILL; do
  # In a tree that was whole: all of it is there, but half of it is old.
  touch -d '+1 minute' "$tree/configure.ac"
  test -n "$signal" && echo $signal > "$STATE/interrupted" \
    || : > "$STATE/interrupted"
  run_bootstrap
  touch -d '-1 minute' "$tree/configure.ac"
  rm -f "$STATE/interrupted"
  expect "autoreconf ends by ${signal:-itself}: bootstrap fails" \
    test "$status" != 0
  run_bootstrap
  expect "and the next makes all again" has_call autoreconf
  run_bootstrap
  expect "and the one after that nothing" has_no_call autoreconf
done
for file in $GENERATED; do
  rm "$tree/$file"
  run_bootstrap
  has_call autoreconf || break
done
expect "whatever is missing is made: $file" has_call autoreconf

# --- other machines ---
plain_tree=$tree
for name in "a tree" "a,tree" "a%tree"; do
  mkdir "$temporary/$name"
  cp -R "$plain_tree/." "$temporary/$name"
  tree="$temporary/$name"
  run_bootstrap
  expect "the path '$name' is refused" test "$status" = 1
  expect "at once, and said" has_said "a space, a comma or a % in the path"
done
tree=$plain_tree
run_bootstrap --instal
expect "an unknown option is refused" test "$status" = 1
run_bootstrap run check
expect "two commands are, too" test "$status" = 1

finish
