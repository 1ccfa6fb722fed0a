/* test-gslice-load.c - the drop-in in a process of its own making
 *
 *   early    calls before any constructor has run
 *   alone    no GLib in the process at all
 *   opened   dlopen() and dlclose(), a thread alive meanwhile
 *
 * Not linked to GLib, so that there is none.  It speaks TAP.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slice/slice.h>

extern void *g_slice_alloc (size_t size);
extern void g_slice_free1 (size_t size, void *block);

static void *early_block;

/* The program's own list of what is done before all constructors. */
static void
allocate_early (void)
{
  early_block = g_slice_alloc (48);
  if (early_block != NULL)
    memset (early_block, 'e', 48);
}

__attribute__ ((section (".preinit_array"), used)) static void (
    *const preinit[]) (void)
    = { allocate_early };

static int n_tests;
static bool has_failed;

static void
check (bool is_well, const char *what)
{
  printf ("%sok %d - %s\n", is_well ? "" : "not ", ++n_tests, what);
  has_failed |= !is_well;
}

typedef void *(*Alloc) (size_t size);
typedef void (*Free) (size_t size, void *block);

typedef struct
{
  pthread_barrier_t barrier;
  Alloc alloc;
  Free free1;
  bool is_well;
} Opened;

/* Uses the drop-in before and after it is closed, and at its own end. */
static void *
use_opened (void *data)
{
  Opened *opened = data;
  void *block = opened->alloc (100);

  opened->is_well = block != NULL;
  pthread_barrier_wait (&opened->barrier);
  pthread_barrier_wait (&opened->barrier);
  opened->free1 (100, block);
  block = opened->alloc (200);
  opened->is_well &= block != NULL;
  opened->free1 (200, block);
  return NULL;
}

static void
test_opened (const char *path)
{
  Opened opened = { .is_well = false };
  void *library = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  pthread_t thread;

  if (library == NULL)
    {
      printf ("# %s\n", dlerror ());
      check (false, "the drop-in can be opened");
      return;
    }
  *(void **) &opened.alloc = dlsym (library, "g_slice_alloc");
  *(void **) &opened.free1 = dlsym (library, "g_slice_free1");
  pthread_barrier_init (&opened.barrier, NULL, 2);
  pthread_create (&thread, NULL, use_opened, &opened);
  pthread_barrier_wait (&opened.barrier);
  dlclose (library);
  pthread_barrier_wait (&opened.barrier);
  pthread_join (thread, NULL);
  check (opened.is_well, "it outlives dlclose() and the thread that used it");
}

int
main (void)
{
  const char *path = getenv ("TEST_GSLICE_LIBRARY");
  Dl_info info;
  void *block;
  bool is_whole = early_block != NULL;

  for (int i = 0; is_whole && i < 48; i++)
    is_whole = ((char *) early_block)[i] == 'e';
  check (is_whole, "a block from before all constructors is whole");
  g_slice_free1 (48, early_block);

  block = g_slice_alloc (40);
  check (block != NULL && (size_t) block % 16 == 0
             && slice_is_ours (block),
         "without GLib there are blocks");
  g_slice_free1 (40, block);
  block = g_slice_alloc (5000);
  memset (block, 1, 5000);
  g_slice_free1 (5000, block);
  free (g_slice_alloc (40));
  check (dlsym (RTLD_DEFAULT, "g_list_alloc") == NULL,
         "and there is no GLib in the process");

  if (path == NULL && dladdr (dlsym (RTLD_DEFAULT, "g_slice_alloc"), &info)
                          != 0)
    path = info.dli_fname;
  test_opened (path);
  printf ("1..%d\n", n_tests);
  return has_failed;
}
