#!/usr/bin/env python3
# clients-report.py - runs the programs in turn and prints the table
#
#   clients-report.py SLICE-RUN SLICE-TEST INSTALLED-TESTS ROUNDS
#
# Times are CPU time (user and system) of the process, as the kernel counts
# it, start-up included.  RSS is the peak.
#
# SPDX-License-Identifier: MIT

import os
import re
import statistics
import sys
import tempfile
import time

slice_run, slice_test, installed_tests, rounds = sys.argv[1:]
rounds = int(rounds)

GST = ["gst-launch-1.0", "-q", "fakesrc", "num-buffers=500000"]
WALK = [slice_test, "--quiet", "--json", "--mode=gslice", "--rounds=5000"]

PROGRAMS = [
    ("gst: fakesrc ! queue ! queue ! fakesink",
     GST + ["!", "queue", "!", "queue", "!", "fakesink"]),
    ("gst: fakesrc ! fakesink", GST + ["!", "fakesink"]),
    ("slice-test's walk, 512 bytes", WALK + ["--max-size=512"]),
    ("slice-test's walk, 1024 bytes", WALK + ["--max-size=1024"]),
    ("GLib's slice-concurrent",
     [os.path.join(installed_tests, "slice-concurrent")]),
    ("GLib's slice-color", [os.path.join(installed_tests, "slice-color")]),
]

WAYS = [
    ("GSlice", {"G_SLICE": ""}, []),
    ("malloc", {"G_SLICE": "always-malloc"}, []),
    ("drop-in", {}, ["sh", slice_run]),
]


def run(command, environment):
    """CPU seconds, wall seconds, peak RSS in KiB, and all that was said."""
    with tempfile.TemporaryFile() as said:
        start = time.monotonic()
        pid = os.posix_spawnp(
            command[0], command, {**os.environ, **environment},
            file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), 1),
                          (os.POSIX_SPAWN_DUP2, said.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - start
        said.seek(0)
        text = said.read().decode(errors="replace")
    if status != 0:
        sys.exit("%s ended with %d:\n%s" % (" ".join(command), status, text))
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss, text


def measure(program):
    name, command = program
    figures = {way: [] for way, _, _ in WAYS}
    for _ in range(rounds):
        for way, environment, prefix in WAYS:
            cpu, wall, rss, text = run(prefix + command, environment)
            figures[way].append((cpu, wall, rss))
    medians = {way: [statistics.median(column)
                     for column in zip(*figures[way])] for way in figures}
    ratios = {}
    for way in ("GSlice", "malloc"):
        ratios[way] = [
            statistics.median(ours[i] / theirs[i] for ours, theirs
                              in zip(figures["drop-in"], figures[way]))
            for i in range(3)]
    print(name)
    for way, _, _ in WAYS:
        cpu, wall, rss = medians[way]
        line = "  %-8s  %7.3f s CPU  %7.3f s wall  %7d KiB" % (
            way, cpu, wall, rss)
        if way in ratios:
            line += "   drop-in / %s: %.2f CPU, %.2f wall, %.2f RSS" % (
                way, *ratios[way])
        print(line)
    count(command)
    sys.stdout.flush()


def count(command):
    """One more run that counts; its time is no figure."""
    _, _, _, text = run(["sh", slice_run, "--stats"] + command,
                        {"SLICE_OPTIONS": "count"})
    calls = re.search(r"(\d+) blocks allocated, (\d+) freed", text)
    border = re.search(r"(\d+) blocks of GLib's passed on, (\d+) of ours",
                       text)
    if calls is None or border is None:
        return
    hits, at = 0, None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["size"]:
            at = words.index("hits")
        elif at is not None and words and words[0].isdigit():
            hits += int(words[at])
    n_calls = int(calls.group(1)) + int(calls.group(2))
    print("  %d calls, %.2f %% served by the thread's own magazines; "
          "%s blocks of GLib's passed on, %s came home"
          % (n_calls, 100.0 * hits / n_calls, *border.groups()))


print("%d rounds, interleaved; medians, and medians of each round's ratio"
      % rounds)
for program in PROGRAMS:
    measure(program)
