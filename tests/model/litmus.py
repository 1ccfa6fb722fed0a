#!/usr/bin/env python3
# litmus.py - which outcomes C11's memory model allows where the library uses
# less than sequential consistency
#
# Each test has two or three threads with a few accesses, and an outcome that
# must not be.  All executions are tried: each read from each write, each order
# of the writes of a place.  One that breaks an axiom of the model is none:
#
#   hb = sb or synchronizes-with, transitively; no event happens before itself
#   coherence: hb and the communication (rf, co, fr) do not contradict
#   atomicity: nothing lies between what an exchange reads and what it writes
#   barriers of all threads: what is before one happens before what is after it
#   sequential consistency: accesses and fences of that order have one order
#
# (Batty and others, Mathematizing C++ Concurrency, without a rule against
# values out of thin air, so that load buffering is seen; Lahav and others,
# Repairing Sequential Consistency in C/C++11, for the last axiom.  That fences
# synchronize is left out, which allows more.)  A test that can't fail shows
# nothing: with the accesses that it names relaxed, the outcome must be there.
# docs/design/09-threads.md says which code each is of, and must have a line for
# each access of the core that has an order.
#
# SPDX-License-Identifier: MIT
import itertools
import os
import re

RELAXED, ACQUIRE, RELEASE, BOTH = "rlx", "acq", "rel", "acq_rel"
SEQUENTIAL = "sc"


class Event:
    def __init__(self, thread, kind, place=None, value=None, order=RELAXED,
                 register=None):
        self.thread, self.kind, self.place = thread, kind, place
        self.value, self.order, self.register = value, order, register

    reads = property(lambda self: self.kind in "RX")
    writes = property(lambda self: self.kind in "WXI")
    acquires = property(lambda self: self.reads
                        and self.order in (ACQUIRE, BOTH, SEQUENTIAL))
    releases = property(lambda self: self.kind in "WX"
                        and self.order in (RELEASE, BOTH, SEQUENTIAL))
    is_fence = property(lambda self: self.kind == "S")


def closure(pairs, n):
    """The transitive closure, as a list of sets of successors."""
    after = [set() for _ in range(n)]
    for a, b in pairs:
        after[a].add(b)
    for k in range(n):
        for i in range(n):
            if k in after[i]:
                after[i] |= after[k]
    return after


def values(events, rf):
    """What each event reads and writes, or None if that goes in a circle."""
    wrote = {i: e.value for i, e in enumerate(events) if e.kind in "WI"}
    read = {}
    left = [i for i, e in enumerate(events) if e.reads]
    while left:
        rest = []
        for i in left:
            if rf[i] not in wrote:
                rest.append(i)
                continue
            read[i] = wrote[rf[i]]
            if events[i].kind == "X":
                wrote[i] = events[i].value(read[i])
        if len(rest) == len(left):
            return None
        left = rest
    return read, wrote


def synchronized(events, rf):
    """Release writes and the acquire reads of their release sequences."""
    for i, event in enumerate(events):
        if not event.acquires:
            continue
        write = rf[i]
        while True:
            if events[write].releases:
                yield write, i
            if events[write].kind != "X":
                break
            write = rf[write]


def is_sequential(events, sb, hb, eco, changes):
    """Do the accesses and fences of that order have one order?  eco: the
    successors of each event in the communication; changes: co and fr."""
    n = len(events)
    ordered = [i for i, e in enumerate(events)
               if e.is_fence or e.order == SEQUENTIAL]
    if not ordered:
        return True

    def elsewhere(a, b):
        return (a, b) in sb and events[a].place != events[b].place

    before = set(sb) | set(changes)
    before |= {(a, b) for a in range(n) for b in hb[a]
               if events[a].place == events[b].place is not None
               or any(elsewhere(a, c) and any(d in hb[c] and elsewhere(d, b)
                                              for d in range(n))
                      for c in range(n))}
    # From a fence what happens after it counts, up to one what is before it.
    start = {i: {i} | (hb[i] if events[i].is_fence else set())
             for i in ordered}
    end = {i: {i} | ({a for a in range(n) if i in hb[a]}
                     if events[i].is_fence else set()) for i in ordered}
    pairs = [(i, j) for i in ordered for j in ordered
             if any((a, b) in before for a in start[i] for b in end[j])
             or events[i].is_fence and events[j].is_fence
             and (j in hb[i] or any(j in hb[b] for a in hb[i]
                                    for b in eco[a]))]
    after = closure(pairs, n)
    return not any(i in after[i] for i in ordered)


