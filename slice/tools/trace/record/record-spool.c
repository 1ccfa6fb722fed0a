/* record-spool.c - the recorder's side of the spool: file, chunks, log
 *
 * Tools, in the preloaded object.  Called by record.c and record-stack.c.
 * Locks: none; a chunk has one owner, everything shared grows by atomics.
 * Only raw system calls and mmap: this runs inside malloc.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How many unpacked chunks (1.5 MiB each) make a thread wait for the packer,
 * and for how long before it takes more memory rather than stop. */
#define WAIT_CHUNKS 192
#define WAIT_MSEC_MAX 2000

/* The file is sparse, and a write where the file system has no room for it
 * kills the program.  So a part is taken before it is used, in steps. */
#define ROOM_STEP UINT64_C (65536)
#define NODES_STEP (4 * ROOM_STEP / sizeof (RawNode))

RecordState sli_record;
__thread RecordThread sli_record_self
    __attribute__ ((tls_model ("initial-exec")));

static struct
{
  char directory[3072];
  int n_directory;
  char path[3072 + 40]; /* of the file */
  _Atomic uint64_t log_room;   /* bytes that are taken */
  _Atomic uint32_t nodes_room; /* nodes that are */
  uint8_t *map; /* head, states, log, nodes and the first chunks */
  uint64_t map_bytes;
  uint32_t n_chunks_max; /* that are mapped */
  uint32_t hint;         /* where a free chunk was last found */
  pthread_key_t key;
  bool has_key;
} spool;

static uint8_t *
number_append (uint8_t *end, uint64_t number)
{
  uint8_t digits[20];
  int n = 0;
  do
    digits[n++] = (uint8_t)('0' + number % 10);
  while ((number /= 10) != 0);
  while (n > 0)
    *end++ = digits[--n];
  return end;
}

static _Atomic uint32_t *
chunk_states (void)
{
  return (_Atomic uint32_t *)(spool.map + SPOOL_STATES_OFFSET);
}

RawNode *
sli_spool_nodes (void)
{
  return (RawNode *)(spool.map + SPOOL_NODES_OFFSET);
}

static int
file_create (void)
{
  char path[sizeof spool.directory + 40];
  memcpy (path, spool.directory, (size_t)spool.n_directory);
  path[spool.n_directory] = '/';
  uint8_t *end = (uint8_t *)path + spool.n_directory + 1;
  end = number_append (end, (uint64_t)getpid ());
  /* a process that execs another under recording uses its number again */
  for (unsigned n = 0; n < 1000; n++)
    {
      uint8_t *name_end = end;
      *name_end++ = '.';
      name_end = number_append (name_end, n);
      memcpy (name_end, ".new", 5);
      int fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (fd < 0 && errno != EEXIST)
        return -1;
      if (fd < 0)
        continue;
      char done[sizeof path];
      memcpy (done, path, sizeof done);
      done[name_end - (uint8_t *)path] = '\0';
      struct stat status;
      if (stat (done, &status) == 0)
        {
          unlink (path);
          close (fd);
          continue;
        }
      /* the packer reads the head and the states of what it finds; a file
       * that keeps its first name tells it that there was no room */
      if (ftruncate (fd, (off_t)SPOOL_FILE_BYTES) != 0
          || posix_fallocate (fd, 0, (off_t)SPOOL_LOG_OFFSET) != 0
          || rename (path, done) != 0)
        {
          close (fd);
          return -1;
        }
      memcpy (spool.path, done, sizeof done);
      return fd;
    }
  return -1;
}

/* Whether a part of the file can be written from now on.  Where the kernel is
 * too old to say so by the mapping, the file is opened for it again. */
static bool
room_take (uint64_t offset, uint64_t n_bytes)
{
  uint64_t begin = offset & ~UINT64_C (4095);
  n_bytes = (offset + n_bytes - begin + 4095) & ~UINT64_C (4095);
  int saved_errno = errno;
  bool good = madvise (spool.map + begin, n_bytes, MADV_POPULATE_WRITE) == 0;
  if (!good && errno == EINVAL)
    {
      long fd = syscall (SYS_openat, AT_FDCWD, spool.path, O_RDWR | O_CLOEXEC);
      good = fd >= 0
             && (fallocate ((int)fd, 0, (off_t)begin, (off_t)n_bytes) == 0
                 || errno == EOPNOTSUPP || errno == ENOSYS);
      if (fd >= 0)
        syscall (SYS_close, fd);
    }
  errno = saved_errno;
  return good;
}

