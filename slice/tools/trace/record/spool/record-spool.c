/* record-spool.c - the recorder's side of the spool: the file and its mapping
 *
 * Tools, in the preloaded object (record-spool.h).
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-spool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a process may become another program. */
#define NAMES_MAX 1000

RecordState sli_record;
Spool sli_spool;
__thread RecordThread sli_record_self
    __attribute__ ((tls_model ("initial-exec")));

RawNode *
sli_spool_nodes (void)
{
  return (RawNode *) (sli_spool.map + SPOOL_NODES_OFFSET);
}

/* --- the file ------------------------------------------------------------ */

char *
sli_number_append (char *end, uint64_t number)
{
  char digits[20];
  int n = 0;

  do
    digits[n++] = (char) ('0' + number % 10);
  while ((number /= 10) != 0);
  while (n > 0)
    *end++ = digits[--n];
  *end = '\0';
  return end;
}

/* DIRECTORY/PID.N, without the C library's printf, which may allocate. */
static void
path_make (unsigned n)
{
  char *end = sli_spool.path;

  memcpy (end, sli_spool.directory, (size_t) sli_spool.n_directory);
  end += sli_spool.n_directory;
  *end++ = '/';
  end = sli_number_append (end, (uint64_t) getpid ());
  *end++ = '.';
  sli_number_append (end, n);
}

/* Gives the file its size.  Beyond the program's limit a signal would end the
 * program, so then the file has one byte: an empty one is that of a program
 * which has just been killed. */
