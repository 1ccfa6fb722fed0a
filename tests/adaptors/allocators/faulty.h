/* faulty.h - a malloc that goes wrong, to see that it is noticed
 *
 * BENCH_FAULT names what every 500th allocation does.  For test-bench.sh only.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#define ADAPTOR_NAME "faulty"
#define ADAPTOR_ALIGNMENT(size) ((size) >= 16 ? 16 : 8)
#define ADAPTOR_START() faulty_start ()

enum
{
  FAULT_EACH = 500,     /* allocations */
  FAULT_SPARE_BYTES = 64 /* allocated more, so that shifting stays inside */
};

typedef struct
{
  const char *name; /* "" is none */
  unsigned long n_allocs;
  char *last_block;
} Faulty;

extern Faulty faulty;

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  char *block = malloc (size + FAULT_SPARE_BYTES), *last = faulty.last_block;

  if (++faulty.n_allocs % FAULT_EACH != 0 || last == NULL)
    return faulty.last_block = block;
  if (strcmp (faulty.name, "twice") == 0)
    return last;
  if (strcmp (faulty.name, "overlap") == 0)
    return last + 16;
  if (strcmp (faulty.name, "misaligned") == 0)
    return block + 4;
  if (strcmp (faulty.name, "null") == 0)
    return NULL;
  if (strcmp (faulty.name, "scribble") == 0)
    memset (last, 0x55, FAULT_SPARE_BYTES);
  return faulty.last_block = block;
}

/* It leaks: what it gave twice could not be freed twice. */
ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  (void) size;
  if (block == faulty.last_block)
    faulty.last_block = NULL;
}

static inline const char *
faulty_start (void)
{
  const char *name = getenv ("BENCH_FAULT");

  faulty.name = name != NULL ? name : "";
  return strcmp (faulty.name, "absent") == 0 ? "absent, as asked for" : NULL;
}

#ifdef ADAPTOR_DEFINE
Faulty faulty;
#endif
