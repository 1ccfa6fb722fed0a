#!/bin/sh
# matrix.sh - on which systems, for which processors, by which compilers, and
# for which users the library is what it should be: a table, one row a promise
#
#   matrix.sh [--roots=FOLDER] [--results=FOLDER] [--jobs=N] [--long] [ROW...]
#   matrix.sh --table | --write [--results=FOLDER]
#   matrix.sh --list
#
# Tests HEAD of the clone that it is in, as root on a Debian with debootstrap.
# The systems are folders of FOLDER (by default ../roots beside the clone); one
# that is not there is made, with all packages that its rows want, which takes
# ten minutes and some GiB, and stays for the next time.  The rows are those of
# the file `rows'; without names, all of them.  --long: with all tests for each
# processor, and all levels and standards for each compiler; hours.
#
# A row that has a result for this commit is not run again, so what was stopped
# goes on with the same command; a row that is named runs in any case.  Results
# and logs are in FOLDER/COMMIT (by default matrix-results beside the roots).
# N systems are at work at once (2), a row of each.  At the end the table is
# printed, as Markdown; the exit status is 1 if a row has failed.  --write puts
# it into docs/platforms.md.
#
# SPDX-License-Identifier: MIT

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
source=$(cd "$here/../.." && pwd)
roots=${source%/*}/roots
results=
jobs=2
long=no
action=run
mirror=${MATRIX_MIRROR:-http://deb.debian.org/debian}

say ()
{
  echo "matrix: $*" >&2
}

die ()
{
  say "$*"
  exit 2
}

# --- the systems -------------------------------------------------------------

# What a system has besides what bootstrap installs; only where it is used.
# (Two names of a package are for check-cross.sh: with emulators of two ages.)
cross="qemu-user gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf
  gcc-i686-linux-gnu gcc-riscv64-linux-gnu gcc-powerpc64le-linux-gnu
  gcc-s390x-linux-gnu libc6-dev-arm64-cross libc6-dev-armhf-cross
  libc6-dev-i386-cross libc6-dev-riscv64-cross libc6-dev-ppc64el-cross
  libc6-dev-s390x-cross"
packages_of ()
{
  case $1 in
  bookworm-amd64)
    echo ccache $cross spin musl-tools cmake meson ninja-build debhelper \
      fakeroot lintian cargo ca-certificates liblua5.4-dev python3-dev \
      llvm-14-dev g++-11 g++-12 clang-14 clang-15 clang-16 clang lld gnupg \
      groff doxygen git ;;
  trixie-amd64)
    echo ccache $cross g++-13 g++-14 clang-17 clang-18 clang-19 clang lld ;;
  *) echo ccache ;;
  esac
}

# within ROOT COMMAND...: in there, with mounts that end with it
within ()
{
  unshare -m sh -c '
    root=$1
    shift
    for folder in proc sys dev; do
      mountpoint -q "$root/$folder" || mount --rbind "/$folder" "$root/$folder"
    done
    exec chroot "$root" env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
      PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin \
      DEBIAN_FRONTEND=noninteractive "$@"' within "$@"
}

# fill SYSTEM ROOT: what debootstrap fills, kept in a file for the next time
fill ()
{
  release=${1#fresh-}
  case $release in
  *-i386) architecture=i386 ;;
  *) architecture=amd64 ;;
  esac
  release=${release%-*}
  kept=$roots/$release-$architecture.tar
  if ! test -s "$kept"; then
    rm -rf --one-file-system "$2"
    debootstrap --variant=minbase --arch="$architecture" "$release" "$2" \
      "$mirror" || return
    tar -C "$2" -cf "$kept.new" . && mv "$kept.new" "$kept"
  else
    rm -rf --one-file-system "$2"
    mkdir -p "$2" && tar -C "$2" -xpf "$kept" || return
  fi
  cp /etc/resolv.conf "$2/etc/resolv.conf"
}

# fetch ROOT: the commit, in $1/root/matrix
fetch ()
{
  tree=$1/root/matrix
  test -d "$tree/.git" || git init -q "$tree" || return
  git -C "$tree" fetch -q --no-tags "$source" HEAD \
    && git -C "$tree" checkout -q -f --detach "$commit"
}

# prepare SYSTEM ROOT: it is there, and the commit is built in it
prepare ()
{
  if ! test -d "$2/usr"; then
    fill "$1" "$2" && fetch "$2" \
      && within "$2" sh -c 'cd /root/matrix && ./bootstrap --install' || return
  fi
  wanted=$(packages_of "$1")
  within "$2" dpkg -s $wanted > /dev/null 2>&1 \
    || { within "$2" apt-get -q update
         within "$2" apt-get -q -y --no-install-recommends --no-remove install \
           $wanted; } || return
  test "$(cat "$2/root/matrix.built" 2> /dev/null)" != "$commit" || return 0
  fetch "$2" && within "$2" sh -c '
    cd /root/matrix && ./bootstrap && mkdir -p build && cd build \
      && { test config.status -nt ../configure || ../configure -q; } \
      && make -s -j2' || return
  echo "$commit" > "$2/root/matrix.built"
}

# --- the rows ----------------------------------------------------------------

# Without comments, and without blanks around the columns.
rows ()
{
  sed -e '/^#/d' -e '/^ *$/d' -e 's/ *| */|/g' "$here/rows"
}

