/* checking-report.c - what the checking modes say of faults
 *
 * Layer: checking.  Below: the registry of live blocks, for their sites.
 * Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "block-registry.h"

/* --- contents ------------------------------------------------------------ */

/* Does each byte have this value? */
static bool
bytes_are (const char *bytes, size_t n, uint8_t value)
{
  uint8_t wrong = 0;

  for (size_t i = 0; i < n; i++)
    wrong |= (uint8_t) bytes[i] ^ value;
  return wrong == 0;
}

/* Some words on where bytes are wrong, and what they are: "debug" shows them
 * as numbers. */
static void
describe_bytes (char *to, size_t room, const char *block, const char *bytes,
                size_t n, uint8_t value)
{
  size_t at = 0;
  unsigned shown[4];

  while (at + 1 < n && (uint8_t) bytes[at] == value)
    at++;
  for (size_t i = 0; i < 4; i++)
    shown[i] = at + i < n ? (uint8_t) bytes[at + i] : 0;
  sli_diag_format (to, room, ", at byte %d: %u %u %u %u (was %u)",
                   (int) (bytes + at - block), shown[0], shown[1], shown[2],
                   shown[3], (unsigned) value);
}

_Noreturn static void
report_bytes (ErrorNumber number, const char *operation, char *block,
              size_t size, const char *bytes, size_t n, uint8_t value)
{
  char more[DIAG_MORE_BYTES], where[DIAG_MORE_BYTES];

  describe_bytes (where, sizeof where, block, bytes, n, value);
  if (sli_checking.mode == CHECKING_DEBUG)
    sli_block_check_describe (block, more, sizeof more);
  else
    more[0] = '\0';
  sli_diag_format (where + strlen (where), sizeof where - strlen (where),
                   "%s", more);
  sli_diag_misuse_more (number, operation, block, size, 0, where);
}

COLD void
sli_checking_report_free_bytes (char *chunk, size_t chunk_bytes, size_t size,
                                const char *operation)
{
  report_bytes (ERROR_WRITTEN_FREE, operation,
                chunk + sli_checking.front_bytes, size, chunk, chunk_bytes,
                sli_checking.free_byte);
}

bool
sli_checking_zones_are_whole (const char *block, size_t size,
                              size_t chunk_bytes)
{
  size_t back_bytes = chunk_bytes - sli_checking.front_bytes - size;

  return bytes_are (block - sli_checking.front_bytes, sli_checking.front_bytes,
                    BYTE_ZONE)
         && bytes_are (block + size, back_bytes, BYTE_ZONE);
}

void
sli_checking_check_zones (char *block, size_t size, size_t chunk_bytes,
                          const char *operation)
{
  char *chunk = block - sli_checking.front_bytes;
  size_t back_bytes = chunk_bytes - sli_checking.front_bytes - size;

  if (!bytes_are (chunk, sli_checking.front_bytes, BYTE_ZONE))
    report_bytes (ERROR_UNDERRUN, operation, block, size, chunk,
                  sli_checking.front_bytes, BYTE_ZONE);
  if (!bytes_are (block + size, back_bytes, BYTE_ZONE))
    report_bytes (ERROR_OVERRUN, operation, block, size, block + size,
                  back_bytes, BYTE_ZONE);
}

/* --- blocks -------------------------------------------------------------- */

/* `words` are some more on the block. */
_Noreturn static void
report_misuse (ErrorNumber number, const char *operation, const void *block,
               size_t given_bytes, size_t real_bytes, const char *words)
{
  char more[DIAG_MORE_BYTES];
  size_t length = sli_diag_format (more, sizeof more, "%s", words);

  if (sli_checking.mode == CHECKING_DEBUG)
    sli_block_check_describe (block, more + length, sizeof more - length);
  sli_diag_misuse_more (number, operation, block, given_bytes, real_bytes,
                        more);
}

COLD void
sli_checking_report_size (uint16_t tag, size_t size, const void *block,
                          const char *operation)
{
  report_misuse (ERROR_WRONG_SIZE, operation, block, size, tag_size (tag),
                 size != tag_size (tag) ? ""
                 : (tag & TAG_ALIGNED) != 0
                     ? ", from slice_alloc_aligned"
                     : ", not from slice_alloc_aligned");
}

COLD void
sli_checking_report_chunk (const ChunkRef *place, size_t size,
                           const void *block, const char *operation)
{
  ErrorNumber error = chunk_error (place, 0);
  uint16_t tag = place->state == CHUNK_OUT ? *chunk_tag (place) : TAG_LIVE;

  size_t real_bytes = tag >= TAG_LIVE ? tag_size (tag) : 0;
  size_t known_bytes = sli_block_check_size (block);

  if (tag < TAG_LIVE)
    error = tag == TAG_FREE ? ERROR_ALREADY_FREE : ERROR_NEVER_ALLOCATED;
  if (error == ERROR_FOREIGN && known_bytes != SIZE_MAX)
    {
      /* A large one, malloc's, freed as a small one. */
      error = ERROR_WRONG_SIZE;
      real_bytes = known_bytes;
    }
  else if ((error == ERROR_FOREIGN || error == ERROR_NEVER_ALLOCATED)
           && sli_block_check_knows (block))
    error = ERROR_NOT_A_BLOCK; /* was one, and was freed */
  report_misuse (error, operation, block, size, real_bytes, "");
}
