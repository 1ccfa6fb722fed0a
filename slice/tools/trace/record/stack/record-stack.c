/* record-stack.c - the tree of call stacks
 *
 * Tools, in the preloaded object (record-stack.h).  A stack is a node of a
 * tree whose edges are frames.  Most stacks share nearly all of their outer
 * frames with the thread's previous one, so only the others are looked up.
 *
 * Locks: none; nodes are only added.
 *
 * Design: chapter 13.  SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record-stack.h"
#include <string.h>
#include <sys/mman.h>

#define N_BUCKETS (1u << 20)
/* Frames of libslice on a hook's stack, about. */
#define LIBRARY_FRAMES 12
#define WALK_FRAMES_MAX (RECORD_DEPTH_MAX + OWN_FRAMES_MAX)
/* Below this depth a walk adds only SHORT_MORE for the recorder's own
 * frames. */
#define SHORT_DEPTH 16
#define SHORT_MORE 3

static struct
{
  _Atomic uint32_t *buckets; /* private: a node's number, 0 for none */
  CodeRange library;         /* libslice's, if it is shared */
} stack;

/* --- the tree ------------------------------------------------------------ */

static uint64_t
step_hash (uint32_t parent, uint64_t pc)
{
  return (pc ^ (uint64_t) parent << 32 ^ parent)
         * UINT64_C (0x9E3779B97F4A7C15);
}

static uint32_t
node_add (uint32_t parent, uint64_t pc, uint32_t first)
{
  uint32_t node = atomic_load (&sli_record.head->n_nodes);
  RawNode *fresh;

  do
    if (!sli_spool_nodes_reserve (node + 1))
      return parent;
  while (!atomic_compare_exchange_weak (&sli_record.head->n_nodes, &node,
                                        node + 1));
  fresh = &sli_spool_nodes ()[node];
  fresh->parent = parent;
  fresh->next = first;
  atomic_store_explicit (&fresh->pc, pc, memory_order_release);
  return node;
}

/* The address as a node has it.  If it lies in a module that has just been
 * found, the stack was tagged before that. */
static uint64_t
pc_settle (uint64_t pc)
{
  if (pc >> TRACE_PC_BITS != 0)
    return pc;
  if (!sli_module_known (pc))
    sli_modules_scan ();
  sli_modules_tag (&pc, 1);
  return pc;
}

static uint32_t
tree_child (uint32_t parent, uint64_t pc)
{
  RawNode *nodes = sli_spool_nodes ();
  uint64_t hash = step_hash (parent, pc);
  uint32_t first, fresh;
  uint64_t settled;

  _Atomic uint32_t *bucket = &stack.buckets[hash >> 44];

  first = atomic_load_explicit (bucket, memory_order_acquire);
  for (uint32_t node = first; node != 0; node = nodes[node].next)
    if (nodes[node].pc == pc && nodes[node].parent == parent)
      return node;
  settled = pc_settle (pc);
  if (settled != pc)
    return tree_child (parent, settled);
  fresh = node_add (parent, pc, first);
  /* a lost race leaves a node twice, which the reader does not mind */
  while (fresh != parent
         && !atomic_compare_exchange_weak (bucket, &first, fresh))
    nodes[fresh].next = first;
  return fresh;
}

static uint32_t
node_child (RecordThread *self, uint32_t parent, uint64_t pc)
{
  uint64_t hash = step_hash (parent, pc);
  RecordStep *step = &self->steps[(hash >> 36) % RECORD_STEPS];
  uint32_t node;

  if (LIKELY (step->pc == pc && step->parent == parent))
    return step->node;
  node = tree_child (parent, pc);
  *step = (RecordStep){ .pc = pc, .parent = parent, .node = node };
  return node;
}

void
sli_stack_forget (RecordThread *self)
{
  self->depth = 0;
  memset (self->steps, 0, sizeof self->steps);
}

/* --- stacks -------------------------------------------------------------- */

static bool
is_own (const void *frame)
{
  return (uint64_t) frame >= sli_record.text_low
         && (uint64_t) frame < sli_record.text_high;
}

/* Sees through the operator that the recorder wraps, from its inner end. */
static uint32_t
operator_frames (RecordThread *self, void *const *frames, uint32_t own,
                 uint32_t n)
{
  while (n > own && !is_own (frames[n - 1]))
    n--;
  for (uint32_t i = own; i < n; i++)
    if (!is_own (frames[i]) && code_ends_handler (frames[i]))
      {
        self->wrapped = false;
        return own;
      }
  return n;
}

/* A handler of a signal that interrupts an allocator has frames of its own
 * between the recorder's. */
uint32_t
sli_stack_own_frames (RecordThread *self, void *const *frames, uint32_t n,
                      uint32_t most)
{
  uint32_t first = 0, own;

  n = n < most ? n : most;
  while (first < n && !is_own (frames[first]))
    first++;
  if (first == n)
    return 0;
  own = first + 1;
  while (own < n && is_own (frames[own]))
    own++;
  return UNLIKELY (self->wrapped) ? operator_frames (self, frames, own, n)
                                  : own;
}

