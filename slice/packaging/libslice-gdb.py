# libslice-gdb.py - what slice holds, in a debugger
#
# gdb loads it by itself with the installed library (docs/guide/debugging.md
# says which command it needs first; or: gdb -x), and finds all it needs in
# the library's debugging information:
#
#   slice-owner ADDRESS      whose it is: slab, class, chunk, free, cached, out
#   slice-magazines          what each thread keeps
#   slice-depot              full magazines that wait
#   slice-slabs [CLASS]      a line a class; or a line a slab of one class
#
# print *ARENA and print STATS show pools, linear and stack arenas, nodes of
# contexts and SliceStats in words (print/r: as they are).
#
# Nothing is called in the program, so it works on a core as well.
#
# SPDX-License-Identifier: MIT

import gdb
import gdb.printing

WINDOW_SHIFT = 21
OURS_SHIFT = 18
LEAF_SHIFT = 12


def value(name):
    return gdb.parse_and_eval(name)


def type_of(name):
    return gdb.lookup_type(name)


def n_classes():
    return value("sli_sizeclasses").type.range()[1] + 1


def sizeclass(index):
    return value("sli_sizeclasses")[index]


def links(head):
    """The owners' addresses of a ring, without its head."""
    start = int(head.address)
    at = head["next"]
    while int(at) != start:
        yield at.dereference()
        at = at["next"]


def offset_of(type_name, field):
    for one in type_of(type_name).fields():
        if one.name == field:
            return one.bitpos // 8
    raise gdb.GdbError("%s has no %s" % (type_name, field))


def owner(link, type_name, field):
    address = int(link.address) - offset_of(type_name, field)
    return (gdb.Value(address).cast(type_of(type_name).pointer())
            .dereference())


def leaf_of(address):
    """As map_leaf(): the part of the map that has an address; None."""
    number = address >> (WINDOW_SHIFT + LEAF_SHIFT)
    leaves = value("sli_map_leaves")
    if number <= leaves.type.range()[1]:
        leaf = leaves[number]
        return leaf.dereference() if int(leaf) != 0 else None
    chains = value("sli_map_far")
    n_bits = chains.type.range()[1].bit_length()
    hashed = number * 0x9e3779b97f4a7c15 & (1 << 64) - 1
    leaf = chains[hashed >> (64 - n_bits)]
    while int(leaf) != 0 and int(leaf["number"]) != number:
        leaf = leaf["next"]
    return leaf.dereference() if int(leaf) != 0 else None


def is_ours(address):
    """As sli_map_has()."""
    leaf = leaf_of(address)
    if leaf is None:
        return False
    window = (address >> WINDOW_SHIFT) & ((1 << LEAF_SHIFT) - 1)
    return (int(leaf["windows"][window]) >> (address >> OURS_SHIFT & 7)) & 1 != 0


def region_of(address):
    base = address & ~((1 << WINDOW_SHIFT) - 1)
    return (gdb.Value(base).cast(type_of("Region").pointer())
            .dereference())


def unit_shift():
    return int(value("sli_region_granule_shift"))


def slab_at(region, granule):
    """The slab whose run begins at a granule; None if it is no slab's."""
    record = region["records"][granule].address
    slab = record.cast(type_of("Slab").pointer()).dereference()
    return slab if int(slab["class_index"]) != 0 else None


def count_free(slab):
    cut = sizeclass(int(slab["class_index"]))
    n = int(cut["n_chunks"]) - int(slab["n_carved"])
    for i in range(int(cut["n_words"])):
        n += bin(int(slab["words"][i]) & (1 << 64) - 1).count("1")
    return n


def regions():
    for link in links(value("sli_page")["extents"]):
        extent = owner(link, "Extent", "link")
        for i in range(int(extent["n_initialised"])):
            yield region_of(int(extent["start"]) + (i << WINDOW_SHIFT))


def slabs():
    """(address, slab) of all."""
    for region in regions():
        base = int(region.address)
        for granule in range(1, int(region["n_granules"])):
            if int(region["run_first"][granule]) == granule:
                slab = slab_at(region, granule)
                if slab is not None:
                    yield base + (granule << unit_shift()), slab


def records():
    """Those of threads, then those that wait for one."""
    for name in ("records", "parked"):
        for link in links(value("sli_registry")[name]):
            yield owner(link, "ThreadRecord", "link")


def loaded_rounds(record, index):
    cache = record["caches"][index]
    loaded = cache["loaded"]
    if int(loaded) == 0:
        return 0, 0
    slots = int(loaded.dereference()["slots"].address)
    top = int(record["fast"]["entries"][index]["top"])
    pointer = type_of("void").pointer().sizeof
    n = (top - slots) // pointer
    if n < 0 or n > int(loaded["n_rounds_max"]):
        return 0, slots
    return n, slots


def rounds_at(slots, n):
    pointer = type_of("void").pointer()
    base = gdb.Value(slots).cast(pointer.pointer())
    return [int(base[i]) for i in range(1, n + 1)]


