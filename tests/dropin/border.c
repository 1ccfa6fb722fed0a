/* border.c - blocks that cross between GLib and the drop-in, in a crowd
 *
 *   border [CROSSINGS [THREADS]]     as many, twice
 *
 * Threads make blocks of every kind, put them into places that all share,
 * and free whatever they take out in exchange, mostly another thread's.
 * The kinds:
 *
 *   glib-list, glib-slist    GLib's node, freed by g_slice_free1()
 *   our-list, our-slist      our node, freed inside GLib
 *   our-chain                eight of our nodes, freed by g_slist_free()
 *   large-in, large-out      3000 bytes: g_malloc'd and freed as a slice, and
 *                            the other way round
 *   ours                     stays on our side
 *
 * Each block carries a word that depends on its address and its kind; a wrong
 * word ends the program.  At the end all places are emptied, and what is said
 * on standard output is what the drop-in must have counted.  It is written
 * like any GLib program and run by slice-run.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <glib.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <slice/stats.h>

enum
{
  N_PLACES = 4096,
  N_THREADS_MAX = 64,
  CHAIN_NODES = 8,
  LARGE_BYTES = 3000,
  OWN_BYTES = 88,
  KIND_BITS = 3,       /* in the low bits of an address that is 16-aligned */
  KIND_MASK = (1 << KIND_BITS) - 1,
  /* Other malloc traffic that may be alive at the end: a thread's caches. */
  MALLOC_SLACK_BYTES = 256 * 1024
};

typedef enum
{
  GLIB_LIST,
  GLIB_SLIST,
  OUR_LIST,
  OUR_SLIST,
  OUR_CHAIN,
  LARGE_IN,
  LARGE_OUT,
  OURS,
  N_KINDS
} Kind;

G_STATIC_ASSERT (N_KINDS == KIND_MASK + 1);

typedef struct
{
  guint64 n_freed[N_KINDS];
  guint64 n_crossings; /* to make */
  guint32 random;
} Worker;

static gpointer places[N_PLACES];

static gpointer
word_for (gconstpointer block, Kind kind)
{
  return GSIZE_TO_POINTER ((GPOINTER_TO_SIZE (block) ^ (kind * 0x9e3779b9u))
                           + 1);
}

static guint32
random_next (guint32 *random)
{
  *random ^= *random << 13;
  *random ^= *random >> 17;
  *random ^= *random << 5;
  return *random;
}

static void
fill_large (gpointer *words, Kind kind)
{
  for (gsize i = 0; i < LARGE_BYTES / sizeof *words; i++)
    words[i] = word_for (words, kind);
}

static gpointer
make_chain (void)
{
  GSList *chain = NULL;

  for (int i = 0; i < CHAIN_NODES; i++)
    {
      GSList *node = g_slice_new (GSList);

      node->data = word_for (node, OUR_CHAIN);
      node->next = chain;
      chain = node;
    }
  return chain;
}

/* A block whose first word is its own. */
static gpointer
make (Kind kind)
{
  gpointer *block;

  switch (kind)
    {
    case GLIB_LIST:
      block = (gpointer *) g_list_alloc ();
      break;
    case GLIB_SLIST:
      block = (gpointer *) g_slist_alloc ();
      break;
    case OUR_LIST:
      block = (gpointer *) g_slice_new0 (GList);
      break;
    case OUR_SLIST:
      block = (gpointer *) g_slice_new0 (GSList);
      break;
    case OUR_CHAIN:
      return make_chain ();
    case LARGE_IN:
      block = g_malloc (LARGE_BYTES);
      fill_large (block, kind);
      break;
    case LARGE_OUT:
      block = g_slice_alloc (LARGE_BYTES);
      fill_large (block, kind);
      break;
    default:
      block = g_slice_alloc (OWN_BYTES);
      break;
    }
  block[0] = word_for (block, kind);
  return block;
}

static void
verify (gpointer const *block, Kind kind)
{
  if (block[0] != word_for (block, kind))
    g_error ("a block of kind %d was changed", kind);
  if (kind == LARGE_IN || kind == LARGE_OUT)
    for (gsize i = 0; i < LARGE_BYTES / sizeof *block; i++)
      if (block[i] != word_for (block, kind))
        g_error ("a large block of kind %d was changed", kind);
  if (kind == OUR_CHAIN)
    for (const GSList *node = ((const GSList *) block)->next; node != NULL;
         node = node->next)
      if (node->data != word_for (node, kind))
        g_error ("a chain was changed");
}

static void
destroy (gpointer block, Kind kind)
{
  verify (block, kind);
  switch (kind)
    {
    case GLIB_LIST:
      g_slice_free1 (sizeof (GList), block);
      break;
    case GLIB_SLIST:
      g_slice_free1 (sizeof (GSList), block);
      break;
    case OUR_LIST:
      g_list_free_1 (block);
      break;
    case OUR_SLIST:
      g_slist_free_1 (block);
      break;
    case OUR_CHAIN:
      g_slist_free (block);
      break;
    case LARGE_IN:
      g_slice_free1 (LARGE_BYTES, block);
      break;
    case LARGE_OUT:
      g_free (block);
      break;
    default:
      g_slice_free1 (OWN_BYTES, block);
      break;
    }
}

