# cases.py - what `compare' runs: contestants, cases, sets, main ratios
#
# SPDX-License-Identifier: MIT
from collections import namedtuple

# kind: "slice" (ours), "arena" (ours, one thread), "gslice", "peer" (a
# malloc), "limit"; source: what a built peer was built from, or ""
Contestant = namedtuple("Contestant",
                        "name program kind preload environment source")

# figures: the first is the one of charts; statistic: "median" of the laps or
# "first" (the warm-up lap, which starts from fresh memory); only: contestants
# that take part (None: all but the special ones); once: one round is enough.
Case = namedtuple("Case", "name workload arguments figures statistic only "
                          "without once")


def contestant(name, program, kind, preload=None, **environment):
    return Contestant(name, program, kind, preload, environment, "")


CONTESTANTS = [
    contestant("slice", "slice-bench", "slice"),
    contestant("slice-functions", "slice-bench-functions", "slice"),
    contestant("slice-4k", "slice-bench", "slice",
               SLICE_OPTIONS="huge-pages=0"),
    contestant("tlsf", "slice-bench-tlsf", "arena"),
    contestant("pool", "slice-bench-pool", "arena"),
    contestant("gslice", "slice-bench-gslice", "gslice"),
    contestant("glibc", "slice-bench-malloc", "peer"),
    contestant("jemalloc", "slice-bench-malloc", "peer", "libjemalloc.so.2"),
    contestant("jemalloc-sized", "slice-bench-sized", "peer",
               "libjemalloc.so.2"),
    contestant("tcmalloc", "slice-bench-malloc", "peer",
               "libtcmalloc_minimal.so.4"),
    contestant("tcmalloc-sized", "slice-bench-sized", "peer",
               "libtcmalloc_minimal.so.4"),
    contestant("mimalloc", "slice-bench-malloc", "peer",
               "libmimalloc.so.2.0"),
    contestant("limit", "slice-bench-limit", "limit"),
]

# Run only where a case names them.
SPECIAL = {"slice-4k"}


def case(name, workload, arguments="", figures="ns", statistic="median",
         only=None, without=(), once=False):
    return Case(name, workload, arguments.split(), figures.split(), statistic,
                only, set(without), once)


# The second way to call the same allocator has the same memory.
MEMORY = {"without": ("limit", "slice-functions", "jemalloc-sized",
                      "tcmalloc-sized"), "once": True}
LIVE_COUNTS = (10**3, 10**4, 10**5, 10**6, 10**7)
THREADS = (1, 2, 4)

CASES = [
    case("pair", "pair"),
    case("pair-variable", "pair-variable"),
    case("lifo-64", "lifo", "--batch=64"),
    case("lifo-1000", "lifo", "--batch=1000"),
    case("lifo-100000", "lifo", "--batch=100000"),
    case("fifo-64", "fifo", "--batch=64"),
    case("fifo-1000", "fifo", "--batch=1000"),
    case("fifo-100000", "fifo", "--batch=100000"),
    case("skewed", "skewed"),
]
for threads in THREADS:
    CASES += [
        case("slice-test-512-t%d" % threads, "slice-test",
             "--size-max=509 --threads=%d" % threads),
        case("slice-test-1024-t%d" % threads, "slice-test",
             "--size-max=1021 --threads=%d" % threads,
             "ns rss_peak_bytes"),
        case("fifo-48-t%d" % threads, "fifo",
             "--size-min=48 --batch=512 --threads=%d" % threads),
        # Threads that share nothing: what one costs is what each should.
        case("scratch-t%d" % threads, "scratch", "--threads=%d" % threads),
        case("thrash-t%d" % threads, "thrash", "--threads=%d" % threads),
    ]
for threads in THREADS[1:]:
    CASES += [
        case("lifo-1000-t%d" % threads, "lifo",
             "--batch=1000 --threads=%d" % threads),
        case("fifo-1000-t%d" % threads, "fifo",
             "--batch=1000 --threads=%d" % threads),
        case("skewed-t%d" % threads, "skewed", "--threads=%d" % threads),
    ]
# The same with each thread on a processor of its own, and pairs of threads: on
# a busy machine the kernel else puts them on one, where no line moves.
for threads in THREADS:
    for name, workload in (
            ("lifo-1000", "lifo --batch=1000"),
            ("fifo-1000", "fifo --batch=1000"), ("skewed", "skewed"),
            ("slice-test-512-touch", "slice-test-touch --size-max=509"),
            ("tree", "tree --blocks=100000"), ("working-set", "working-set"),
            ("churn", "churn")):
        CASES.append(case(
            "table-%s-t%d" % (name, threads), workload.split()[0],
            " ".join(workload.split()[1:]
                     + ["--threads=%d" % threads, "--bind=1"]),
            without=("limit",) if name == "churn" else ()))
    CASES.append(case("table-producer-t%d" % (2 * threads), "producer",
                      "--batch=256 --bind=1 --threads=%d" % (2 * threads),
                      without=("limit",)))
