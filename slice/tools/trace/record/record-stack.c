/* record-stack.c - where a call came from: unwinding and the tree of stacks
 *
 * Tools, in the preloaded object.  A stack is a node of a tree whose edges
 * are frames; most stacks share nearly all of their outer frames with the
 * thread's previous one, so only what differs is looked up.
 *
 * libunwind walks the frames.  It is opened privately: in the global scope
 * its own _Unwind_RaiseException would take the place of libgcc's, and change
 * the program.  Where there is none, libgcc does, which takes longer.
 *
 * Modules are noted when a frame falls outside the known ones, and again
 * after dlclose(): what is loaded later at the same place gets a tag of its
 * own.
 *
 * Locks: one spin lock around the module table (taken when a new frame is
 * outside the known ones).  The tree is lock-free: nodes are only added.
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "record.h"
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define N_BUCKETS (1u << 20)
#define N_MODULES_MAX 4096
#define BUILD_ID_MAX 64
/* And of libslice, about. */
#define LIBRARY_FRAMES 12

typedef struct
{
  uint64_t low, high, bias;
  uint64_t name_hash; /* of path and build id */
  uint32_t tag;
  bool loaded;
  bool seen; /* by the scan that runs */
} Module;

typedef int (*Backtrace) (void **buffer, int size);

static struct
{
  Backtrace backtrace;
  uint64_t unwinder; /* a place within it */
  bool libgcc_walks;
  _Atomic uint32_t *buckets; /* private: a node's number, 0 for none */
  bool unwinder_tried;
  uint64_t unwinder_low, unwinder_high; /* its code */
  uint64_t library_low, library_high;   /* libslice's, if it is shared */
  bool single; /* no unwinding: see sli_stack_single() */
  atomic_flag module_lock;
  Module modules[N_MODULES_MAX];
  uint32_t n_modules;
  /* the union of places that a module left and none has taken since */
  _Atomic uint64_t gone_low, gone_high;
  /* the union of places where tags are above 0 */
  _Atomic uint64_t tagged_low, tagged_high;
} stack;

/* --- modules ------------------------------------------------------------- */

static size_t
build_id_find (const struct dl_phdr_info *info, uint8_t *id)
{
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *segment = &info->dlpi_phdr[i];
      if (segment->p_type != PT_NOTE)
        continue;
      const uint8_t *at = (const uint8_t *)info->dlpi_addr + segment->p_vaddr;
      const uint8_t *end = at + segment->p_memsz;
      while (at + sizeof (ElfW (Nhdr)) <= end)
        {
          const ElfW (Nhdr) *note = (const void *)at;
          const uint8_t *name = at + sizeof *note;
          const uint8_t *data = name + ((note->n_namesz + 3u) & ~3u);
          if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4
              && memcmp (name, "GNU", 4) == 0
              && note->n_descsz <= BUILD_ID_MAX)
            {
              memcpy (id, data, note->n_descsz);
              return note->n_descsz;
            }
          at = data + ((note->n_descsz + 3u) & ~3u);
        }
    }
  return 0;
}

static const char *
module_path (const struct dl_phdr_info *info, char *buffer, size_t size)
{
  if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
    {
      /* without a slash it is no file: the kernel's own object */
      if (strchr (info->dlpi_name, '/') == NULL || info->dlpi_name[0] == '/')
        return info->dlpi_name;
      char *full = buffer;
      if (getcwd (full, size / 2) == NULL)
        return info->dlpi_name;
      size_t n = strlen (full);
      full[n] = '/';
      strncpy (full + n + 1, info->dlpi_name, size - n - 2);
      return full;
    }
  ssize_t n = readlink ("/proc/self/exe", buffer, size - 1);
  buffer[n < 0 ? 0 : n] = '\0';
  return buffer;
}

static bool
module_bounds (const struct dl_phdr_info *info, Module *module)
{
  module->low = UINT64_MAX;
  module->high = 0;
  module->bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *segment = &info->dlpi_phdr[i];
      if (segment->p_type != PT_LOAD)
        continue;
      uint64_t low = info->dlpi_addr + segment->p_vaddr;
      if (low < module->low)
        module->low = low;
      if (low + segment->p_memsz > module->high)
        module->high = low + segment->p_memsz;
    }
  return module->low < module->high;
}

static bool
overlap (uint64_t low, uint64_t high, const Module *module)
{
  return low < module->high && module->low < high;
}

