#!/usr/bin/env python3
# mutate.py - faults taken at random, one at a time, and which test finds each
#
# `make mutate' runs it in a build:
#
#   make mutate N=20 SEED=7 MUTATE='--quick=3 --folders=page,slab'
#
# The sources are copied, with the tests, and compiled with assertions
# (SLICE_DEBUG), without libtool: a mutant then takes seconds.  Then, N times,
# one place of the core is changed (one operator, one constant, one condition
# or one statement), what depends on it is compiled, and the tests run, those
# of the changed layer first.  A mutant is
#
#   killed      by the first test that fails, or does not end; the same test
#               passes without the mutant
#   equivalent  the compiler makes the same code of it, or equivalent.txt says
#               why nobody can tell it from the original
#   survived    by all tests
#
# What does not compile is no mutant: another is taken.
#
# How they are taken: first a line, each with the same probability, of all
# lines that have a place to change, so that a folder has the weight of its
# lines; then one of the kinds of change that the line admits; then a place.
# Python's random numbers follow from the seed, so the same seed and the same
# sources give the same mutants.
#
# Only one mutant is built at a time, with `nice -n 19'.  Each test runs in a
# session of its own; what it leaves behind, in processes and files, is removed
# at once, and so is the copy when the program ends or is interrupted.
#
# SPDX-License-Identifier: MIT

import argparse
import ctypes
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FOLDERS = "base page slab depot magazine alloc checking".split()
CPU_SECONDS_LEAST = 8   # of a test, before it is taken for one without end
CPU_SECONDS_UNKNOWN = 30
CPU_FACTOR = 4          # of what it takes without a mutant
SECONDS_ASLEEP = 20     # all its processes: it hangs
MEMORY_BYTES = 8 << 30  # addresses of a test's process
VERDICTS = ("killed", "equivalent", "survived")

# --- the sources: what may be changed ---------------------------------------