# Of the rows that are read, those that are named or, without names, all.
chosen ()
{
  awk -F '|' -v names=" $names " 'names == "  " || index (names, " " $1 " ")'
}

# What the commands of the rows are made of.
functions='
one ()
{
  make -s -C build check-one T="tests/$1" > said 2>&1
  status=$?
  cat "build/tests/${1%.sh}.log" || cat said
  return $status
}
cross ()
{
  export SLICE_TEST_PROCESSORS=$1
  one builds/check-cross.sh
}
compiler ()
{
  export SLICE_TEST_COMPILERS=$1
  one builds/check-compilers.sh
}
export SLICE_TEST_MATRIX=1
cd /root/matrix || exit 99
'

# The tests of the parts, where --long has not asked for all.
few_tests="os-posix map page slab depot adapt alloc batch hooks sizes ralloc
  ralloc-free ralloc-linear arena/linear arena/pool arena/stack arena/tlsf"
less ()
{
  if test "$long" = yes; then
    echo "export SLICE_TEST_TIER=2"
  else
    echo "export noglib_tests='$few_tests'"
  fi
}

# counts LOG STATUS: passed, failed and skipped, of TAP or of the last totals
counts ()
{
  awk -v status="$2" '
    /^ok .*# SKIP/ || /^1\.\.0 # SKIP/ { skipped++; next }
    /^ok / { passed++ }
    /^not ok / { failed++ }
    /^(check|installed): .* passed, .* failed/ {
      totals = $2 + 0 " " $4 + 0 " " $6 + 0
    }
    END {
      if (totals == "") {
        if (passed + failed + skipped == 0) {
          if (status == 0) passed = 1
          else failed = 1
        }
        totals = passed + 0 " " failed + 0 " " skipped + 0
      }
      print totals
    }' "$1"
}

# row NAME SYSTEM PROMISE COMMAND: runs it and writes NAME.row
row ()
{
  name=$1
  root=$roots/$2
  log=$folder/$name.log
  rm -f "$folder/$name.row"
  say "$name ..."
  began=$(date +%s)
  status=0
  : > "$log.times"
  case $2 in
  fresh-*)
    { fill "$2" "$root" && fetch "$root"; } > "$log.prepare" 2>&1 ;;
  *) prepare "$2" "$root" > "$log.prepare" 2>&1 ;;
  esac < /dev/null || { status=99; tail -n 20 "$log.prepare" > "$log"; }
  prepared=$(date +%s)
  test $status != 0 \
    || (within "$root" sh -c "$functions$(less)
$4" > "$log" 2>&1 < /dev/null
        status=$?
        times > "$log.times" # not in a pipeline, which has no children
        exit $status) \
    || status=$?
  ended=$(date +%s)
  set -- "$@" $(counts "$log" $status) # $5 to $7
  result=passed
  test "$5" != 0 || result=skipped
  { test "$6" = 0 && test $status = 0; } || result=failed
  seconds=$(tr 'ms\n' '   ' < "$log.times" \
            | awk '{ print int ($5 * 60 + $6 + $7 * 60 + $8 + 0.5) }')
  rm -f "$log.times"
  echo "$name|$2|$3|$4|$result|$5|$6|$7|$((ended - prepared))|$seconds" \
    > "$folder/$name.row"
  say "$name: $result; $5 passed, $6 failed, $7 skipped; $((ended - began)) s"
}