CASES += [
    case("slice-test-touch", "slice-test-touch"),
    case("slice-test-literal", "slice-test-literal"),
    case("server-t1", "server", "--threads=1"),
    case("server-t2", "server", "--threads=2"),
    case("server-t4", "server", "--threads=4"),
    # A list that is never exchanged between threads only grows.
    case("producer", "producer", without=("limit",)),
    case("working-set-t1", "working-set", "--threads=1"),
    case("working-set-t2", "working-set", "--threads=2"),
    case("working-set-t4", "working-set", "--threads=4"),
    case("tree", "tree", "",
         "ns build_ns walk_ns free_ns rss_over_live"),
    case("tree-cold", "tree", "--laps=1",
         "ns build_ns walk_ns free_ns rss_over_live", statistic="first"),
    case("churn", "churn", "", "ns rss_growth rss_end_bytes",
         without=("limit",)),
    case("replay", "replay", "", "ns rss_peak_bytes"),
    case("replay-compiler", "replay-compiler", "", "ns rss_peak_bytes"),
    case("replay-interpreter", "replay-interpreter", "",
         "ns rss_peak_bytes"),
    case("replay-git", "replay-git", "", "ns rss_peak_bytes"),
    case("latency", "latency", "",
         "alloc_p999_ns free_p999_ns alloc_p99_ns free_p99_ns "
         "alloc_p9999_ns free_p9999_ns", without=("limit",)),
    case("sharing-active", "sharing-active", "--laps=1", "shared_percent "
         "write_ns", statistic="first", without=("limit",), once=True),
    case("sharing-passive", "sharing-passive", "--laps=1", "shared_percent "
         "write_ns", statistic="first", without=("limit",), once=True),
    case("sharing-direct", "sharing-direct", "--laps=1", "shared_percent "
         "write_ns", statistic="first", without=("limit",), once=True),
    case("colour", "colour",
         only={"slice", "gslice", "glibc", "jemalloc", "tcmalloc",
               "mimalloc"}),
    case("sizes", "sizes", "", "worst_to_256 mean_to_256", **MEMORY),
    case("sizes-4k", "sizes", "", "worst_to_256 mean_to_256",
         only={"slice-4k"}, once=True),
    case("phases", "phases", "", "idle_left_percent freed_left_percent "
         "trim_left_percent rss_grown_bytes grown_rss_over_live "
         "refilled_rss_over_live cpu_msec", **MEMORY),
]
# Single calls of each workload; the clock's own cost is taken off.
LATENCY_FIGURES = ("alloc_p9999_ns free_p9999_ns alloc_p999_ns free_p999_ns "
                   "alloc_p99_ns free_p99_ns alloc_p50_ns free_p50_ns")
for name, workload in (
        ("lifo-1000", "lifo --batch=1000"), ("skewed", "skewed"),
        ("fifo-1000-t2", "fifo --batch=1000 --threads=2 --bind=1"),
        ("slice-test-1024-t1", "slice-test --size-max=1021"),
        ("slice-test-1024-t2",
         "slice-test --size-max=1021 --threads=2 --bind=1"),
        ("server-t2", "server --threads=2 --bind=1"),
        ("producer", "producer --bind=1"), ("tree", "tree"),
        ("churn", "churn")):
    CASES.append(case("latency-" + name, workload.split()[0],
                      " ".join(workload.split()[1:]) + " --latency --laps=2",
                      LATENCY_FIGURES, without=("limit",)))