/* Counts the frames of libslice that called a hook. */
static uint32_t
library_frames (const uint64_t *pcs, uint32_t from, uint32_t n)
{
  while (from < n && range_has (&stack.library, pcs[from]))
    from++;
  return from;
}

static uint32_t
stack_partial (RecordThread *self, const uint64_t *pcs, uint32_t n)
{
  uint32_t node = TRACE_NODE_CUT;

  for (uint32_t i = n; i-- > 0;)
    node = node_child (self, node, pcs[i]);
  return node;
}

static uint32_t
stack_whole (RecordThread *self, const uint64_t *pcs, uint32_t n)
{
  uint32_t common = 0;
  uint32_t most = n < self->depth ? n : self->depth;
  uint32_t node;

  while (common < most && self->pcs[common] == pcs[n - 1 - common])
    common++;
  node = common > 0 ? self->nodes[common - 1] : TRACE_NODE_ROOT;
  for (uint32_t i = common; i < n; i++)
    {
      uint64_t pc = pcs[n - 1 - i];

      node = node_child (self, node, pc);
      self->pcs[i] = pc;
      self->nodes[i] = node;
    }
  self->depth = n;
  return node;
}

static __attribute__ ((noinline, cold)) void
check_again (RecordThread *self, const uint64_t *pcs, uint32_t n,
             uint32_t limit)
{
  self->setup = true; /* the other unwinder may allocate, too */
  sli_unwind_check (pcs, n, limit);
  self->setup = false;
}

/* Makes a source line that the program has reported the innermost frame. */
static void
line_put (RecordThread *self, uint64_t *pc)
{
  *pc = self->line | TRACE_PC_TAG_LINE << TRACE_PC_BITS;
  self->line = 0;
}

/* The number of frames to walk for `depth' frames of the program. */
static uint32_t
frames_wanted (const RecordThread *self, uint32_t depth)
{
  uint32_t wanted
      = depth + OWN_FRAMES_MAX + (self->hooked ? LIBRARY_FRAMES : 0);

  /* a short walk need not see through operator new */
  if (depth < SHORT_DEPTH && !self->hooked)
    wanted = depth + SHORT_MORE;
  return wanted < WALK_FRAMES_MAX ? wanted : WALK_FRAMES_MAX;
}

/* The node of the calling stack.
 *
 * depth  frames to walk; a walk that ends there hangs below TRACE_NODE_CUT
 */
uint32_t
sli_stack_node (RecordThread *self, uint32_t depth)
{
  uint64_t pcs[WALK_FRAMES_MAX];
  uint32_t wanted = frames_wanted (self, depth);
  uint32_t got, own, n;
  bool cut;

  if (depth == 0 || stack.buckets == NULL)
    return TRACE_NODE_CUT;
  got = unwind (self, pcs, wanted);
  if (got == 0)
    return TRACE_NODE_CUT;
  own = sli_stack_own_frames (self, (void **) pcs, got, OWN_FRAMES_MAX);
  if (UNLIKELY (sli_record.check_unwind))
    check_again (self, pcs + own, got - own, wanted);
  if (UNLIKELY (self->hooked))
    own = library_frames (pcs, own, got);
  n = got - own;
  if (n > 0 && range_has (&sli_unwinder.code, pcs[own]))
    return SLI_STACK_INTERNAL;
  sli_modules_tag (pcs + own, n);
  if (self->line != 0)
    {
      line_put (self, &pcs[--own]);
      n++;
    }
  cut = n > depth || got == wanted;
  if (n > depth)
    n = depth;
  return cut ? stack_partial (self, pcs + own, n)
             : stack_whole (self, pcs + own, n);
}

/* --- begin --------------------------------------------------------------- */

static void *
buckets_map (void)
{
  void *map
      = mmap (NULL, N_BUCKETS * sizeof (uint32_t), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  return map == MAP_FAILED ? NULL : map;
}

/* Where the spool is new. */
void
sli_stack_reset (void)
{
  munmap (stack.buckets, N_BUCKETS * sizeof (uint32_t));
  stack.buckets = buckets_map ();
  sli_modules_forget ();
  sli_unwind_reset ();
}

void
sli_stack_init (void)
{
  CodeRange own
      = sli_module_around ((uint64_t) (uintptr_t) sli_stack_init, NULL);

  sli_record.text_low = own.low;
  sli_record.text_high = own.high;
  stack.buckets = buckets_map ();
  if (sli_record.head != NULL)
    sli_modules_scan ();
}

/* Notes the module of an address as libslice, unless libslice is linked into
 * the program and cannot be distinguished from it. */
void
sli_stack_library (const void *inside)
{
  bool is_program;
  CodeRange range
      = sli_module_around ((uint64_t) (uintptr_t) inside, &is_program);

  if (!is_program)
    stack.library = range;
}
