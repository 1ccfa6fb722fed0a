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

# One colour each, distinct for the colour-blind, too (after Okabe and Ito);
# ours are the darkest, what is measured twice has a lighter shade.
STYLES = {
    "slice": ("#000000", 7), "slice-functions": ("#777777", 6),
    "slice-4k": ("#999999", 6),
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


GRID = "linetype 1 linewidth 1 linecolor rgb '#e0e0e0'"
DODGE = 0.62    # of a row's height, over which contestants are spread


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


def curve(results, block, contestant, look="linespoints"):
    colour, point = style(results, contestant)
    width = 3 if contestant == "slice" else 1.5
    columns = "1:2:3:4" if look == "yerrorlines" else "1:2"
    points = ("pointtype %d pointsize 0.8 " % point) if look != "lines" else ""
    return ("%s using %s with %s linecolor rgb \"%s\" %s"
            "linewidth %g title %s"
            % (block, columns, look, colour, points, width,
               quoted(contestant)))


def drawn(results):
    """Those with a curve of their own: not the second way to call a peer."""
    return [c for c in results.contestants if not c.endswith("-sized")]


def draw_ratios(results, reference, directory):
    """A row a case, a point a contestant, whiskers the quartiles; points of
    a row lie a little below each other, so that none hides another."""
    names = [name for name, case in results.cases.items()
             if case["figures"][0] in ("ns", "alloc_p999_ns")
             and case["workload"] not in ("live", "live-deep")
             and results.values(name, reference, case["figures"][0])]
    if not names:
        return
    others = [c for c in drawn(results) if c != reference]
    picture = Picture("ratios", 1150, 130 + 34 * len(names))
    parts = []
    for place, contestant in enumerate(others):
        dodge = DODGE * (0.5 - place / max(len(others) - 1, 1))
        rows = []
        for row, name in enumerate(reversed(names)):
            ratios = results.ratios(name, contestant, reference,
                                    results.cases[name]["figures"][0])
            if ratios:
                low, middle, high = figures.quartiles(ratios)
                rows.append((middle, row + dodge, low, high))
        if rows:
            colour, point = style(results, contestant)
            parts.append(
                "%s using 1:2:3:4 with xerrorbars linecolor rgb \"%s\" "
                "pointtype %d pointsize 1 linewidth 1.2 title %s"
                % (picture.data(rows), colour, point, quoted(contestant)))
    labels = ", ".join("%s %d" % (quoted(name), row)
                       for row, name in enumerate(reversed(names)))
    for row in range(0, len(names), 2):
        picture.add("set object rectangle from graph 0, first %g to graph 1, "
                    "first %g behind fillcolor rgb '#f4f4f4' fillstyle solid "
                    "noborder" % (row - 0.5, row + 0.5))
    picture.add(
        'set title "CPU time as a multiple of %s (latency: p99.9 of '
        'allocations)"' % reference,
        "set logscale x 2", "set ytics (%s) scale 0" % labels,
        "set yrange [-0.5:%g]" % (len(names) - 0.5),
        'set format x "%g"', "set grid xtics " + GRID, "set errorbars 0.4",
        'set xlabel "left of the line: faster than %s; right: slower.  '
        'Medians and quartiles of the ratio within a round"' % reference,
        "set key outside right top",
        "set arrow from 1, graph 0 to 1, graph 1 nohead linewidth 2 "
        "linecolor rgb '#000000' back",
        "plot " + ", \\\n  ".join(parts))
    picture.draw(directory)


def add_panels(picture, panels, n_columns, settings):
    """Draws (title, parts) side by side, with one key for all at the right:
    an empty plot of its own."""
    n_rows = (len(panels) + n_columns - 1) // n_columns
    right = 1 - 190 / picture.width
    names = {}
    for _, parts in panels:
        for part in parts:
            head, title = part.rsplit(" title ", 1)
            names.setdefault(title.strip(), head.split(" with ", 1)[1]
                             .replace("yerrorlines", "linespoints"))
    picture.add("set multiplot", "unset key", *settings)
    for number, (title, parts) in enumerate(panels):
        column, row = number % n_columns, number // n_columns
        picture.add(
            "set origin %g, %g" % (column * right / n_columns,
                                   1 - (row + 1) / n_rows),
            "set size %g, %g" % (right / n_columns, 1 / n_rows),
            'set title "%s"' % title,
            "plot " + ", \\\n  ".join(parts))
    picture.add(
        "reset", "unset border", "unset tics", "unset xlabel",
        "set origin %g, 0" % right, "set size %g, 1" % (1 - right),
        "set key at screen 0.995, screen 0.95 right top", "set xrange [0:1]",
        "set yrange [0:1]",
        "plot " + ", \\\n  ".join("NaN with %s title %s" % (look, title)
                                   for title, look in names.items()),
        "unset multiplot")


def draw_threads(results, directory):
    groups = [group for group in THREAD_GROUPS
              if sum(name.startswith(group + "-t")
                     for name in results.cases) > 1]
    if not groups:
        return
    picture = Picture("threads", 1150, 400 * ((len(groups) + 1) // 2))
    panels = []
    for group in groups:
        parts = []
        for contestant in drawn(results):
            rows = []
            for name in results.cases:
                if name.startswith(group + "-t"):
                    values = results.values(name, contestant, "ns")
                    if values:
                        low, middle, high = figures.quartiles(values)
                        rows.append((int(name.rsplit("t", 1)[1]), middle,
                                     low, high))
            if rows:
                parts.append(curve(results, picture.data(sorted(rows)),
                                   contestant, "yerrorlines"))
        panels.append((group, parts))
    add_panels(picture, panels, 2, [
        "set xtics (1, 2, 4, 8, 16)", "set logscale xy 2",
        "set xrange [0.9:4.4]", 'set format y "%g"',
        "set grid xtics ytics " + GRID, "set errorbars 0.5",
        'set xlabel "threads"', 'set ylabel "CPU ns a pair"'])
    picture.draw(directory)


def draw_live(results, directory):
    picture = Picture("live", 1150, 460)
    panels = []
    titles = {"live": "1000 random blocks replaced at a time",
              "live-deep": "a tenth of all replaced at a time"}
    for name in ("live", "live-deep"):
        parts = []
        for contestant in drawn(results):
            points = figures.live_curve(results, name, contestant)
            if len(points) > 1:
                parts.append(curve(results, picture.data(points),
                                   contestant))
        if parts:
            panels.append((titles[name], parts))
    if not panels:
        return
    add_panels(picture, panels, len(panels), [
        "set logscale xy", 'set format x "10^{%L}"', 'set format y "%g"',
        "set xrange [7e2:1.4e7]", "set grid xtics ytics " + GRID,
        'set xlabel "live blocks of 64 bytes"',
        'set ylabel "CPU ns a pair, array accesses taken off"'])
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
    picture = Picture("phases", 1150, 560)
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
        "set grid ytics " + GRID,
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
    picture = Picture("latency", 1150, 460)
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
            panels.append((kind + " latency", parts))
    if not panels:
        return
    add_panels(picture, panels, len(panels), [
        "set logscale xy", "set xrange [1.8:200000]",
        'set xtics ("50 %%" 2, "90 %%" 10, "99 %%" 100, "99.9 %%" 1000, '
        '"99.99 %%" 10000, "99.999 %%" 100000) font ",9"',
        "set yrange [3:*]", 'set format y "10^{%L}"',
        "set grid xtics ytics " + GRID,
        'set xlabel "percentile of calls"',
        'set ylabel "ns, the clock taken off"'])
    picture.draw(directory)


def draw_sizes(results, directory):
    picture = Picture("sizes", 1150, 460)
    parts = []
    for name in ("sizes", "sizes-4k"):
        if name not in results.cases:
            continue
        for contestant in results.present(name):
            if not contestant.endswith("-sized"):
                series = results.runs[name, contestant, 0]["result"][
                    "series"]["rss_per_byte"]["points"]
                parts.append(curve(results, picture.data(series),
                                   contestant, "linespoints" if contestant
                                   == "slice" else "lines"))
    if not parts:
        return
    picture.add('set title "Resident bytes per byte asked for"',
                "set logscale x 2", "set yrange [1:1.6]",
                "set xrange [8:2048]",
                "set grid xtics ytics " + GRID,
                'set xlabel "block size, bytes"',
                'set ylabel "resident / asked for"',
                "set key outside right top",
                "plot " + ", \\\n  ".join(parts))
    picture.draw(directory)


def draw_histograms(results, kind, directory):
    """A small panel a workload: which share has which size, or lifetime."""
    histograms = results.data.get("histograms", {})
    names = [name for name in histograms if histograms[name][kind]["points"]]
    if not names:
        return
    n_columns = 4
    n_rows = (len(names) + n_columns - 1) // n_columns
    picture = Picture("histogram-" + kind, 1150, 165 * n_rows + 40)
    titles = {"sizes": "Sizes of the blocks of each workload, bytes",
              "lifetimes": "Lifetimes of the blocks of each workload, "
                           "in allocations made meanwhile"}
    parts = []
    for name in names:
        points = histograms[name][kind]["points"]
        total = sum(count for _, count in points)
        rows = [(max(start, 1), 100 * count / total)
                for start, count in points]
        parts.append((name, picture.data(rows), max(y for _, y in rows)))
    picture.add("set multiplot layout %d,%d title \"%s\""
                % (n_rows, n_columns, titles[kind]),
                "unset key", "set logscale x 2", "set tics font ',8' nomirror",
                "set border 3", "set title offset 0,-0.7 font ',10'",
                "set yrange [0:*]", "set xrange [%s]"
                % ("4:4096" if kind == "sizes" else "0.7:1e6"),
                'set format x "%g"' if kind == "sizes"
                else 'set format x "2^{%L}"', 'set format y "%g %%"',
                "set grid ytics " + GRID)
    for name, block, top in parts:
        step = next(step for step in (5, 10, 20, 50) if top <= 4 * step)
        picture.add('set title "%s"' % name, "set ytics 0, %d" % step,
                    "plot %s using 1:2 with impulses linewidth 4 "
                    "linecolor rgb '#0072b2'" % block)
    picture.add("unset multiplot")
    picture.draw(directory)


def draw_all(results, reference, directory):
    draw_ratios(results, reference, directory)
    draw_threads(results, directory)
    draw_live(results, directory)
    draw_phases(results, directory)
    draw_latency(results, directory)
    draw_sizes(results, directory)
    for kind in ("sizes", "lifetimes"):
        draw_histograms(results, kind, directory)