for count in LIVE_COUNTS:
    for name in ("live", "live-deep"):
        CASES.append(case("%s-%d" % (name, count), name,
                          "--blocks=%d --operations=%d --laps=3"
                          % (count, max(10**6, count // 10)),
                          "net_ns ns", without=("limit",)))

# These have threads of their own.
THREADED = {"producer", "churn", "sharing-active", "sharing-passive",
            "sharing-direct"}


def has_threads(a_case):
    return (a_case.workload in THREADED
            or any(argument.startswith("--threads=")
                   and argument != "--threads=1"
                   for argument in a_case.arguments))


# About ten minutes with every packaged peer; and the whole.
QUICK = ("pair lifo-64 lifo-1000 lifo-1000-t2 fifo-1000 fifo-1000-t2 "
         "fifo-100000 skewed skewed-t2 scratch-t2 slice-test-512-t1 "
         "slice-test-1024-t1 slice-test-1024-t2 slice-test-1024-t4 "
         "server-t2 producer working-set-t1 working-set-t2 tree churn replay "
         "replay-compiler replay-interpreter replay-git "
         "latency sharing-active sharing-passive sharing-direct colour sizes "
         "phases "
         "live-1000 live-100000 live-10000000").split()
SETS = {
    "bench": QUICK,
    "full": [c.name for c in CASES],
    "speed": [c.name for c in CASES if c.workload in
              ("pair", "lifo", "fifo", "skewed", "slice-test", "server",
               "producer", "working-set", "tree", "churn", "replay",
               "replay-compiler", "replay-interpreter", "replay-git")],
    "memory": ["tree-cold", "sizes", "sizes-4k", "phases", "replay",
               "replay-compiler", "replay-interpreter", "replay-git",
               "slice-test-1024-t1"],
    "table": [c.name for c in CASES if c.name.startswith("table-")],
    "latency": [c.name for c in CASES if c.name.startswith("latency")],
    "scaling": [c.name for c in CASES
                if c.workload in ("live", "live-deep")
                or c.name.endswith(("-t1", "-t2", "-t4"))],
}

# The ratios that the table begins with.  against: a contestant, or "peers" (the
# best of the mallocs) or "" (the figure itself).
Ratio = namedtuple("Ratio", "what case figure contestant against")


def main_ratios():
    rows = [
        Ratio("pair, against the limit", "pair", "ns", "slice", "limit"),
        Ratio("pair, against the best malloc", "pair", "ns", "slice",
              "peers"),
        Ratio("pair, against GSlice", "pair", "ns", "slice", "gslice"),
    ]
    for name in ("lifo-64", "lifo-1000", "fifo-64", "fifo-1000"):
        rows += [Ratio(name + ", against the best malloc", name, "ns",
                       "slice", "peers"),
                 Ratio("the limit of that, against it", name, "ns", "limit",
                       "peers")]
    for name in ("pair", "lifo-64", "lifo-1000", "fifo-64", "fifo-1000"):
        rows.append(Ratio(name + " through functions", name, "ns",
                          "slice-functions", "peers"))
    for size in (512, 1024):
        for n in THREADS:
            name = "slice-test-%d-t%d" % (size, n)
            for against in ("peers", "gslice", "limit"):
                rows.append(Ratio(name, name, "ns", "slice", against))
    rows.append(Ratio("slice-test as GLib wrote it", "slice-test-literal",
                      "ns", "slice", "peers"))
    for name in ("producer", "server-t2"):
        for against in ("gslice", "peers"):
            rows.append(Ratio(name, name, "ns", "slice", against))
    for figure in ("build_ns", "walk_ns", "free_ns"):
        for name in ("tree", "tree-cold"):
            rows.append(Ratio("%s: %s" % (name, figure), name, figure,
                              "slice", "peers"))
    for a_case in CASES:
        if a_case.name.startswith("table-"):
            rows.append(Ratio(a_case.name[6:], a_case.name, "ns", "slice",
                              "peers"))
    for a_case in CASES:
        if a_case.name.startswith("latency-"):
            rows += [Ratio("%s: %s" % (a_case.name, figure), a_case.name,
                           figure, "slice", "peers")
                     for figure in ("alloc_p9999_ns", "free_p9999_ns")]
    rows += [
        Ratio("tree: peak RSS over live bytes", "tree", "rss_over_live",
              "slice", ""),
        Ratio("the same, against the best malloc", "tree", "rss_over_live",
              "slice", "peers"),
        Ratio("tree-cold: peak RSS over live bytes", "tree-cold",
              "rss_over_live", "slice", ""),
        Ratio("RSS per byte, worst of 8..256", "sizes", "worst_to_256",
              "slice", ""),
        Ratio("the same without huge pages", "sizes-4k", "worst_to_256",
              "slice-4k", ""),
        Ratio("peak RSS of slice-test", "slice-test-1024-t1",
              "rss_peak_bytes", "slice", "peers"),
        Ratio("400 MB freed, left after the idle phase (%)", "phases",
              "idle_left_percent", "slice", ""),
        Ratio("the same after a trim (%)", "phases", "trim_left_percent",
              "slice", ""),
        Ratio("thread churn", "churn", "ns", "slice", "peers"),
        Ratio("thread churn: RSS growth", "churn", "rss_growth", "slice", ""),
        Ratio("alloc latency p99.9", "latency", "alloc_p999_ns", "slice",
              "peers"),
        Ratio("free latency p99.9", "latency", "free_p999_ns", "slice",
              "peers"),
        Ratio("coloured walk", "colour", "ns", "slice", "peers"),
        Ratio("lines shared, active (%)", "sharing-active",
              "shared_percent", "slice", ""),
        Ratio("lines shared, passive (%)", "sharing-passive",
              "shared_percent", "slice", ""),
    ]
    return rows
