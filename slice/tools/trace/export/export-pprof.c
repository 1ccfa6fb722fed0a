/* export-pprof.c - pprof's profile.proto, gzipped
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "export.h"
#include "tools/trace/common/table.h"
#include "tools/trace/common/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct
{
  uint8_t *bytes;
  size_t n, capacity;
} Buffer;

static void
put_byte (Buffer *buffer, uint8_t byte)
{
  if (buffer->n == buffer->capacity)
    {
      buffer->capacity = buffer->capacity * 2 + 4096;
      buffer->bytes = sli_tool_grow (buffer->bytes, buffer->capacity);
    }
  buffer->bytes[buffer->n++] = byte;
}

static void
put_varint (Buffer *buffer, uint64_t value)
{
  for (; value >= 0x80; value >>= 7)
    put_byte (buffer, (uint8_t) (value | 0x80));
  put_byte (buffer, (uint8_t) value);
}

static void
put_number (Buffer *buffer, unsigned field, uint64_t value)
{
  put_varint (buffer, field << 3);
  put_varint (buffer, value);
}

static void
put_bytes (Buffer *buffer, unsigned field, const void *bytes, size_t n)
{
  put_varint (buffer, field << 3 | 2);
  put_varint (buffer, n);
  for (size_t i = 0; i < n; i++)
    put_byte (buffer, ((const uint8_t *) bytes)[i]);
}

static void
put_message (Buffer *buffer, unsigned field, Buffer *inner)
{
  put_bytes (buffer, field, inner->bytes, inner->n);
  inner->n = 0;
}

typedef struct
{
  Buffer out, inner, deep;
  Buffer strings;
  const char **names; /* of the strings, by number */
  uint32_t n_names, capacity;
  Table by_name; /* a string's number plus 1 */
  uint64_t n_functions;
  uint64_t *location_done; /* by frame node */
} Pprof;

static uint64_t
string_add (Pprof *pprof, const char *text)
{
  uint32_t *number = sli_table_add_text (&pprof->by_name, text, pprof->names,
                                         sizeof *pprof->names);

  if (*number == 0)
    {
      if (pprof->n_names == pprof->capacity)
        {
          pprof->capacity = pprof->capacity * 2 + 64;
          pprof->names = sli_tool_grow (pprof->names,
                                        pprof->capacity * sizeof (char *));
        }
      pprof->names[pprof->n_names] = text;
      *number = ++pprof->n_names;
      put_bytes (&pprof->strings, 6, text, strlen (text));
    }
  return *number - 1;
}

static void
value_type (Pprof *pprof, unsigned field, const char *type, const char *unit)
{
  put_number (&pprof->inner, 1, string_add (pprof, type));
  put_number (&pprof->inner, 2, string_add (pprof, unit));
  put_message (&pprof->out, field, &pprof->inner);
}

/* A location and its function share a number: the frame's node. */
static void
location_add (Pprof *pprof, const Profile *profile, uint32_t frame)
{
  const Symbol *symbol;

  if (pprof->location_done[frame])
    return;
  pprof->location_done[frame] = 1;
  symbol = sli_profile_symbol (profile, frame);
  put_number (&pprof->inner, 1, frame);
  put_number (&pprof->inner, 2, string_add (pprof, symbol->function));
  put_number (&pprof->inner, 3, string_add (pprof, symbol->function));
  put_number (&pprof->inner, 4,
              string_add (pprof, symbol->file == NULL ? symbol->module
                                                      : symbol->file));
  put_message (&pprof->out, 5, &pprof->inner);
  put_number (&pprof->inner, 1, frame);
  put_number (&pprof->inner, 3, profile->reader->pcs[frame] & TRACE_PC_MASK);
  put_number (&pprof->deep, 1, frame);
  put_number (&pprof->deep, 2, symbol->line);
  put_message (&pprof->inner, 4, &pprof->deep);
  put_message (&pprof->out, 4, &pprof->inner);
}

static void
sample_add (Pprof *pprof, const Profile *profile, uint32_t node)
{
  uint32_t frames[PROFILE_FRAMES_MAX], result;
  uint32_t n = sli_profile_frames (profile, node, frames);
  uint32_t n_nodes = profile->reader->n_nodes;
  uint64_t values[4]
      = { profile->sites->allocs[node], profile->sites->bytes[node],
          profile->peak_live[n_nodes + node], profile->peak_live[node] };

  for (uint32_t i = 0; i < n; i++)
    location_add (pprof, profile, frames[i]);
  for (uint32_t i = 0; i < n; i++)
    put_varint (&pprof->deep, frames[i]);
  put_message (&pprof->inner, 1, &pprof->deep);
  for (int i = 0; i < 4; i++)
    put_varint (&pprof->deep, values[i]);
  put_message (&pprof->inner, 2, &pprof->deep);
  result = profile->final_map[node];
  if (result != SITE_NONE)
    {
      put_number (&pprof->deep, 1, string_add (pprof, "pattern"));
      put_number (
          &pprof->deep, 2,
          string_add (
              pprof, sli_class_name (profile->results[result].verdict.class)));
      put_message (&pprof->inner, 3, &pprof->deep);
    }
  put_message (&pprof->out, 2, &pprof->inner);
}

void
sli_export_pprof (const Profile *profile, const char *path)
{
  Pprof pprof = { 0 };
  gzFile file;

  pprof.location_done
      = sli_tool_zero (profile->reader->n_nodes * sizeof (uint64_t));
  string_add (&pprof, "");
  value_type (&pprof, 1, "alloc_objects", "count");
  value_type (&pprof, 1, "alloc_space", "bytes");
  value_type (&pprof, 1, "inuse_objects", "count");
  value_type (&pprof, 1, "inuse_space", "bytes");
  for (uint32_t node = 0; node < profile->reader->n_nodes; node++)
    if (profile->sites->allocs[node] > 0)
      sample_add (&pprof, profile, node);
  put_number (&pprof.out, 9, profile->reader->head.start_unix_nsec);
  put_number (&pprof.out, 10,
              (uint64_t) (1e9
                          * sli_profile_seconds (
                              profile, profile->totals.last_ticks
                                           - profile->totals.first_ticks)));
  for (size_t i = 0; i < pprof.strings.n; i++)
    put_byte (&pprof.out, pprof.strings.bytes[i]);
  errno = ENOMEM; /* what zlib fails for if it leaves errno alone */
  file = gzopen (path, "wb9");
  if (file == NULL
      || gzwrite (file, pprof.out.bytes, (unsigned) pprof.out.n)
             != (int) pprof.out.n
      || gzclose (file) != Z_OK)
    sli_tool_exit (TOOL_FAILED, "%s could not be written: %s", path,
                   strerror (errno));
  free (pprof.out.bytes);
  free (pprof.inner.bytes);
  free (pprof.deep.bytes);
  free (pprof.strings.bytes);
  free (pprof.names);
  sli_table_free (&pprof.by_name);
  free (pprof.location_done);
}