static bool
file_enlarge (int fd)
{
  struct rlimit limit;

  if (getrlimit (RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
      && limit.rlim_cur < SPOOL_FILE_BYTES)
    {
      if (limit.rlim_cur > 0)
        (void) !ftruncate (fd, 1);
      return false;
    }
  return ftruncate (fd, (off_t) SPOOL_FILE_BYTES) == 0
         && posix_fallocate (fd, 0, (off_t) SPOOL_LOG_OFFSET) == 0;
}

/* A file that keeps its name with .new tells the packer that there was no
 * space.  It gets its own name when the packer may read its head and
 * states. */
static int
file_create_as (const char *path)
{
  char path_new[sizeof sli_spool.path + 4];
  struct stat status;
  int fd;

  stpcpy (stpcpy (path_new, path), ".new");
  fd = open (path_new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return -1;
  if (stat (path, &status) == 0)
    {
      unlink (path_new);
      errno = EEXIST;
    }
  else if (file_enlarge (fd) && rename (path_new, path) == 0)
    return fd;
  else
    errno = ENOSPC;
  close (fd);
  return -1;
}

/* Leaves a link, which needs no file number, to tell the packer that this
 * process can't have a spool, for want of files or addresses. */
static void
refusal_tell (void)
{
  char path_new[sizeof sli_spool.path + 4];

  stpcpy (stpcpy (path_new, sli_spool.path), ".new");
  (void) !symlink ("refused", path_new);
}

/* Finds a free name, since a process that becomes another program keeps its
 * number. */
static int
file_create (void)
{
  for (unsigned n = 0; n < NAMES_MAX; n++)
    {
      int fd;

      path_make (n);
      fd = file_create_as (sli_spool.path);
      if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        refusal_tell ();
      if (fd >= 0 || errno != EEXIST)
        return fd;
    }
  return -1;
}

/* --- the mapping --------------------------------------------------------- */

static void
head_fill (SpoolHead *head)
{
  struct timespec now;
  RawNode *nodes;

  clock_gettime (CLOCK_REALTIME, &now);
  head->version = SPOOL_VERSION;
  head->pid = (uint32_t) getpid ();
  head->parent_pid = (uint32_t) getppid ();
  head->flags = (sli_record.timed ? TRACE_FLAG_TIMED : 0)
                | (sli_record.control != NULL ? TRACE_FLAG_WATCHED
                   : sli_record.epoch > 1
                       ? TRACE_FLAG_CHILD | TRACE_FLAG_SLICES
                       : TRACE_FLAG_SLICES)
                | (sli_record.sample_bytes != 0 ? TRACE_FLAG_SAMPLED : 0);
  head->start_ticks = ticks_now ();
  head->start_unix_nsec
      = (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
  head->stack_depth = sli_record.stack_depth;
  head->free_depth = sli_record.free_depth;
  head->sample_bytes = sli_record.sample_bytes;
  atomic_store (&head->n_nodes, TRACE_N_FIXED_NODES);
  atomic_store (&head->n_strings, 1);
  nodes = sli_spool_nodes ();
  nodes[TRACE_NODE_CUT].parent = TRACE_NODE_ROOT;
  atomic_store (&nodes[TRACE_NODE_CUT].pc, 1);
  atomic_thread_fence (memory_order_seq_cst);
  head->magic = SPOOL_MAGIC;
}

/* Maps a word that is zero in a forked child. */
static bool
own_page_make (void)
{
  void *page = sli_record.own_page;

  if (page == NULL)
    {
      page = mmap (NULL, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (page == MAP_FAILED || madvise (page, 4096, MADV_WIPEONFORK) != 0)
        return false;
      sli_record.own_page = page;
    }
  *sli_record.own_page = 1;
  return true;
}

/* Maps the whole file at once and closes it, since a program may close or
 * reuse any file number.  If the address space is limited, makes the mapping
 * as large as possible. */
static bool
file_map (void)
{
  int fd = file_create ();
  void *map = MAP_FAILED;
  uint32_t n_chunks = SPOOL_CHUNKS_MAX;

  if (fd < 0)
    return false;
  for (; map == MAP_FAILED && n_chunks >= 16; n_chunks /= 4)
    {
      sli_spool.map_bytes = SPOOL_CHUNKS_OFFSET + n_chunks * SPOOL_CHUNK_BYTES;
      sli_spool.n_chunks_max = n_chunks;
      map = mmap (NULL, sli_spool.map_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
  close (fd);
  if (map == MAP_FAILED)
    {
      unlink (sli_spool.path);
      refusal_tell ();
      return false;
    }
  madvise (map, sli_spool.map_bytes, MADV_DONTDUMP);
  sli_spool.map = map;
  return true;
}

/* Gives the file its first name again: see file_create_as(). */
static void
map_give_up (void)
{
  char path_new[sizeof sli_spool.path + 4];

  stpcpy (stpcpy (path_new, sli_spool.path), ".new");
  rename (sli_spool.path, path_new);
  munmap (sli_spool.map, sli_spool.map_bytes);
  sli_spool.map = NULL;
}

static bool
map_open (void)
{
  if (!file_map ())
    return false;
  sli_spool.hint = 0;
  atomic_store (&sli_spool.log_bytes, 0);
  atomic_store (&sli_spool.nodes_bytes, 0);
  if (!sli_spool_nodes_reserve (TRACE_N_FIXED_NODES))
    {
      map_give_up ();
      return false;
    }
  sli_record.head = (SpoolHead *) sli_spool.map;
  sli_record.epoch++;
  head_fill (sli_record.head);
  return true;
}

static bool
directory_set (const char *directory)
{
  size_t n = directory == NULL ? 0 : strlen (directory);

  if (n == 0 || n >= sizeof sli_spool.directory)
    return false;
  memcpy (sli_spool.directory, directory, n + 1);
  sli_spool.n_directory = (int) n;
  return true;
}

bool
sli_spool_prepare (void)
{
  if (!own_page_make ())
    return false;
  if (!sli_spool.has_key)
    sli_spool.has_key
        = pthread_key_create (&sli_spool.key, sli_chunk_thread_ends) == 0;
  return true;
}

bool
sli_spool_open (const char *directory)
{
  return directory_set (directory) && own_page_make () && map_open ()
         && sli_spool_prepare ();
}

void
sli_spool_drop (void)
{
  if (sli_spool.map != NULL)
    munmap (sli_spool.map, sli_spool.map_bytes);
  sli_spool.map = NULL;
  sli_record.head = NULL;
}

/* In a forked child: unmaps the parent's spool without writing to it, and
 * opens one of its own. */
bool
sli_spool_reopen_in_child (void)
{
  sli_spool_drop ();
  return own_page_make () && map_open ();
}

bool
sli_spool_reopen (const char *directory)
{
  sli_spool_drop ();
  return directory_set (directory) && map_open ();
}

void
sli_spool_close (void)
{
  if (sli_record.head != NULL && *sli_record.own_page != 0)
    atomic_store (&sli_record.head->closed, 1);
}