def is_execution(events, sb, barriers, rf, co):
    n = len(events)
    hb = closure(itertools.chain(sb, barriers, synchronized(events, rf)), n)
    if any(i in hb[i] for i in range(n)):
        return False
    place = {w: (order, at) for order in co.values()
             for at, w in enumerate(order)}
    changes = []
    for order in co.values():
        changes += [(a, b) for at, a in enumerate(order)
                    for b in order[at + 1:]]
    for r, w in rf.items():
        order, at = place[w]
        changes += [(r, later) for later in order[at + 1:] if later != r]
        if events[r].kind == "X" and (at + 1 == len(order)
                                      or order[at + 1] != r):
            return False
    after = closure([(rf[r], r) for r in rf] + changes, n)
    return not any(a in hb[b] for a in range(n) for b in after[a]) \
        and not any(a in after[a] for a in range(n)) \
        and is_sequential(events, sb, hb, after, changes)


def outcomes(threads, barrier):
    """Runs a test: yields registers and the last values of the places.
    barrier: None, or the thread that all others get a barrier from, and where
    in each of these it lies."""
    events, sb, inner, outer = [], [], [], None
    places = sorted({e.place for t in threads for e in t if e.place})
    for place in places:
        events.append(Event(None, "I", place, 0))
    for number, thread in enumerate(threads):
        body = list(thread)
        if barrier is not None and number in barrier:
            body.insert(barrier[number], Event(number, "F"))
        start = len(events)
        for event in body:
            at = len(events)
            events.append(event)
            sb += [(i, at) for i in range(len(places))]
            sb += [(i, at) for i in range(start, at)]
            if event.kind == "F":
                inner.append(at)
            if event.kind == "B":
                outer = at
    # What is before the caller's barrier is before each thread's, and what is
    # before one of those is before what follows the caller's.
    barriers = [(a, i) for a, b in sb if b == outer for i in inner] \
        + [(i, b) for a, b in sb if a == outer for i in inner]
    reads = [i for i, e in enumerate(events) if e.reads]
    writes = {p: [i for i, e in enumerate(events)
                  if e.writes and e.place == p] for p in places}
    choices = [[w for w in writes[events[r].place] if w != r] for r in reads]
    orders = [[(w[0],) + rest for rest in itertools.permutations(w[1:])]
              for w in writes.values()]
    for choice in itertools.product(*choices):
        rf = dict(zip(reads, choice))
        known = values(events, rf)
        if known is None:
            continue
        read, wrote = known
        for order in itertools.product(*orders):
            co = dict(zip(writes, order))
            if is_execution(events, sb, barriers, rf, co):
                result = {events[r].register: read[r] for r in reads}
                result.update({p: wrote[co[p][-1]] for p in places})
                yield result


def positions(threads, barrier_of):
    """Where the barrier of one thread may lie in the others."""
    if barrier_of is None:
        return [None]
    others = [i for i in range(len(threads)) if i != barrier_of]
    return [dict(zip(others, at)) for at in itertools.product(
        *(range(len(threads[i]) + 1) for i in others))]


def happens(build, relaxed, forbidden):
    threads, barrier_of = build(lambda name, order:
                                RELAXED if relaxed else order)
    return any(forbidden(result)
               for at in positions(threads, barrier_of)
               for result in outcomes(threads, at))


def W(thread, place, value, order=RELAXED):
    return Event(thread, "W", place, value, order)


def R(thread, place, register, order=RELAXED):
    return Event(thread, "R", place, None, order, register)


def X(thread, place, change, register, order=RELAXED):
    return Event(thread, "X", place, change, order, register)


def fence(order):
    """A fence of sequential consistency, or none."""
    return [Event(None, "S")] if order("fence", BOTH) == BOTH else []


