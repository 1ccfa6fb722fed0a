/* analyse-lives.c - blocks freed within the activation that allocated them
 *
 * Tools.  The recorder does not see when a function returns, but two
 * successive stacks of one thread show which functions have: the frames that
 * both share from the outer end are still active.  In the first frame that
 * differs the function has either made another call or returned.  All frames
 * further in have returned.  The stack of a free is short; it shows the same
 * if its outermost function is on the thread's stack only once.
 *
 * For each site and each of the functions next to it (the site's own, its
 * caller, and so on) an arena is simulated.  It is marked when an activation
 * begins and rolled back to the mark when the activation has ended.  Blocks
 * that are still live then are not contained in it.  The size that such an
 * arena grows to, over the peak, is the waste.
 *
 * A function that is called again from the same place, with no other call
 * between, looks like one that has not returned.  So an arena is also rolled
 * back to its mark when almost no block that was allocated since is live: no
 * more than the share that need not be contained.
 *
 * All this is O(1) for an allocation or a free, apart from the frames that
 * changed and a search among the open activations.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#include "analyse-parts.h"
#include "tools/trace/analyse/classify/classify.h"
#include <stdlib.h>

/* --- the open activations of a thread ------------------------------------ */

/* The number of the thread's frames that are still active when its stack is
 * that of a node. */
static uint32_t
frames_kept (Sites *sites, const ThreadState *thread, uint32_t node)
{
  const uint32_t *parents = sites->reader->parents;
  uint32_t a = node, b = thread->stack, a_inner = 0, b_inner = 0;
  uint32_t kept;

  /* parents have smaller numbers than their children */
  while (a != b)
    if (a > b)
      {
        a_inner = a;
        a = parents[a];
      }
    else
      {
        b_inner = b;
        b = parents[b];
      }
  if (a == TRACE_NODE_CUT)
    return 0;
  kept = sites->depths[a];
  if (a_inner != 0 && b_inner != 0)
    {
      uint64_t function = sli_sites_function (sites, a_inner);

      kept += function != 0 && function == sli_sites_function (sites, b_inner);
    }
  return kept < thread->n_frames ? kept : thread->n_frames;
}

/* Updates the activations at an allocation, whose whole stack is known. */
void
sli_lives_stack (Analysis *analysis, ThreadState *thread, uint32_t node)
{
  Sites *sites = analysis->frames;
  uint32_t depth = sites->depths[node];
  uint32_t kept;

  thread->trimmed_by = 0;
  if (node == thread->stack && thread->n_frames == depth)
    return;
  kept = frames_kept (sites, thread, node);
  if (depth > thread->frames_capacity)
    {
      thread->frames_capacity = depth + 64;
      thread->opened = sli_tool_grow (
          thread->opened, thread->frames_capacity * sizeof *thread->opened);
    }
  for (uint32_t i = kept; i < depth; i++)
    thread->opened[i] = analysis->now;
  thread->n_frames = depth;
  thread->stack = node;
}

#define N_SHORT_FRAMES 16

/* The same for a stack without its outer end, if its outermost function is on
 * the thread's stack exactly once. */
static uint32_t
frames_kept_short (Sites *sites, const ThreadState *thread, uint32_t node)
{
  const uint32_t *parents = sites->reader->parents;
  uint32_t frames[N_SHORT_FRAMES], n = 0;
  uint64_t outermost;
  uint32_t at, first, last;
  uint32_t inner[N_SHORT_FRAMES + 1] = { 0 };
  uint32_t n_found = 0;
  uint32_t found = 0;

  for (; node >= TRACE_N_FIXED_NODES && n < N_SHORT_FRAMES;
       node = parents[node])
    frames[n++] = node;
  if (n == 0 || node >= TRACE_N_FIXED_NODES)
    return thread->n_frames;
  outermost = sli_sites_function (sites, frames[n - 1]);
  /* the thread's frames from that function on, the outermost first */
  at = thread->stack;
  for (; sites->depths[at] > thread->n_frames;)
    at = parents[at];
  for (uint32_t walk = at; walk >= TRACE_N_FIXED_NODES; walk = parents[walk])
    if (sli_sites_function (sites, walk) == outermost)
      {
        found = walk;
        n_found++;
      }
  if (outermost == 0 || n_found != 1)
    return thread->n_frames;
  first = sites->depths[found];
  last = thread->n_frames;
  for (; at != parents[found]; at = parents[at])
    if (sites->depths[at] - first < n + 1)
      inner[sites->depths[at] - first] = at;
  for (uint32_t i = 0; i < n && first + i <= last; i++)
    {
      uint32_t mine = inner[i], its = frames[n - 1 - i];

      if (sli_sites_function (sites, mine) != sli_sites_function (sites, its))
        return first + i - 1;
      if (sites->reader->pcs[mine] != sites->reader->pcs[its] || i == n - 1)
        return first + i;
    }
  return last;
}

/* Updates the activations at a free, which shows those that have returned, not
 * those that are open. */
void
sli_lives_trim (Analysis *analysis, ThreadState *thread, uint32_t node)
{
  Sites *sites = analysis->frames;
  const uint32_t *parents = sites->reader->parents;
  uint32_t root;

  if (thread->n_frames == 0 || node == thread->trimmed_by)
    return;
  thread->trimmed_by = node;
  root = node;
  for (unsigned i = 0; root >= TRACE_N_FIXED_NODES && i < N_SHORT_FRAMES; i++)
    root = parents[root];
  thread->n_frames = root == TRACE_NODE_ROOT
                         ? frames_kept (sites, thread, node)
                         : frames_kept_short (sites, thread, node);
}

