#!/usr/bin/env python3
# malloc-programs.py - programs under libslice-malloc and under other mallocs
#
#   malloc-programs.py [OPTION]... BUILD
#
#   --rounds N          rounds (5)
#   --only PROGRAM,...  these alone, by the first word of their names
#   --peers DIR         also the mallocs that `peers' (beside this) has built there
#   --add NAME=FILE     and another one; FILE may be several, with `:' between
#   --part N            inputs of an Nth of the usual size (1)
#   --instructions      counts instructions, by callgrind, instead: 20 to 100
#                       times as slow, so --part=10 is a good size
#
# Each program runs with the C library's malloc, with ours, and with each other
# one that is there, one after the other, N rounds.  Printed are CPU time and
# peak resident memory as the medians of each round's ratios to the C library's,
# and their geometric means.  It judges nothing: times belong to the machine.
# BUILD is a build tree, with tests/clients/measure.
#
# SPDX-License-Identifier: MIT
import argparse
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

from workloads import programs


def allocators(build, peers, added):
    """Names and what is preloaded."""
    ours = (f"{build}/slice/.libs/libslice.so.0:"
            f"{build}/slice/dropin/.libs/libslice-malloc.so")
    found = [("glibc", ""), ("slice", ours)]
    for name, pattern in (("jemalloc", "libjemalloc.so.2"),
                          ("tcmalloc", "libtcmalloc_minimal.so.4"),
                          ("mimalloc", "libmimalloc.so.*")):
        paths = sorted(p for folder in ("/usr/lib/*", "/usr/lib",
                                        "/usr/local/lib")
                       for p in glob.glob(f"{folder}/{pattern}"))
        if paths:
            found.append((name, paths[-1]))
    if peers:
        with open(os.path.join(peers, "peers.json")) as file:
            found += [(p["name"], p["object"]) for p in json.load(file)]
    return found + [tuple(a.split("=", 1)) for a in added]


def environment_of(name):
    environment = dict(os.environ, LC_ALL="C")
    environment.pop("SLICE_OPTIONS", None)
    if name == "python3-m":
        environment["PYTHONMALLOC"] = "malloc"
    return environment


def quiet(command, environment):
    return subprocess.run(command, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=environment, check=False)


def measure(build, name, command, library, folder):
    """CPU seconds and peak KiB of one run."""
    out = os.path.join(folder, "used")
    # The measuring program itself is small and stays as it is.
    run = [f"{build}/tests/clients/measure", out, "env"]
    run += [f"LD_PRELOAD={library}"] if library else []
    quiet(run + command, environment_of(name))
    with open(out) as file:
        user, system, _, peak = map(float, file.read().split())
    return user + system, peak


def count(_build, name, command, library, _folder):
    """Millions of instructions of one run, with the processes it starts."""
    environment = dict(environment_of(name), SLICE_OPTIONS="force-pool")
    if library:
        environment["LD_PRELOAD"] = library
    said = quiet(["valgrind", "--tool=callgrind", "--trace-children=yes",
                  "--callgrind-out-file=" + os.devnull]
                 + command, environment).stderr.decode()
    counted = [int(n) for n in re.findall(r"Collected : (\d+)", said)]
    if not counted:
        sys.exit(f"{name}: callgrind counted nothing:\n{said}")
    return (sum(counted) / 1e6,)


def row_start(name, base, instructions):
    medians = [statistics.median(column) for column in zip(*base)]
    if instructions:
        return f"{name:10} {medians[0]:10.1f} M   "
    return f"{name:10} {medians[0]:6.2f} s {medians[1] / 1024:4.0f} MB"


def parse_arguments():
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--rounds", type=int, default=5)
    add("--only", default="")
    add("--peers")
    add("--add", action="append", default=[], metavar="NAME=FILE")
    add("--part", type=int, default=1)
    add("--instructions", action="store_true")
    add("build")
    return parser.parse_args()


def table(arguments, mallocs, folder):
    """Prints a row for each program; returns all ratios by allocator."""
    build = os.path.abspath(arguments.build)
    only = [n for n in arguments.only.split(",") if n]
    once = count if arguments.instructions else measure
    all_ratios = {}
    for name, command in programs(folder, arguments.part):
        if only and name.split()[0] not in only:
            continue
        used = {n: [] for n, _ in mallocs}
        for _ in range(arguments.rounds):
            for malloc, library in mallocs:
                used[malloc].append(once(build, name, command, library,
                                         folder))
        base = used["glibc"]
        row = row_start(name, base, arguments.instructions)
        for rival, _ in mallocs[1:]:
            ratios = [statistics.median(u[k] / max(b[k], 1e-3) for u, b
                                        in zip(used[rival], base))
                      for k in range(len(base[0]))]
            all_ratios.setdefault(rival, []).append(ratios)
            row += f"{'/'.join(f'{r:.2f}' for r in ratios):>12}"
        print(row, flush=True)
    return all_ratios


def main():
    arguments = parse_arguments()
    if not os.path.exists(f"{arguments.build}/tests/clients/measure"):
        sys.exit("first: make -C BUILD tests/clients/measure")
    mallocs = allocators(os.path.abspath(arguments.build), arguments.peers,
                         arguments.add)
    if arguments.instructions:
        arguments.rounds = 1
        print(f"Instructions, of glibc's; inputs of 1/{arguments.part}\n")
    else:
        print("CPU time / peak RSS, of glibc's; medians of "
              f"{arguments.rounds} interleaved rounds\n")
    print(f"{'':10} {'glibc':>15}" + "".join(f"{n:>12}" for n, _
                                             in mallocs[1:]))
    with tempfile.TemporaryDirectory() as folder:
        means = table(arguments, mallocs, folder)
    row = f"{'mean':26}"
    for ratios in means.values():
        mean = "/".join(
            f"{math.exp(statistics.mean(math.log(r) for r in column)):.2f}"
            for column in zip(*ratios))
        row += f"{mean:>12}"
    print(row)


if __name__ == "__main__":
    sys.exit(main())
