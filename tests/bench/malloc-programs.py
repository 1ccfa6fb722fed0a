#!/usr/bin/env python3
# malloc-programs.py - programs under libslice-malloc and under other mallocs
#
#   malloc-programs.py [--rounds N] [--only PROGRAM,...] BUILD
#
# Each program runs with the C library's malloc, with ours, and with each other
# one that is installed, one after the other, N rounds (5).  Printed are CPU
# time and peak resident memory as the medians of each round's ratios to the C
# library's, and their geometric means.  It judges nothing: times belong to the
# machine.  BUILD is a build tree, with tests/clients/measure.
#
# SPDX-License-Identifier: MIT
import argparse
import glob
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

PYTHON = """
import json, re
table = {str(i): [i, i * 1.5, 'x' * (i % 60)] for i in range(60000)}
text = json.dumps(table)
for _ in range(3):
    back = json.loads(text)
words = re.findall('[0-9]+', text)
objects = [dict(a=w, b=[w] * 3) for w in words[:150000]]
print(len(back), len(objects))
"""
PERL = r"""
my %h; for my $i (1 .. 400000) { push @{$h{$i % 50000}}, "v$i" }
my $n = 0; $n += length join ',', @{$h{$_}} for sort keys %h;
print "$n\n";
"""
SQL = """
create table t (a integer primary key, b text, c real);
with recursive n (i) as (select 1 union all select i + 1 from n
  where i < 200000)
insert into t select i, hex(i * 7919), i * 0.5 from n;
create index u on t (b);
select count (*), sum (length (x.b)) from t x join t y on x.b = y.b
  where y.a % 3 = 0;
select substr (b, 1, 3) k, group_concat (a) from t group by k limit 3;
"""


def c_file():
    """A C file of many functions."""
    lines = ["#include <stdio.h>", "#include <string.h>",
             "#include <stdlib.h>"]
    for i in range(60):
        lines.append(f"""
struct s{i} {{ struct s{i} *next; int n[{i % 7 + 1}]; char text[{i % 50 + 8}]; }};
static int work{i} (struct s{i} *s, int n)
{{
  int sum = n;
  for (int i = 0; s != NULL && i < n; s = s->next, i++)
    {{
      switch ((s->n[0] + i) % 5)
        {{
        case 0: sum += (int) strlen (s->text) * {i}; break;
        case 1: sum ^= s->n[i % {i % 7 + 1}]; break;
        case 2: memset (s->text, i, sizeof s->text); break;
        default: sum -= printf ("%d %s", sum, s->text);
        }}
    }}
  return sum;
}}
int call{i} (void *p, int n) {{ return work{i} (p, n) + work{i} (p, {i}); }}
""")
    return "\n".join(lines)


def programs(folder):
    """Name, command, and what it needs."""
    def put(name, text):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    numbers = put("numbers", "".join(f"{i * 7919 % 1000003}\n"
                                     for i in range(1000000)))
    source = put("many.c", c_file())
    document = put("doc.json", "[" + ",".join(
        '{"id":%d,"name":"n%d","tags":["a","b%d"],"v":%f}'
        % (i, i, i % 99, i / 7) for i in range(60000)) + "]")
    sql = put("script.sql", SQL)
    lines = put("lines", "".join(f"w{i % 7001} {i} x{i % 13}\n"
                                 for i in range(600000)))
    return [
        ("python3", ["python3", "-c", PYTHON]),
        ("perl", ["perl", "-e", PERL]),
        ("cc1 -O2", ["gcc", "-O2", "-S", "-o", os.devnull, source]),
        ("clang -O2", ["clang", "-O2", "-S", "-o", os.devnull, source]),
        ("sort", ["sort", "--parallel=1", "-n", "-o", os.devnull, numbers]),
        ("sqlite3", ["sqlite3", "-init", sql, ":memory:", ".quit"]),
        ("jq", ["jq", "-c", "group_by(.tags[1]) | map(length)", document]),
        ("gawk", ["gawk", "{ n[$1] = n[$1] \" \" $2 } END { for (k in n) "
                          "m += length(n[k]); print m }", lines]),
        ("git", ["git", "diff", "--no-index", "--stat", "--patience", numbers,
                 lines]),
        ("sed", ["sed", "-n", "H;${x;s/\\n/,/g;p}", numbers]),
    ]


def allocators(build):
    ours = (f"{build}/slice/.libs/libslice.so.0:"
            f"{build}/slice/dropin/.libs/libslice-malloc.so")
    found = [("glibc", ""), ("slice", ours)]
    for name, pattern in (("jemalloc", "libjemalloc.so.2"),
                          ("tcmalloc", "libtcmalloc_minimal.so.4"),
                          ("mimalloc", "libmimalloc.so.*")):
        paths = sorted(p for folder in ("/usr/lib/*", "/usr/lib", "/usr/local/lib")
                       for p in glob.glob(f"{folder}/{pattern}"))
        if paths:
            found.append((name, paths[-1]))
    return found


def measure(build, command, library, folder):
    """CPU seconds and peak KiB of one run."""
    out = os.path.join(folder, "used")
    environment = dict(os.environ, LC_ALL="C")
    environment.pop("SLICE_OPTIONS", None)
    # The measuring program itself is small and stays as it is.
    run = [f"{build}/tests/clients/measure", out, "env"]
    run += [f"LD_PRELOAD={library}"] if library else []
    subprocess.run(run + command, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env=environment, check=False)
    with open(out) as file:
        user, system, _, peak = map(float, file.read().split())
    return user + system, peak


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("build")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    only = [n for n in arguments.only.split(",") if n]
    means = {}
    with tempfile.TemporaryDirectory() as folder:
        mallocs = allocators(build)
        rivals = [name for name, _ in mallocs[1:]]
        print("CPU time / peak RSS, of glibc's; medians of "
              f"{arguments.rounds} interleaved rounds\n")
        print(f"{'':10} {'glibc':>15}" + "".join(f"{n:>13}" for n in rivals))
        for name, command in programs(folder):
            if shutil.which(command[0]) is None:
                continue
            if only and name.split()[0] not in only:
                continue
            used = {n: [] for n, _ in mallocs}
            for _ in range(arguments.rounds):
                for malloc, library in mallocs:
                    used[malloc].append(measure(build, command, library,
                                                folder))
            base = used["glibc"]
            row = (f"{name:10} {statistics.median(b[0] for b in base):6.2f} s "
                   f"{statistics.median(b[1] for b in base) / 1024:4.0f} MB")
            for rival in rivals:
                ratios = [statistics.median(u[k] / max(b[k], 1e-3) for u, b
                                            in zip(used[rival], base))
                          for k in (0, 1)]
                means.setdefault(rival, []).append(ratios)
                row += f"  {ratios[0]:.2f}/{ratios[1]:.2f}"
            print(row, flush=True)
    row = f"{'mean':26}"
    for rival in rivals:
        row += "  " + "/".join(
            f"{math.exp(statistics.mean(math.log(r[k]) for r in means[rival])):.2f}"
            for k in (0, 1))
    print(row)


if __name__ == "__main__":
    sys.exit(main())