def masked(text):
    """The text without comments, literals and directives, at the same
    places."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*", blank, text, flags=re.M)


def bodies(text):
    """Where the bodies of functions are: in the GNU layout, braces in the
    first column."""
    start = None
    for match in re.finditer(r"^([{}])(.*)$", text, flags=re.M):
        if match.group(1) == "{":
            head = text[:match.start()].rstrip()
            start = match.end() if head.endswith(")") else None
        elif start is not None:
            if match.group(2).strip() == "":
                yield start, match.start()
            start = None


def statements(text, start, end):
    """Statements that end with a semicolon and begin a line."""
    depth = 0
    begin = None
    for at in range(start, end):
        char = text[at]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        if begin is None and not char.isspace() and char not in "{};":
            begin = at
        if char in "{}":
            begin = None
        if char == ";" and depth == 0:
            if begin is not None:
                yield begin, at + 1
            begin = None


# Assertions are the tests' own; a mutant of one says nothing of the code.
SPARED = re.compile(r"\b(assert_\w+|SLICE_STATIC_ASSERT|KNOWN|SCHEDULE_POINT|"
                    r"sizeof|_Alignas|__attribute__|PROBE\w*)\s*\(")
SWAPS = [("==", "!="), ("!=", "=="), ("<=", "<"), (">=", ">"), ("<", "<="),
         (">", ">="), ("&&", "||"), ("||", "&&"), ("+=", "-="), ("-=", "+="),
         ("|=", "&="), ("&=", "|="), ("++", "--"), ("--", "++"),
         ("<<", ">>"), (">>", "<<"), ("+", "-"), ("-", "+"), ("*", "/"),
         ("/", "*"), ("%", "/"), ("&", "|"), ("|", "&")]
OPERATOR = re.compile(r"->|\+\+|--|<<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|"
                      r"[-+*/%&|<>]")
CONSTANT = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d+)(?![\w.])")
CONDITION = re.compile(r"\b(if|while)\s*\(")
DECLARATION = re.compile(r"(?:(?:static|const|unsigned|struct|enum|volatile)\b"
                         r"|return\b|goto\b|case\b|default\b|else\b|if\b|"
                         r"while\b|for\b|do\b|switch\b|"
                         r"[A-Za-z_]\w*\s+\**\s*[A-Za-z_]\w*\s*[=;,\[])")


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def without_spared(text):
    """Blanks the arguments of what is spared."""
    at = 0
    while True:
        match = SPARED.search(text, at)
        if match is None:
            return text
        end = closing(text, match.end() - 1)
        if end < 0:
            return text
        text = (text[:match.start()]
                + re.sub(r"[^\n]", "\x01", text[match.start():end + 1])
                + text[end + 1:])
        at = end + 1


class Change:
    """Replaces the bytes from start to end of a file by others."""

    def __init__(self, path, text, kind, start, end, new):
        self.path, self.kind, self.new = path, kind, new
        self.start, self.end = start, end
        self.old = text[start:end]
        self.line = text.count("\n", 0, start) + 1
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end)
        self.before = " ".join(text[first:last].split())
        self.after = " ".join((text[first:start] + new
                               + text[end:last]).split())

    def key(self):
        return f"{self.path}: {self.before} => {self.after}"


def binary(text, start, end):
    """Is the operator one between two operands?"""
    before = text[:start].rstrip()[-1:]
    word = re.search(r"(\w+)\W*$", text[max(0, start - 40):start].rstrip())
    if text[start:end] in ("++", "--"):
        return True
    if word and word.group(1) in ("return", "case", "sizeof"):
        if not before in ")]":
            return False
    if text[start:end] in "*&" and text[end:end + 1] != " ":
        return False  # a pointer's declaration, what it points to, an address
    return bool(before) and (before.isalnum() or before in "_)]\x01")


def changes_of(path, text):
    code = without_spared(masked(text))
    for start, end in bodies(code):
        for match in OPERATOR.finditer(code, start, end):
            for old, new in SWAPS:
                if match.group() == old and binary(code, *match.span()):
                    yield Change(path, text, "operator", *match.span(), new)
        for match in CONSTANT.finditer(code, start, end):
            for step in (-1, 1):
                value = int(match.group(), 0) + step
                if value >= 0:
                    yield Change(path, text, "constant", *match.span(),
                                 str(value))
        for match in CONDITION.finditer(code, start, end):
            last = closing(code, match.end() - 1)
            if last > 0:
                inside = text[match.end():last]
                yield Change(path, text, "condition", match.end(), last,
                             f"!({inside})")
        for first, last in statements(code, start, end):
            if (not DECLARATION.match(code, first)
                    and "\x01" not in code[first:last].split("(")[0]
                    and code[first] != "\x01"):
                yield Change(path, text, "statement", first, last, ";")


def sources_below(root, folder):
    for at, _, names in os.walk(os.path.join(root, folder)):
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(at, name), root)


def changes_in(root, folders):
    """All changes, by line and by kind."""
    lines = {}
    for folder in folders:
        for path in sorted(sources_below(root, f"slice/{folder}")):
            with open(os.path.join(root, path)) as file:
                text = file.read()
            for change in changes_of(path, text):
                kinds = lines.setdefault((path, change.line), {})
                kinds.setdefault(change.kind, []).append(change)
    return lines


def take(lines, number):
    line = lines[number.choice(sorted(lines))]
    return number.choice(line[number.choice(sorted(line))])


# --- processes ---------------------------------------------------------------

PR_SET_CHILD_SUBREAPER = 36
session = None  # that of the test that runs


def adopt_orphans():
    """Whoever loses its parent becomes a child of ours, to be ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/children") as file:
            yield from map(int, file.read().split())


def end_all():
    """Ends the session that runs, and all that came out of it."""
    global session
    if session is not None:
        try:
            os.killpg(session, signal.SIGKILL)
        except ProcessLookupError:
            pass
    session = None
    for _ in range(1000):
        left = list(children())
        if not left:
            return
        for child in left:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for child in left:
            try:
                os.waitpid(child, 0)
            except ChildProcessError:
                pass


