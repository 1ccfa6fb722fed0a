/* make-trace.c - traces with known answers, made without a recorder
 *
 * Tests.  Each trace is one behaviour, written with a seeded generator, so
 * that its numbers are known beforehand: what fraction dies early fixes W,
 * how often the youngest is spared fixes L, and so on (design chapter 13).
 *
 * SPDX-License-Identifier: MIT
 */
#include "make-trace.h"
#include <stdlib.h>
#include <string.h>

#define N_THREADS 256
#define N_NODES 4096

struct Maker
{
  TraceWriter *writer;
  TraceEvent *events[N_THREADS];
  size_t n_events[N_THREADS];
  uint32_t thread;
  uint64_t ticks, next_address, sequence;
  uint32_t random;
  uint32_t parents[N_NODES];
  uint64_t pcs[N_NODES];
  uint32_t n_nodes;
};

Maker *
maker_new (const char *path, uint32_t seed)
{
  Maker *maker = calloc (1, sizeof *maker);
  TraceFileHead head = { .ticks_per_sec = 1000000000 };

  maker->writer = sli_trace_create (path, &head);
  if (maker->writer == NULL)
    abort ();
  for (int i = 0; i < N_THREADS; i++)
    maker->events[i] = malloc (TRACE_BLOCK_EVENTS * sizeof (TraceEvent));
  maker->thread = 1;
  maker->next_address = 0x10000;
  maker->random = seed * 2654435761u + 1;
  maker->n_nodes = TRACE_N_FIXED_NODES;
  maker->pcs[1] = 1;
  return maker;
}

uint32_t
maker_random (Maker *maker, uint32_t below)
{
  maker->random ^= maker->random << 13;
  maker->random ^= maker->random >> 17;
  maker->random ^= maker->random << 5;
  return (uint32_t)((uint64_t)maker->random * below >> 32);
}

static uint32_t
node_of (Maker *maker, uint32_t parent, uint64_t pc)
{
  for (uint32_t i = TRACE_N_FIXED_NODES; i < maker->n_nodes; i++)
    if (maker->parents[i] == parent && maker->pcs[i] == pc)
      return i;
  if (maker->n_nodes == N_NODES)
    abort ();
  maker->parents[maker->n_nodes] = parent;
  maker->pcs[maker->n_nodes] = pc;
  return maker->n_nodes++;
}

uint32_t
maker_site (Maker *maker, uint64_t a, uint64_t b, uint64_t c)
{
  uint32_t node = node_of (maker, 0, 0x900000);

  if (c != 0)
    node = node_of (maker, node, c);
  if (b != 0)
    node = node_of (maker, node, b);
  return node_of (maker, node, a);
}

static void
block_end (Maker *maker, uint32_t thread)
{
  if (maker->n_events[thread] > 0)
    sli_trace_write_events (maker->writer, maker->events[thread],
                            maker->n_events[thread], maker->sequence++, 0, 0);
  maker->n_events[thread] = 0;
}

static void
event_add (Maker *maker, unsigned op, uint64_t address, uint64_t size,
           uint32_t node)
{
  uint32_t thread = maker->thread;

  if (maker->n_events[thread] == TRACE_BLOCK_EVENTS)
    block_end (maker, thread);
  maker->ticks += 100;
  maker->events[thread][maker->n_events[thread]++]
      = (TraceEvent){ .ticks = maker->ticks,
                      .address = address,
                      .size = size,
                      .node = node,
                      .thread = thread,
                      .op = (uint8_t)op };
}

uint64_t
maker_alloc (Maker *maker, uint32_t site, uint64_t size)
{
  uint64_t address = maker->next_address;

  maker->next_address += (size + 31) & ~15ull;
  event_add (maker, TRACE_OP_MALLOC, address, size, site);
  return address;
}

void
maker_free (Maker *maker, uint64_t address)
{
  event_add (maker, TRACE_OP_FREE, address, 0, TRACE_NODE_CUT);
}

uint64_t
maker_realloc (Maker *maker, uint32_t site, uint64_t address, uint64_t size)
{
  uint64_t fresh;

  event_add (maker, TRACE_OP_REALLOC_FREE, address, 0, TRACE_NODE_CUT);
  fresh = maker->next_address;
  maker->next_address += (size + 31) & ~15ull;
  event_add (maker, TRACE_OP_REALLOC, fresh, size, site);
  return fresh;
}

void
maker_scope (Maker *maker, bool begin)
{
  event_add (maker, begin ? TRACE_OP_SCOPE_BEGIN : TRACE_OP_SCOPE_END, 1, 0,
             TRACE_NODE_CUT);
}

