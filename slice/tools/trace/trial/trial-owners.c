/* trial-owners.c - which blocks of a trial on contexts share an owner
 *
 * Tools.  Blocks that are freed in a row, with no allocation of the sites in
 * between, have an owner: the changed program frees it, and them with it.
 * Shorter rows are blocks that the program frees one by one.  Blocks that are
 * never freed have one owner together.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#include "trial.h"
#include "tools/trace/apply/apply.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <unistd.h>

/* The least number of frees in a row that free an owner. */
#define ROW_MIN 8
#define NEVER_FREED UINT32_MAX

typedef struct
{
  uint32_t *items, n, capacity;
} Numbers;

typedef struct
{
  Profile *profile;
  const bool *only;
  Table by_address; /* a block's number plus 1 */
  Table resizing;   /* threads whose realloc has freed the old block */
  Numbers owner_of; /* by block */
  Numbers row;      /* blocks that are freed in a row */
  uint32_t n_owners;
  double n_together;
} Search;

static void
number_add (Numbers *numbers, uint32_t number)
{
  if (numbers->n == numbers->capacity)
    {
      numbers->capacity = numbers->capacity * 2 + 1024;
      numbers->items = sli_tool_grow (
          numbers->items, numbers->capacity * sizeof (uint32_t));
    }
  numbers->items[numbers->n++] = number;
}

static void
row_end (Search *search)
{
  Numbers *row = &search->row;

  if (row->n >= ROW_MIN)
    {
      search->n_owners++;
      search->n_together += row->n;
    }
  for (uint32_t i = 0; i < row->n; i++)
    search->owner_of.items[row->items[i]]
        = row->n >= ROW_MIN ? search->n_owners : 0;
  row->n = 0;
}

static void
event_note (Search *search, const TraceEvent *event)
{
  if (trace_op_is_alloc (event->op))
    {
      uint32_t result = search->profile->final_map[event->node];

      if (!sli_apply_is_served (event, &search->resizing)
          || result == SITE_NONE || !search->only[result])
        return;
      row_end (search);
      number_add (&search->owner_of, NEVER_FREED);
      *sli_table_add (&search->by_address, event->address)
          = search->owner_of.n;
    }
  else if (trace_op_is_free (event->op))
    {
      uint32_t number = sli_table_remove (&search->by_address, event->address);

      if (event->op == TRACE_OP_REALLOC_FREE)
        *sli_table_add (&search->resizing, event->thread) = 1;
      if (number != 0)
        number_add (&search->row, number - 1);
    }
}

static void
run_write (FILE *file, uint32_t owner, uint32_t n)
{
  fwrite (&(uint32_t[2]){ owner, n }, sizeof (uint32_t), 2, file);
}

/* Returns false if the file can't be written. */
static bool
owners_write (const Search *search, int fd)
{
  FILE *file = fdopen (dup (fd), "w");
  const uint32_t *owners;
  uint32_t n;
  uint32_t start = 0;

  if (file == NULL)
    return false;
  owners = search->owner_of.items;
  n = search->owner_of.n;
  run_write (file, search->n_owners + 1, n);
  for (uint32_t i = 1; i <= n; i++)
    if (i == n || owners[i] != owners[start])
      {
        run_write (file,
                   owners[start] == NEVER_FREED ? search->n_owners + 1
                                                : owners[start],
                   i - start);
        start = i;
      }
  return fclose (file) == 0;
}

TrialOwners
sli_trial_owners (Profile *profile, const ProfileOptions *options,
                  const bool *only, int fd)
{
  Search search = { .profile = profile, .only = only };
  Reading reading;
  const TraceEvent *event;
  TrialOwners found;

  sli_reading_begin (&reading, profile, options, NULL, "owners");
  while ((event = sli_reading_next (&reading)) != NULL)
    event_note (&search, event);
  row_end (&search);
  if (!owners_write (&search, fd))
    sli_tool_exit (TOOL_FAILED, "the owners can't be written");
  found = (TrialOwners){ search.owner_of.n, search.n_together };
  sli_table_free (&search.by_address);
  sli_table_free (&search.resizing);
  free (search.owner_of.items);
  free (search.row.items);
  return found;
}