def stacks(index):
    """The depot's stacks of a class that are made."""
    made = int(value("sli_depot_classes")[index]["made"])
    of_shards = value("sli_depot_stacks")
    for shard in range(of_shards.type.range()[1] + 1):
        if made >> shard & 1:
            yield of_shards[shard][index]


def where_cached(address, index):
    """The magazine that holds a chunk, in words; None."""
    for record in records():
        cache = record["caches"][index]
        n, slots = loaded_rounds(record, index)
        if address in rounds_at(slots, n):
            return "cached in the loaded magazine of the thread with " \
                   "record %#x" % int(record.address)
        previous = cache["previous"]
        if int(previous) != 0 and address in rounds_at(
                int(previous.dereference()["slots"].address),
                int(previous["n_rounds"])):
            return "cached in the previous magazine of the thread with " \
                   "record %#x" % int(record.address)
    for stack in stacks(index):
        for link in links(stack["full"]):
            magazine = owner(link, "Magazine", "link")
            if address in rounds_at(int(magazine["slots"].address),
                                    int(magazine["n_rounds"])):
                return "cached in magazine %#x of the depot" \
                       % int(magazine.address)
    return None


def count(n, word):
    """A number and what it counts."""
    return "%d %s%s" % (n, word, "" if n == 1 else "s")


def require_symbols():
    """Ends the command if the library's data has no types."""
    try:
        value("sli_registry")["records"]
        type_of("ThreadRecord")
    except gdb.error:
        raise gdb.GdbError(
            "libslice is not loaded, or has no debugging information: "
            "build it with -g and do not strip it") from None


class Command(gdb.Command):
    """A command that ends with a message where its work can't be done."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA)
        self.name = name

    def invoke(self, argument, from_tty):
        require_symbols()
        try:
            self.run(argument)
        except (gdb.error, ValueError) as error:
            raise gdb.GdbError("%s: %s" % (self.name, error)) from None


class Owner(Command):
    """slice-owner ADDRESS: whose it is."""

    def __init__(self):
        super().__init__("slice-owner")

    def run(self, argument):
        address = int(gdb.parse_and_eval(argument).cast(type_of("long")))
        address &= (1 << 64) - 1
        print("%#x: %s" % (address, self.words(address)))

    def words(self, address):
        if not is_ours(address):
            return "not slice's"
        region = region_of(address)
        granule = (address - int(region.address)) >> unit_shift()
        if granule == 0:
            return "header of region %#x" % int(region.address)
        first = int(region["run_first"][granule])
        if first == 0:
            return "unused pages of region %#x" % int(region.address)
        slab = slab_at(region, first)
        if slab is None:
            return "metadata"
        return self.chunk_words(address, int(region.address)
                                + (first << unit_shift()), slab)

    def chunk_words(self, address, run, slab):
        index = int(slab["class_index"])
        cut = sizeclass(index)
        size = int(cut["chunk_bytes"])
        offset = address - run - int(slab["first_offset"])
        words = "slab %#x of class %d" % (run, int(cut["block_bytes"]))
        if offset < 0 or offset >= int(cut["n_chunks"]) * size:
            return words + ", in no chunk"
        number = offset // size
        start = address - offset % size
        words += ", chunk %d at %#x" % (number, start)
        if offset % size != 0:
            words += " (%d bytes into it)" % (offset % size)
        if number >= int(slab["n_carved"]):
            return words + ", never handed out"
        if (int(slab["words"][number // 64]) >> (number % 64)) & 1:
            return words + ", free"
        return words + ", " + (where_cached(start, index) or "out")


class Magazines(Command):
    """slice-magazines: what each thread keeps."""

    def __init__(self):
        super().__init__("slice-magazines")

    def run(self, _argument):
        for record in records():
            print("thread with record %#x%s" % (
                int(record.address),
                ", detached" if int(record["attention"]) else ""))
            for index in range(1, n_classes()):
                cache = record["caches"][index]
                if int(cache["loaded"]) == 0:
                    continue
                n, _ = loaded_rounds(record, index)
                line = "  class %4d: loaded %3d of %3d" % (
                    int(sizeclass(index)["block_bytes"]), n,
                    int(cache["loaded"]["n_rounds_max"]))
                if int(cache["previous"]) != 0:
                    line += ", previous %3d of %3d" % (
                        int(cache["previous"]["n_rounds"]),
                        int(cache["previous"]["n_rounds_max"]))
                print(line)


class Depots(Command):
    """slice-depot: full magazines that wait."""

    def __init__(self):
        super().__init__("slice-depot")

    def run(self, _argument):
        for index in range(1, n_classes()):
            made = list(stacks(index))
            magazines = sum(int(stack["n_magazines"]) for stack in made)
            if magazines != 0:
                print("class %4d: %s, %s" % (
                    int(sizeclass(index)["block_bytes"]),
                    count(magazines, "magazine"),
                    count(sum(int(stack["n_chunks"]) for stack in made),
                          "chunk")))


class Slabs(Command):
    """slice-slabs [CLASS]: a line a class; or a line a slab of one class."""

    def __init__(self):
        super().__init__("slice-slabs")

    def run(self, argument):
        wanted = int(argument) if argument else None
        sums = {}
        for run, slab in slabs():
            cut = sizeclass(int(slab["class_index"]))
            bytes_ = int(cut["block_bytes"])
            free = count_free(slab)
            n, n_free, chunks = sums.get(bytes_, (0, 0, 0))
            sums[bytes_] = (n + 1, n_free + free,
                            chunks + int(cut["n_chunks"]))
            if bytes_ == wanted:
                print("slab %#x: %d of %d chunks free, %d never handed out"
                      % (run, free, int(cut["n_chunks"]),
                         int(cut["n_chunks"]) - int(slab["n_carved"])))
        if wanted is not None and wanted not in sums:
            print("no slabs of %d bytes" % wanted)
        if wanted is None:
            for bytes_ in sorted(sums):
                n, n_free, chunks = sums[bytes_]
                print("class %4d: %s, %d of %d chunks free"
                      % (bytes_, count(n, "slab"), n_free, chunks))



ARENA_DEAD = 0x44656164


def arena_held(arena, base):
    """SliceArenaStats.held_bytes: blocks, control block and tables."""
    chain = base["chain"]
    return int(chain["held_bytes"]) + (arena.type.sizeof + 15 & ~15) \
        + int(chain["beside_bytes"])


class BumpPrinter:
    """A linear or stack arena."""

    def __init__(self, value, words):
        self.value = value
        self.words = words

    def to_string(self):
        bump = self.value["bump"]
        if int(bump["kind"]) == ARENA_DEAD:
            return self.words + ", destroyed"
        held = arena_held(self.value, bump)
        if int(bump["block_end"]) == 0:
            return "%s: %d bytes held, no block in use" % (self.words, held)
        at = bump["at"] if bool(bump["is_hidden"]) else bump["head"]["next"]
        return "%s: %d bytes held, next object at %#x, %d left in its block" \
               % (self.words, held, int(at),
                  int(bump["block_end"]) - int(at))


class PoolPrinter:
    """A pool."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        pool = self.value
        if int(pool["kind"]) == ARENA_DEAD:
            return "pool, destroyed"
        live = int(pool["n_live"]) if bool(pool["is_tracked"]) \
            else int(pool["n_cut"]) - int(pool["n_spilt"]) \
            - int(pool["head"]["top"] - pool["head"]["bottom"]) \
            // type_of("void").pointer().sizeof
        return "pool: %s of %s live, %d bytes held" % (
            count(live, "object"),
            count(int(pool["options"]["object_bytes"]), "byte"),
            arena_held(pool, pool))