/* Nodes up to this number; false: there is no room for them. */
bool
sli_spool_nodes_room (uint32_t n)
{
  uint32_t room = atomic_load (&spool.nodes_room);
  while (n > room)
    {
      uint32_t more = room + (uint32_t)NODES_STEP;
      if (more > SPOOL_NODES_MAX
          || !room_take (SPOOL_NODES_OFFSET + room * sizeof (RawNode),
                         NODES_STEP * sizeof (RawNode)))
        return false;
      if (atomic_compare_exchange_strong (&spool.nodes_room, &room, more))
        room = more;
    }
  return true;
}

static bool
log_room (uint64_t n)
{
  uint64_t room = atomic_load (&spool.log_room);
  while (n > room)
    {
      uint64_t more = room + ROOM_STEP;
      if (more > SPOOL_LOG_BYTES
          || !room_take (SPOOL_LOG_OFFSET + room, ROOM_STEP))
        return false;
      if (atomic_compare_exchange_strong (&spool.log_room, &room, more))
        room = more;
    }
  return true;
}

static void
head_fill (SpoolHead *head)
{
  struct timespec now;
  clock_gettime (CLOCK_REALTIME, &now);
  head->version = SPOOL_VERSION;
  head->pid = (uint32_t)getpid ();
  head->parent_pid = (uint32_t)getppid ();
  head->flags = (sli_record.timed ? TRACE_FLAG_TIMED : 0)
                | (sli_record.epoch > 1 ? TRACE_FLAG_CHILD : 0)
                | TRACE_FLAG_SLICES;
  head->start_ticks = ticks_now ();
  head->start_unix_nsec
      = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  head->stack_depth = sli_record.stack_depth;
  head->free_depth = sli_record.free_depth;
  atomic_store (&head->n_nodes, TRACE_N_FIXED_NODES);
  atomic_store (&head->n_strings, 1);
  RawNode *nodes = sli_spool_nodes ();
  nodes[TRACE_NODE_CUT].parent = TRACE_NODE_ROOT;
  atomic_store (&nodes[TRACE_NODE_CUT].pc, 1);
  atomic_thread_fence (memory_order_seq_cst);
  head->magic = SPOOL_MAGIC;
}

/* A word that a forked child finds zeroed. */
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

/* All places are mapped at once and the file is closed: a program may close
 * or reuse any file number.  Under a limit of the address space the mapping
 * is made as large as it can be. */
