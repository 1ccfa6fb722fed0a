/* test-trace-file.c - the trace's file: round trip, cuts, flipped bits
 *
 * Tests.  Built with the sanitizers (make check-asan) this is the reader's
 * fuzz test; --rounds=N as the first argument makes it longer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "make-trace.h"
#include "tools/trace/format/read/trace-read.h"
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned n_rounds = 400;

static char *
trace_path (const char *name)
{
  return g_strdup_printf ("%s/slice-file-%d-%s.trace", g_get_tmp_dir (),
                          (int)getpid (), name);
}

static char *
sample_make (void)
{
  char *path = trace_path ("sample");
  Maker *maker = maker_new (path, 7);

  for (size_t i = 0; i < n_known_traces; i++)
    if (strcmp (known_traces[i].name, "scoped") == 0
        || strcmp (known_traces[i].name, "other-thread") == 0)
      known_traces[i].make (maker);
  maker_end (maker);
  return path;
}

/* A good trace's bytes, and a path for what a test makes of them. */
typedef struct
{
  char *path;
  char *bytes;
  gsize n;
} Damaged;

static Damaged
damaged_begin (const char *name)
{
  Damaged damaged = { .path = trace_path (name) };
  char *sample = sample_make ();

  g_assert_true (
      g_file_get_contents (sample, &damaged.bytes, &damaged.n, NULL));
  g_remove (sample);
  g_free (sample);
  return damaged;
}

/* Writes n bytes to the path and opens them; NULL: they are no trace. */
static TraceReader *
damaged_open (const Damaged *damaged, const char *bytes, gsize n)
{
  char error[512];

  g_assert_true (g_file_set_contents (damaged->path, bytes, (gssize)n, NULL));
  return sli_trace_open (damaged->path, error);
}

static void
damaged_end (Damaged *damaged)
{
  g_remove (damaged->path);
  g_free (damaged->path);
  g_free (damaged->bytes);
}

static uint64_t
events_read (TraceReader *reader)
{
  TraceEvent event;
  uint64_t n = 0, sum = 0, last = 0;

  while (sli_trace_next (reader, &event))
    {
      n++;
      sum += event.address + event.size;
      g_assert_cmpuint (event.node, <, reader->n_nodes);
      if (reader->n_damaged == 0)
        g_assert_cmpuint (event.ticks, >=, last);
      last = event.ticks;
    }
  g_assert_cmpuint (sum, >=, n > 0);
  return n;
}

/* Random events of all kinds come back as they were. */
static void
test_round_trip (void)
{
  enum
  {
    N = 50000
  };
  char *path = trace_path ("trip");
  TraceEvent *events = g_new0 (TraceEvent, N);
  TraceFileHead head = { .ticks_per_sec = 1000 };
  TraceWriter *writer = sli_trace_create (path, &head);
  GRand *random = g_rand_new_with_seed (3);
  uint64_t ticks = 1000;
  char error[512];
  TraceReader *reader;

  for (int i = 0; i < N; i++)
    {
      unsigned kind = (unsigned)g_rand_int_range (random, 0, 3);
      TraceEvent *event = &events[i];

      ticks += (uint64_t)g_rand_int_range (random, 0, 300);
      event->ticks = ticks;
      event->thread = 1;
      event->node = TRACE_NODE_CUT;
      event->op = kind == 0   ? TRACE_OP_CALLOC
                  : kind == 1 ? TRACE_OP_DELETE_SIZED
                              : TRACE_OP_MARK;
      event->address = kind == 2 ? g_rand_int (random) % 100
                                 : (uint64_t)g_rand_int (random) << 12
                                       | g_rand_int (random) % 4096;
      if (kind < 2 && i > 10 && g_rand_int (random) % 2
          && events[i - 7].op < TRACE_OP_SCOPE_BEGIN)
        event->address = events[i - 7].address;
      event->size = kind == 0 ? (uint64_t)g_rand_int (random) << 8 : 0;
      event->extra = g_rand_int (random) % 3 == 0 ? g_rand_int (random) : 0;
    }
  sli_trace_write_events (writer, events, N, 0, 0, 0);
  g_assert_true (sli_trace_finish (writer));
  reader = sli_trace_open (path, error);
  g_assert_nonnull (reader);
  for (int pass = 0; pass < 2; pass++)
    {
      TraceEvent event;

      for (int i = 0; i < N; i++)
        {
          g_assert_true (sli_trace_next (reader, &event));
          g_assert_cmpmem (&event, sizeof event, &events[i], sizeof event);
        }
      g_assert_false (sli_trace_next (reader, &event));
      sli_trace_rewind (reader);
    }
  sli_trace_close (reader);
  g_remove (path);
  g_free (path);
  g_free (events);
  g_rand_free (random);
}