/* --- the arenas of a site's functions ------------------------------------ */

static bool
mark_is_open (const ThreadState *thread, const LifeMark *mark)
{
  return mark->frame < thread->n_frames
         && thread->opened[mark->frame] == mark->opened;
}

/* Rolls back to the marks of activations that have returned. */
static void
life_settle (Life *life, const ThreadState *thread)
{
  while (life->n_marks > 0
         && !mark_is_open (thread, &life->marks[life->n_marks - 1]))
    life->height = life->marks[--life->n_marks].base;
}

static LifeMark *
mark_of_alloc (Life *life, const ThreadState *thread, uint32_t frame,
               uint64_t now)
{
  LifeMark *top;

  life_settle (life, thread);
  top = life->n_marks > 0 ? &life->marks[life->n_marks - 1] : NULL;
  if (top != NULL && top->frame == frame)
    {
      double spared = 1 - sli_threshold_contained ();

      if ((double) top->n_live > spared * (double) top->n_allocated + 1e-6)
        return top;
      /* nearly empty: start again */
      life->height = top->base;
      top->n_live = top->n_allocated = 0;
      top->first = now;
      return top;
    }
  if (life->n_marks == life->marks_capacity)
    {
      life->marks_capacity = life->marks_capacity * 2 + 4;
      life->marks = sli_tool_grow (life->marks,
                                   life->marks_capacity * sizeof (LifeMark));
    }
  top = &life->marks[life->n_marks++];
  *top = (LifeMark){ .frame = frame,
                     .opened = thread->opened[frame],
                     .first = now,
                     .base = life->height };
  return top;
}

static void
life_allocated (Life *life, const ThreadState *thread, uint32_t frame,
                uint64_t now, uint64_t rounded)
{
  LifeMark *mark = mark_of_alloc (life, thread, frame, now);

  mark->n_live++;
  mark->n_allocated++;
  life->height += rounded;
  if (life->height > life->height_most)
    life->height_most = life->height;
}

/* The last mark that is older than a block. */
static LifeMark *
mark_of_free (Life *life, uint64_t allocated)
{
  uint32_t low = 0, high = life->n_marks;

  while (low < high)
    {
      uint32_t middle = (low + high) / 2;

      if (life->marks[middle].opened <= allocated)
        low = middle + 1;
      else
        high = middle;
    }
  return low == 0 ? NULL : &life->marks[low - 1];
}

static void
life_freed (Life *life, const ThreadState *thread, uint64_t allocated,
            uint64_t rounded)
{
  LifeMark *mark;

  life_settle (life, thread);
  mark = mark_of_free (life, allocated);
  if (mark == NULL || allocated < mark->first || mark->n_live == 0)
    return;
  mark->n_live--;
  life->within = true;
  life->n_contained++;
  life->contained += rounded;
}

/* The frame of the k-th function outward from where the site begins. */
static bool
frame_of (const Sites *sites, uint32_t node, unsigned k, uint32_t *frame)
{
  uint32_t depth = sites->depths[sites->start[node]];

  *frame = depth - 1 - k;
  return k < depth;
}

void
sli_lives_allocated (Analysis *analysis, const ThreadState *thread, Lane *lane,
                     const LiveObject *object)
{
  Sites *sites = analysis->frames;
  uint32_t frame, at = sites->start[object->node];

  if (lane->lives == NULL)
    lane->lives = sli_tool_zero (N_LIVES * sizeof (Life));
  for (unsigned k = 0;
       k < N_LIVES && frame_of (sites, object->node, k, &frame);
       k++, at = sites->reader->parents[at])
    {
      Life *life = &lane->lives[k];
      uint64_t function = sli_sites_function (sites, at);

      if (life->function == 0)
        {
          life->function = function;
          life->pc = sites->reader->pcs[at];
        }
      life->mixed |= function == 0 || life->function != function;
      if (!life->mixed)
        life_allocated (life, thread, frame, object->allocated,
                        rounded_size (object->size));
    }
}

void
sli_lives_freed (Analysis *analysis, const ThreadState *thread, Lane *lane,
                 const LiveObject *object)
{
  uint32_t frame;

  for (unsigned k = 0;
       k < N_LIVES && frame_of (analysis->frames, object->node, k, &frame);
       k++)
    {
      Life *life = &lane->lives[k];

      life->within = false;
      if (!life->mixed && frame < thread->n_frames
          && thread->opened[frame] <= object->allocated)
        life_freed (life, thread, object->allocated,
                    rounded_size (object->size));
    }
}

void
sli_lives_free (Life *lives)
{
  for (unsigned k = 0; lives != NULL && k < N_LIVES; k++)
    free (lives[k].marks);
  free (lives);
}

/* Clears the lives of a lane for another thread. */
void
sli_lives_restart (Life *lives)
{
  for (unsigned k = 0; lives != NULL && k < N_LIVES; k++)
    {
      lives[k].n_marks = 0;
      lives[k].past_height += lives[k].height_most;
      lives[k].height = lives[k].height_most = 0;
    }
}