static bool
map_open (void)
{
  int fd = file_create ();
  if (fd < 0)
    return false;
  void *map = MAP_FAILED;
  uint32_t n_chunks = SPOOL_CHUNKS_MAX;
  for (; map == MAP_FAILED && n_chunks >= 16; n_chunks /= 4)
    {
      spool.map_bytes = SPOOL_CHUNKS_OFFSET + n_chunks * SPOOL_CHUNK_BYTES;
      spool.n_chunks_max = n_chunks;
      map = mmap (NULL, spool.map_bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
  close (fd);
  if (map == MAP_FAILED)
    return false;
  madvise (map, spool.map_bytes, MADV_DONTDUMP);
  spool.map = map;
  spool.hint = 0;
  atomic_store (&spool.log_room, 0);
  atomic_store (&spool.nodes_room, 0);
  if (!sli_spool_nodes_room (TRACE_N_FIXED_NODES))
    {
      char full[sizeof spool.path + 4];
      stpcpy (stpcpy (full, spool.path), ".new");
      rename (spool.path, full);
      munmap (map, spool.map_bytes);
      spool.map = NULL;
      return false;
    }
  sli_record.head = map;
  sli_record.epoch++;
  head_fill (map);
  return true;
}

static void thread_ends (void *value);

bool
sli_spool_open (const char *directory)
{
  if (directory == NULL)
    return false;
  size_t n = strlen (directory);
  if (n == 0 || n >= sizeof spool.directory)
    return false;
  memcpy (spool.directory, directory, n + 1);
  spool.n_directory = (int)n;
  if (!own_page_make () || !map_open ())
    return false;
  spool.has_key = pthread_key_create (&spool.key, thread_ends) == 0;
  return true;
}

/* In a forked child: its parent's spool is let go, unwritten. */
bool
sli_spool_reopen_in_child (void)
{
  if (spool.map != NULL)
    munmap (spool.map, spool.map_bytes);
  return own_page_make () && map_open ();
}

/* --- chunks -------------------------------------------------------------- */

static RawChunk *
chunk_at (uint32_t index)
{
  return (RawChunk *)(spool.map + SPOOL_CHUNKS_OFFSET
                      + index * SPOOL_CHUNK_BYTES);
}

static uint32_t
chunk_free_claim (uint32_t n, bool *any_full)
{
  _Atomic uint32_t *states = chunk_states ();
  for (uint32_t i = 0; i < n; i++)
    {
      uint32_t at = (spool.hint + i) % n;
      uint32_t state
          = atomic_load_explicit (&states[at], memory_order_relaxed);
      *any_full |= state == SPOOL_CHUNK_FULL;
      if (state == SPOOL_CHUNK_FREE
          && atomic_compare_exchange_strong (&states[at], &state,
                                             SPOOL_CHUNK_OWNED))
        {
          spool.hint = at;
          return at;
        }
    }
  return UINT32_MAX;
}

/* One more chunk is known from now on; its beginning has its room. */
static bool
chunk_add (uint32_t n)
{
  if (n >= spool.n_chunks_max
      || !room_take (SPOOL_CHUNKS_OFFSET + n * SPOOL_CHUNK_BYTES, ROOM_STEP))
    return false;
  /* or another thread has added it */
  atomic_compare_exchange_strong (&sli_record.head->n_chunks, &n, n + 1);
  return true;
}

/* A free chunk, or one that was never used; UINT32_MAX if there is none.
 * Where there is no room for another, the packer gives one back if it has one
 * to pack. */
static uint32_t
chunk_claim (void)
{
  SpoolHead *head = sli_record.head;
  for (unsigned waited = 0;;)
    {
      bool any_full = false;
      uint32_t n = atomic_load (&head->n_chunks);
      uint32_t at = chunk_free_claim (n, &any_full);
      if (at != UINT32_MAX)
        return at;
      bool waits = waited < WAIT_MSEC_MAX && head->packer_pid != 0;
      bool many = n >= WAIT_CHUNKS + atomic_load (&head->n_threads);
      if (!(many && waits) && chunk_add (n))
        continue;
      if (!waits || !(many || any_full))
        return UINT32_MAX;
      struct timespec msec = { 0, 1000000 };
      syscall (SYS_nanosleep, &msec, NULL);
      waited++;
    }
}

static void
chunk_release (RecordThread *self)
{
  if (self->chunk == NULL)
    return;
  if (self->epoch == sli_record.epoch)
    {
      atomic_fetch_add (&sli_record.head->n_events, self->n_events);
      atomic_store (&chunk_states ()[self->chunk_index], SPOOL_CHUNK_FULL);
    }
  self->chunk = NULL;
}

/* Room for more of the thread's events in its chunk. */
static bool
chunk_grow (RecordThread *self)
{
  uint64_t begin = 0;
  if (self->n_room > 0)
    begin = sizeof (RawChunkHead) + (self->n_room + 2) * sizeof (RawEvent);
  begin = (begin + ROOM_STEP - 1) & ~(ROOM_STEP - 1);
  uint64_t end = begin + ROOM_STEP;
  if (end > SPOOL_CHUNK_BYTES)
    end = SPOOL_CHUNK_BYTES;
  if (self->n_room >= TRACE_BLOCK_EVENTS - 2
      || !room_take (SPOOL_CHUNKS_OFFSET
                         + self->chunk_index * SPOOL_CHUNK_BYTES + begin,
                     end - begin))
    return false;
  uint64_t n = (end - sizeof (RawChunkHead)) / sizeof (RawEvent);
  if (n > TRACE_BLOCK_EVENTS)
    n = TRACE_BLOCK_EVENTS;
  self->n_room = (uint32_t)n - 2; /* an event may take two places */
  return true;
}

static bool
chunk_take (RecordThread *self, uint64_t now)
{
  chunk_release (self);
  uint32_t index = chunk_claim ();
  self->n_room = 0;
  if (index == UINT32_MAX)
    {
      atomic_fetch_add (&sli_record.head->n_dropped_full, 1);
      return false;
    }
  RawChunk *chunk = chunk_at (index);
  if (self->epoch != sli_record.epoch || self->thread == 0)
    self->thread = atomic_fetch_add (&sli_record.head->n_threads, 1) + 1;
  self->epoch = sli_record.epoch;
  self->n_events = 0;
  self->chunk_index = index;
  chunk->head.base_ticks = now;
  chunk->head.thread = self->thread;
  chunk->head.tid = (uint32_t)syscall (SYS_gettid);
  chunk->head.many_threads = !__libc_single_threaded;
  chunk->head.sequence = atomic_fetch_add (&sli_record.head->sequence, 1);
  atomic_store (&chunk->head.n_events, 0);
  self->chunk = chunk;
  chunk_grow (self); /* it has this room: see chunk_add() */
  if (spool.has_key && !self->late)
    pthread_setspecific (spool.key, self);
  return true;
}

/* The place for the thread's next event.  Long pauses, and the moment when a
 * second thread starts, begin a new chunk or a new time base. */
RawEvent *
sli_spool_next_event (RecordThread *self, uint64_t now)
{
  RawChunk *chunk = self->chunk;
  if (UNLIKELY (chunk == NULL || self->n_events >= self->n_room
                || chunk->head.many_threads
                       == (uint32_t)__libc_single_threaded))
    {
      bool more = chunk != NULL && self->n_events >= self->n_room
                  && chunk->head.many_threads
                         != (uint32_t)__libc_single_threaded
                  && chunk_grow (self);
      if (!more && !chunk_take (self, now))
        return NULL;
      chunk = self->chunk;
    }
  uint64_t ticks = now - chunk->head.base_ticks;
  if (UNLIKELY (ticks > UINT32_MAX))
    {
      if (!chunk_take (self, now))
        return NULL;
      chunk = self->chunk;
      ticks = 0;
    }
  RawEvent *event = &chunk->events[self->n_events];
  event->ticks = (uint32_t)ticks;
  return event;
}

/* The last round of the thread's destructors gives its chunk back; what
 * comes after that, from the C library itself, takes a new one, which the
 * packer collects at the end. */
static void
thread_ends (void *value)
{
  RecordThread *self = value;
  if (++self->exit_rounds < 4) /* PTHREAD_DESTRUCTOR_ITERATIONS */
    {
      pthread_setspecific (spool.key, self);
      return;
    }
  bool was_busy = self->busy;
  self->busy = true;
  self->late = true;
  chunk_release (self);
  self->busy = was_busy;
}

void
sli_spool_close (void)
{
  if (sli_record.head != NULL && *sli_record.own_page != 0)
    atomic_store (&sli_record.head->closed, 1);
}

/* --- log ----------------------------------------------------------------- */

void
sli_spool_log (uint32_t type, const void *a, size_t n_a, const void *b,
               size_t n_b, const void *c, size_t n_c)
{
  size_t n = (sizeof (LogRecord) + n_a + n_b + n_c + 7) & ~(size_t)7;
  uint64_t at = atomic_load (&sli_record.head->log_bytes);
  do
    if (!log_room (at + n))
      return;
  while (!atomic_compare_exchange_weak (&sli_record.head->log_bytes, &at,
                                        at + n));
  LogRecord *record = (LogRecord *)(spool.map + SPOOL_LOG_OFFSET + at);
  uint8_t *end = (uint8_t *)(record + 1);
  record->type = type;
  memcpy (end, a, n_a);
  memcpy (end + n_a, b, n_b);
  memcpy (end + n_a + n_b, c, n_c);
  atomic_store (&record->bytes, (uint32_t)n);
}

/* What this process was called with: the packer knows the first's alone. */
#define COMMAND_BYTES_MAX (128 << 10)

void
sli_spool_command (void)
{
  char *text = mmap (NULL, COMMAND_BYTES_MAX, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (text == MAP_FAILED)
    return;
  size_t n = 0;
  long fd = syscall (SYS_openat, AT_FDCWD, "/proc/self/cmdline",
                     O_RDONLY | O_CLOEXEC);
  for (long got = 1; fd >= 0 && got > 0 && n < COMMAND_BYTES_MAX - 1;)
    {
      got = syscall (SYS_read, fd, text + n, COMMAND_BYTES_MAX - 1 - n);
      n += got > 0 ? (size_t)got : 0;
    }
  if (fd >= 0)
    syscall (SYS_close, fd);
  if (n > 0) /* the last byte is 0, also of what was cut */
    sli_spool_log (TRACE_BLOCK_COMMAND, text, n + (text[n - 1] != '\0'), "", 0,
                   "", 0);
  munmap (text, COMMAND_BYTES_MAX);
}

/* A few hundred names at most: a table of hashes, searched from the end of
 * the hash, is enough.  A lost race gives a name two ids, which is harmless.
 */
#define STRINGS_MAX 65536

uint32_t
sli_spool_string (const char *text)
{
  static struct
  {
    _Atomic uint64_t hash;
    _Atomic uint32_t id;
    uint32_t epoch;
  } * table;
  if (table == NULL)
    {
      void *memory
          = mmap (NULL, STRINGS_MAX * sizeof *table, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        return 0;
      table = memory;
    }
  size_t n = strlen (text);
  uint64_t hash = sli_xxh64 (text, n, sli_record.epoch) | 1;
  uint32_t at = (uint32_t)hash % STRINGS_MAX;
  for (uint32_t i = 0; i < STRINGS_MAX; i++, at = (at + 1) % STRINGS_MAX)
    {
      uint64_t found = atomic_load (&table[at].hash);
      if (found == hash)
        {
          uint32_t id;
          while ((id = atomic_load (&table[at].id)) == 0)
            ;
          return id;
        }
      if (found == 0
          && atomic_compare_exchange_strong (&table[at].hash, &found, hash))
        {
          uint32_t id = atomic_fetch_add (&sli_record.head->n_strings, 1);
          uint32_t ids[2] = { id, (uint32_t)n };
          sli_spool_log (TRACE_BLOCK_STRINGS, ids, sizeof ids, text, n, "", 0);
          atomic_store (&table[at].id, id);
          return id;
        }
    }
  return 0;
}