def chunk_back(order):
    """slab-free.c word_exchange() and slab.c words_alloc(): who gets a chunk
    has all of the former owner's writes behind it."""
    return [[W(0, "chunk", 1), X(0, "word", lambda v: v | 1, "a",
                                 order("free", RELEASE))],
            [X(1, "word", lambda v: 0, "bits", order("alloc", ACQUIRE)),
             W(1, "chunk", 2)]], None


def chunks_of_two(order):
    """The same, with another thread's free in the same word between them."""
    return [[W(0, "chunk", 1), X(0, "word", lambda v: v | 1, "a",
                                 order("free", RELEASE))],
            [X(1, "word", lambda v: v | 2, "b", order("free", RELEASE))],
            [X(2, "word", lambda v: 0, "bits", order("alloc", ACQUIRE)),
             R(2, "chunk", "seen")]], None


def chunk_put_back(order):
    """slab.c slab_alloc_free(): bits that were taken and not needed return,
    and a third thread has them."""
    return [[W(0, "chunk", 1), X(0, "word", lambda v: v | 1, "a",
                                 order("free", RELEASE))],
            [X(1, "word", lambda v: 0, "b", order("alloc", ACQUIRE)),
             X(1, "word", lambda v: v | 1, "c", order("back", RELEASE))],
            [X(2, "word", lambda v: 0, "bits", order("alloc", ACQUIRE)),
             R(2, "chunk", "seen")]], None


def slab_retired(order):
    """slab-free.c slab_is_empty(): a free reads the slab's header before it
    sets its bit; who finds all bits writes the next slab's header."""
    return [[R(0, "header", "seen"), X(0, "word", lambda v: 1, "a",
                                       order("free", RELEASE))],
            [R(1, "word", "bits", order("look", ACQUIRE)),
             W(1, "header", 2)]], None


def published(order):
    """slab.c slab_begin(), map.c, stack.c: what is published is whole."""
    return [[W(0, "fields", 1), W(0, "published", 1,
                                  order("publish", RELEASE))],
            [R(1, "published", "there", order("look", ACQUIRE)),
             R(1, "fields", "seen")]], None


def left(order):
    """record.h sli_record_leave(): a trimmer that sees a thread outside of its
    slow path sees what that has left in the magazines."""
    return [[W(0, "busy", 1), W(0, "rounds", 1),
             W(0, "busy", 2, order("leave", RELEASE))],
            [R(1, "busy", "state", order("look", ACQUIRE)),
             R(1, "rounds", "seen")]], None


def bits_kept(order):
    """slab-free.c word_exchange(): what was loaded before it may be stale, and
    no bit of another thread is lost; a store in its place would lose one."""
    if order("exchange", BOTH) == RELAXED:
        return [[R(0, "word", "old"), W(0, "word", 1)],
                [X(1, "word", lambda v: v | 2, "b")]], None
    return [[R(0, "word", "old"), X(0, "word", lambda v: v | 1, "a")],
            [X(1, "word", lambda v: v | 2, "b")]], None


def suspended(order):
    """trim.c sli_trim_thread_suspend(), helper_trim(): each announces itself,
    then looks for the other; one at least sees it."""
    return [[X(0, "suspended", lambda v: v + 1, "a",
               order("announce", SEQUENTIAL)),
             R(0, "works", "seen0", order("look", SEQUENTIAL))],
            [W(1, "works", 1, order("announce", SEQUENTIAL)),
             R(1, "suspended", "seen1", order("look", SEQUENTIAL))]], None


def late_hooks(order):
    """trace.c: the thread that sets hooks sees that the layers are ready, or
    the one that makes them ready sees the hooks."""
    return [[W(0, "hooks", 1, RELEASE), *fence(order), R(0, "ready", "seen0")],
            [W(1, "ready", 1, RELEASE), *fence(order),
             R(1, "hooks", "seen1")]], None


def hooks_of_two(order):
    """trace.c sli_trace_apply_hooks(): two threads change the hooks; who finds
    its own still there has left the entries as they are for them."""
    return [[W(t, "hooks", t + 1, RELEASE), *fence(order),
             W(t, "entries", t + 1, RELEASE), *fence(order),
             R(t, "hooks", f"seen{t}")] for t in (0, 1)], None


def with_barrier(threads, thread):
    def build(order):
        made = threads()
        if order("barrier", BOTH) == RELAXED:
            return [[e for e in t if e.kind != "B"] for t in made], None
        return made, thread
    return build


