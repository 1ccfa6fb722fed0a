/* replay-write.c - the operations of a trace, for its replays
 *
 * Tools.  Allocations and frees become operations on numbered slots.  Blocks
 * that are freed with their owner form a group, and so do a thread's blocks of
 * a site and the blocks allocated under an activation of the scope's function:
 * an arena could serve each group.
 *
 * Design: chapter 13.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "tools/trace/profile/profile-parts.h"
#include "replay.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Frees of one site in a row, in one thread: the group of its owner. */
typedef struct
{
  uint32_t group;
} Burst;

typedef struct
{
  const Profile *profile;
  ReplayOp *ops;
  size_t n_ops, capacity;
  uint32_t *slot_op; /* by slot: the allocation's place in ops */
  uint32_t *free_slots;
  uint32_t n_slots, n_free, slots_capacity;
  uint32_t *group_frees; /* by group */
  uint32_t n_groups, groups_capacity;
  Burst *burst;         /* by site */
  uint32_t *slot_group; /* by slot: its allocation's possible group */
  Table parts;          /* the group of a site, lane and nested activation */
  uint64_t bytes, n_allocs;
} OpWriter;

static ReplayOp *
op_add (OpWriter *writer)
{
  if (writer->n_ops == writer->capacity)
    {
      writer->capacity = writer->capacity * 2 + 65536;
      writer->ops
          = sli_tool_grow (writer->ops, writer->capacity * sizeof (ReplayOp));
    }
  return &writer->ops[writer->n_ops++];
}

static uint32_t
slot_take (OpWriter *writer)
{
  if (writer->n_free > 0)
    return writer->free_slots[--writer->n_free];
  if (writer->n_slots == writer->slots_capacity)
    {
      writer->slots_capacity = writer->slots_capacity * 2 + 1024;
      writer->slot_op = sli_tool_grow (
          writer->slot_op, writer->slots_capacity * sizeof (uint32_t));
      writer->free_slots = sli_tool_grow (
          writer->free_slots, writer->slots_capacity * sizeof (uint32_t));
      writer->slot_group = sli_tool_grow (
          writer->slot_group, writer->slots_capacity * sizeof (uint32_t));
    }
  return writer->n_slots++;
}

static uint32_t
group_new (OpWriter *writer)
{
  uint32_t group = ++writer->n_groups;

  if (group >= writer->groups_capacity)
    {
      writer->groups_capacity = group * 2 + 64;
      writer->group_frees = sli_tool_grow (
          writer->group_frees, writer->groups_capacity * sizeof (uint32_t));
    }
  writer->group_frees[group] = 0;
  return group;
}

/* The group of a thread's part of a site, or of one nested activation's. */
static uint32_t
part_group (OpWriter *writer, uint32_t site, uint32_t lane, uint32_t nested)
{
  uint64_t key = (uint64_t) site << 32 | (uint64_t) (lane & 0xffff) << 16
                 | (nested & 0xffff);
  uint32_t *group = sli_table_add (&writer->parts, key);

  if (*group == 0)
    {
      *group = group_new (writer);
      writer->group_frees[*group] = BURST_RUN_MIN;
    }
  return *group;
}

/* Returns true for arenas, stacks and pools, of which each thread has its
 * own. */
static bool
is_one_a_thread (const SiteResult *result)
{
  SiteClass class = result->verdict.class;

  return result->verdict.numbers[NUMBER_T] > 1
         && (class == CLASS_SCRATCH || class == CLASS_LINEAR
             || class == CLASS_LINEAR_FAIR || class == CLASS_STACK
             || class == CLASS_STACK_LAZY || class == CLASS_POOL);
}

static bool
is_in_function (const SiteResult *result)
{
  return result->verdict.class == CLASS_SCOPE && result->verdict.scope_pc != 0;
}

static uint32_t
group_of_alloc (OpWriter *writer, const Analysis *analysis,
                const LiveObject *object, uint32_t site)
{
  const SiteResult *result = &writer->profile->results[site];
  uint32_t number;
  const Lane *lane = sli_analysis_lane (analysis, object, 0, &number);
  const Life *life;

  if (is_one_a_thread (result))
    return part_group (writer, site, number, 0);
  if (!is_in_function (result))
    return 0;
  life = &lane->lives[result->verdict.scope_life];
  return part_group (writer, site, number, life->n_marks);
}

/* The group of a freed block; a block freed after its function returned is in
 * none. */
static uint32_t
group_of_free (const OpWriter *writer, const Analysis *analysis,
               const LiveObject *object, const SiteResult *result)
{
  uint32_t number;
  const Lane *lane = sli_analysis_lane (analysis, object, 0, &number);

  return is_in_function (result)
                 && lane->lives[result->verdict.scope_life].within
             ? writer->slot_group[object->slot]
             : 0;
}

