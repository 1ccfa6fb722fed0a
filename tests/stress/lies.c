/* lies.c - wrong sizes and wrong pointers, told on purpose
 *
 * With debug-blocks every one of them must end the program at the call, with
 * the message that belongs to it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/careful.h>

#include <stdlib.h>
#include <string.h>

/* Numbers of messages, as in slice-errors(7). */
enum
{
  ERROR_FREED_TWICE = 101,
  ERROR_NOT_A_BLOCK = 108,
  ERROR_NOT_THAT_SIZE = 109
};

static const struct
{
  const char *name;
  int numbers[2]; /* messages that name it */
} lies[] = {
  [LIE_NONE] = { "none", { 0, 0 } },
  [LIE_SIZE_UP] = { "size-up", { ERROR_NOT_THAT_SIZE, 0 } },
  [LIE_SIZE_DOWN] = { "size-down", { ERROR_NOT_THAT_SIZE, 0 } },
  [LIE_POINTER] = { "pointer", { ERROR_NOT_A_BLOCK, 0 } },
  [LIE_INTERIOR] = { "interior", { ERROR_NOT_A_BLOCK, 0 } },
  [LIE_TWICE] = { "twice", { ERROR_NOT_A_BLOCK, ERROR_FREED_TWICE } },
  [LIE_TWICE_LATER] = { "twice-later", { ERROR_NOT_A_BLOCK, 0 } },
  [LIE_FOREIGN] = { "foreign", { ERROR_NOT_A_BLOCK, 0 } },
  [LIE_STACK] = { "stack", { ERROR_NOT_A_BLOCK, 0 } },
  [LIE_ANY] = { "any", { 0, 0 } },
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
  return error_number != 0
         && (error_number == lies[kind].numbers[0]
             || error_number == lies[kind].numbers[1]);
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

  if (kind == LIE_ANY)
    kind = (LieKind)(LIE_NONE + 1 + random % (N_LIES - 1));
  if (size < lie_size_min (kind))
    return;
  lie_announce (kind, block, size);
  void *other = calls->alloc (size);
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
