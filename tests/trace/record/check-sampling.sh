#!/bin/sh
# check-sampling.sh - what a sampled recording costs
#
# Not run by make check: it measures times.  gcc's compiler, Python (with its
# own allocator, and with malloc) and sqlite run plain and with the recorder
# that samples, under callgrind, which counts the instructions of the program,
# the recorder and the C library.  Then they run plain, sampled and with every
# event recorded, in turn, so often; the medians of CPU time are of all
# processes, also of slice-trace.  The last line is that of a program which does
# nothing: what a start costs.
# Arguments: runs of each (7), the mean gap in bytes (524288).
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

times=${1:-7}
gap=${2:-524288}
recorder=$build/slice/tools/.libs/slice-trace-record.so
cd "$work" || exit 1

# The programs' inputs have a size: small for valgrind, large for the times, so
# that the start is a small part of them.
cat > numbers.py << 'END'
import json, sys
d = [{"k%d" % i: [i, str (i), {"x": i * 0.5}] for i in range (j, j + 100)}
     for j in range (int (sys.argv[1]))]
print (len (json.loads (json.dumps (d))))
END
sql () # rows
{
  echo "create table t (a integer primary key, b text, c real);
with recursive n (i) as (select 1 union all select i + 1 from n
  where i < $1)
  insert into t select i, 'row' || (i * 7919 % 30011), i * 0.37 from n;
create index u on t (b);
select count (*), sum (c) from t where b like 'row1%';
select length (json_group_array (b)) from t where a % 3 = 0;" > $1.sql
}
functions () # how many
{
  awk -v n=$1 'BEGIN { for (i = 0; i < n; i++) print "int f" i \
    " (int *a, int n) { int s = 0; for (int k = 0; k < n; k++)" \
    " if (a[k] > " i ") s += a[k] * " i "; else s -= a[k] / (k + 1);" \
    " return s; }" }' > $1.c
}
sql 10000
sql 500000
functions 30
functions 300

run () # the program's name, small or large
{
  case $1-$2 in
    cc1-small) echo "$(gcc -print-prog-name=cc1) -quiet -O2 30.c -o x.s" ;;
    cc1-large) echo "$(gcc -print-prog-name=cc1) -quiet -O2 300.c -o x.s" ;;
    python3*-small) echo "/usr/bin/python3 numbers.py 40" ;;
    python3*-large) echo "/usr/bin/python3 numbers.py 800" ;;
    sqlite3-small) echo "sqlite3 :memory: .read\\ 10000.sql" ;;
    sqlite3-large) echo "sqlite3 :memory: .read\\ 500000.sql" ;;
    true-*) echo "/bin/true" ;;
  esac
}

counted () # command...: its instructions
{
  valgrind --tool=callgrind --log-file=callgrind.log \
    --callgrind-out-file=callgrind.out "$@" > null 2>&1
  sed -n 's/^totals: //p' callgrind.out
}

# Without slice-trace.  Valgrind puts an object of its own first, and the
# recorder would restart the program, outside it, to be the first; an object
# whose name is that of a sanitizer's prevents that.
echo 'int unused;' > empty.c
$CC -shared -fPIC empty.c -o empty-san.so || exit 1
counted_sampled () # command...
{
  rm -rf spool
  mkdir spool
  (SLICE_TRACE_SPOOL=$work/spool LD_PRELOAD=$recorder:$work/empty-san.so
   SLICE_TRACE_RECORD=depth=128,free=4,sample=$gap,seed=1,follow
   export SLICE_TRACE_SPOOL SLICE_TRACE_RECORD LD_PRELOAD
   counted "$@")
}

cpu () # output file, command...: seconds, of all its processes
{
  output=$1
  shift
  /usr/bin/python3 -c 'import os, subprocess, sys
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

PYTHONHASHSEED=0
export PYTHONHASHSEED
printf '%-15s %13s %19s %8s %17s %17s %8s\n' "" instructions sampled plain \
  sampled "all recorded" samples
for name in cc1 python3 python3-malloc sqlite3 true
do
  eval "set -- $(run $name small)"
  command -v "$1" > null || { echo "$name: not installed"; continue; }
  case $name in
    python3-malloc) PYTHONMALLOC=malloc; export PYTHONMALLOC;;
    *) unset PYTHONMALLOC;;
  esac
  instructions=$(counted "$@")
  instructions_sampled=$(counted_sampled "$@")
  eval "set -- $(run $name large)"
  i=0
  while [ $i -lt "$times" ]
  do
    cpu $name.plain "$@"
    rm -f $name.trace* exact.trace*
    cpu $name.sampled "$trace" record -q --sample $gap -o $name.trace -- "$@"
    cpu $name.exact "$trace" record -q -o exact.trace -- "$@"
    i=$((i + 1))
  done
  samples=$([ -e $name.trace ] && "$trace" info $name.trace \
    | sed -n 's/^allocs //p')
  awk -v name=$name -v n="$instructions" -v n_sampled="$instructions_sampled" \
    -v plain="$(median $name.plain)" -v sampled="$(median $name.sampled)" \
    -v exact="$(median $name.exact)" -v samples="${samples:-0}" 'BEGIN {
    printf "%-15s %11.1f M %9.1f M", name, n / 1e6, n_sampled / 1e6
    if (plain < 0.05) { print ""; exit } # a start, no more
    printf " (%+.2f %%) %6.2f s %7.2f s (%.3f x) %7.2f s (%.2f x) %8d\n",
      100 * (n_sampled / n - 1), plain, sampled, sampled / plain, exact,
      exact / plain, samples }'
done