static void
range_add (_Atomic uint64_t *low, _Atomic uint64_t *high, const Module *module)
{
  if (*high == 0 || module->low < *low)
    *low = module->low;
  if (module->high > *high)
    *high = module->high;
}

/* The tag that keeps a module apart from those that lay there before. */
static uint32_t
module_tag (const Module *module)
{
  uint32_t tag = 0;
  for (uint32_t i = 0; i < stack.n_modules; i++)
    if (overlap (module->low, module->high, &stack.modules[i])
        && stack.modules[i].tag >= tag)
      tag = stack.modules[i].tag + 1;
  return tag;
}

static int
module_note (struct dl_phdr_info *info, size_t size, void *unused)
{
  (void)size;
  (void)unused;
  char buffer[2 * PATH_MAX];
  uint8_t id[BUILD_ID_MAX];
  Module module = { .loaded = true, .seen = true };
  if (!module_bounds (info, &module))
    return 0;
  const char *path = module_path (info, buffer, sizeof buffer);
  size_t n_path = strlen (path);
  size_t n_id = build_id_find (info, id);
  module.name_hash = sli_xxh64 (path, n_path, sli_xxh64 (id, n_id, 0));
  for (uint32_t i = 0; i < stack.n_modules; i++)
    {
      Module *known = &stack.modules[i];
      if (known->low == module.low && known->high == module.high
          && known->name_hash == module.name_hash)
        {
          known->loaded = known->seen = true;
          return 0;
        }
    }
  if (stack.n_modules >= N_MODULES_MAX)
    return 0;
  module.tag = module_tag (&module);
  if (module.tag > 0)
    range_add (&stack.tagged_low, &stack.tagged_high, &module);
  TraceModule record = { module.bias, module.low,     module.high,
                         module.tag,  (uint16_t)n_id, (uint16_t)n_path };
  sli_spool_log (TRACE_BLOCK_MODULES, &record, sizeof record, id, n_id, path,
                 n_path);
  stack.modules[stack.n_modules++] = module;
  return 0;
}

static void
lock_modules (void)
{
  while (atomic_flag_test_and_set (&stack.module_lock))
    sched_yield ();
}

void
sli_stack_modules_scan (void)
{
  lock_modules ();
  for (uint32_t i = 0; i < stack.n_modules; i++)
    stack.modules[i].seen = false;
  atomic_flag_clear (&stack.module_lock);
  /* the loader's lock is taken before ours, never after it */
  dl_iterate_phdr (module_note, NULL);
  lock_modules ();
  stack.gone_low = stack.gone_high = 0;
  for (uint32_t i = 0; i < stack.n_modules; i++)
    {
      stack.modules[i].loaded = stack.modules[i].seen;
      if (!stack.modules[i].loaded)
        range_add (&stack.gone_low, &stack.gone_high, &stack.modules[i]);
    }
  atomic_flag_clear (&stack.module_lock);
}

/* After dlclose(). */
void
sli_stack_modules_changed (void)
{
  sli_stack_modules_scan ();
}

static const Module *
module_of (uint64_t pc)
{
  for (uint32_t i = stack.n_modules; i-- > 0;)
    if (stack.modules[i].loaded && pc >= stack.modules[i].low
        && pc < stack.modules[i].high)
      return &stack.modules[i];
  return NULL;
}

static uint64_t
pc_tagged (uint64_t pc)
{
  const Module *module = module_of (pc);
  if (module == NULL && pc >= stack.gone_low && pc < stack.gone_high)
    {
      sli_stack_modules_scan ();
      module = module_of (pc);
    }
  return module == NULL ? pc : pc | (uint64_t)module->tag << TRACE_PC_BITS;
}

/* Frames in places that more than one module has had are tagged. */
static void
pcs_tag (uint64_t *pcs, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    if ((pcs[i] >= stack.gone_low && pcs[i] < stack.gone_high)
        || (pcs[i] >= stack.tagged_low && pcs[i] < stack.tagged_high))
      pcs[i] = pc_tagged (pcs[i]);
}

/* --- the tree ------------------------------------------------------------ */

static uint64_t
step_hash (uint32_t parent, uint64_t pc)
{
  return (pc ^ (uint64_t)parent << 32 ^ parent)
         * UINT64_C (0x9E3779B97F4A7C15);
}

