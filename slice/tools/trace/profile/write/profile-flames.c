/* profile-flames.c - stacks of allocated and live bytes, for flame graphs
 *
 * Tools.  They are folded to functions, the outermost first; small ones are
 * left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include "call-tree.h"
#include "profile-json.h"
#include <stdlib.h>
#include <string.h>

#define FLAME_DEPTH_MAX 40
#define FLAME_SHARE_MIN 0.004
#define FLAME_CHILDREN_MAX 256

static const char *
flame_name (const CallNode *flame)
{
  return flame->symbol != NULL ? flame->symbol->function : "all";
}

static int
flame_compare (const void *a, const void *b)
{
  const CallNode *left = *(CallNode *const *) a;
  const CallNode *right = *(CallNode *const *) b;

  if (left->value != right->value)
    return left->value < right->value ? 1 : -1;
  return strcmp (flame_name (left), flame_name (right));
}

static void
flame_write (JsonOut *out, const CallNode *flame, uint64_t whole)
{
  CallNode *sorted[FLAME_CHILDREN_MAX];
  size_t n = 0;

  sli_json_begin (out, NULL, '[');
  sli_json_text (out, NULL, flame_name (flame));
  sli_json_uint (out, NULL, flame->value);
  for (CallNode *at = flame->children; at != NULL; at = at->next)
    if (n < FLAME_CHILDREN_MAX
        && (double) at->value >= FLAME_SHARE_MIN * (double) whole)
      sorted[n++] = at;
  qsort (sorted, n, sizeof *sorted, flame_compare);
  for (size_t i = 0; i < n; i++)
    flame_write (out, sorted[i], whole);
  sli_json_end (out, ']');
}

void
sli_flames_write (JsonOut *out, const Profile *profile)
{
  const struct
  {
    const char *key;
    const uint64_t *values;
  } kinds[] = { { "allocated", profile->sites->bytes },
                { "peak", profile->peak_live },
                { "chosen", profile->chosen_live } };

  sli_json_begin (out, "flames", '{');
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    {
      CallNode root;

      if (kinds[kind].values == NULL)
        continue;
      root = sli_call_tree_make (profile, kinds[kind].values,
                                 TREE_OF_FUNCTIONS, FLAME_DEPTH_MAX);
      sli_json_begin (out, kinds[kind].key, '[');
      flame_write (out, &root, root.value);
      sli_json_end (out, ']');
      sli_call_tree_free (&root);
    }
  sli_json_end (out, '}');
}