def is_asleep(number):
    """Does no process of a session run, or want to?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rpartition(") ")[2].split()
        except OSError:
            continue
        if int(fields[3]) == number and fields[0] in "RD":
            return False
    return True


def wait_for(process, may_hang):
    """The status; None where all have slept too long.  The time that passes
    says nothing: a loaded machine keeps them waiting."""
    asleep = 0
    while True:
        try:
            return process.wait(1)
        except subprocess.TimeoutExpired:
            asleep = asleep + 1 if may_hang and is_asleep(process.pid) else 0
        if asleep == SECONDS_ASLEEP:
            return None


def run(command, directory, environment=None, cpu_seconds=None, log=None):
    """Runs a command; its status, and the processor time that it took; the
    status is None where it did not end in time."""
    global session

    def limits():
        os.nice(19 - os.nice(0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU,
                               (cpu_seconds, cpu_seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS,
                               (MEMORY_BYTES, MEMORY_BYTES))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log or os.devnull, "wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, start_new_session=True,
            preexec_fn=limits)
        session = process.pid
        status = wait_for(process, cpu_seconds is not None)
        end_all()
        if status is None:
            process.returncode = -signal.SIGKILL
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, (after.ru_utime + after.ru_stime - before.ru_utime
                    - before.ru_stime)


# --- the copy ----------------------------------------------------------------

FLAGS = "-std=gnu11 -O1 -w -pthread".split()
MISUSE_FLAGS = "-O0 -fno-builtin".split()  # tests/misuse/local.mk


class Tree:
    """A copy of the sources, and what is compiled of them."""

    def __init__(self, options, sources, scheduled, whole):
        self.top = tempfile.mkdtemp(prefix="slice-mutate.")
        self.options = options
        self.tree = os.path.join(self.top, "tree")
        self.log = os.path.join(self.top, "log")
        self.sources, self.scheduled = sources, scheduled
        self.whole = whole    # tests that link all of the library
        self.seconds = {}     # of tests that pass without a mutant
        self.failing = set()  # tests that fail even so
        self.mutant = None    # the change that is applied
        self.original = None  # the text of its file
        self.changed = {}     # objects that are the mutant's, by their own
        self.archived = None  # the objects that the archive has

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def begin(self):
        for name in ("slice", "tests"):
            shutil.copytree(os.path.join(self.options.source, name),
                            os.path.join(self.tree, name), symlinks=True)
        for name in ("tmp", "objects", "mutant"):
            os.mkdir(os.path.join(self.top, name))
        for source in self.sources:
            if not self.compile(source, self.object(source)):
                self.give_up(source)

    def give_up(self, what):
        with open(self.log, errors="replace") as file:
            sys.stderr.write(file.read()[-3000:])
        sys.exit(f"mutate: {what} fails without a mutant")

    def object(self, source, kind="", directory="objects"):
        return os.path.join(self.top, directory,
                            kind + source.replace("/", "-") + ".o")

    def compile(self, source, target, *more):
        build = self.options.build
        debug = ["-DSLICE_DEBUG=1"]
        if self.options.debug == "full":
            debug.append("-DSLICE_DEBUG_FULL=1")
        command = [*self.options.compiler.split(), *FLAGS, *debug, *more,
                   "-MMD", "-I.", "-iquote", "slice", f"-I{build}",
                   *self.options.glib.split(), "-c", source, "-o", target]
        return run(command, self.tree, log=self.log)[0] == 0

    def once(self, source, kind="", *more):
        """The object of a source of the tests, or of the explorer's copy of
        the library: compiled when it is first needed."""
        target = self.object(source, kind)
        if not os.path.exists(target) \
                and not self.as_it_was(self.compile, source, target, *more):
            self.give_up(source)
        return target

    def as_it_was(self, call, *arguments):
        """Calls with the sources as they are without the mutant."""
        mutant = self.mutant
        if mutant is None:
            return call(*arguments)
        with open(self.path(mutant)) as file:
            text = file.read()
        self.write(mutant, self.original)
        self.mutant = None
        result = call(*arguments)
        self.mutant = mutant
        self.write(mutant, text)
        return result

    def depends(self, target, path):
        """Was an object made of this file?"""
        with open(target[:-2] + ".d") as file:
            return path in file.read().split()

    def changed_object(self, source, target, kind, *more):
        """The mutant's object in place of this one; None: not compiled."""
        if self.mutant is None or not self.depends(target, self.mutant.path):
            return target
        if target not in self.changed:
            new = self.object(source, kind, "mutant")
            if not self.compile(source, new, *more):
                return None
            self.changed[target] = new
        return self.changed[target]

    def library(self):
        """All objects, those of the mutant among them; None: not
        compiled."""
        objects = []
        for source in self.sources:
            one = self.changed_object(source, self.object(source), "")
            if one is None:
                return None
            objects.append(one)
        return objects

    def archive(self):
        """The library as an archive, of which a unit test links what it
        needs: the upper layers' constructors are not for those below."""
        archive = os.path.join(self.top, "library.a")
        objects = self.library()
        if objects is None:
            return None
        if objects != self.archived:
            if os.path.exists(archive):
                os.remove(archive)
            if run(["ar", "rcs", archive, *objects], self.top,
                   log=self.log)[0] != 0:
                self.give_up("ar")
            self.archived = objects
        return archive

    def is_the_same(self):
        """Is the mutant's code the original's?"""
        for target, new in self.changed.items():
            with open(target, "rb") as a, open(new, "rb") as b:
                if a.read() != b.read():
                    return False
        return True

    def shared_by(self, name):
        """The source that the tests of an area share: arena/arena-test.c."""
        area = name.split("/")[1]
        return f"tests/{area}/{area}-test.c"

    def objects_of(self, name):
        """What a test is made of; with a mutant, that of the mutant."""
        if name.endswith("/schedule"):
            point = ["-DSLICE_SCHEDULE"]
            objects = [self.once("tests/schedule/schedule.c", "s", *point)]
            for source in self.scheduled:
                plain = self.once(source, "s", *point)
                objects.append(self.changed_object(source, plain, "s",
                                                   *point))
            return objects
        library = self.library() if name in self.whole else [self.archive()]
        objects = []
        if name.endswith("/misuse"):
            folder = os.path.join(self.tree, "tests", "misuse")
            objects += [self.once(f"tests/misuse/{one}", "", *MISUSE_FLAGS)
                        for one in sorted(os.listdir(folder))
                        if one.endswith(".c")]
        else:
            objects.append(self.once(name + ".c"))
            shared = self.shared_by(name)
            if os.path.exists(os.path.join(self.tree, shared)):
                objects.append(self.once(shared))
        return objects + [self.once("tests/testlib.c")] + (library or [None])

    def link(self, name):
        program = os.path.join(self.top, "program")
        objects = self.objects_of(name)
        command = [*self.options.compiler.split(), *objects, "-o", program,
                   "-pthread", "-ldl", *self.options.glib_libs.split()]
        return None if None in objects \
            or run(command, self.tree, log=self.log)[0] != 0 else program

    def how_it_fails(self, name, limit):
        """None: it passes."""
        program = self.link(name)
        if program is None:
            return "is not built"
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("SLICE_", "MAKE", "MFLAGS"))}
        environment.update(top_srcdir=self.tree,
                           top_builddir=self.options.build,
                           TMPDIR=os.path.join(self.top, "tmp"),
                           SLICE_TEST_SEED="1")
        status, seconds = run([program, "--tap"], self.top, environment,
                              limit, self.log)
        self.clean()
        if status == 0 and not self.said("not ok"):
            self.seconds.setdefault(name, seconds)
            return None
        if status is None or status == -signal.SIGXCPU:
            return "does not end"
        return self.said("not ok") or self.said("Bail out! ")[10:] \
            or f"ends with {status}"

    def cpu_limit(self, name):
        usual = self.seconds.get(name)
        return CPU_SECONDS_UNKNOWN if usual is None \
            else int(CPU_SECONDS_LEAST + CPU_FACTOR * usual)

    def test(self, name):
        """None: it passes; or how the mutant fails.  Who fails is tried
        without the mutant, once; who then takes longer than was allowed has
        another try with the mutant."""
        if name in self.failing:
            return None
        limit = self.cpu_limit(name)
        how = self.how_it_fails(name, limit)
        if how is None or name in self.seconds:
            return how
        without = self.as_it_was(self.how_it_fails, name,
                                 10 * CPU_SECONDS_UNKNOWN)
        if without is None:
            return how if self.cpu_limit(name) <= limit \
                else self.how_it_fails(name, self.cpu_limit(name))
        self.failing.add(name)
        print(f"mutate: {name} is left out, without a mutant it fails: "
              f"{without}", flush=True)
        return None

    def clean(self):
        temporary = os.path.join(self.top, "tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        os.mkdir(temporary)

    def said(self, word):
        with open(self.log, errors="replace") as file:
            for line in file:
                if line.startswith(word):
                    return line.strip()[:160]
        return ""

    def path(self, change):
        return os.path.join(self.tree, change.path)

    def write(self, change, text):
        with open(self.path(change), "w") as file:
            file.write(text)

    def apply(self, change):
        with open(self.path(change)) as file:
            self.original = text = file.read()
        assert text[change.start:change.end] == change.old
        self.write(change, text[:change.start] + change.new
                   + text[change.end:])
        self.mutant = change

    def revert(self, change):
        self.write(change, self.original)
        self.mutant = self.archived = None
        self.changed = {}


def layer_of(change):
    return change.path.split("/")[1]


def judge(tree, change, groups, reasons):
    """(verdict, test, how) of a change; None: it does not compile."""
    if change.key() in reasons:
        return "equivalent", "", reasons[change.key()]
    tree.apply(change)
    try:
        if tree.library() is None:
            return None
        if tree.is_the_same():
            return "equivalent", "", "the same code"
        for group in groups:
            for name in group:
                how = tree.test(name)
                if how is not None:
                    return "killed", name, how
        return "survived", "", ""
    finally:
        tree.revert(change)


# --- which tests -------------------------------------------------------------

UNIT = {"base": "base", "page": "page", "slab": "slab", "depot": "depot",
        "magazine": "magazine", "alloc": "alloc", "checking": "alloc",
        "context": "context", "arena": "arena"}
ORDER = ["base", "page", "slab", "depot", "magazine", "alloc", "observe",
         "slice"]
CLIENTS = ("context", "arena")  # no layer is above these


def groups_of(tests, layer):
    """The unit tests of the layer; of those above; of the whole; all."""
    unit = UNIT[layer]
    if unit in CLIENTS:
        return [tests[unit], [t for t in tests["slice"] + tests["all"]
                              if t not in tests[unit]]]
    above = ORDER[ORDER.index(unit) + 1:]
    wanted = [tests[unit]]
    if unit != "alloc":
        wanted.append([t for name in above if name in
                       ("page", "slab", "depot", "magazine")
                       for t in tests[name]])
        wanted.append(tests["alloc"])
    wanted.append(tests["observe"])
    wanted.append(tests["slice"])
    wanted.append(tests["all"])
    seen = set()
    groups = []
    for group in wanted:
        new = [t for t in group if t not in seen]
        seen.update(new)
        if new:
            groups.append(new)
    return groups


def tests_by_layer(arguments):
    tests = {}
    for word in arguments:
        layer, _, names = word.partition("=")
        tests[layer] = names.split()
    return tests


# --- the table ---------------------------------------------------------------

HEAD = """\
Mutations of the core, and the tests that find them

`make mutate N=... SEED=...' (tests/mutate/mutate.py) changes one place of a
copy of the sources, compiles it with assertions and runs the tests, those of
the changed layer first.  A line is taken at random, each with the same
probability, of all lines of function bodies in {folders}
that have a place to change ({n_lines} lines); then the kind of change (an
operator, a constant, a condition, a statement), then the place.  A line of
this table is a mutant: the seed, the verdict, the test that fails first, and
what was changed.  Where a mutant that survived led to a new test or assertion
it was tried again, which the second verdict says.  Samples are in the order
in which they were taken: the tests for the survivors of one were written
before the next, whose first verdicts so tell how many faults are found that
nobody had in mind.

"""


def rows_of(path):
    """The mutants that the table has."""
    rows = []
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                cells = line.rstrip("\n").split("\t")
                if len(cells) == 6:
                    rows.append(cells)
    return rows


def rows_write(path, rows):
    with open(path + ".new", "w") as file:
        for row in rows:
            file.write("\t".join(row) + "\n")
    os.replace(path + ".new", path)


def summary(rows):
    """What became of some mutants, in a sentence."""
    final = [row[1].split(", then ")[-1] for row in rows]
    counts = {verdict: final.count(verdict) for verdict in VERDICTS}
    first = sum(row[1].startswith("killed") for row in rows)
    judged = counts["killed"] + counts["survived"]
    return (f"{len(rows)} mutants: {counts['killed']} killed ({first} at the "
            f"first trial), {counts['survived']} survive, "
            f"{counts['equivalent']} equivalent; "
            f"{100 * counts['killed'] / max(judged, 1):.0f} % of those that "
            "can be found.")


def table_write(path, rows, n_lines, folders):
    with open(path + ".new", "w") as file:
        file.write(HEAD.format(folders=", ".join(folders), n_lines=n_lines))
        for seed in dict.fromkeys(row[0] for row in rows):
            sample = [row for row in rows if row[0] == seed]
            file.write(f"Seed {seed}: {summary(sample)}\n")
        for seed, verdict, place, test, how, change in rows:
            before, _, after = change.partition(" => ")
            file.write(f"\n{place}  {verdict}"
                       + (f" by {test}" if test else "") + f"  (seed {seed})\n"
                       + f"  - {before}\n  + {after}\n"
                       + (f"  {how}\n" if how else ""))
    os.replace(path + ".new", path)


def reasons_read(path):
    """equivalent.txt: two lines each, the change and the reason."""
    reasons = {}
    with open(path) as file:
        lines = [line.strip() for line in file
                 if line.strip() and not line.startswith("#")]
    for change, reason in zip(lines[::2], lines[1::2]):
        reasons[change] = reason
    return reasons


# --- main --------------------------------------------------------------------


def arguments_read():
    parser = argparse.ArgumentParser(description="faults taken at random")
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True,
                        help="where config.h and slice/version.h are")
    parser.add_argument("--glib", default="", help="flags of the compiler")
    parser.add_argument("--glib-libs", default="")
    parser.add_argument("--rows", default="mutate.rows",
                        help="what was judged so far, added to")
    parser.add_argument("--table", help="written from it")
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("-n", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0,
                        help="so many of the seed's mutants are left out")
    parser.add_argument("--quick", type=int, default=99,
                        help="so many groups of tests")
    parser.add_argument("--debug", default="yes", choices=("yes", "full"))
    parser.add_argument("--folders", default=",".join(FOLDERS))
    parser.add_argument("--again", action="store_true",
                        help="try those that survived once more")
    parser.add_argument("--list", action="store_true",
                        help="print the mutants, try none")
    parser.add_argument("tests", nargs="*", metavar="LAYER=TESTS")
    return parser.parse_args()


