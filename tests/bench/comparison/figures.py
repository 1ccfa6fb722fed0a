# figures.py - from runs to tables: ratios within a round, their spread
#
# SPDX-License-Identifier: MIT
import statistics


def quartiles(values):
    """Lower quartile, median, upper quartile."""
    values = sorted(values)

    def at(q):
        place = q * (len(values) - 1)
        below = int(place)
        above = min(below + 1, len(values) - 1)
        return values[below] + (place - below) * (values[above]
                                                  - values[below])
    return at(0.25), at(0.5), at(0.75)


def deviation(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


class Results:
    """The runs of a results file, by case, contestant and round."""

    def __init__(self, data):
        self.data = data
        self.runs = {}
        for run in data["runs"]:
            self.runs[run["case"], run["contestant"], run["round"]] = run
        self.contestants = [c["name"] for c in data["contestants"]]
        self.kinds = {c["name"]: c["kind"] for c in data["contestants"]}
        self.cases = {c["name"]: c for c in data["cases"]}

    def rounds(self, case):
        return sorted({r for c, _, r in self.runs if c == case})

    def value(self, case, contestant, number, figure):
        run = self.runs.get((case, contestant, number))
        if run is None or figure not in run["result"]["figures"]:
            return None
        return run["result"]["figures"][figure][
            self.cases[case]["statistic"]]

    def values(self, case, contestant, figure):
        found = [self.value(case, contestant, r, figure)
                 for r in self.rounds(case)]
        return [value for value in found if value is not None]

    def median(self, case, contestant, figure):
        values = self.values(case, contestant, figure)
        return statistics.median(values) if values else None

    def peers(self, case, figure):
        """The mallocs that ran this case, the best first."""
        ran = [c for c in self.contestants if self.kinds[c] == "peer"
               and self.values(case, c, figure)]
        return sorted(ran, key=lambda c: self.median(case, c, figure))

    def ratios(self, case, contestant, reference, figure):
        """The ratio in each round where both ran."""
        ratios = []
        for number in self.rounds(case):
            over = self.value(case, contestant, number, figure)
            under = self.value(case, reference, number, figure)
            if over is not None and under:
                ratios.append(over / under)
        return ratios

    def present(self, case):
        return [c for c in self.contestants
                if any((case, c, r) in self.runs for r in self.rounds(case))]


def number(value):
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return "%.4gM" % (value / 1e6)
    return "%.4g" % value


def case_lines(results, name, reference):
    """A table for each figure of a case."""
    case = results.cases[name]
    for figure in case["figures"]:
        rows = [c for c in results.present(name)
                if results.values(name, c, figure)]
        if not rows:
            continue
        yield ""
        yield "%s: %s (slice-bench %s %s; %d rounds, %s of the laps)" % (
            name, figure, case["workload"], " ".join(case["arguments"]),
            len(results.rounds(name)), case["statistic"])
        yield "  %-18s %10s %21s %9s   %9s %21s" % (
            "", "median", "quartiles", "deviation", "/" + reference[:9],
            "quartiles")
        for contestant in rows:
            values = results.values(name, contestant, figure)
            low, middle, high = quartiles(values)
            line = "  %-18s %10s %10s %10s %9s" % (
                contestant, number(middle), number(low), number(high),
                number(deviation(values)))
            ratios = results.ratios(name, contestant, reference, figure)
            if ratios:
                line += "   %9.3f %10.3f %10.3f" % (
                    (quartiles(ratios)[1], quartiles(ratios)[0],
                     quartiles(ratios)[2]))
            yield line


def ratio_row(results, wanted):
    """(ratio quartiles or None, whom against) of a wanted."""
    if wanted.case not in results.cases:
        return None, ""
    if wanted.against == "":
        values = results.values(wanted.case, wanted.contestant,
                                wanted.figure)
        return (quartiles(values) if values else None), ""
    against = wanted.against
    if against == "peers":
        peers = results.peers(wanted.case, wanted.figure)
        if not peers:
            return None, ""
        against = peers[0]
    ratios = results.ratios(wanted.case, wanted.contestant, against,
                            wanted.figure)
    return (quartiles(ratios) if ratios else None), against


def ratio_lines(results, wanted):
    yield ""
    yield "Main ratios (medians of the ratio within a round)"
    yield "  %-46s %-16s %8s %17s" % ("", "against", "ratio", "quartiles")
    for row in wanted:
        spread, against = ratio_row(results, row)
        if spread is not None:
            yield "  %-46s %-16s %8.3f %8.3f %8.3f" % (
                row.what, against, spread[1], spread[0], spread[2])
    for name in ("live", "live-deep"):
        flat = flatness(results, name)
        if flat is not None:
            yield "  %-46s %-16s %8.3f" % (
                name + ": most over least, 10^3 to 10^7 blocks", "", flat)


def shared_nothing_lines(results):
    """What threads that share nothing cost, as a ratio to what one costs: of
    each contestant, the worst of the cases and which it is."""
    cases = [name for name in results.cases
             if name.startswith(("table-lifo", "table-fifo", "table-skewed",
                                 "table-slice-test", "table-tree"))]
    for threads in (2, 4):
        pairs = [(name[:-1] + "1", name) for name in cases
                 if name.endswith("-t%d" % threads)]
        pairs = [pair for pair in pairs if pair[0] in results.cases]
        if not pairs:
            continue
        yield ""
        yield "%d threads that share nothing, against one (the worst)" % threads
        for contestant in results.contestants:
            worst = shared_nothing_worst(results, contestant, pairs)
            if worst is not None:
                yield "  %-46s %-16s %8.3f" % (contestant, worst[1][6:],
                                               worst[0])


def shared_nothing_worst(results, contestant, pairs):
    found = []
    for alone, together in pairs:
        one = results.median(alone, contestant, "ns")
        more = results.median(together, contestant, "ns")
        if one and more:
            found.append((more / one, together))
    return max(found) if found else None


def live_curve(results, name, contestant):
    """(live blocks, median net_ns) in order."""
    points = []
    for case in results.cases.values():
        if case["workload"] == name:
            value = results.median(case["name"], contestant, "net_ns")
            if value is not None:
                points.append((int(case["name"].rsplit("-", 1)[1]), value))
    return sorted(points)


def flatness(results, name):
    points = live_curve(results, name, "slice")
    if len(points) < 2 or min(value for _, value in points) <= 0:
        return None
    return (max(value for _, value in points)
            / min(value for _, value in points))


def histogram_lines(name, series):
    points = series["points"]
    total = sum(count for _, count in points)
    yield ""
    yield "%s (%s)" % (name, series["x"].replace("_", " "))
    for start, count in points:
        share = 100.0 * count / total
        yield "  %12s %6.2f %% %s" % (number(start), share,
                                      "#" * round(share / 2))


def report(results, reference, wanted):
    data = results.data
    yield "slice-bench: a comparison"
    yield ""
    for key, value in data["machine"].items():
        yield "  %-12s %s" % (key, value)
    yield ""
    for c in data["contestants"]:
        yield "  %-18s %s" % (c["name"], c["version"])
    for missing in data["missing"]:
        yield "  %-18s MISSING: %s" % (missing["name"], missing["why"])
    yield from ratio_lines(results, wanted)
    yield from shared_nothing_lines(results)
    for name in results.cases:
        yield from case_lines(results, name, reference)


def histogram_report(results):
    for name, histograms in results.data.get("histograms", {}).items():
        for kind, series in histograms.items():
            yield from histogram_lines("%s: %s" % (name, kind), series)


def summary(results):
    """Of each case and figure: low quartile, median and high quartile of each
    contestant.  The single runs are left out."""
    cases = []
    for name, case in results.cases.items():
        figures = {}
        for figure in case["figures"]:
            rows = {c: list(quartiles(results.values(name, c, figure)))
                    for c in results.present(name)
                    if results.values(name, c, figure)}
            if rows:
                figures[figure] = rows
        cases.append({"name": name, "workload": case["workload"],
                      "arguments": case["arguments"],
                      "rounds": len(results.rounds(name)),
                      "quartiles": figures})
    return {"machine": results.data["machine"],
            "contestants": results.data["contestants"], "cases": cases}