/* Cut anywhere: what is before the cut is read, and the cut is noticed. */
static void
test_cut (void)
{
  Damaged cut = damaged_begin ("cut");
  uint64_t least = 0;

  for (unsigned i = 0; i <= 40; i++)
    {
      gsize length = cut.n * i / 40;
      TraceReader *reader = damaged_open (&cut, cut.bytes, length);
      uint64_t events;

      if (length < sizeof (TraceFileHead))
        {
          g_assert_null (reader);
          continue;
        }
      events = events_read (reader);
      g_assert_cmpuint (events, >=, least);
      g_assert_true (reader->has_index == (length == cut.n));
      g_assert_true (sli_trace_is_whole (reader) == reader->has_summary);
      least = events;
      sli_trace_close (reader);
    }
  g_assert_cmpuint (least, >, 0);
  damaged_end (&cut);
}

/* Damage is counted once, though the profile reads the file several times and
 * rewinds before the first one. */
static void
test_damage_counted (void)
{
  Damaged bad = damaged_begin ("counted");
  TraceReader *reader = damaged_open (&bad, bad.bytes, bad.n);
  const TraceIndexEntry *block = &reader->blocks[reader->n_blocks / 2];

  bad.bytes[block->offset + block->bytes - 1] ^= 1;
  sli_trace_close (reader);
  reader = damaged_open (&bad, bad.bytes, bad.n);
  g_assert_cmpuint (reader->n_damaged, ==, 0);
  for (int reading = 0; reading < 3; reading++)
    {
      sli_trace_rewind (reader);
      events_read (reader);
      g_assert_cmpuint (reader->n_damaged, ==, 1);
    }
  sli_trace_close (reader);
  damaged_end (&bad);
}

/* One bit, wherever it is: nobody takes such a trace for whole. */
static void
test_each_byte (void)
{
  Damaged bad = damaged_begin ("byte");
  gsize n = bad.n;

  /* all of the heads at both ends, and some of the events */
  for (gsize i = 0; i < n; i += i < 160 || i + 128 > n ? 1 : n / 64 + 1)
    {
      TraceReader *reader;

      bad.bytes[i] ^= (char)(1 << i % 8);
      reader = damaged_open (&bad, bad.bytes, n);
      bad.bytes[i] ^= (char)(1 << i % 8);
      if (reader == NULL)
        continue;
      if (reader->n_damaged == 0)
        events_read (reader);
      if (reader->n_damaged == 0)
        g_error ("the bit at byte %zu was not noticed", (size_t)i);
      sli_trace_close (reader);
    }
  damaged_end (&bad);
}

/* Flipped bits: no crash, and the block is named. */
static void
test_flipped (void)
{
  Damaged bad = damaged_begin ("bad");
  GRand *random = g_rand_new_with_seed (11);
  unsigned n_named = 0;

  for (unsigned i = 0; i < n_rounds; i++)
    {
      char *copy = g_memdup2 (bad.bytes, bad.n);
      int flips = g_rand_int_range (random, 1, 6);
      gsize length;
      TraceReader *reader;

      for (int flip = 0; flip < flips; flip++)
        copy[(gsize)g_rand_int_range (random, 0, (gint32)bad.n)]
            ^= (char)(1 << g_rand_int_range (random, 0, 8));
      length = g_rand_int (random) % 4 == 0
                   ? (gsize) g_rand_int_range (random, 0, (gint32) bad.n)
                   : bad.n;
      reader = damaged_open (&bad, copy, length);
      if (reader != NULL)
        {
          events_read (reader);
          n_named += strstr (reader->damage, "block at byte") != NULL;
          sli_trace_close (reader);
        }
      g_free (copy);
    }
  g_assert_cmpuint (n_named, >, n_rounds / 2);
  damaged_end (&bad);
  g_rand_free (random);
}

/* Hashes can be made to fit: blocks with good hashes and bad contents. */
static void
test_lying (void)
{
  char *path = trace_path ("lying"), error[512];
  GRand *random = g_rand_new_with_seed (5);

  for (unsigned i = 0; i < n_rounds; i++)
    {
      TraceFileHead head = { .ticks_per_sec = 1000 };
      TraceWriter *writer = sli_trace_create (path, &head);
      uint8_t bytes[300];
      TraceReader *reader;

      for (int block = 0; block < 20; block++)
        {
          for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k]
                = (uint8_t)(g_rand_int (random) % 3 == 0 ? g_rand_int (random)
                                                         : k % 5);
          sli_trace_write_block (
              writer, (TraceBlockType)g_rand_int_range (random, 1, 10),
              (uint64_t)g_rand_int_range (random, 0, 4),
              (uint32_t)g_rand_int_range (random, 0, 200), bytes,
              (size_t)g_rand_int_range (random, 0, sizeof bytes));
        }
      sli_trace_finish (writer);
      reader = sli_trace_open (path, error);
      if (reader != NULL)
        {
          events_read (reader);
          sli_trace_close (reader);
        }
    }
  g_remove (path);
  g_free (path);
  g_rand_free (random);
}

/* What a block says that it has, and has not: nothing is allocated for it
 * that the file's size does not bear out. */
typedef struct
{
  const char *what;
  TraceBlockType type;
  uint64_t first;
  uint32_t n_items, thread, raw_bytes;
  uint32_t words[2]; /* the contents begin with them */
  const char *damage;
} Lie;

