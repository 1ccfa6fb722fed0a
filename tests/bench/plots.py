# plots.py - the pictures of a comparison, drawn by gnuplot as SVG and PNG
#
# Each picture is a gnuplot script made here, data and all, and kept beside
# the picture, so that it can be drawn again with other settings.
#
# SPDX-License-Identifier: MIT
import os
import subprocess
import sys

import figures

# One colour each, told apart by the colour-blind too (after Okabe and Ito);
# ours are the darkest, what is measured twice has a lighter shade.
STYLES = {
    "slice": ("#000000", 7), "slice-functions": ("#777777", 6),
    "slice-uncoloured": ("#bbbbbb", 6), "slice-4k": ("#999999", 6),
    "tlsf": ("#0b3d91", 4), "pool": ("#7a1f5c", 3),
    "gslice": ("#d55e00", 5), "glibc": ("#0072b2", 9),
    "jemalloc": ("#009e73", 11), "jemalloc-sized": ("#66c5ab", 10),
    "tcmalloc": ("#cc79a7", 13), "tcmalloc-sized": ("#e0afca", 12),
    "mimalloc": ("#e69f00", 15), "limit": ("#56b4e9", 2),
}
OTHER_STYLES = [("#8b4513", 8), ("#6a3d9a", 3), ("#b8860b", 4),
                ("#2f4f4f", 1)]
THREAD_GROUPS = ("slice-test-1024", "fifo-48", "working-set", "server")


def style(results, name):
    if name in STYLES:
        return STYLES[name]
    others = [c for c in results.contestants if c not in STYLES]
    return OTHER_STYLES[others.index(name) % len(OTHER_STYLES)]


def quoted(text):
    return '"%s"' % text.replace("_", "\\\\_")


class Picture:
    """A gnuplot script in the making."""

    def __init__(self, name, width, height):
        self.name, self.width, self.height = name, width, height
        self.lines = []
        self.n_blocks = 0

    def add(self, *lines):
        self.lines += lines

    def data(self, rows):
        """Puts rows into a data block and gives its name."""
        self.n_blocks += 1
        block = "$data%d" % self.n_blocks
        self.lines.append(block + " << END")
        self.lines += [" ".join(str(field) for field in row) for row in rows]
        self.lines.append("END")
        return block

    def draw(self, directory):
        for kind, terminal in (
                ("svg", 'svg size %d,%d font "sans,13" background "white"'),
                ("png", 'pngcairo size %d,%d font "sans,11"')):
            script = ["set terminal " + terminal % (self.width, self.height),
                      'set output "%s.%s"' % (self.name, kind),
                      "set encoding utf8"] + self.lines
            path = os.path.join(directory, self.name + ".gnuplot")
            with open(path, "w") as file:
                file.write("\n".join(script) + "\n")
            done = subprocess.run(["gnuplot", self.name + ".gnuplot"],
                                  cwd=directory, capture_output=True,
                                  text=True)
            if done.returncode != 0:
                print("compare: gnuplot, %s: %s" % (self.name,
                                                    done.stderr.strip()),
                      file=sys.stderr)


def curve(results, block, contestant, extra=""):
    colour, point = style(results, contestant)
    width = 3 if contestant == "slice" else 1.5
    return ("%s using 1:2 with linespoints linecolor rgb \"%s\" "
            "pointtype %d pointsize 0.8 linewidth %g title %s %s"
            % (block, colour, point, width, quoted(contestant), extra))


