/* classify.h - finds the class of a site from its numbers, by a decision list
 *
 * Tools.  Design: chapter 13; slice-trace(1) has the list.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_ANALYSE_CLASSIFY_H
#define SLI_TRACE_ANALYSE_CLASSIFY_H

#include "tools/trace/analyse/analyse.h"
#include <stdio.h>

typedef enum
{
  CLASS_RARE,
  CLASS_HUGE,
  CLASS_IMMORTAL,
  CLASS_SCRATCH,
  CLASS_LINEAR,
  CLASS_STACK,
  CLASS_OWNER,
  CLASS_SCOPE,
  CLASS_LINEAR_FAIR,
  CLASS_STACK_LAZY,
  CLASS_POOL,
  CLASS_SLICE,
  CLASS_GENERAL,
  N_SITE_CLASSES
} SiteClass;

/* Design chapter 13 defines the numbers, and gives them their letters. */
typedef enum
{
  NUMBER_ALLOCS,
  NUMBER_SHARE, /* of the program's time in the allocator, or of allocations */
  NUMBER_MEDIAN,
  NUMBER_N,
  NUMBER_P,
  NUMBER_W,
  NUMBER_L,
  NUMBER_SW,
  NUMBER_B,
  NUMBER_R,
  NUMBER_P2,
  NUMBER_PW,
  NUMBER_Q,
  NUMBER_X,
  NUMBER_V,
  NUMBER_Z,
  NUMBER_O,
  NUMBER_C,     /* contained in a scope */
  NUMBER_WF,    /* W of an arena that ends with that scope */
  NUMBER_KNOWN, /* the larger of P2 and Z */
  NUMBER_LARGEST,
  NUMBER_WASTE, /* (W - 1) P, bytes */
  NUMBER_N1,    /* most live blocks that one thread has had */
  NUMBER_T,     /* threads that allocate */
  NUMBER_RESETS, /* moments at which a thread has no live block */
  N_NUMBERS
} SiteNumber;

typedef struct
{
  double numbers[N_NUMBERS];
  SiteClass class;
  bool burst_unknown; /* freed in bursts, but no owner was found */
  uint32_t owner;     /* level-0 number, if class is CLASS_OWNER */
  double owner_share;
  /* if class is CLASS_SCOPE: a marker's string id; or an address in the
   * function that is the scope (else 0), and its number in Lane.lives */
  uint32_t scope;
  uint64_t scope_pc;
  unsigned scope_life;
  char holds[96];   /* the rule's test that came nearest to failing */
  char missed[128]; /* the earlier rule that came nearest to holding */
} Verdict;

const char *sli_class_name (SiteClass class);  /* a word, for files */
const char *sli_class_title (SiteClass class); /* a phrase, for people */
const char *sli_number_name (SiteNumber number);
/* Returns true if the class names an allocator for the memory. */
bool sli_class_is_good (SiteClass class);
/* Sets a threshold, as in "W-good=1.3"; false if there is none of that
 * name. */
bool sli_threshold_set (const char *assignment);
void sli_thresholds_print (FILE *file);
/* The share of a site that must be freed within its scope. */
double sli_threshold_contained (void);

/* share  the site's part of the program's time in the allocator, or of its
 *        allocations
 * peak   the most bytes that the program had live
 */
void sli_classify (const SiteStats *stats, double share, uint64_t peak,
                   Verdict *verdict);

#endif