static const Lie lies[] = {
  { "nodes",
    TRACE_BLOCK_NODES,
    0,
    UINT32_C (1) << 28,
    0,
    0,
    { 0 },
    "its sizes make no sense" },
  { "nodes-and-bytes",
    TRACE_BLOCK_NODES,
    0,
    UINT32_C (1) << 28,
    0,
    UINT32_C (1) << 30,
    { 0 },
    "its sizes make no sense" },
  { "string-number",
    TRACE_BLOCK_STRINGS,
    0,
    1,
    0,
    0,
    { (UINT32_C (1) << 22) - 1, 4 },
    "its contents make no sense" },
  { "string-length",
    TRACE_BLOCK_STRINGS,
    0,
    1,
    0,
    0,
    { 1, UINT32_MAX },
    "its contents make no sense" },
  { "command-bytes",
    TRACE_BLOCK_COMMAND,
    0,
    1,
    0,
    UINT32_C (1) << 30,
    { 0 },
    "its sizes make no sense" },
  { "thread",
    TRACE_BLOCK_EVENTS_TYPE,
    0,
    1,
    (UINT32_C (1) << 24) - 1,
    0,
    { 0 },
    "its head makes no sense" },
  { "events",
    TRACE_BLOCK_EVENTS_TYPE,
    0,
    TRACE_BLOCK_EVENTS,
    1,
    0,
    { 0 },
    "its events are too few" },
  { "event-bytes",
    TRACE_BLOCK_EVENTS_TYPE,
    0,
    1,
    1,
    UINT32_C (1) << 30,
    { 0 },
    "its sizes make no sense" },
  { "rss",
    TRACE_BLOCK_RSS,
    0,
    UINT32_MAX,
    0,
    UINT32_C (1) << 30,
    { 0 },
    "its sizes make no sense" },
};

static void
lie_write (const char *path, const Lie *lie)
{
  uint8_t contents[512] = { 0 };
  TraceFileHead file = { .magic = TRACE_MAGIC,
                         .version = TRACE_VERSION,
                         .byte_order = TRACE_BYTE_ORDER,
                         .ticks_per_sec = 1000 };
  TraceBlockHead head = { .magic = TRACE_BLOCK_MAGIC,
                          .type = (uint8_t)lie->type,
                          .codec = TRACE_CODEC_RAW,
                          .thread = lie->thread,
                          .n_items = lie->n_items,
                          .first_ticks = lie->first,
                          .raw_bytes = sizeof contents,
                          .packed_bytes = sizeof contents };
  GByteArray *bytes;

  if (lie->raw_bytes != 0)
    {
      head.codec = TRACE_CODEC_ZSTD;
      head.raw_bytes = lie->raw_bytes;
    }
  memcpy (contents, lie->words, sizeof lie->words);
  head.payload_hash = sli_xxh64 (contents, sizeof contents, 0);
  head.head_check
      = (uint32_t)sli_xxh64 (&head, offsetof (TraceBlockHead, head_check), 0);
  bytes = g_byte_array_new ();
  g_byte_array_append (bytes, (const guint8 *)&file, sizeof file);
  g_byte_array_append (bytes, (const guint8 *)&head, sizeof head);
  g_byte_array_append (bytes, contents, sizeof contents);
  g_assert_true (
      g_file_set_contents (path, (char *)bytes->data, bytes->len, NULL));
  g_byte_array_unref (bytes);
}

/* The most addresses that this process has ever had. */
static uint64_t
kib_mapped (void)
{
  char *text;
  const char *found;
  uint64_t kib;

  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  found = strstr (text, "VmPeak:");
  g_assert_nonnull (found);
  kib = g_ascii_strtoull (found + 7, NULL, 10);
  g_free (text);
  return kib;
}

static void
test_sizes (gconstpointer data)
{
  const Lie *lie = data;
  char *path = trace_path (lie->what), error[512];
  uint64_t before;
  TraceReader *reader;

  lie_write (path, lie);
  before = kib_mapped ();
  reader = sli_trace_open (path, error);
  g_assert_nonnull (reader);
  events_read (reader);
  g_assert_cmpuint (reader->n_damaged, >=, 1);
  g_assert_nonnull (strstr (reader->damage, lie->damage));
  sli_trace_close (reader);
  g_assert_cmpuint (kib_mapped () - before, <, 64 * 1024);
  g_remove (path);
  g_free (path);
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strncmp (argv[1], "--rounds=", 9) == 0)
    {
      n_rounds = (unsigned)atoi (argv[1] + 9);
      argv[1] = argv[0];
      argv++;
      argc--;
    }
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/slice/trace-file/round-trip", test_round_trip);
  g_test_add_func ("/slice/trace-file/cut", test_cut);
  g_test_add_func ("/slice/trace-file/damage-counted", test_damage_counted);
  g_test_add_func ("/slice/trace-file/each-byte", test_each_byte);
  g_test_add_func ("/slice/trace-file/flipped-bits", test_flipped);
  g_test_add_func ("/slice/trace-file/lying-blocks", test_lying);
  for (size_t i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      char *name
          = g_strdup_printf ("/slice/trace-file/sizes/%s", lies[i].what);

      g_test_add_data_func (name, &lies[i], test_sizes);
      g_free (name);
    }
  return g_test_run ();
}