def draw_ratios(results, reference, directory):
    """A row a case, a point a contestant, whiskers the quartiles."""
    names = [name for name, case in results.cases.items()
             if case["figures"][0] in ("ns", "alloc_p999_ns")
             and case["workload"] not in ("live", "live-deep")
             and results.values(name, reference, case["figures"][0])]
    if not names:
        return
    picture = Picture("ratios", 1100, 120 + 26 * len(names))
    parts = []
    for contestant in results.contestants:
        if contestant == reference or contestant.endswith("-sized"):
            continue
        rows = []
        for row, name in enumerate(reversed(names)):
            ratios = results.ratios(name, contestant, reference,
                                    results.cases[name]["figures"][0])
            if ratios:
                low, middle, high = figures.quartiles(ratios)
                rows.append((middle, row, low, high))
        if rows:
            colour, point = style(results, contestant)
            parts.append(
                "%s using 1:2:3:4 with xerrorbars linecolor rgb \"%s\" "
                "pointtype %d pointsize 1.1 linewidth 1.5 title %s"
                % (picture.data(rows), colour, point, quoted(contestant)))
    labels = ", ".join("%s %d" % (quoted(name), row)
                       for row, name in enumerate(reversed(names)))
    picture.add(
        'set title "Time as a multiple of %s (left of the line: faster)"'
        % reference,
        "set logscale x 2", "set ytics (%s)" % labels,
        "set yrange [-0.6:%g]" % (len(names) - 0.4),
        'set format x "%g"', "set grid xtics ytics linecolor rgb '#dddddd'",
        "set key outside right top",
        "set arrow from 1, graph 0 to 1, graph 1 nohead linewidth 3 "
        "linecolor rgb '#000000' back",
        "plot " + ", \\\n  ".join(parts))
    picture.draw(directory)


