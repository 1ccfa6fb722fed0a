/* ralloc-bench.c - trees of small nodes: ours, malloc, talloc, APR, Mesa's
 *
 * The peers are loaded when they are found, so nothing more is needed to
 * build this: libtalloc.so.2, libapr-1.so.0 (Debian: libtalloc2, libapr1), and
 * a shared library made of Mesa's ralloc.c if one is named.
 *
 * Each peer builds and frees the same trees, all peers in turn in every round;
 * what is printed is the median over the cycles of CPU time a node, and its
 * ratio to malloc's in the same run.  malloc has no trees: its blocks are
 * freed through an array in the order of their allocation.
 *
 * usage: ralloc-bench [-n nodes] [-c cycles] [-r rounds] [-m mesa-ralloc.so]
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <slice/ralloc.h>

#include "tests/bench/measure.h"

enum
{
  FAN_OUT = 8,
  N_PEERS_MAX = 8,
  N_COLUMNS = 4,
  N_SEEN_MAX = 1024,
  AGEING_CYCLES = 200,
  AGEING_EDGE = 20
};

typedef struct
{
  const char *name;
  void *(*build) (size_t size, bool bushy);
  void *(*alloc) (void *ctx, size_t size);
  void (*free_tree) (void *root, void **nodes, size_t n);
  void (*free_one) (void *node);
  void (*steal) (void *ctx, void *node);
  bool is_tree;      /* nodes may be children of nodes */
} Peer;

static Peer peers[N_PEERS_MAX];
static unsigned n_peers;
static size_t n_nodes = 100000;
static unsigned n_cycles = 12;
static unsigned n_rounds = 5;
static void **nodes;
static size_t *places; /* a random order */

/* --- building ------------------------------------------------------------ */

static inline size_t
size_of (size_t size, size_t i)
{
  /* Mixed: 16 to 208, the same for every peer. */
  return size != 0 ? size : 16 + (i * 2654435761u >> 7) % 193;
}

typedef void *(*Alloc) (void *ctx, size_t size);

/* Each peer is called as a program would call it: by name, and where all
 * nodes are of one size, that is a constant.  So this is inlined for each. */
static inline __attribute__ ((always_inline)) void *
build_with (Alloc alloc, bool is_tree, size_t size, bool bushy)
{
  void *root = alloc (NULL, is_tree ? 16 : 0);

  for (size_t i = 0; i < n_nodes; i++)
    {
      void *ctx = root;

      if (bushy && i > 0 && is_tree)
        ctx = nodes[(i - 1) / FAN_OUT];
      nodes[i] = alloc (ctx, size_of (size, i));
      *(size_t *) nodes[i] = i;
    }
  return root;
}