static void
op_allocated (void *user, const Analysis *analysis, LiveObject *object,
              uint32_t unused)
{
  OpWriter *writer = user;
  uint32_t site = writer->profile->final_map[object->node];
  uint32_t group;
  ReplayOp *op;

  (void) unused;
  object->slot = slot_take (writer);
  group = group_of_alloc (writer, analysis, object, site);
  writer->slot_group[object->slot] = group;
  writer->slot_op[object->slot] = (uint32_t) writer->n_ops;
  op = op_add (writer);
  op->slot_allocated = object->slot << 1 | 1;
  op->size = object->size > UINT32_MAX ? UINT32_MAX : (uint32_t) object->size;
  op->site = site;
  op->group_align
      = is_in_function (&writer->profile->results[site]) ? 0 : group << 5;
  writer->burst[site].group = 0;
  writer->n_allocs++;
  writer->bytes += object->size;
}

/* Dissolves groups with few frees, whose blocks were freed alone, before their
 * owner. */
static void
groups_settle (OpWriter *writer)
{
  for (size_t i = 0; i < writer->n_ops; i++)
    {
      uint32_t group = writer->ops[i].group_align >> 5;

      if (group != 0 && writer->group_frees[group] < BURST_RUN_MIN)
        writer->ops[i].group_align &= 31;
    }
}

/* Writes a free.  A site's frees since its last allocation are one group. */
static void
op_freed (void *user, const Analysis *analysis, const LiveObject *object,
          uint32_t unused, unsigned kind)
{
  OpWriter *writer = user;
  ReplayOp *alloc, *op;
  const SiteResult *result;
  uint32_t site;

  (void) unused;
  (void) kind;
  alloc = &writer->ops[writer->slot_op[object->slot]];
  result = &writer->profile->results[alloc->site];
  if (result->verdict.class == CLASS_OWNER)
    {
      Burst *burst = &writer->burst[alloc->site];

      if (burst->group == 0)
        burst->group = group_new (writer);
      writer->group_frees[burst->group]++;
      alloc->group_align |= burst->group << 5;
    }
  else
    alloc->group_align |= group_of_free (writer, analysis, object, result)
                          << 5;
  site = alloc->site;
  op = op_add (writer); /* may move *alloc */
  *op = (ReplayOp){ .slot_allocated = object->slot << 1, .site = site };
  writer->free_slots[writer->n_free++] = object->slot;
}

static bool
ops_save (const OpWriter *writer, int fd)
{
  const Profile *profile = writer->profile;
  ReplayHead head = { .n_ops = writer->n_ops,
                      .n_slots = writer->n_slots,
                      .n_sites = profile->n_results,
                      .n_groups = (uint64_t) writer->n_groups + 1,
                      .n_allocs = writer->n_allocs,
                      .bytes = writer->bytes,
                      .peak = profile->totals.peak };
  FILE *file = fdopen (dup (fd), "wb");
  bool good;

  if (file == NULL)
    return false;
  fwrite (&head, sizeof head, 1, file);
  for (uint32_t i = 0; i < profile->n_results; i++)
    {
      const SiteResult *result = &profile->results[i];
      ReplaySite site = { .class = result->verdict.class,
                          .alignment_log2 = result->stats->max_alignment };
      /* the larger of the two commonest sizes */
      size_t n;
      SizeCount *sizes = sli_sizes_sorted (result->stats, &n);

      for (size_t size = 0; size < n && size < 2; size++)
        if (sizes[size].size > site.pool_bytes)
          site.pool_bytes = (uint32_t) sizes[size].size;
      free (sizes);
      fwrite (&site, sizeof site, 1, file);
    }
  fwrite (writer->ops, sizeof (ReplayOp), writer->n_ops, file);
  good = ferror (file) == 0;
  return fclose (file) == 0 && good;
}

ReplayFile
sli_replay_write (Profile *profile, const ProfileOptions *options)
{
  ReplayFile file = { .fd = sli_file_unnamed () };
  const uint32_t *maps[1] = { profile->final_map };
  const uint32_t n_sites[1] = { profile->n_results };
  OpWriter writer;
  Analysis *analysis;
  Reading reading;
  const TraceEvent *event;

  snprintf (file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
  writer = (OpWriter){ .profile = profile };
  writer.burst = sli_tool_zero ((profile->n_results + 1) * sizeof (Burst));
  analysis = sli_analysis_new (1, maps, n_sites);
  analysis->observer = (Observer){ op_allocated, op_freed, &writer };
  for (uint32_t i = 0; i < profile->n_results; i++)
    if (is_in_function (&profile->results[i]))
      analysis->frames = profile->sites;
  sli_reading_begin (&reading, profile, options, analysis, "operations");
  while ((event = sli_reading_next (&reading)) != NULL)
    {
      size_t at = writer.n_ops;

      sli_analysis_event (analysis, event);
      if (trace_op_is_alloc (event->op) && writer.n_ops > at)
        writer.ops[writer.n_ops - 1].group_align |= event->extra & 31;
    }
  sli_analysis_free (analysis);
  groups_settle (&writer);
  if (!ops_save (&writer, file.fd))
    sli_tool_exit (TOOL_FAILED, "the operations' file: %s", strerror (errno));
  free (writer.burst);
  free (writer.group_frees);
  free (writer.ops);
  free (writer.slot_op);
  free (writer.free_slots);
  free (writer.slot_group);
  sli_table_free (&writer.parts);
  return file;
}

void
sli_replay_file_close (ReplayFile *file)
{
  close (file->fd);
}