class NodePrinter:
    """The header of a context's node, which lies right before it."""

    FLAGS = 15

    def __init__(self, value):
        self.value = value

    def to_string(self):
        node = self.value
        parent = int(node["parent"]) & (1 << 64) - 1
        payload = int(node.address) + node.type.sizeof
        if parent == self.FLAGS:
            return "freed node %#x" % payload
        return "node %#x: parent word %#x, next %#x" % (
            payload, parent, int(node["next"]))


class StatsPrinter:
    """A snapshot; its classes are those that were used."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return "%s, %d bytes; %d bytes held of %d mapped" % (
            (count(int(self.value["live_blocks"]), "live block"),)
            + tuple(int(self.value[name]) for name in
                    ("live_bytes", "held_bytes", "mapped_bytes")))

    def children(self):
        classes = self.value["classes"]
        for index in range(1, int(self.value["n_classes"])):
            one = classes[index]
            if int(one["n_slabs"]) != 0 or int(one["n_slab_fills"]) != 0:
                yield ("%d bytes" % int(one["block_bytes"]),
                       "%d live, %d in magazines, %d in the depot, %s"
                       % (int(one["n_live"]), int(one["n_cached_threads"]),
                          int(one["n_cached_depot"]),
                          count(int(one["n_slabs"]), "slab")))


PRINTERS = {
    "SliceLinear": lambda value: BumpPrinter(value, "linear arena"),
    "SliceStack": lambda value: BumpPrinter(value, "stack arena"),
    "SlicePool": PoolPrinter,
    "SliceStats": StatsPrinter,
}


def find_printer(value):
    kind = value.type.unqualified()
    name = kind.name or kind.strip_typedefs().name
    if name == "Node" and all(
            field in [one.name for one in kind.strip_typedefs().fields()]
            for field in ("parent", "pprev", "next")):
        return NodePrinter(value)  # and nobody else's Node
    make = PRINTERS.get(name)
    return make(value) if make is not None else None


find_printer.__name__ = "libslice"
gdb.printing.register_pretty_printer(gdb.current_objfile(), find_printer,
                                     replace=True)

Owner()
Magazines()
Depots()
Slabs()