# system NAME: its rows, one after the other
system ()
{
  rows | chosen | while IFS='|' read -r name system promise command; do
    test "$system" = "$1" || continue
    test -n "$names" || ! test -s "$folder/$name.row" || continue
    row "$name" "$system" "$promise" "$command"
  done
}

# --- the table ---------------------------------------------------------------

table ()
{
  echo "Commit $(git -C "$source" rev-parse --short=8 "$commit"); the time is" \
    "in seconds, and in those of the processor."
  echo
  echo "| promise | system | command | passed | failed | skipped | time |"
  echo "|---|---|---|---|---|---|---|"
  rows | while IFS='|' read -r name system promise command; do
    test -s "$folder/$name.row" \
      || echo "$name|$system|$promise|$command|not run|" > "$folder/$name.row.no"
    cat "$folder/$name.row" 2> /dev/null || cat "$folder/$name.row.no"
    rm -f "$folder/$name.row.no"
  done | awk -F '|' '
    { n[$5]++ }
    $5 == "not run" { $6 = $5; $7 = $8 = ""; time = "" }
    $5 != "not run" { time = $9 ", " $10 }
    {
      printf "| %s | %s | `%s` | %s | %s | %s | %s |\n", $3, $2, $4, $6, $7,
        $8, time
    }
    END {
      printf "\n%d rows passed, %d failed, %d skipped, %d not run\n",
        n["passed"], n["failed"], n["skipped"], n["not run"]
    }'
  failures
}

# failures: of each row that has failed, what has: its first lines
failures ()
{
  grep -l '^[^|]*|[^|]*|[^|]*|[^|]*|failed|' "$folder"/*.row 2> /dev/null \
    | while read -r row; do
        name=${row##*/}
        name=${name%.row}
        printf '\n%s:\n\n' "$name"
        log=$folder/$name.log
        found=$(sed -n 's/^not ok [0-9]* - //p' "$log" | head -n 8)
        test -n "$found" \
          || found=$(sed -n 's/^ *FAIL: //p' "$log" | head -n 8)
        echo "${found:-$(tail -n 8 "$log")}" | sed 's/^/    /'
      done
}

# write: the table of docs/platforms.md, between its marks, is this one
write ()
{
  page=$source/docs/platforms.md
  table > "$folder/table"
  awk -v table="$folder/table" '
    /^<!-- end of the table -->$/ { inside = 0; n++; print "" }
    !inside
    /^<!-- the table -->$/ {
      print ""
      while ((getline line < table) > 0)
        print line
      inside = 1
    }
    END { exit n != 1 }' "$page" > "$folder/page" \
    && cat "$folder/page" > "$page" || die "no table in $page"
}

names=
for argument; do
  case $argument in
  --roots=*) roots=${argument#*=} ;;
  --results=*) results=${argument#*=} ;;
  --jobs=*) jobs=${argument#*=} ;;
  --long) long=yes ;;
  --list) rows; exit ;;
  --table | --write) action=${argument#--} ;;
  --system=*) action=${argument#--} ;; # of its own calls
  -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit ;;
  -*) die "unknown option: $argument" ;;
  *)
    rows | grep -q "^$argument|" || die "no row $argument"
    names="$names${names:+ }$argument"
    ;;
  esac
done
commit=$(git -C "$source" rev-parse HEAD) || die "no clone: $source"
folder=${results:-$roots/matrix-results}/$commit
mkdir -p "$folder" || exit 2

case $action in
table | write) $action; exit ;;
system=*) system "${action#*=}"; exit ;;
esac

test "$(id -u)" = 0 || die "only root can call chroot"
for tool in debootstrap git unshare; do
  command -v $tool > /dev/null || die "no $tool"
done
test -z "$(git -C "$source" status --porcelain)" \
  || say "what is not committed is not tested"
# The last first: the fresh ones fill both processors alone.
rows | chosen | cut -d '|' -f 2 | awk '!seen[$0]++' | tac \
  | xargs -P "$jobs" -I % sh "$0" --roots="$roots" \
      --results="${folder%/*}" $(test $long = no || echo --long) --system=% \
      $names
table
! cat "$folder"/*.row 2> /dev/null | cut -d '|' -f 5 | grep -q failed
