#!/usr/bin/env python3
# clients-report.py - runs the programs in turn and prints the table
#
#   clients-report.py MEASURE SLICE-RUN SLICE-TEST INSTALLED-TESTS ROUNDS
#
# Times are those of the process as the kernel counts them, start-up included;
# CPU is user and system together.  RSS is the peak.
#
# SPDX-License-Identifier: MIT

import os
import re
import statistics
import subprocess
import sys
import tempfile

measurer, slice_run, slice_test, installed_tests, rounds = sys.argv[1:]
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
    ("drop-in", {}, [slice_run]),
]


def run(command, environment):
    """User, system and wall seconds and peak RSS in KiB; all that was said."""
    with tempfile.NamedTemporaryFile("r") as figures:
        done = subprocess.run([measurer, figures.name] + command,
                              env={**os.environ, **environment},
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        text = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            sys.exit("%s ended with %d:\n%s" % (" ".join(command),
                                                done.returncode, text))
        user, system, wall, rss = map(float, figures.read().split())
    return [user, user + system, wall, rss], text


def measure(program):
    name, command = program
    figures = {way: [] for way, _, _ in WAYS}
    for _ in range(rounds):
        for way, environment, prefix in WAYS:
            figures[way].append(run(prefix + command, environment)[0])
    medians = {way: [statistics.median(column)
                     for column in zip(*figures[way])] for way in figures}
    ratios = {}
    for way in ("GSlice", "malloc"):
        ratios[way] = [
            statistics.median(ours[i] / theirs[i] for ours, theirs
                              in zip(figures["drop-in"], figures[way]))
            for i in range(4)]
    print(name)
    for way, _, _ in WAYS:
        line = "  %-8s %7.3f s user %7.3f s CPU %7.3f s wall %7d KiB" % (
            way, *medians[way])
        if way in ratios:
            line += "  drop-in/%s: %.2f user %.2f CPU %.2f wall %.2f RSS" % (
                way, *ratios[way])
        print(line)
    count(command)
    sys.stdout.flush()


def count(command):
    """One more run that counts; its time is no figure."""
    _, text = run([slice_run, "--stats"] + command,
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