void
maker_thread (Maker *maker, uint32_t thread)
{
  maker->thread = thread;
}

uint64_t
maker_size (Maker *maker)
{
  static const struct
  {
    uint8_t up_to; /* percent */
    uint16_t size;
  } sizes[] = { { 25, 32 },  { 45, 48 },  { 60, 64 },  { 72, 96 },
                { 82, 112 }, { 90, 160 }, { 96, 208 }, { 100, 256 } };
  uint32_t at = maker_random (maker, 100);
  size_t i = 0;

  while (at >= sizes[i].up_to)
    i++;
  return sizes[i].size;
}

void
maker_shuffle (Maker *maker, uint64_t *items, size_t n)
{
  for (size_t i = n; i > 1; i--)
    {
      size_t other = maker_random (maker, (uint32_t)i);
      uint64_t swap = items[i - 1];

      items[i - 1] = items[other];
      items[other] = swap;
    }
}

void
maker_end (Maker *maker)
{
  uint8_t *raw = malloc (maker->n_nodes * 20);
  uint8_t *at = raw;
  struct
  {
    uint32_t id, n;
    char text[8];
  } string = { 1, 5, "scope" };
  uint64_t last = 0;
  TraceSummary summary;

  for (uint32_t i = 0; i < N_THREADS; i++)
    block_end (maker, i);
  for (uint32_t i = 0; i < maker->n_nodes; i++)
    {
      uint64_t step = maker->pcs[i] - last;
      uint64_t parts[2] = { i - maker->parents[i],
                            step << 1 ^ (uint64_t)((int64_t)step >> 63) };

      last = maker->pcs[i];
      for (int part = 0; part < 2; part++)
        {
          for (; parts[part] >= 0x80; parts[part] >>= 7)
            *at++ = (uint8_t)(parts[part] | 0x80);
          *at++ = (uint8_t)parts[part];
        }
    }
  sli_trace_write_block (maker->writer, TRACE_BLOCK_NODES, 0, maker->n_nodes,
                         raw, (size_t)(at - raw));
  sli_trace_write_block (maker->writer, TRACE_BLOCK_STRINGS, 0, 1, &string,
                         sizeof string);
  summary
      = (TraceSummary){ .n_events = sli_trace_written_events (maker->writer) };
  sli_trace_write_block (maker->writer, TRACE_BLOCK_SUMMARY, 0, 1, &summary,
                         sizeof summary);
  sli_trace_finish (maker->writer);
  for (int i = 0; i < N_THREADS; i++)
    free (maker->events[i]);
  free (raw);
  free (maker);
}

/* --- behaviours ---------------------------------------------------------- */

#define ROUNDS 50
#define ROUND_ALLOCS 1000

/* Rounds; a share (in tenths of a percent) dies soon after its allocation, the
 * rest together at the end, in random order. */
static void
rounds (Maker *maker, uint32_t early_tenths)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t kept[ROUND_ALLOCS];

  for (int round = 0; round < ROUNDS; round++)
    {
      size_t n = 0;
      uint32_t debt = 0;

      for (int i = 0; i < ROUND_ALLOCS; i++)
        {
          bool early;
          uint64_t size;
          uint64_t block;

          debt += early_tenths;
          early = debt >= 1000;
          debt -= early ? 1000 : 0;
          /* the early ones have the mean size, so that their share of the
           * bytes is that of the count */
          size = early ? 128 : 16 * (1 + (uint64_t) (n * 7 % 15));
          block = maker_alloc (maker, site, size);
          if (early)
            maker_free (maker, block);
          else
            kept[n++] = block;
        }
      maker_shuffle (maker, kept, n);
      for (size_t i = 0; i < n; i++)
        maker_free (maker, kept[i]);
    }
}

static void
freed_together (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t kept[ROUND_ALLOCS];

  for (int round = 0; round < ROUNDS; round++)
    {
      for (int i = 0; i < ROUND_ALLOCS; i++)
        kept[i] = maker_alloc (maker, site, maker_size (maker));
      maker_shuffle (maker, kept, ROUND_ALLOCS);
      for (int i = 0; i < ROUND_ALLOCS; i++)
        maker_free (maker, kept[i]);
    }
}

/* One block in all is freed by another thread: an arena would be one for both.
 */
static void
freed_together_but_one (Maker *maker)
{
  uint64_t block;

  freed_together (maker);
  block = maker_alloc (maker, maker_site (maker, 0x1000, 0x2000, 0),
                       maker_size (maker));
  maker_thread (maker, 2);
  maker_free (maker, block);
  maker_thread (maker, 1);
}

