/* sampled.c - call sites with known numbers of blocks
 *
 * Tests: a program to be recorded.  The argument chooses.  Each site is a
 * function; the blocks of site_kept() are never freed, except by fork's child
 * and with `freed'.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_KEPT 30000
#define SITE __attribute__ ((noinline)) static void

static void *kept[N_KEPT];

SITE
site_small (void)
{
  for (int i = 0; i < 200000; i++)
    {
      void *volatile block = malloc (24);

      free (block);
    }
}

/* The last 100 blocks live; sizes from 100 to 1099. */
SITE
site_ring (void)
{
  void *ring[100] = { NULL };

  for (int i = 0; i < 20000; i++)
    {
      free (ring[i % 100]);
      ring[i % 100] = malloc (100 + (size_t) (i * 7) % 1000);
    }
  for (int i = 0; i < 100; i++)
    free (ring[i]);
}

/* Many times as large as the gaps between samples. */
SITE
site_large (void)
{
  for (int i = 0; i < 100; i++)
    {
      void *volatile block = calloc (1, 300000);

      free (block);
    }
}

SITE
site_grown (void)
{
  char *text = NULL;

  for (size_t n = 1; n <= 5000; n++)
    text = realloc (text, n * 10);
  free (text);
}

SITE
site_failed (void)
{
  volatile size_t huge = SIZE_MAX / 4;

  for (int i = 0; i < 1000; i++)
    {
      void *block = malloc (5000);
      void *again = realloc (block, huge);

      free (again != NULL ? again : block);
    }
}

SITE
site_kept (void)
{
  for (int i = 0; i < N_KEPT; i++)
    kept[i] = malloc (64);
}

SITE
site_empty (void)
{
  for (int i = 0; i < 20000; i++)
    {
      void *volatile block = malloc (0);

      free (block);
    }
}

static void *
work (void *unused)
{
  (void) unused;
  site_ring ();
  return NULL;
}

static void
threads (void)
{
  pthread_t thread[8];

  for (int i = 0; i < 8; i++)
    if (pthread_create (&thread[i], NULL, work, NULL) != 0)
      abort ();
  for (int i = 0; i < 8; i++)
    pthread_join (thread[i], NULL);
}

/* A sample lives longer than 32 bits of ticks. */
static void
pauses (void)
{
  const struct timespec pause = { 3, 0 };
  void *volatile block = malloc (1 << 20);

  nanosleep (&pause, NULL);
  free (block);
  block = malloc (2 << 20);
  free (block);
}

static void
kept_free (void)
{
  for (int i = 0; i < N_KEPT; i++)
    free (kept[i]);
}

/* Runs a child; false if it did not succeed. */
static int
child_run (void)
{
  int status = 0;
  pid_t pid = fork ();

  if (pid == 0)
    {
      kept_free ();
      site_ring ();
      exit (0);
    }
  return pid > 0 && waitpid (pid, &status, 0) == pid && status == 0;
}

int
main (int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "sites";

  if (strcmp (how, "becomes") == 0)
    execl (argv[0], argv[0], "sites", (char *) NULL);
  if (strcmp (how, "threads") == 0)
    threads ();
  else if (strcmp (how, "pauses") == 0)
    pauses ();
  else if (strcmp (how, "failed") == 0)
    site_failed ();
  else if (strcmp (how, "empty") == 0)
    site_empty ();
  else if (strcmp (how, "freed") == 0)
    {
      site_kept ();
      kept_free ();
    }
  else if (strcmp (how, "twins") != 0)
    {
      site_small ();
      site_ring ();
      site_large ();
      site_grown ();
      site_kept ();
    }
  if (strcmp (how, "twins") == 0)
    return child_run () && child_run () ? 0 : 1;
  return strcmp (how, "fork") != 0 || child_run () ? 0 : 1;
}