#define BUILDER(peer, is_tree)                                                \
  static void *peer##_build (size_t size, bool bushy)                         \
  {                                                                           \
    return size == 24   ? build_with (peer##_alloc, is_tree, 24, bushy)       \
           : size == 64 ? build_with (peer##_alloc, is_tree, 64, bushy)       \
                        : build_with (peer##_alloc, is_tree, size, bushy);    \
  }

/* --- the peers ----------------------------------------------------------- */

static inline void *
ours_alloc (void *ctx, size_t size)
{
  return ralloc_size (ctx, size);
}

BUILDER (ours, true)

static void
ours_free_tree (void *root, void **all, size_t n)
{
  (void) all;
  (void) n;
  ralloc_free (root);
}

static void
ours_steal (void *ctx, void *node)
{
  ralloc_steal (ctx, node);
}

static inline void *
malloc_alloc (void *ctx, size_t size)
{
  (void) ctx;
  return malloc (size);
}

BUILDER (malloc, true)

static void
malloc_free_tree (void *root, void **all, size_t n)
{
  for (size_t i = 0; i < n; i++)
    free (all[i]);
  free (root);
}

static struct
{
  void *(*named) (const void *, size_t, const char *);
  int (*free) (void *, const char *);
  void *(*steal) (const void *, const void *, const char *);
} talloc;

static inline void *
talloc_alloc (void *ctx, size_t size)
{
  return talloc.named (ctx, size, "bench");
}

BUILDER (talloc, true)

static void
talloc_free_one (void *node)
{
  talloc.free (node, "bench");
}

static void
talloc_free_tree (void *root, void **all, size_t n)
{
  (void) all;
  (void) n;
  talloc.free (root, "bench");
}

static void
talloc_steal_one (void *ctx, void *node)
{
  talloc.steal (ctx, node, "bench");
}

static struct
{
  int (*create) (void **, void *, void *, void *);
  void (*destroy) (void *);
  void *(*alloc) (void *, size_t);
} apr;

static inline void *
apr_alloc (void *ctx, size_t size)
{
  void *pool;

  if (ctx != NULL)
    return apr.alloc (ctx, size);
  return apr.create (&pool, NULL, NULL, NULL) == 0 ? pool : NULL;
}

BUILDER (apr, false)

static void
apr_free_tree (void *root, void **all, size_t n)
{
  (void) all;
  (void) n;
  apr.destroy (root);
}

static struct
{
  void *(*alloc) (const void *, size_t);
  void (*free) (void *);
  void (*steal) (const void *, void *);
} mesa;

static inline void *
mesa_alloc (void *ctx, size_t size)
{
  return mesa.alloc (ctx, size);
}

BUILDER (mesa, true)

static void
mesa_free_tree (void *root, void **all, size_t n)
{
  (void) all;
  (void) n;
  mesa.free (root);
}

static void
mesa_steal_one (void *ctx, void *node)
{
  mesa.steal (ctx, node);
}

static void
peers_load (const char *mesa_path)
{
  void *library;

  peers[n_peers++]
      = (Peer){ "malloc", malloc_build, malloc_alloc, malloc_free_tree,
                free,     NULL,         true };
  peers[n_peers++]
      = (Peer){ "slice",     ours_build, ours_alloc, ours_free_tree,
                ralloc_free, ours_steal, true };
  library = mesa_path != NULL
                ? dlopen (mesa_path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
                : NULL;
  if (library != NULL)
    {
      *(void **) &mesa.alloc = dlsym (library, "ralloc_size");
      *(void **) &mesa.free = dlsym (library, "ralloc_free");
      *(void **) &mesa.steal = dlsym (library, "ralloc_steal");
    }
  /* Mesa's own build hides its functions: a library of those has none. */
  if (library != NULL && mesa.alloc != NULL && mesa.free != NULL
      && mesa.steal != NULL)
    {
      peers[n_peers++]
          = (Peer){ "ralloc",  mesa_build,     mesa_alloc, mesa_free_tree,
                    mesa.free, mesa_steal_one, true };
    }
  else if (mesa_path != NULL)
    {
      const char *reason = dlerror ();

      fprintf (stderr, "ralloc-bench: %s\n",
               reason != NULL ? reason : mesa_path);
    }
  library = dlopen ("libtalloc.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library != NULL)
    {
      *(void **) &talloc.named = dlsym (library, "talloc_named_const");
      *(void **) &talloc.free = dlsym (library, "_talloc_free");
      *(void **) &talloc.steal = dlsym (library, "_talloc_steal_loc");
      peers[n_peers++] = (Peer){
        "talloc",        talloc_build,     talloc_alloc, talloc_free_tree,
        talloc_free_one, talloc_steal_one, true
      };
    }
  library = dlopen ("libapr-1.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library != NULL)
    {
      int (*initialize) (void);

      *(void **) &initialize = dlsym (library, "apr_initialize");
      initialize ();
      *(void **) &apr.create = dlsym (library, "apr_pool_create_ex");
      *(void **) &apr.destroy = dlsym (library, "apr_pool_destroy");
      *(void **) &apr.alloc = dlsym (library, "apr_palloc");
      peers[n_peers++] = (Peer){ "apr", apr_build, apr_alloc, apr_free_tree,
                                 NULL,  NULL,      false };
    }
}

/* --- measuring ----------------------------------------------------------- */

static double
cpu_nsec (void)
{
  return measure_nsec (CLOCK_PROCESS_CPUTIME_ID);
}

/* Columns; negative where the peer has no such thing. */
enum
{
  ALLOC,
  FREE_TREE,
  STEAL,
  FREE_SINGLY
};

/* ns a node. */
static void
tree_cycle (const Peer *peer, size_t size, bool bushy, double *columns)
{
  double began = cpu_nsec ();
  void *root = peer->build (size, bushy);

  columns[ALLOC] = (cpu_nsec () - began) / (double) n_nodes;
  began = cpu_nsec ();
  peer->free_tree (root, nodes, n_nodes);
  columns[FREE_TREE] = (cpu_nsec () - began) / (double) n_nodes;
}

/* Steals and frees in random order, of a flat tree. */
static void
single_cycle (const Peer *peer, size_t size, double *columns)
{
  double began;
  void *root;
  void *other;

  columns[STEAL] = columns[FREE_SINGLY] = -1;
  if (peer->free_one == NULL)
    return;
  root = peer->build (size, false);
  other = peer->alloc (NULL, 16);
  if (peer->steal != NULL)
    {
      began = cpu_nsec ();
      for (size_t i = 0; i < n_nodes; i++)
        peer->steal (other, nodes[places[i]]);
      columns[STEAL] = (cpu_nsec () - began) / (double) n_nodes;
    }
  began = cpu_nsec ();
  for (size_t i = 0; i < n_nodes; i++)
    peer->free_one (nodes[places[i]]);
  columns[FREE_SINGLY] = (cpu_nsec () - began) / (double) n_nodes;
  peer->free_one (other);
  peer->free_one (root);
}

static double seen[N_PEERS_MAX][N_COLUMNS][N_SEEN_MAX];

static void
print_row (unsigned p, unsigned first, unsigned last, unsigned n)
{
  static const char *const titles[N_COLUMNS]
      = { "alloc", "free tree", "steal", "free singly" };
  static double base[N_COLUMNS];

  printf ("  %-8s", peers[p].name);
  for (unsigned k = first; k <= last; k++)
    {
      double m = measure_median (seen[p][k], n);

      if (p == 0)
        base[k] = m;
      if (m >= 0)
        printf ("  %s %6.1f", titles[k], m);
      if (m >= 0 && base[k] > 0)
        printf (" (%.2f)", m / base[k]);
    }
  putchar ('\n');
}

/* Each peer does a dozen cycles in a row, the first of which counts for
 * nothing; and all peers in turn, round after round. */
static void
compare_peers (size_t size, bool bushy, bool singly)
{
  unsigned n = 0;

  for (unsigned round = 0; round < n_rounds; round++)
    {
      for (unsigned p = 0; p < n_peers; p++)
        for (unsigned c = 0; c <= n_cycles; c++)
          {
            double columns[N_COLUMNS];

            if (singly)
              single_cycle (&peers[p], size, columns);
            else
              tree_cycle (&peers[p], size, bushy, columns);
            for (unsigned k = 0; k < N_COLUMNS && c > 0; k++)
              seen[p][k][n + c - 1] = columns[k];
          }
      n += n_cycles;
    }
  printf ("%zu bytes%s, %s, %zu nodes: ns a node (to malloc)\n", size,
          size == 0 ? " (16 to 208)" : "", bushy ? "fan-out 8" : "flat",
          n_nodes);
  for (unsigned p = 0; p < n_peers; p++)
    if (singly)
      print_row (p, STEAL, FREE_SINGLY, n);
    else
      print_row (p, ALLOC, FREE_TREE, n);
}

static void
ageing (void)
{
  static double times[N_PEERS_MAX][AGEING_CYCLES];

  for (unsigned p = 0; p < n_peers; p++)
    for (unsigned c = 0; c < AGEING_CYCLES; c++)
      {
        double began = cpu_nsec ();
        void *root = peers[p].build (0, true);

        peers[p].free_tree (root, nodes, n_nodes);
        times[p][c] = (cpu_nsec () - began) / (double) n_nodes;
      }
  printf ("ageing, fan-out 8, 16 to 208 bytes, %u cycles: median of the "
          "first and the last %u, ns a node built and freed\n",
          AGEING_CYCLES, AGEING_EDGE);
  for (unsigned p = 0; p < n_peers; p++)
    {
      double last = measure_median (times[p] + AGEING_CYCLES - AGEING_EDGE,
                            AGEING_EDGE);
      double first = measure_median (times[p], AGEING_EDGE);

      printf ("  %-8s  first %6.1f  last %6.1f  (%.2f)\n", peers[p].name,
              first, last, last / first);
    }
}

/* Each peer in a process of its own would be purer; the growth of the resident
 * pages while nothing else happens is near enough. */
static size_t
resident_bytes (void)
{
  unsigned long size = 0, resident = 0;
  FILE *f = fopen ("/proc/self/statm", "r");

  if (f != NULL && fscanf (f, "%lu %lu", &size, &resident) != 2)
    resident = 0;
  if (f != NULL)
    fclose (f);
  return resident * (size_t) sysconf (_SC_PAGESIZE);
}

static void
memory (const Peer *peer, size_t size)
{
  size_t before;

  /* What the first node of a program brings with it is not a node's. */
  resident_bytes ();
  peer->alloc (peer->alloc (NULL, peer->is_tree ? size : 0), size);
  before = resident_bytes ();
  peer->build (size, false); /* and kept */
  printf ("  %-8s  %zu bytes: %.1f held a node\n", peer->name, size,
          (double) (resident_bytes () - before) / (double) n_nodes);
}

int
main (int argc, char **argv)
{
  const char *mesa_path = NULL;
  int option;

  while ((option = getopt (argc, argv, "n:c:r:m:")) != -1)
    switch (option)
      {
      case 'n':
        n_nodes = strtoul (optarg, NULL, 10);
        break;
      case 'c':
        n_cycles = (unsigned) strtoul (optarg, NULL, 10);
        break;
      case 'r':
        n_rounds = (unsigned) strtoul (optarg, NULL, 10);
        break;
      case 'm':
        mesa_path = optarg;
        break;
      default:
        return 2;
      }
  if (n_cycles * n_rounds > N_SEEN_MAX || n_cycles == 0 || n_rounds == 0
      || n_nodes == 0)
    return 2;
  nodes = calloc (n_nodes, sizeof *nodes);
  places = calloc (n_nodes, sizeof *places);
  memset (nodes, 1, n_nodes * sizeof *nodes);
  srand (1);
  for (size_t i = 0; i < n_nodes; i++)
    {
      size_t k = (size_t) rand () % (i + 1);

      places[i] = places[k];
      places[k] = i;
    }
  peers_load (mesa_path);
  printf ("memory, %zu nodes\n", n_nodes);
  for (unsigned p = 0; p < n_peers; p++)
    {
      memory (&peers[p], 24);
      memory (&peers[p], 64);
    }
  for (unsigned i = 0; i < 3; i++)
    {
      static const size_t sizes[] = { 24, 64, 0 };

      compare_peers (sizes[i], false, false);
      compare_peers (sizes[i], true, false);
    }
  ageing ();
  compare_peers (24, false, true);
  compare_peers (0, false, true);
  return 0;
}
