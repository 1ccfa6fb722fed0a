#!/bin/sh
# check-overhead.sh - what recording costs, beside heaptrack
#
# Not run by make check: it measures times.  Each program runs plain, under
# slice-trace record, and under heaptrack, in turn, so often; the medians of
# CPU time (all processes, also what packs the trace) and their ratios to the
# plain run are printed, with bytes an event, whether all events that were
# counted can be read, and the peak of live bytes that both have found.
# Arguments: runs of each (5), a C file for clang (one of this library's).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

times=${1:-5}
file=$(realpath "${2:-$source/slice/tools/trace/report/report-html.c}")
cd "$work" || exit 1

cat > numbers.sql <<'EOF'
create table t (a integer primary key, b text, c real);
with recursive n (i) as (select 1 union all select i + 1 from n
  where i < 100000)
  insert into t select i, 'row' || (i * 7919 % 30011), i * 0.37 from n;
create index u on t (b);
select count (*), sum (c) from t where b like 'row1%';
select length (json_group_array (b)) from t where a % 3 = 0;
EOF
cat > numbers.py <<'EOF'
import json
d = [{"k%d" % i: [i, str (i), {"x": i * 0.5}] for i in range (j, j + 100)}
     for j in range (300)]
print (len (json.loads (json.dumps (d))))
EOF

run () # the program's name
{
  case $1 in
    clang) echo "clang -O2 -c -I$source -I$source/slice -I$build $file" ;;
    python) echo "/usr/bin/python3 numbers.py" ;;
    sqlite) echo "sqlite3 :memory: .read\\ numbers.sql" ;;
    git) echo "git -C $source --no-pager log -p -n 400" ;;
  esac
}

cpu () # output file, command...: seconds, of all its processes
{
  output=$1
  shift
  python3 -c 'import os, subprocess, sys
status = subprocess.call (sys.argv[2:], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
t = os.times ()
open (sys.argv[1], "a").write ("%.3f\n" % (t[2] + t[3]))
sys.exit (status)' "$output" "$@"
}

median ()
{
  sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int ((NR + 1) / 2)] }'
}

PYTHONMALLOC=malloc
export PYTHONMALLOC
printf '%-8s %8s %18s %18s %9s %s\n' "" plain slice-trace heaptrack \
  "B/event" "events; peak, heaptrack's peak"
for name in clang python sqlite git
do
  command=$(run $name)
  eval "set -- $command"
  command -v "$1" > null || { echo "$name: not installed"; continue; }
  i=0
  while [ $i -lt "$times" ]
  do
    cpu $name.plain "$@"
    rm -f $name.trace*
    cpu $name.ours "$trace" record -q -o $name.trace -- "$@"
    command -v heaptrack > null \
      && cpu $name.theirs heaptrack -o $name.heaptrack "$@"
    i=$((i + 1))
  done
  "$trace" info $name.trace > info
  [ -s $name.theirs ] || echo nan > $name.theirs
  theirs=$(heaptrack_print -f "$(ls $name.heaptrack* | head -n 1)" 2> null \
    | sed -n 's/^peak heap memory consumption: //p')
  awk -v name=$name -v plain="$(median $name.plain)" \
    -v ours="$(median $name.ours)" -v theirs="$(median $name.theirs)" \
    -v peak="${theirs:-?}" '{ v[$1] = $2 }
    END { printf "%-8s %6.2f s %8.2f s (%.2f x) %8.2f s (%.2f x) %9.2f " \
      "%d%s; %.2f MB, %s\n", name, plain, ours, ours / plain, theirs,
      theirs / plain, v["bytes"] / v["events"], v["events"],
      v["events"] == v["recorded"] ? "" : " (of " v["recorded"] ")",
      v["peak-live-bytes"] / 1e6, peak }' info
done
