/* lies.c - wrong sizes and wrong pointers, told on purpose
 *
 * With checked every one of them must end the program at the call, with
 * the message that belongs to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/verify/careful.h>

#include <stdlib.h>
#include <string.h>

/* Numbers of messages, as in slice-errors(7): of small blocks and of large. */
#define OF_SIZES { 103, 109 }
#define OF_POINTERS { 102, 104, 105, 106, 108, 112 }

enum
{
  NUMBERS = 6
};

static const struct
{
  const char *name;
  int numbers[NUMBERS]; /* messages that name it */
} lies[] = {
  [LIE_NONE] = { "none", { 0 } },
  [LIE_SIZE_UP] = { "size-up", OF_SIZES },
  [LIE_SIZE_DOWN] = { "size-down", OF_SIZES },
  [LIE_POINTER] = { "pointer", OF_POINTERS },
  [LIE_INTERIOR] = { "interior", { 104, 108, 102 } },
  [LIE_TWICE] = { "twice", { 101, 105, 108 } },
  [LIE_TWICE_LATER] = { "twice-later", { 105, 108 } },
  [LIE_FOREIGN] = { "foreign", { 102, 108 } },
  [LIE_STACK] = { "stack", { 102, 108 } },
  [LIE_ANY] = { "any", { 0 } },
};

const char *
lie_name (LieKind kind)
{
  return lies[kind].name;
}

/* LIE_NONE if there is none of that name. */
LieKind
lie_by_name (const char *name)
{
  for (LieKind kind = LIE_NONE + 1; kind <= LIE_ANY; kind++)
    if (strcmp (lies[kind].name, name) == 0)
      return kind;
  return LIE_NONE;
}

bool
lie_is_named (LieKind kind, int error_number)
{
  for (int i = 0; error_number != 0 && i < NUMBERS; i++)
    if (error_number == lies[kind].numbers[i])
      return true;
  return false;
}

/* The least size of a block that this lie can be told about. */
static uint32_t
lie_size_min (LieKind kind)
{
  return kind == LIE_INTERIOR ? 16 : 2;
}

static void
lie_announce (LieKind kind, const void *block, uint32_t size)
{
  fprintf (stderr,
           "slice-test: telling the lie %s about the block of %u bytes at"
           " %p\n",
           lie_name (kind), size, block);
  fflush (stderr);
}

void
lie_tell (LieKind kind, const BlockCalls *calls, const Held *held,
          uint32_t random)
{
  char variable[64] = { 0 };
  char *block = held->block;
  uint32_t size = held->size;
  void *other;

  if (kind == LIE_ANY)
    kind = (LieKind)(LIE_NONE + 1 + random % (N_LIES - 1));
  if (size < lie_size_min (kind))
    return;
  lie_announce (kind, block, size);
  other = calls->alloc (size);
  switch (kind)
    {
    case LIE_SIZE_UP:
      calls->free (size + 1, block);
      break;
    case LIE_SIZE_DOWN:
      calls->free (size - 1, block);
      break;
    case LIE_POINTER:
      calls->free (size, block + 1);
      break;
    case LIE_INTERIOR:
      calls->free (size, block + 8);
      break;
    case LIE_TWICE:
      calls->free (size, block);
      calls->free (size, block);
      break;
    case LIE_TWICE_LATER:
      calls->free (size, block);
      calls->free (size, other);
      calls->free (size, block);
      break;
    case LIE_FOREIGN:
      calls->free (size, malloc (size));
      break;
    default:
      calls->free (size, variable);
      break;
    }
  stress_fail (EXIT_FOUND, "the lie %s was not noticed", lie_name (kind));
}