static uint32_t
node_add (uint32_t parent, uint64_t pc, uint32_t first)
{
  uint32_t node = atomic_load (&sli_record.head->n_nodes);
  do
    if (!sli_spool_nodes_room (node + 1))
      return parent;
  while (!atomic_compare_exchange_weak (&sli_record.head->n_nodes, &node,
                                        node + 1));
  RawNode *fresh = &sli_spool_nodes ()[node];
  fresh->parent = parent;
  fresh->next = first;
  atomic_store_explicit (&fresh->pc, pc, memory_order_release);
  if (pc >> TRACE_PC_BITS == 0 && module_of (pc) == NULL)
    sli_stack_modules_scan ();
  return node;
}

static uint32_t
tree_child (uint32_t parent, uint64_t pc, uint64_t hash)
{
  RawNode *nodes = sli_spool_nodes ();
  _Atomic uint32_t *bucket = &stack.buckets[hash >> 44];
  uint32_t first = atomic_load_explicit (bucket, memory_order_acquire);
  for (uint32_t node = first; node != 0; node = nodes[node].next)
    if (nodes[node].pc == pc && nodes[node].parent == parent)
      return node;
  uint32_t fresh = node_add (parent, pc, first);
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
  if (LIKELY (step->pc == pc && step->parent == parent))
    return step->node;
  uint32_t node = tree_child (parent, pc, hash);
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

/* The frames of the recorder itself, and what lies within an operator new
 * that it wraps. */
uint32_t
sli_stack_own_frames (void *const *frames, uint32_t n, uint32_t most)
{
  uint32_t own = 0;
  for (uint32_t i = 0; i < n && i < most; i++)
    if ((uint64_t)frames[i] >= sli_record.text_low
        && (uint64_t)frames[i] < sli_record.text_high)
      own = i + 1;
  return own;
}

/* And those of libslice that called a hook. */
static uint32_t
library_frames (const uint64_t *pcs, uint32_t from, uint32_t n)
{
  while (from < n && pcs[from] >= stack.library_low
         && pcs[from] < stack.library_high)
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
  while (common < most && self->pcs[common] == pcs[n - 1 - common])
    common++;
  uint32_t node = common > 0 ? self->nodes[common - 1] : TRACE_NODE_ROOT;
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

/* The node of the calling stack.
 *
 * depth  frames to walk; a walk that ends there hangs below TRACE_NODE_CUT
 */
uint32_t
sli_stack_node (RecordThread *self, uint32_t depth)
{
  uint64_t pcs[RECORD_DEPTH_MAX + OWN_FRAMES_MAX];
  uint32_t wanted
      = depth + OWN_FRAMES_MAX + (self->hooked ? LIBRARY_FRAMES : 0);
  if (UNLIKELY (!stack.unwinder_tried))
    sli_stack_unwinder_open ();
  if (stack.backtrace == NULL || stack.single || depth == 0)
    return TRACE_NODE_CUT;
  if (wanted > RECORD_DEPTH_MAX + OWN_FRAMES_MAX)
    wanted = RECORD_DEPTH_MAX + OWN_FRAMES_MAX;
  if (depth < 16 && !self->hooked)
    wanted = depth + 3; /* a short walk need not see through operator new */
  self->setup = !self->walked; /* the first walk of a thread allocates */
  int got = stack.backtrace ((void **)pcs, (int)wanted);
  self->setup = false;
  self->walked = true;
  if (got <= 0)
    return TRACE_NODE_CUT;
  uint32_t own
      = sli_stack_own_frames ((void **)pcs, (uint32_t)got, OWN_FRAMES_MAX);
  if (UNLIKELY (sli_record.check_unwind))
    check_again (self, pcs + own, (uint32_t)got - own, wanted);
  if (UNLIKELY (self->hooked))
    own = library_frames (pcs, own, (uint32_t)got);
  uint32_t n = (uint32_t)got - own;
  if (n > 0 && pcs[own] >= stack.unwinder_low
      && pcs[own] < stack.unwinder_high)
    return SLI_STACK_INTERNAL;
  if (stack.gone_high != 0 || stack.tagged_high != 0)
    pcs_tag (pcs + own, n);
  if (self->line != 0)
    {
      pcs[--own] = self->line | TRACE_PC_TAG_LINE << TRACE_PC_BITS;
      n++;
      self->line = 0;
    }
  bool cut = n > depth || (uint32_t)got == wanted;
  if (n > depth)
    n = depth;
  return cut ? stack_partial (self, pcs + own, n)
             : stack_whole (self, pcs + own, n);
}

/* A child forked by a program with several threads: another thread may have
 * held libunwind's lock at that moment, so it is not called again. */
void
sli_stack_single (void)
{
  stack.single = true;
}

static void *
buckets_map (void)
{
  void *map
      = mmap (NULL, N_BUCKETS * sizeof (uint32_t), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return map == MAP_FAILED ? NULL : map;
}

/* In a forked child, whose spool is new. */
void
sli_stack_reset (void)
{
  munmap (stack.buckets, N_BUCKETS * sizeof (uint32_t));
  stack.buckets = buckets_map ();
  if (stack.buckets == NULL)
    stack.single = true;
  atomic_flag_clear (&stack.module_lock);
  stack.n_modules = 0;
  stack.gone_low = stack.gone_high = 0;
  stack.tagged_low = stack.tagged_high = 0;
  sli_record.head->libgcc_walks = stack.libgcc_walks;
}

static int
own_text_note (struct dl_phdr_info *info, size_t size, void *unused)
{
  (void)size;
  (void)unused;
  Module module;
  if (!module_bounds (info, &module)
      || (uint64_t)(uintptr_t)own_text_note < module.low
      || (uint64_t)(uintptr_t)own_text_note >= module.high)
    return 0;
  sli_record.text_low = module.low;
  sli_record.text_high = module.high;
  return 1;
}

void
sli_stack_init (void)
{
  dl_iterate_phdr (own_text_note, NULL);
  stack.buckets = buckets_map ();
  sli_stack_modules_scan ();
}

static int
library_note (struct dl_phdr_info *info, size_t size, void *inside)
{
  Module module;
  (void)size;
  if (!module_bounds (info, &module) || (uint64_t)inside < module.low
      || (uint64_t)inside >= module.high)
    return 0;
  /* one that is linked into the program can't be known from it */
  if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0')
    {
      stack.library_low = module.low;
      stack.library_high = module.high;
    }
  return 1;
}

/* The module that an address is in is libslice. */
void
sli_stack_library (const void *inside)
{
  dl_iterate_phdr (library_note, (void *)(uintptr_t)inside);
}

static int
unwinder_note (struct dl_phdr_info *info, size_t size, void *unused)
{
  Module module;
  (void)size;
  (void)unused;
  if (!module_bounds (info, &module) || stack.unwinder < module.low
      || stack.unwinder >= module.high)
    return 0;
  stack.unwinder_low = module.low;
  stack.unwinder_high = module.high;
  return 1;
}

typedef struct
{
  void **frames;
  int n, room; /* n is -1 for the frame of libgcc_backtrace() itself */
} LibgccWalk;

static _Unwind_Reason_Code
libgcc_frame (struct _Unwind_Context *context, void *user)
{
  LibgccWalk *walk = user;
  if (walk->n >= 0)
    walk->frames[walk->n] = (void *)_Unwind_GetIP (context);
  walk->n++;
  return walk->n < walk->room ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* As unw_backtrace(). */
static __attribute__ ((noinline)) int
libgcc_backtrace (void **frames, int room)
{
  LibgccWalk walk = { frames, -1, room };
  _Unwind_Backtrace (libgcc_frame, &walk);
  /* the outermost is the end, not a place that called */
  while (walk.n > 0 && frames[walk.n - 1] == NULL)
    walk.n--;
  return walk.n;
}

static void
unwinder_choose (void)
{
  void *library = dlopen (LIBUNWIND_NAME, RTLD_NOW | RTLD_LOCAL);
  if (library != NULL)
    stack.backtrace = (Backtrace)dlsym (library, "unw_backtrace");
  stack.unwinder = (uint64_t)(uintptr_t)stack.backtrace;
  if (stack.backtrace != NULL)
    return;
  stack.backtrace = libgcc_backtrace;
  stack.unwinder = (uint64_t)(uintptr_t)_Unwind_Backtrace;
  stack.libgcc_walks = true;
  sli_record.check_unwind = false; /* there is nothing to compare with */
}

/* Not in our constructor: it runs before the C library's own, and a dlopen()
 * there would start that one without the program's arguments.  So it is done
 * at the first event after that, or at the latest before main(). */
void
sli_stack_unwinder_open (void)
{
  if (stack.unwinder_tried || environ == NULL || stack.buckets == NULL)
    return;
  stack.unwinder_tried = true;
  sli_record_self.setup = true;
  unwinder_choose ();
  sli_record.head->libgcc_walks = stack.libgcc_walks;
  /* the first walk sets libunwind up, which allocates */
  void *frames[4];
  stack.backtrace (frames, 4);
  dl_iterate_phdr (unwinder_note, NULL);
  sli_record_self.setup = false;
}