def place_of(change):
    return f"{change.path}:{change.line}"


def found_again(lines, row):
    """The change of a row, in sources that may have moved: the nearest of
    those that read the same."""
    path, line = row[2].split(":")
    same = [change for kinds in lines.values() for changes in kinds.values()
            for change in changes if change.path == path
            and f"{change.before} => {change.after}" == row[5]]
    return min(same, key=lambda change: abs(change.line - int(line)),
               default=None)


def on_signal(number, _frame):
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main():
    options = arguments_read()
    folders = options.folders.split(",")
    source = os.path.abspath(options.source)
    lines = changes_in(source, folders)
    number = random.Random(options.seed)
    if options.list:
        for _ in range(options.n):
            change = take(lines, number)
            print(place_of(change), change.kind, "\n  -", change.before,
                  "\n  +", change.after)
        return 0
    options.source, options.build = source, os.path.abspath(options.build)
    tests = tests_by_layer(options.tests)
    adopt_orphans()
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(caught, on_signal)
    tree = Tree(options, [s for s in tests.pop("library") if s.endswith(".c")],
                tests.pop("scheduled"), set(tests["slice"] + tests["all"]
                                           + tests["context"]
                                           + tests["arena"]))
    reasons = reasons_read(os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "equivalent.txt"))
    try:
        return run_all(tree, options, lines, folders, number, tests, reasons)
    finally:
        end_all()
        tree.remove()