static void
never_freed (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int i = 0; i < 50000; i++)
    maker_alloc (maker, site, maker_size (maker));
}

static void
early_199 (Maker *maker)
{
  rounds (maker, 199);
}

static void
early_202 (Maker *maker)
{
  rounds (maker, 202);
}

static void
early_450 (Maker *maker)
{
  rounds (maker, 450);
}

static void
early_498 (Maker *maker)
{
  rounds (maker, 498);
}

static void
early_503 (Maker *maker)
{
  rounds (maker, 503);
}

static void
early_600 (Maker *maker)
{
  rounds (maker, 600);
}

static void
queue (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t ring[100] = { 0 };

  for (int i = 0; i < 50000; i++)
    {
      if (ring[i % 100] != 0)
        maker_free (maker, ring[i % 100]);
      ring[i % 100] = maker_alloc (maker, site, maker_size (maker));
    }
}

/* Random push and pop, up to a depth of 200 and down again; a share of the
 * pops takes some other block than the youngest. */
static void
pushes (Maker *maker, uint32_t violations_percent)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  static uint64_t stack[4096];
  size_t n = 0;
  bool up = true;

  for (int i = 0; i < 100000; i++)
    {
      bool push;
      size_t at;

      up = n < 3 ? true : n > 200 ? false : up;
      push = n < 2 || maker_random (maker, 100) < (up ? 65u : 35u);
      if (push)
        {
          stack[n++] = maker_alloc (maker, site, maker_size (maker));
          continue;
        }
      at = n - 1;
      if (maker_random (maker, 100) < violations_percent)
        at = n - 1 - maker_random (maker, n < 20 ? (uint32_t)n : 20);
      maker_free (maker, stack[at]);
      memmove (&stack[at], &stack[at + 1], (n - at - 1) * sizeof *stack);
      n--;
    }
}

static void
pushes_0 (Maker *maker)
{
  pushes (maker, 0);
}

static void
pushes_2 (Maker *maker)
{
  pushes (maker, 2);
}

static void
pushes_8 (Maker *maker)
{
  pushes (maker, 8);
}

static void
pushes_30 (Maker *maker)
{
  pushes (maker, 30);
}

static void
replacement (Maker *maker, int n_sizes)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t slots[500] = { 0 };

  for (int i = 0; i < 30000; i++)
    {
      uint32_t at = i < 500 ? (uint32_t)i : maker_random (maker, 500);
      uint64_t size;

      if (slots[at] != 0)
        maker_free (maker, slots[at]);
      size = n_sizes == 1   ? 64
             : n_sizes == 2 ? (maker_random (maker, 2) ? 64 : 80)
                            : 16 * (uint64_t) (1 + maker_random (maker, 40));
      slots[at] = maker_alloc (maker, site, size);
    }
}

static void
one_size (Maker *maker)
{
  replacement (maker, 1);
}

static void
two_sizes (Maker *maker)
{
  replacement (maker, 2);
}

static void
any_size (Maker *maker)
{
  replacement (maker, 3);
}

/* Parents that live interleaved; each takes its children with it.  Without
 * parents the batches look the same. */
static void
parents (Maker *maker, int n_parents, uint32_t early_percent,
         bool with_parents)
{
  enum
  {
    CHILDREN = 100
  };
  uint32_t child_site = maker_site (maker, 0x1000, 0x2000, 0);
  uint32_t parent_site = maker_site (maker, 0x3000, 0x2000, 0);
  uint64_t parent[64], children[64][CHILDREN];
  int n[64], made[64];

  for (int i = 0; i < n_parents; i++)
    n[i] = made[i] = -1;
  for (int step = 0; step < 120000; step++)
    {
      int at = (int)maker_random (maker, (uint32_t)n_parents);

      if (made[at] < 0)
        {
          if (with_parents)
            parent[at] = maker_alloc (maker, parent_site, 200);
          n[at] = made[at] = 0;
        }
      if (made[at] < CHILDREN)
        {
          uint64_t child = maker_alloc (maker, child_site, maker_size (maker));

          made[at]++;
          if (maker_random (maker, 100) < early_percent)
            maker_free (maker, child);
          else
            children[at][n[at]++] = child;
          continue;
        }
      maker_shuffle (maker, children[at], (size_t)n[at]);
      for (int i = 0; i < n[at]; i++)
        maker_free (maker, children[at][i]);
      if (with_parents)
        maker_free (maker, parent[at]);
      n[at] = made[at] = -1;
    }
}

static void
parents_8 (Maker *maker)
{
  parents (maker, 8, 0, true);
}

