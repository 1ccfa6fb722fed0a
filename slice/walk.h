/* walk.h - validates the allocator, and visits everything that it holds
 *
 * Public.  For tests, debuggers and the search for leaks.  Both functions look
 * at every structure, and neither changes anything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_WALK_H
#define SLICE_WALK_H

#include <slice/stats.h>

SLICE_BEGIN_DECLS

/** Checks every invariant of every structure (docs/design, chapter 10): pages,
 * slabs, depots, threads' magazines, and that no chunk is in two places.
 *
 * @param where  where to put the address of the structure that is at fault;
 *               may be NULL
 * @return       NULL if all hold (or no block was ever allocated), else the
 *               invariant's id and what it says, for example "S2: bits of
 *               chunks that are not carved are 0"
 *
 * Threads: no other thread may use slices meanwhile.  The helper of the option
 *   trim-thread waits.
 * Cost: a look at every slab, and a sort of the cached chunks; maps some
 *   memory for it.
 */
SLICE_API const char *slice_validate (const void **where);

/** What slice_walk() visits. */
typedef enum
{
  SLICE_PART_SLAB = 1,  /**< a slab; its chunks follow */
  SLICE_PART_OUT,       /**< a chunk of it that is out: the program's, or
                             cached */
  SLICE_PART_FREE,      /**< a chunk of it that is free, or was never out */
  SLICE_PART_CACHED     /**< a chunk that lies in a magazine (or waits in a
                             quarantine): not the program's; after all slabs */
} SlicePartKind;

/** One thing that slice_walk() visits. */
typedef struct
{
  SlicePartKind kind;
  void *address;        /**< a slab's first byte; or a block's, as in
                             SliceBlockInfo */
  size_t bytes;         /**< of a slab; or of a block, as there */
  uint32_t class_index; /**< 1 to SLICE_N_CLASSES - 1 */
} SlicePart;

/** Called for each thing; false ends the walk. */
typedef bool (*SliceVisit) (const SlicePart *part, void *data);

/** Visits all slabs and chunks, and then what is cached.  The program's blocks
 * are those that are out and not cached.
 *
 * @param visit  called for each, with no lock held; not NULL
 * @param data   handed to it
 * @return       false if there was no memory for the list of slabs, or `visit`
 *               ended the walk
 *
 * Threads: no other thread may use slices meanwhile, nor may `visit`.
 * Cost: a visit for every chunk.
 */
SLICE_API bool slice_walk (SliceVisit visit, void *data);

SLICE_END_DECLS

#endif
