/* kept-text.c - texts that the program gives and nodes keep by address
 *
 * Layer: context.  No locks.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "kept-text.h"
#include "port/os/os.h"

enum
{
  SUM_BYTES = 64 /* of longer texts only these are looked at */
};

/* Fowler, Noll and Vo's sum (FNV-1a). */
#define SUM_START UINT32_C (2166136261)
#define SUM_FACTOR UINT32_C (16777619)

uint32_t
sli_kept_sum (const char *text)
{
  uint32_t sum = SUM_START;

  for (unsigned i = 0; i < SUM_BYTES && text[i] != '\0'; i++)
    sum = (sum ^ (unsigned char) text[i]) * SUM_FACTOR;
  return sum;
}

/* Returns true if a text can be read up to its end, or so many bytes of it. */
static bool
is_readable (const char *text, size_t bytes)
{
  uintptr_t page_bytes = sli_os_page_bytes ();

  while (bytes > 0)
    {
      size_t n = page_bytes - ((uintptr_t) text & (page_bytes - 1));

      if (!sli_os_is_readable (text))
        return false;
      n = n < bytes ? n : bytes;
      if (memchr (text, '\0', n) != NULL)
        return true;
      text += n;
      bytes -= n;
    }
  return true;
}

const char *
sli_kept_text (const char *text, uint32_t sum, unsigned bits)
{
  bool is_kept = is_readable (text, SUM_BYTES)
                 && (sli_kept_sum (text) ^ sum) << (32 - bits) == 0
                 && is_readable (text, SIZE_MAX);

  return is_kept ? text : "(unloaded)";
}
