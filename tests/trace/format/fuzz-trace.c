/* fuzz-trace.c - the reader and the analysis on whatever a file may hold
 *
 * libFuzzer's target (make fuzz-trace).  The input is a trace; the checksums
 * of its blocks are made right first, so that what is behind them is reached.
 * The analysis runs on it as well, without modules: their paths would be
 * opened.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/profile/write/profile-json.h"
#include "tools/trace/replay/replay.h"
#include "tools/trace/format/read/trace-read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n);

static void
checksums_mend (uint8_t *bytes, size_t n)
{
  for (size_t at = sizeof (TraceFileHead); at + sizeof (TraceBlockHead) <= n;)
    {
      TraceBlockHead head;
      size_t left;

      memcpy (&head, bytes + at, sizeof head);
      left = n - at - sizeof head;
      if (head.packed_bytes > left)
        head.packed_bytes = (uint32_t)left;
      if (head.type == TRACE_BLOCK_MODULES)
        head.type = TRACE_BLOCK_STRINGS;
      head.magic = TRACE_BLOCK_MAGIC;
      head.payload_hash
          = sli_xxh64 (bytes + at + sizeof head, head.packed_bytes, 0);
      head.head_check = (uint32_t)sli_xxh64 (
          &head, offsetof (TraceBlockHead, head_check), 0);
      memcpy (bytes + at, &head, sizeof head);
      at += sizeof head + head.packed_bytes;
    }
}

static bool
is_readable (const char *path)
{
  char error[512];
  TraceEvent event;
  TraceReader *reader = sli_trace_open_any (path, error);

  if (reader == NULL)
    return false;
  for (int pass = 0; pass < 2; pass++)
    {
      while (sli_trace_next (reader, &event))
        ;
      sli_trace_rewind (reader);
    }
  sli_trace_close (reader);
  return true;
}

static void
profile_write (const char *path)
{
  static const ProfileOptions options
      = { .n_hot = 4, .chosen_time = -1, .takes_sampled = true };
  static FILE *null;
  Profile *profile;

  if (null == NULL)
    null = fopen ("/dev/null", "we");
  profile = sli_profile_new (path, &options);
  sli_profile_write (profile, null, NULL);
  if (profile->sample_bytes == 0)
    {
      ReplayFile operations = sli_replay_write (profile, &options);

      sli_replay_file_close (&operations);
    }
  sli_profile_free (profile);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n)
{
  char path[64];
  uint8_t *copy;
  TraceFileHead *head;
  int fd;

  if (n < sizeof (TraceFileHead))
    return 0;
  copy = malloc (n);
  memcpy (copy, bytes, n);
  head = (TraceFileHead *) copy;
  memcpy (head->magic, TRACE_MAGIC, sizeof head->magic);
  head->byte_order = TRACE_BYTE_ORDER;
  if (head->ticks_per_sec == 0)
    head->ticks_per_sec = 1;
  checksums_mend (copy, n);
  fd = memfd_create ("trace", MFD_CLOEXEC);
  snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
  if (write (fd, copy, n) == (ssize_t)n && is_readable (path))
    profile_write (path);
  close (fd);
  free (copy);
  return 0;
}