static void
parents_64 (Maker *maker)
{
  parents (maker, 64, 0, true);
}

static void
parents_early (Maker *maker)
{
  parents (maker, 64, 15, true);
}

static void
batches (Maker *maker)
{
  parents (maker, 64, 0, false);
}

/* As parents of 8, but what one thread allocates another one frees. */
static void
parents_elsewhere (Maker *maker)
{
  enum
  {
    CHILDREN = 100
  };
  uint32_t child_site = maker_site (maker, 0x1000, 0x2000, 0);
  uint32_t parent_site = maker_site (maker, 0x3000, 0x2000, 0);
  uint64_t blocks[8][CHILDREN + 1] = { { 0 } };

  for (int step = 0; step < 500; step++)
    {
      uint64_t *at = blocks[maker_random (maker, 8)];

      maker_thread (maker, 2);
      for (int i = 0; at[0] != 0 && i <= CHILDREN; i++)
        maker_free (maker, at[i]);
      maker_thread (maker, 1);
      at[0] = maker_alloc (maker, parent_site, 200);
      for (int i = 1; i <= CHILDREN; i++)
        at[i] = maker_alloc (maker, child_site, maker_size (maker));
    }
}

/* At most four alive, the youngest goes first. */
static void
scratch (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int i = 0; i < 5000; i++)
    {
      uint64_t blocks[4];

      for (int j = 0; j < 4; j++)
        blocks[j] = maker_alloc (maker, site, 64);
      for (int j = 4; j-- > 0;)
        maker_free (maker, blocks[j]);
    }
}

static void
huge (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int i = 0; i < 500; i++)
    maker_free (maker, maker_alloc (maker, site, 200 * 1024));
}

static void
rare (Maker *maker)
{
  uint32_t often = maker_site (maker, 0x5000, 0x2000, 0);
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int i = 0; i < 200000; i++)
    {
      maker_free (maker, maker_alloc (maker, often, 32));
      if (i % 2100 == 0)
        maker_free (maker, maker_alloc (maker, site, 48));
    }
}

/* Pool-like sizes freed by another thread: slices may, stacks, arenas and
 * pools may not. */
static void
other_thread (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t blocks[64];

  for (int round = 0; round < 500; round++)
    {
      maker_thread (maker, 1);
      for (int i = 0; i < 64; i++)
        blocks[i] = maker_alloc (maker, site, 64);
      maker_thread (maker, 2);
      for (int i = 0; i < 64; i++)
        maker_free (maker, blocks[i]);
    }
}

/* Two threads take turns, so that the youngest of all is often the other's.
 */
static void
thread_stacks (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t blocks[2][400];
  size_t n[2] = { 0 };

  for (int i = 0; i < 40000; i++)
    {
      uint32_t at = maker_random (maker, 2);

      maker_thread (maker, at + 1);
      if (n[at] < 2 || (n[at] < 400 && maker_random (maker, 2)))
        blocks[at][n[at]++] = maker_alloc (maker, site, 32);
      else
        maker_free (maker, blocks[at][--n[at]]);
    }
}

/* One begins a round when the other is in the middle of its own. */
static void
thread_phases (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t blocks[2][200];

  for (int half = 0; half < 400; half++)
    {
      int at = half & 1;

      maker_thread (maker, (uint32_t)at + 1);
      for (int i = 0; half > 1 && i < 200; i++)
        maker_free (maker, blocks[at][i]);
      for (int i = 0; i < 200; i++)
        blocks[at][i] = maker_alloc (maker, site, 64);
      maker_shuffle (maker, blocks[at], 200);
    }
}

/* Vectors that grow side by side: resized too often for an arena. */
static void
growth (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int round = 0; round < 500; round++)
    {
      uint64_t blocks[16];

      for (int i = 0; i < 16; i++)
        blocks[i] = maker_alloc (maker, site, 64);
      for (uint64_t size = 80; size < 320; size += 16)
        for (int i = 0; i < 16; i++)
          blocks[i] = maker_realloc (maker, site, blocks[i], size);
      for (int i = 0; i < 16; i++)
        maker_free (maker, blocks[i]);
    }
}

/* What overlaps from scope to scope elsewhere is clean within each scope. */
static void
scoped (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);

  for (int i = 0; i < 10; i++)
    maker_alloc (maker, site, maker_size (maker));
  for (int round = 0; round < 2000; round++)
    {
      uint64_t blocks[60];

      maker_scope (maker, true);
      for (int i = 0; i < 60; i++)
        blocks[i] = maker_alloc (maker, site, maker_size (maker));
      maker_shuffle (maker, blocks, 60);
      for (int i = 0; i < 60; i++)
        maker_free (maker, blocks[i]);
      maker_scope (maker, false);
    }
}