def enter():
    """record.h sli_record_enter(), record.c sli_magazine_detach_others():
    either the owner sees the trimmer, or the trimmer sees it busy."""
    return [[W(0, "busy", 1), R(0, "attention", "owner")],
            [W(1, "attention", 1), Event(1, "B"),
             R(1, "busy", "trimmer")]]


def inline_call():
    """slice.h: a trimmer that has not seen the first of two inline calls knows
    that the second starts from the empty sentinel: one call at most changes top
    behind its back."""
    return [[R(0, "tls", "first"), W(0, "top", 1), R(0, "tls", "second"),
             W(0, "top", 2)],
            [W(1, "tls", 1), Event(1, "B"), R(1, "top", "seen")]]


TESTS = [
    ("chunk-back", chunk_back,
     lambda r: r["bits"] == 1 and r["chunk"] == 1),
    ("chunks-of-two", chunks_of_two,
     lambda r: r["bits"] == 3 and r["seen"] == 0),
    ("chunk-put-back", chunk_put_back,
     lambda r: r["b"] == 1 and r["bits"] == 1 and r["seen"] == 0),
    ("slab-retired", slab_retired,
     lambda r: r["bits"] == 1 and r["seen"] == 2),
    ("published", published,
     lambda r: r["there"] == 1 and r["seen"] == 0),
    ("left", left, lambda r: r["state"] == 2 and r["seen"] == 0),
    ("bits-kept", bits_kept, lambda r: r["word"] != 3),
    ("suspended", suspended,
     lambda r: r["seen0"] == 0 and r["seen1"] == 0),
    ("late-hooks", late_hooks,
     lambda r: r["seen0"] == 0 and r["seen1"] == 0),
    ("hooks-of-two", hooks_of_two,
     lambda r: r["hooks"] == 2 and r["entries"] == 1 and r["seen0"] == 1),
    ("enter", with_barrier(enter, 1),
     lambda r: r["owner"] == 0 and r["trimmer"] == 0),
    ("inline-call", with_barrier(inline_call, 1),
     lambda r: r["seen"] == 0 and r["second"] == 0),
]


def ordered_places(text):
    """The variables that are accessed with an order, of a C file's text."""
    for name, arguments in re.findall(
            r"(STORE_RELEASE|LOAD_ACQUIRE|__atomic_\w+) \(([^;{}]*);", text):
        if name.startswith("__atomic") \
           and not re.search("RELEASE|ACQ|SEQ_CST", arguments):
            continue
        place = re.match(r"&?([\w.>-]+)", arguments)
        if place and not place[1].startswith("__ATOMIC"):
            yield re.split(r"\W+", place[1])[-1]


def without_line(top, layers):
    """The variables of the layers that the design has no line of."""
    with open(f"{top}/docs/design/09-threads.md") as file:
        section = file.read().split("\n## Weak memory order\n")[1]
    named = set(re.findall(r"\w+", " ".join(
        re.findall("`([^`]*)`", section.split("\n## ")[0]))))
    for layer in layers:
        for folder, _, files in os.walk(f"{top}/slice/{layer}"):
            for name in sorted(files):
                with open(f"{folder}/{name}") as file:
                    for place in ordered_places(file.read()):
                        if place not in named:
                            yield f"slice/{layer}: {name}: {place}"


def main():
    top = os.environ.get("top_srcdir",
                         os.path.join(os.path.dirname(__file__), "../.."))
    missing = list(without_line(top, ["slab", "depot", "magazine", "alloc"]))
    found = list(ordered_places("STORE_RELEASE (&class->is_new, true);"))
    for line in missing:
        print("#", line)
    print("not ok" if missing else "ok",
          "1 - the design has a line of each ordered access of the core")
    print("ok" if found == ["is_new"] else "not ok",
          "2 - one without a line would be found")
    number, failed = 2, bool(missing) + (found != ["is_new"])
    for name, build, forbidden in TESTS:
        for relaxed, wanted, text in ((False, False, "does not happen"),
                                      (True, True,
                                       "relaxed or without barrier, it does")):
            number += 1
            good = happens(build, relaxed, forbidden) == wanted
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {name}: {text}")
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    raise SystemExit(main())
