/* trial-owners.h - the contexts of a trial: which block belongs to which owner
 *
 * Layer: dropin.  slice-trace knows from the trace which blocks are freed
 * together, and writes that to a file: two numbers, of owners and of blocks;
 * then for blocks in a row the owner and how many they are.  Owner 0 stands
 * for blocks that are freed one by one.  Each other owner is a context, which
 * is freed with the last of its blocks, in one walk.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_TRIAL_OWNERS_H
#define SLI_DROPIN_TRIAL_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  uint64_t n_seen;  /* allocations */
  uint64_t n_frees; /* in a row that frees an owner's blocks, and no others */
  uint64_t nsec;    /* that these took, less what the walk would take more */
} OwnersCount;

/* Reads the file; NULL: all blocks are freed one by one. */
bool sli_owners_begin (const char *path, bool is_timed);
/* NULL: the next malloc must serve it. */
void *sli_owners_alloc (size_t size);
void sli_owners_free (void *block);
OwnersCount sli_owners_count (void);

/* --- advice-trial.c --- */

uint64_t sli_trial_nsec (void);
/* How many other blocks were freed; only counted in a timed run. */
uint64_t sli_trial_others (void);

#endif
