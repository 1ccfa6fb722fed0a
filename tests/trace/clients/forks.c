/* forks.c - children by fork, vfork and exec; with threads, too
 *
 * Tests: a program to be recorded.  The argument chooses; daemon: the parent
 * ends before it has allocated, and the child goes on after a second, or writes
 * its number to a file and waits to be killed; limited: the parent limits the
 * size of files; files, addresses: it may open no more files, or map no more
 * memory.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool stop;

static void *
work (void *unused)
{
  (void)unused;
  while (!stop)
    free (malloc (40));
  return NULL;
}

static void
allocate (int n)
{
  for (int i = 0; i < n; i++)
    {
      void *volatile block = malloc (100);

      free (block);
    }
}

/* Writes its number to a file and waits to be killed; without a file, a
 * second. */
static void
daemon_wait (const char *path)
{
  FILE *file = path != NULL ? fopen (path, "w") : NULL;

  if (file == NULL)
    {
      sleep (1);
      return;
    }
  fprintf (file, "%d\n", (int) getpid ());
  fclose (file);
  sleep (600);
}

int
main (int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "fork";
  pthread_t thread;
  int status = 0;
  pid_t pid;

  if (strcmp (how, "daemon") == 0 && fork () != 0)
    _exit (0);
  allocate (500);
  if (strcmp (how, "daemon") == 0)
    daemon_wait (argc > 2 ? argv[2] : NULL);
  if (strcmp (how, "threads") == 0)
    pthread_create (&thread, NULL, work, NULL);
  if (strcmp (how, "limited") == 0)
    setrlimit (RLIMIT_FSIZE, &(struct rlimit){ 1 << 20, 1 << 20 });
  if (strcmp (how, "files") == 0)
    setrlimit (RLIMIT_NOFILE, &(struct rlimit){ 3, 3 });
  if (strcmp (how, "addresses") == 0)
    setrlimit (RLIMIT_AS, &(struct rlimit){ 1 << 26, 1 << 26 });
  pid = strcmp (how, "vfork") == 0 ? vfork () : fork ();
  if (pid == 0)
    {
      if (strcmp (how, "vfork") == 0 || strcmp (how, "exec") == 0)
        {
          execl ("/bin/echo", "echo", "from the child", (char *)NULL);
          _exit (127);
        }
      allocate (700);
      return 0;
    }
  waitpid (pid, &status, 0);
  stop = 1;
  if (strcmp (how, "threads") == 0)
    pthread_join (thread, NULL);
  allocate (500);
  return WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status);
}