/* Puts a block (or NULL) into a place and frees what was there. */
static void
exchange (Worker *worker, guint place, gpointer block, Kind kind)
{
  gsize word = GPOINTER_TO_SIZE (block) | (block != NULL ? kind : 0);

  word = GPOINTER_TO_SIZE (__atomic_exchange_n (
      &places[place], GSIZE_TO_POINTER (word), __ATOMIC_ACQ_REL));
  if (word == 0)
    return;
  destroy (GSIZE_TO_POINTER (word & ~(gsize) KIND_MASK),
           (Kind) (word & KIND_MASK));
  worker->n_freed[word & KIND_MASK]++;
}

static gpointer
work (gpointer data)
{
  Worker *worker = data;

  for (guint64 i = 0; i < worker->n_crossings; i++)
    {
      guint32 random = random_next (&worker->random);
      /* Large ones now and then only. */
      Kind kind = (Kind) (random & KIND_MASK);

      if ((kind == LARGE_IN || kind == LARGE_OUT) && (random & 0x38) != 0)
        kind = OUR_LIST;
      exchange (worker, (random >> 8) % N_PLACES, make (kind), kind);
    }
  return NULL;
}

/* What is alive on both sides: our blocks, and bytes in malloc's, less those
 * that our regions are made of. */
static void
take_stock (gint64 *live_blocks, gint64 *malloc_bytes)
{
  static SliceStats stats;
  struct mallinfo2 info = mallinfo2 ();
  bool (*get_stats) (SliceStats *);

  *(void **) &get_stats = dlsym (RTLD_DEFAULT, "slice_get_stats");
  if (get_stats != NULL)
    get_stats (&stats);
  *live_blocks = (gint64) stats.live_blocks;
  *malloc_bytes
      = (gint64) (info.uordblks + info.hblkhd) - (gint64) stats.mapped_bytes;
}

/* All threads make their crossings; then the places are emptied.  Returns how
 * many blocks of each kind were freed. */
static void
cross (guint64 n, guint n_threads, guint64 n_freed[N_KINDS])
{
  Worker workers[N_THREADS_MAX + 1] = { { .n_crossings = 0 } };
  GThread *threads[N_THREADS_MAX];

  for (guint i = 0; i < n_threads; i++)
    {
      workers[i].n_crossings = (n + i) / n_threads;
      workers[i].random = 2463534242u + i * 7919;
      threads[i] = g_thread_new ("border", work, &workers[i]);
    }
  for (guint i = 0; i < n_threads; i++)
    g_thread_join (threads[i]);
  for (guint i = 0; i < N_PLACES; i++)
    exchange (&workers[n_threads], i, NULL, OURS);
  for (guint i = 0; i <= n_threads; i++)
    for (int kind = 0; kind < N_KINDS; kind++)
      n_freed[kind] += workers[i].n_freed[kind];
}

int
main (int argc, char **argv)
{
  guint64 n = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 100000;
  guint n_threads = argc > 2 ? (guint) atoi (argv[2]) : 4;
  guint64 n_freed[N_KINDS] = { 0 }, n_all = 0;
  gint64 live_before, live, bytes_before, bytes;

  if (n == 0 || n_threads == 0 || n_threads > N_THREADS_MAX)
    {
      g_printerr ("usage: border [CROSSINGS [THREADS]]\n");
      return 2;
    }
  /* Twice: after the first time what is kept for later is there. */
  cross (n, n_threads, n_freed);
  take_stock (&live_before, &bytes_before);
  cross (n, n_threads, n_freed);
  take_stock (&live, &bytes);
  for (int kind = 0; kind < N_KINDS; kind++)
    n_all += n_freed[kind];
  g_print ("freed: %" G_GUINT64_FORMAT "\n", n_all);
  g_print ("passed on: %" G_GUINT64_FORMAT "\n",
           n_freed[GLIB_LIST] + n_freed[GLIB_SLIST]);
  g_print ("came home: %" G_GUINT64_FORMAT "\n",
           n_freed[OUR_LIST] + n_freed[OUR_SLIST]
               + n_freed[OUR_CHAIN] * CHAIN_NODES);
  g_print ("large: %" G_GUINT64_FORMAT " in, %" G_GUINT64_FORMAT " out\n",
           n_freed[LARGE_IN], n_freed[LARGE_OUT]);
  g_print ("live: %" G_GINT64_FORMAT "\n", live);
  g_print ("malloc: %s, %" G_GINT64_FORMAT " bytes\n",
           bytes < bytes_before + MALLOC_SLACK_BYTES ? "as before" : "more",
           bytes - bytes_before);
  return n_all == 2 * n ? 0 : 1;
}
