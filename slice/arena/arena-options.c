/* arena-options.c - the options of an arena, with defaults and limits
 *
 * Layer: arena: below the kinds of arenas.  No locks.
 *
 * Design: section 8.1.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include "arena-options.h"

#include <errno.h>
#include <string.h>
#include "arena/block/block-source.h"
#include "arena/source/span.h"
#include "base/diag.h"
#include "base/option.h"
#include "port/annotate.h"
#include "arena/bump/traced.h"

void
slice_arena_bad_options_v1 (void)
{
  sli_diag_abort (ARENA_MISUSE_OPTIONS,
                  "an arena's option is out of range, or its buffer is too"
                  " small");
}

enum
{
  FIRST_BYTES_MIN = 64,
  BLOCK_BYTES_MAX = 1 << 30
};

static bool
options_are_valid (const SliceArenaOptions *options)
{
  return options->first_bytes >= FIRST_BYTES_MIN
         && options->first_bytes <= options->cap_bytes
         && options->cap_bytes <= BLOCK_BYTES_MAX
         && (options->flags & ~(unsigned) SLICE_ARENA_CHECKED) == 0
         && sli_options_size_is_known (options->struct_bytes, sizeof *options)
         && (options->source == NULL || options->source->map != NULL);
}

bool
sli_options_fill (const SliceArenaOptions *given, size_t default_first,
                  size_t default_cap, SliceArenaOptions *options)
{
  SliceArenaOptions all = { 0 };
  bool has_cap = given != NULL && given->cap_bytes != 0;
  bool is_valid;

  if (given != NULL)
    all = *given;
  if (all.first_bytes == 0)
    all.first_bytes = all.source != NULL ? SPAN_PAGE_BYTES : default_first;
  if (!has_cap)
    {
      all.cap_bytes = default_cap != 0 ? default_cap : CAP_BYTES_DEFAULT;
      if (all.cap_bytes < all.first_bytes)
        all.cap_bytes = all.first_bytes;
    }
  if (all.limit_bytes == 0)
    all.limit_bytes = SIZE_MAX;
  is_valid = options_are_valid (&all);
  if (is_valid)
    all.first_bytes = align_up (all.first_bytes,
                                all.source != NULL ? SPAN_PAGE_BYTES : 16);
  else
    errno = EINVAL;
  if (trace_is_on ())
    all.flags |= ARENA_TRACED;
  *options = all;
  return is_valid;
}

/* The largest size of a control block and the first block together.  With a
 * checking mode's own bytes around them they must still be a slice, which is
 * filled and quarantined, so that a use after the arena's end is found. */
static size_t
record_bytes_max (void)
{
  return sli_arena_all_checked () ? SLICE_SIZE_MAX - CHECKS_BYTES_MAX
                                  : SLICE_SIZE_MAX;
}

size_t
sli_options_embedded (const SliceArenaOptions *options, size_t control_bytes)
{
  bool fits = options->source == NULL
              && options->first_bytes + control_bytes <= record_bytes_max ();

  return fits ? options->first_bytes : 0;
}

bool
sli_options_settle (void)
{
  if (LIKELY (sli_option_is_frozen ()))
    return false;
  (void) slice_try_alloc (0); /* makes no block */
  assert_here (sli_option_is_frozen ());
  return true;
}

bool
sli_options_allow (const SliceArenaOptions *options, size_t empty_bytes)
{
  if (options->limit_bytes >= empty_bytes)
    return true;
  errno = EINVAL;
  return false;
}

COLD void
sli_pristine_keep (int *state, void *copy, const void *arena, size_t bytes)
{
  int none = PRISTINE_NONE;

  if (!__atomic_compare_exchange_n (state, &none, PRISTINE_BUSY, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return;
  memcpy (copy, arena, bytes);
  sli_annotate_published (state, sizeof *state);
  sli_annotate_published (copy, bytes);
  STORE_RELEASE (state, PRISTINE_KEPT);
}

static bool
a_mode_is_on (void)
{
  static const SliceOption modes[]
      = { SLICE_OPTION_CHECKED, SLICE_OPTION_HARDENED, SLICE_OPTION_DEBUG };
  int64_t value;

  value = 0;
  for (size_t i = 0; i < sizeof modes / sizeof *modes && value == 0; i++)
    slice_get_option (modes[i], &value);
  return value != 0;
}

/* Reads the options, and keeps the answer in *known if it is final: a TLSF
 * heap over a buffer freezes no option, and the program may set one after it.
 * Never returns 0. */
COLD static int
read_all_checked (int *known)
{
  bool is_final = sli_option_is_frozen ();
  int state = a_mode_is_on () ? 2 : 1;

  if (is_final)
    {
      sli_annotate_published (known, sizeof *known);
      STORE (known, state);
    }
  return state;
}

bool
sli_arena_all_checked (void)
{
  static int known; /* 0: unknown, 1: no, 2: yes */
  int state;

  state = LOAD (&known);
  if (UNLIKELY (state == 0))
    state = read_all_checked (&known);
  return state == 2;
}
