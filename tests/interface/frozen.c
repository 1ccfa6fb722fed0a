/* frozen.c - the layouts and functions that the headers' inline code has
 * compiled into programs
 *
 * Compiles if the layouts of version 1 are what they were when they were
 * frozen; prints the sum of what is a function.  check-abi.sh has that sum.
 * Design: abi.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/arena.h>
#include <slice/ralloc.h>
#include <stddef.h>
#include <stdio.h>

#define WORD sizeof (void *)
#define WORDS(type, n)                                                        \
  _Static_assert (sizeof (type) == (n) * WORD, "the size of " #type)
#define AT(type, field, n)                                                    \
  _Static_assert (offsetof (type, field) == (n) * WORD,                       \
                  "the place of " #field " in " #type)

/* The thread: two words for each class, and a table of bytes. */
AT (SliceThreadV1, entries, 0);
AT (SliceThreadV1, class_table, 74 * 2);
_Static_assert (sizeof (SliceThreadV1) == 74 * 2 * WORD + 2072, "the thread");
WORDS (SliceEntryV1, 2);
AT (SliceEntryV1, top, 0);
AT (SliceEntryV1, end, 1);
_Static_assert (SLICE_SIZE_MAX == 2064, "the largest slice");
_Static_assert (SLICE_CLASSES_V1 == 74, "the number of classes");
_Static_assert (SLICE_FRONT_WORDS_V1 == 5, "words before the sentinel");

/* A context's node. */
WORDS (RallocHeaderV1, 4);
AT (RallocHeaderV1, parent, 0);
AT (RallocHeaderV1, child, 1);
AT (RallocHeaderV1, next, 2);
AT (RallocHeaderV1, pprev, 3);
_Static_assert (RALLOC_UNUSUAL_V1 == 5, "bits of the parent's word");

/* Linear and stack arenas. */
WORDS (SliceBumpV1, 5);
AT (SliceBumpV1, next, 0);
AT (SliceBumpV1, end, 1);
AT (SliceBumpV1, low, 2);
AT (SliceBumpV1, growing, 3);
AT (SliceBumpV1, growing_end, 4);

/* Pools. */
WORDS (SlicePoolV1, 3);
AT (SlicePoolV1, top, 0);
AT (SlicePoolV1, bottom, 1);
AT (SlicePoolV1, limit, 2);

/* A mark: programs hold it, and only the library reads it. */
_Static_assert ((sizeof (SliceMark) + 7) / 8 * 8 == (WORD == 8 ? 56 : 40),
                "the size of SliceMark");

int
main (void)
{
  unsigned sum = 2166136261U;

  for (size_t size = 0; size <= SLICE_SIZE_MAX; size++)
    sum = (sum ^ (unsigned) SLICE_CLASS_V1 (size)) * 16777619U;
  printf ("%08x\n", sum);
  return 0;
}