def run_all(tree, options, lines, folders, number, tests, reasons):
    tree.begin()
    rows = rows_of(options.rows)

    def write():
        rows_write(options.rows, rows)
        if options.table:
            table_write(options.table, rows, len(lines), folders)

    def verdict_of(change):
        began = time.monotonic()
        groups = groups_of(tests, layer_of(change))[:options.quick]
        result = judge(tree, change, groups, reasons)
        if result is not None:
            print(f"{result[0]:10}  {place_of(change)}  {result[1]}  "
                  f"({time.monotonic() - began:.0f} s)\n"
                  f"  - {change.before}\n  + {change.after}\n  {result[2]}",
                  flush=True)
        return result

    if options.again:
        for row in rows:
            if row[1].split(", then ")[-1] != "survived":
                continue
            change = found_again(lines, row)
            if change is None:
                print("mutate: not there any more:", row[2], row[5])
                continue
            result = verdict_of(change)
            if result is not None and result[0] != "survived":
                row[1] = f"survived, then {result[0]}"
                row[3], row[4] = result[1], result[2].replace("\t", " ")
            write()
        return 0

    judged = taken = 0
    while judged < options.n:
        change = take(lines, number)
        taken += 1
        name = f"{change.before} => {change.after}"
        if any(row[5] == name and row[2].startswith(change.path + ":")
               for row in rows):
            continue
        if taken <= options.skip:
            continue
        result = verdict_of(change)
        if result is None:
            continue
        judged += 1
        rows.append([str(options.seed), result[0], place_of(change),
                     result[1], result[2].replace("\t", " "), name])
        write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
