/* advice-start.c - reads the advice, follows it, and counts at exit
 *
 * Layer: dropin.  The constructor reads the file that SLICE_ADVICE names;
 * before it runs, and without advice, all blocks are the next malloc's.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "config.h"

#include "advice-log.h"
#include "dropin/advice/advice-start.h"

#include <slice/options.h>
#include <slice/slice.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Advice sli_advice;
bool sli_advice_has_slices;

static void free_rest (void *block);
void (*sli_advice_free_rest) (void *block) = free_rest;

static bool wants_stats;
static uint64_t n_slices[ADVICE_SITES_MAX]; /* blocks served */

/* --- following it -------------------------------------------------------- */

static void *
slice_serve (unsigned site, size_t size)
{
  if (size > SLICE_SIZE_MAX)
    return NULL;
  if (wants_stats)
    COUNT_UP_SHARED (&n_slices[site], 1);
  return slice_heap_alloc (size);
}

static ALWAYS_INLINE void *
serve (const void *pc, const char *frame, size_t size)
{
  unsigned node = sites_node (pc);
  unsigned site;

  if (node == 0 || size > REGION_BLOCK_BYTES_MAX)
    return NULL;
  site = sli_advice.nodes[node].outer_at == 0
             ? sli_advice.nodes[node].site
             : sli_sites_find (node, frame);
  if (site == 0)
    return NULL;
  return sli_advice.sites[site - 1].kind == ADVICE_LINEAR
             ? sli_region_alloc (site - 1, size)
             : slice_serve (site - 1, size);
}

NOINLINE void *
sli_advice_alloc (const void *pc, const char *frame, size_t size)
{
  return serve (pc, frame, size);
}

NOINLINE void *
sli_advice_malloc (const void *pc, const char *frame, size_t size)
{
  void *block = serve (pc, frame, size);

  return LIKELY (block != NULL) ? block : LOAD (&sli_next.malloc) (size);
}

static void
free_rest (void *block)
{
  LOAD (&sli_next.free) (block);
}

static void
free_rest_or_slice (void *block)
{
  if (slice_is_ours (block))
    slice_heap_free_as_v1 (block, "free");
  else
    LOAD (&sli_next.free) (block);
}

/* --- counts -------------------------------------------------------------- */

/* A site that was never found, and why. */
static void
site_say_missing (unsigned i)
{
  const AdviceSite *site = &sli_advice.sites[i];
  const AdviceModule *missing = sli_sites_missing (i);

  if (missing == NULL)
    sli_advice_log ("%12d blocks of %llu expected, no call of it was found: "
                    "%.*s",
                    0, (unsigned long long) site->n_expected,
                    (int) site->n_name, site->name);
  else
    sli_advice_log ("%12d blocks of %llu expected, that build of %.*s was "
                    "not seen: %.*s",
                    0, (unsigned long long) site->n_expected,
                    (int) missing->n_name, missing->name, (int) site->n_name,
                    site->name);
}

static void
site_say (unsigned i, uint64_t n_blocks, uint64_t n_chunks)
{
  const AdviceSite *site = &sli_advice.sites[i];

  if (n_blocks == 0)
    {
      site_say_missing (i);
      return;
    }
  sli_advice_log ("%12llu blocks of %llu expected, %llu KiB at most%s: %.*s",
                  (unsigned long long) n_blocks,
                  (unsigned long long) site->n_expected,
                  (unsigned long long) n_chunks * CHUNK_BYTES / 1024,
                  sli_region_sites[i].is_off ? ", switched off" : "",
                  (int) site->n_name, site->name);
}

__attribute__ ((destructor)) static void
advice_stats (void)
{
  uint64_t n_blocks = 0, served, n_chunks;
  unsigned n_used = 0, n_off = 0;

  if (!wants_stats)
    return;
  for (unsigned i = 0; i < sli_advice.n_sites; i++)
    {
      sli_region_count (i, &served, &n_chunks);
      served += n_slices[i];
      site_say (i, served, n_chunks);
      n_blocks += served;
      n_used += served > 0;
      n_off += sli_region_sites[i].is_off;
    }
  sli_advice_log ("%u site%s advised, %u found, %llu blocks served, "
                  "%u switched off",
                  sli_advice.n_sites, sli_advice.n_sites == 1 ? "" : "s",
                  n_used, (unsigned long long) n_blocks,
                  n_off);
}

/* --- beginning ----------------------------------------------------------- */

/* The text of a file, which stays mapped; NULL: said why. */
static const char *
file_map (const char *path, size_t *n)
{
  int file = open (path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  void *text = MAP_FAILED;

  if (file >= 0 && fstat (file, &status) == 0)
    {
      *n = (size_t) status.st_size;
      text = mmap (NULL, *n + 1, PROT_READ, MAP_PRIVATE, file, 0);
    }
  if (text == MAP_FAILED)
    sli_advice_log ("%s: can't be read: %m", path);
  if (file >= 0)
    close (file);
  return text == MAP_FAILED ? NULL : text;
}

static bool
advice_read (const char *path)
{
  AdviceError error;
  size_t n;
  const char *text = file_map (path, &n);

  if (text == NULL)
    return false;
  if (sli_advice_parse (&sli_advice, text, n, &error))
    return true;
  sli_advice_log ("%s:%u: %s; the advice is ignored", path, error.line,
                  error.message);
  sli_advice.n_sites = 0;
  return false;
}

/* The heap calls the next malloc under a tool, and where it has no block.  If
 * that is libslice-malloc, it has named its own next one. */
static void
slices_begin (void)
{
  void *block;

  for (unsigned i = 0; i < sli_advice.n_sites; i++)
    sli_advice_has_slices |= sli_advice.sites[i].kind == ADVICE_SLICE;
  if (!sli_advice_has_slices)
    return;
  block = sli_malloc_next.alloc (1);
  if (!slice_is_ours (block))
    slice_heap_set_next (&sli_malloc_next);
  sli_malloc_next.free (block);
}

__attribute__ ((constructor)) static void
advice_begin (void)
{
  const char *path = secure_getenv ("SLICE_ADVICE");

  sli_malloc_next_settle ();
  if (path == NULL || path[0] == '\0' || !advice_read (path))
    return;
  if (!sli_region_begin (&sli_advice)
      || pthread_atfork (NULL, NULL, sli_sites_fork) != 0)
    {
      sli_advice_log ("no memory for regions; the advice is ignored");
      sli_advice.n_sites = 0;
      return;
    }
  slices_begin ();
  STORE (&sli_advice_free_rest,
         sli_advice_has_slices ? free_rest_or_slice : LOAD (&sli_next.free));
  wants_stats = secure_getenv ("SLICE_ADVICE_STATS") != NULL;
  sli_sites_begin (&sli_advice, path);
}