def draw_threads(results, directory):
    groups = [group for group in THREAD_GROUPS
              if sum(name.startswith(group + "-t")
                     for name in results.cases) > 1]
    if not groups:
        return
    picture = Picture("threads", 1100, 420 * ((len(groups) + 1) // 2))
    blocks = []
    for group in groups:
        parts = []
        for contestant in results.contestants:
            rows = []
            for name in results.cases:
                if name.startswith(group + "-t"):
                    value = results.median(name, contestant, "ns")
                    if value is not None:
                        rows.append((int(name.rsplit("t", 1)[1]), value))
            if rows and not contestant.endswith("-sized"):
                parts.append(curve(results, picture.data(sorted(rows)),
                                   contestant))
        blocks.append((group, parts))
    picture.add("set multiplot layout %d,2" % ((len(groups) + 1) // 2),
                "set xtics (1, 2, 4, 8, 16)", "set logscale x 2",
                "set yrange [0:*]", "set xrange [0.9:4.4]",
                "set grid linecolor rgb '#dddddd'",
                'set xlabel "threads"', 'set ylabel "CPU ns a pair"',
                "set key outside right top")
    for group, parts in blocks:
        picture.add('set title "%s"' % group,
                    "plot " + ", \\\n  ".join(parts))
    picture.add("unset multiplot")
    picture.draw(directory)


def draw_live(results, directory):
    picture = Picture("live", 1100, 460)
    panels = []
    for name in ("live", "live-deep"):
        parts = []
        for contestant in results.contestants:
            points = figures.live_curve(results, name, contestant)
            if len(points) > 1 and not contestant.endswith("-sized"):
                parts.append(curve(results, picture.data(points),
                                   contestant))
        if parts:
            panels.append((name, parts))
    if not panels:
        return
    picture.add("set multiplot layout 1,%d" % len(panels), "set logscale x",
                'set format x "10^{%L}"', "set yrange [0:*]",
                "set grid linecolor rgb '#dddddd'",
                'set xlabel "live blocks of 64 bytes"',
                'set ylabel "CPU ns a pair, array accesses taken off"',
                "set key top left")
    titles = {"live": "1000 random blocks replaced at a time",
              "live-deep": "a tenth of all replaced at a time"}
    for name, parts in panels:
        picture.add('set title "%s"' % titles[name],
                    "plot " + ", \\\n  ".join(parts))
    picture.add("unset multiplot")
    picture.draw(directory)


def phase_progress(result):
    """The RSS series with its time scaled so that each phase is 1 wide."""
    values = result["figures"]
    ends = [0] + [values[name]["median"] for name in
                  ("grown_msec", "thinned_msec", "refilled_msec",
                   "freed_msec", "idle_end_msec")]
    rows = []
    for msec, megabytes in result["series"]["rss"]["points"]:
        phase = max(i for i in range(len(ends)) if ends[i] <= msec)
        if phase == len(ends) - 1:
            rows.append((len(ends) - 1 + (0.4 if msec > ends[-1] + 0.001
                                          else 0), megabytes))
        else:
            rows.append((phase + (msec - ends[phase])
                         / (ends[phase + 1] - ends[phase]), megabytes))
    return rows


def draw_phases(results, directory):
    if "phases" not in results.cases:
        return
    picture = Picture("phases", 1100, 560)
    parts = []
    for contestant in results.present("phases"):
        run = results.runs["phases", contestant, 0]
        if contestant.endswith("-sized"):
            continue
        if not parts:
            live = dict(run["result"])
            live["series"] = {"rss": run["result"]["series"]["live"]}
            parts.append("%s using 1:2 with filledcurves y1=0 "
                         "linecolor rgb '#e8e8e8' title 'live bytes'"
                         % picture.data(phase_progress(live)))
        colour, _ = style(results, contestant)
        parts.append("%s using 1:2 with lines linecolor rgb \"%s\" "
                     "linewidth %g title %s"
                     % (picture.data(phase_progress(run["result"])), colour,
                        3.5 if contestant == "slice" else 2,
                        quoted(contestant)))
    if not parts:
        return
    run = results.runs["phases", results.present("phases")[0], 0]
    idle = run["result"]["parameters"]["idle_msec"] / 1000
    picture.add(
        'set title "Resident memory through the phases of a program"',
        'set xtics ("grow" 0.5, "free 90 %%%%" 1.5, "refill" 2.5, '
        '"free all" 3.5, "%g s of low traffic" 4.5, "trim" 5.4) scale 0'
        % idle,
        "set xrange [0:5.6]", "set yrange [0:*]",
        "set grid ytics linecolor rgb '#dddddd'",
        'set ylabel "megabytes resident"', "set key outside right top")
    for edge in range(1, 6):
        picture.add("set arrow from %d, graph 0 to %d, graph 1 nohead "
                    "linecolor rgb '#aaaaaa' dashtype 2" % (edge, edge))
    picture.add("plot " + ", \\\n  ".join(parts))
    picture.draw(directory)


def draw_latency(results, directory):
    """x is the share of calls that took longer, so that the tail is wide."""
    if "latency" not in results.cases:
        return
    picture = Picture("latency", 1100, 460)
    panels = []
    for kind in ("alloc", "free"):
        parts = []
        for contestant in results.present("latency"):
            runs = [results.runs["latency", contestant, r]["result"]["series"]
                    [kind + "_latency"]["points"]
                    for r in results.rounds("latency")
                    if ("latency", contestant, r) in results.runs]
            rows = []
            for place, (percent, _) in enumerate(runs[0]):
                middle = figures.quartiles([run[place][1]
                                            for run in runs])[1]
                if 50 <= percent < 100 and middle > 0:
                    rows.append((1 / (1 - percent / 100), middle))
            if rows and not contestant.endswith("-sized"):
                parts.append(curve(results, picture.data(rows), contestant))
        if parts:
            panels.append((kind, parts))
    if not panels:
        return
    picture.add("set multiplot layout 1,%d" % len(panels), "set logscale xy",
                "set xrange [1.8:120000]",
                'set xtics ("50 %%" 2, "90 %%" 10, "99 %%" 100, '
                '"99.9 %%" 1000, '
                '"99.99 %%" 10000, "99.999 %%" 100000)',
                "set grid linecolor rgb '#dddddd'",
                'set xlabel "percentile of calls"',
                'set ylabel "ns, the clock taken off"', "set key top left")
    for kind, parts in panels:
        picture.add('set title "%s latency"' % kind,
                    "plot " + ", \\\n  ".join(parts))
    picture.add("unset multiplot")
    picture.draw(directory)


def draw_sizes(results, directory):
    picture = Picture("sizes", 1100, 460)
    parts = []
    for name in ("sizes", "sizes-4k"):
        if name not in results.cases:
            continue
        for contestant in results.present(name):
            if not contestant.endswith("-sized"):
                series = results.runs[name, contestant, 0]["result"][
                    "series"]["rss_per_byte"]["points"]
                parts.append(curve(results, picture.data(series),
                                   contestant))
    if not parts:
        return
    picture.add('set title "Resident bytes per byte asked for"',
                "set logscale x 2", "set yrange [0.98:1.7]",
                "set xrange [8:2048]",
                "set grid linecolor rgb '#dddddd'",
                'set xlabel "block size, bytes"',
                "set key outside right top",
                "plot " + ", \\\n  ".join(parts))
    picture.draw(directory)


def draw_all(results, reference, directory):
    draw_ratios(results, reference, directory)
    draw_threads(results, directory)
    draw_live(results, directory)
    draw_phases(results, directory)
    draw_latency(results, directory)
    draw_sizes(results, directory)