static void
scoped_but_one (Maker *maker)
{
  uint64_t block;

  scoped (maker);
  maker_scope (maker, true);
  block = maker_alloc (maker, maker_site (maker, 0x1000, 0x2000, 0),
                       maker_size (maker));
  maker_thread (maker, 2);
  maker_free (maker, block);
  maker_thread (maker, 1);
  maker_scope (maker, false);
}

/* Many sizes that the freeing code cannot know are general; one size that is
 * kept too unevenly for a pool is a slice's. */
static void
one_size_uneven (Maker *maker)
{
  uint32_t site = maker_site (maker, 0x1000, 0x2000, 0);
  uint64_t slots[300] = { 0 };

  for (int i = 0; i < 900; i++)
    {
      uint32_t at = i < 300 ? (uint32_t)i : maker_random (maker, 300);

      if (slots[at] != 0)
        maker_free (maker, slots[at]);
      slots[at] = maker_alloc (maker, site, 64);
    }
}

const KnownTrace known_traces[] = {
  { "freed-together", "linear", .0075, 1, 1, 50, .45, 1, freed_together },
  { "freed-together-but-one", "general", -1, 1, 1, -1, .45, -1,
    freed_together_but_one },
  { "never-freed", "immortal", -1, 1, 1, 1, .45, -1, never_freed },
  { "early-19.9", "linear", -1, 1.248, -1, -1, -1, .801, early_199 },
  { "early-20.2", "linear-fair", -1, 1.253, -1, -1, -1, .798, early_202 },
  { "early-45", "linear-fair", -1, 1.818, -1, -1, -1, .55, early_450 },
  { "early-49.8", "linear-fair", -1, 1.992, -1, -1, -1, .502, early_498 },
  { "early-50.3", "general", -1, 2.01, -1, -1, -1, .497, early_503 },
  { "early-60", "general", -1, 2.5, -1, -1, -1, .4, early_600 },
  { "queue", "general", 0, -1, -1, 500, .45, 0, queue },
  { "push-pop", "stack", 1, -1, 1, -1, .45, -1, pushes_0 },
  { "push-pop-2", "stack-lazy", .98, -1, -1, -1, .45, -1, pushes_2 },
  { "push-pop-8", "stack-lazy", .925, -1, -1, -1, .45, -1, pushes_8 },
  { "push-pop-30", "general", .715, -1, -1, -1, .45, -1, pushes_30 },
  { "one-size", "pool", .002, 60, 60, 60, 1, 0, one_size },
  { "two-sizes", "pool", .002, -1, -1, 60, 1, 0, two_sizes },
  { "any-size", "general", .002, -1, -1, 60, .05, 0, any_size },
  { "parents-8", "owner", -1, -1, -1, -1, .45, 1, parents_8 },
  { "parents-elsewhere", "general", -1, -1, -1, -1, .45, 1,
    parents_elsewhere },
  { "parents-64", "owner", -1, -1, -1, -1, .45, 1, parents_64 },
  { "parents-15-early", "owner", -1, -1, -1, -1, .45, .85, parents_early },
  { "random-batches", "general", -1, -1, -1, -1, .45, 1, batches },
  { "scratch", "scratch", 1, 1, 1, 5000, 1, 0, scratch },
  { "huge", "huge", 1, 1, 1, 500, 1, 0, huge },
  { "rare", "rare", -1, -1, -1, -1, 1, 0, rare },
  { "other-thread", "slice", -1, 1, -1, 500, 1, 1, other_thread },
  { "two-threads'-stacks", "stack", 1, -1, 1, -1, -1, -1, thread_stacks },
  { "two-threads'-phases", "linear", -1, 1, -1, -1, -1, 1, thread_phases },
  { "growth", "general", -1, -1, -1, -1, -1, -1, growth },
  { "scoped", "scope", -1, -1, -1, -1, .45, -1, scoped },
  { "scoped-but-one", "general", -1, -1, -1, -1, .45, -1, scoped_but_one },
  { "one-size-uneven", "slice", -1, 3, 3, 3, 1, 0, one_size_uneven },
};
const size_t n_known_traces = sizeof known_traces / sizeof *known_traces;

void
known_traces_add (const char *path, GTestDataFunc test)
{
  for (size_t i = 0; i < n_known_traces; i++)
    {
      char *name = g_strdup_printf ("%s/%s", path, known_traces[i].name);

      g_test_add_data_func (name, &known_traces[i], test);
      g_free (name);
    }
}
