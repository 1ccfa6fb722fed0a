#!/usr/bin/env python3
# clients-report.py - runs the programs in turn and prints the table
#
#   clients-report.py MEASURE SLICE-RUN SLICE-TEST INSTALLED-TESTS
#                     GLIB-REBUILT ROUNDS
#
# Times are those of the process as the kernel counts them, start-up included;
# CPU is user and system together.  RSS is the peak.
#
# SPDX-License-Identifier: MIT

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

(measurer, slice_run, slice_test, installed_tests, glib_rebuilt,
 rounds) = sys.argv[1:]
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


def instructions(command_for):
    """Instructions a buffer, under callgrind: they repeat exactly."""
    print("gst: fakesrc ! queue ! queue ! fakesink, instructions a buffer")
    few, many = 10000, 30000
    counts = {}
    for way, environment, prefix in WAYS:
        refs = []
        for n in (few, many):
            tool = ["valgrind", "--tool=callgrind",
                    "--callgrind-out-file=/dev/null"]
            _, text = run(prefix + tool + command_for(n),
                          {**environment, "SLICE_OPTIONS": "force-pool"})
            found = re.search(r"I +refs: +([0-9,]+)", text)
            refs.append(int(found.group(1).replace(",", "")))
        counts[way] = (refs[1] - refs[0]) / (many - few)
    for way in counts:
        print("  %-8s %6.0f   %.3f of GSlice's"
              % (way, counts[way], counts[way] / counts["GSlice"]))


def resident(command, environment, seconds):
    """Anonymous memory of a program after so many seconds, KiB; None if it
    did not stay so long."""
    with open(os.devnull, "w") as nowhere:
        process = subprocess.Popen(command, env={**os.environ, **environment},
                                   stdout=nowhere, stderr=nowhere)
        time.sleep(seconds)
        if process.poll() is not None:
            return None
        with open("/proc/%d/status" % process.pid) as status:
            found = re.search(r"RssAnon:\s+(\d+)", status.read())
        process.terminate()
        process.wait()
    return int(found.group(1))


def gtk(seconds=10, n_rounds=3):
    """The widget factory in a browser that nobody opens."""
    print("gtk3-widget-factory after %d s, RssAnon, medians of %d"
          % (seconds, n_rounds))
    display = {"GDK_BACKEND": "broadway", "BROADWAY_DISPLAY": ":57",
               "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1",
               "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
    ways = list(WAYS)
    rebuilt = os.path.join(glib_rebuilt, "build")
    if os.path.exists(os.path.join(rebuilt, "glib", "libglib-2.0.so.0")):
        path = ":".join([os.environ.get("LD_LIBRARY_PATH", "")]
                        + [os.path.join(rebuilt, part) for part in
                           ("glib", "gobject", "gio", "gmodule", "gthread")])
        ways.append(("rebuilt", {"LD_LIBRARY_PATH": path.lstrip(":")}, []))
    server = subprocess.Popen(["broadwayd", ":57"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)  # until it listens
        sizes = {way: [] for way, _, _ in ways}
        for _ in range(n_rounds):
            for way, environment, prefix in ways:
                size = resident(prefix + ["gtk3-widget-factory"],
                                {**display, **environment}, seconds)
                if size is not None:
                    sizes[way].append(size)
    finally:
        server.terminate()
        server.wait()
    theirs = statistics.median(sizes["GSlice"])
    for way in sizes:
        if len(sizes[way]) < n_rounds:
            print("  %-8s ended early (a GLib rebuilt on older slices?)" % way)
            continue
        ours = statistics.median(sizes[way])
        print("  %-8s %6d KiB   %.2f of GSlice's" % (way, ours, ours / theirs))


print("%d rounds, interleaved; medians, and medians of each round's ratio"
      % rounds)
for program in PROGRAMS:
    measure(program)
if shutil.which("valgrind"):
    instructions(lambda n: ["gst-launch-1.0", "-q", "fakesrc",
                            "num-buffers=%d" % n, "!", "queue", "!", "queue",
                            "!", "fakesink"])
if shutil.which("broadwayd") and shutil.which("gtk3-widget-factory"):
    gtk()
