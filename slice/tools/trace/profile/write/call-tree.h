/* call-tree.h - a value of each stack, added up in a tree of calls
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_PROFILE_CALL_TREE_H
#define SLI_TRACE_PROFILE_CALL_TREE_H

#include "tools/trace/profile/profile.h"

#define PROFILE_FRAMES_MAX 256

typedef struct CallNode
{
  const Symbol *symbol; /* NULL: the root */
  uint64_t value;       /* of all stacks that go through it */
  struct CallNode *children, *next;
} CallNode;

typedef enum
{
  TREE_OF_CALLERS,  /* from the allocation outwards, a node for each call */
  TREE_OF_FUNCTIONS /* from main() inwards, a node for each function */
} CallTreeKind;

/* The frames of a node, innermost first, wrappers left out; returns how
 * many. */
uint32_t sli_profile_frames (const Profile *profile, uint32_t node,
                             uint32_t frames[PROFILE_FRAMES_MAX]);
const Symbol *sli_profile_symbol (const Profile *profile, uint32_t frame);

/* Adds up the values of a profile's nodes, in a tree so many frames deep.  Its
 * root is the caller's; sli_call_tree_free() frees what is below. */
CallNode sli_call_tree_make (const Profile *profile, const uint64_t *values,
                             CallTreeKind kind, uint32_t depth_max);
void sli_call_tree_free (CallNode *root);

#endif
