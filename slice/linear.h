/* linear.h - linear arenas: objects are added, and all are freed at once
 *
 * Public.  An object takes a handful of instructions and has no header.  The
 * last object can be resized or freed; a rollback to a mark frees all objects
 * since, and a reset frees all objects.  See arena.h for what all arenas
 * share.
 *
 * Design: section 8.2.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_LINEAR_H
#define SLICE_LINEAR_H

#include <slice/arena.h>

SLICE_BEGIN_DECLS

/** A linear arena. */
typedef struct SliceLinear SliceLinear;

/** A state of a linear arena, to return to.  The members are private. */
typedef struct
{
  SliceLinear *linear;
  char *next;
  void *cleanups;
  size_t left_bytes;
  size_t own_bytes;
  uint64_t stamp;
  uint32_t n_used;
  int32_t current;
} SliceMark;

/** Makes a linear arena.
 *
 * @param options  NULL: the defaults
 * @return         the arena, or NULL with errno ENOMEM, or EINVAL if an
 *                 option is out of range
 *
 * Threads: any.  Cost: one slice.
 */
SLICE_API SliceLinear *slice_linear_new (const SliceArenaOptions *options);

/** Makes a linear arena that belongs to a context: it is freed with the
 * context, or by ralloc_free() on the arena, and ralloc_steal() moves it.
 *
 * @param context  the parent; NULL: a root
 * @param options  NULL: the defaults
 * @return         as slice_linear_new(); the arena is a node of the tree
 *
 * The node may get children, a limit and a destructor.  Its name is "linear",
 * until ralloc_set_name() gives it another or removes it.  The destructor runs
 * after the children are freed; it can still use the arena, which ends after
 * it.  To resize the node is misuse (213).
 *
 * Threads: as ralloc_size().  Cost: one node with a record (ralloc.h).
 */
SLICE_API SliceLinear *
slice_linear_new_in (const void *context, const SliceArenaOptions *options);

/** Ends an arena and all that is in it.
 *
 * @param linear  NULL does nothing
 *
 * An arena that belongs to a context ends as ralloc_free() frees a node, so it
 * may stay, with its objects and without a cleanup: it moves to a context that
 * holds a reference to it, and stays where it is if its refusing destructor
 * refuses.
 *
 * Errors: in the modes checked, hardened and debug an arena to which another
 *   context holds a reference (342); ralloc_free() is no error there.
 *
 * Threads: the arena's owner.  Cost: O(blocks), and the cleanups.
 */
SLICE_API void slice_linear_destroy (SliceLinear *linear);

SLICE_API void *slice_linear_alloc_slow_v1 (SliceLinear *linear, size_t size);

/** Adds an object.
 *
 * @param linear  the arena; not NULL
 * @param size    bytes; 0 is taken as 1
 * @return        the object, contents undefined; NULL with errno ENOMEM
 *
 * Errors: an allocation while an object grows is misuse (302).
 * Threads: the arena's owner.
 * Cost: 7 instructions for a constant size; sometimes a block.
 */
SLICE_ARENA_INLINE void *slice_linear_alloc (SliceLinear *linear, size_t size)
    SLICE_ATTR_ALLOC_SIZE (2);
SLICE_ARENA_INLINE void *
slice_linear_alloc (SliceLinear *linear, size_t size)
{
  void *object = slice_bump_take_v1 ((SliceBumpV1 *) linear, size);
  if (SLICE_LIKELY (object != NULL))
    return object;
  return slice_linear_alloc_slow_v1 (linear, size);
}

/** As slice_linear_alloc(), with all `size` bytes zero. */
SLICE_ARENA_INLINE void *slice_linear_alloc0 (SliceLinear *linear, size_t size)
    SLICE_ATTR_ALLOC_SIZE (2);
SLICE_ARENA_INLINE void *
slice_linear_alloc0 (SliceLinear *linear, size_t size)
{
  void *object = slice_linear_alloc (linear, size);
  if (SLICE_LIKELY (object != NULL))
    memset (object, 0, size);
  return object;
}

/** Adds an array of `n` times `size` bytes; a product that overflows counts as
 * no memory. */
SLICE_API void *slice_linear_alloc_n (SliceLinear *linear, size_t n,
                                      size_t size)
    SLICE_ATTR_ALLOC_SIZE2 (2, 3);

SLICE_API void *slice_linear_alloc_aligned_slow_v1 (SliceLinear *linear,
                                                    size_t alignment,
                                                    size_t size);

/** Adds an object with a given alignment.
 *
 * @param linear     the arena; not NULL
 * @param alignment  a power of two, 1 to SLICE_ARENA_ALIGNMENT_MAX; below 8
 *                   counts as 8
 * @param size       bytes; 0 is taken as 1
 * @return           the object; NULL with errno ENOMEM
 *
 * Errors: another alignment is misuse (300).
 * Cost: 9 instructions for a constant alignment and size; sometimes a block.
 */
SLICE_ARENA_INLINE void *slice_linear_alloc_aligned (SliceLinear *linear,
                                                     size_t alignment,
                                                     size_t size)
    SLICE_ATTR_ALLOC_SIZE (3);
SLICE_ARENA_INLINE void *
slice_linear_alloc_aligned (SliceLinear *linear, size_t alignment, size_t size)
{
  if (SLICE_LIKELY ((alignment & (alignment - 1)) == 0
                    && alignment - 1 < SLICE_ARENA_ALIGNMENT_MAX))
    {
      void *object = slice_bump_take_aligned_v1 ((SliceBumpV1 *) linear,
                                                 alignment, size);
      if (SLICE_LIKELY (object != NULL))
        return object;
    }
  return slice_linear_alloc_aligned_slow_v1 (linear, alignment, size);
}

/** As slice_linear_alloc_n() and slice_linear_alloc_aligned() together. */
SLICE_API void *slice_linear_alloc_aligned_n (SliceLinear *linear,
                                              size_t alignment, size_t n,
                                              size_t size)
    SLICE_ATTR_ALLOC_SIZE2 (3, 4);

/** Adds a copy of `size` bytes.  A source that is NULL gives NULL, unless size
 * is 0. */
SLICE_ARENA_INLINE void *slice_linear_copy (SliceLinear *linear, size_t size,
                                            const void *source)
    SLICE_ATTR_ALLOC_SIZE (2);
SLICE_ARENA_INLINE void *
slice_linear_copy (SliceLinear *linear, size_t size, const void *source)
{
  void *object = SLICE_LIKELY (source != NULL || size == 0)
                     ? slice_linear_alloc (linear, size)
                     : NULL;
  if (SLICE_LIKELY (object != NULL) && size > 0)
    memcpy (object, source, size);
  return object;
}

/** Changes an object's size.  An object that shrinks stays in place, with the
 * alignment that it has, at least 8: also if its new size is a multiple of 16.
 * One that grows does so, too, if it is aligned for its new size, was allocated
 * since the newest mark and has space behind it: at the end of the current
 * block (slice_linear_free_last()), or in its dedicated block.  Otherwise it is
 * copied, and the copy is a new object.  If the old one had a dedicated block,
 * allocated since the newest mark, that block is returned with it.  (Under
 * valgrind and the sanitizers an object that shrinks may be copied after a mark
 * was set, too, so that they see its end; the copy is aligned as a new object.
 * If there is no memory for it, the object stays.)
 *
 * @param linear    the arena; not NULL
 * @param object    the object; NULL: as slice_linear_alloc()
 * @param old_size  its present size, as it was allocated or last resized
 * @param new_size  bytes; 0 is taken as 1
 * @return          the object; NULL with errno ENOMEM, and the old one is
 *                  unchanged
 *
 * Threads: the arena's owner.
 * Cost: as slice_linear_alloc(), and the copy.  If the arena has dedicated
 *   blocks, the call searches for the block of an object that is not the last
 *   one: O(blocks added since) if the object shrinks.  If it grows to more than
 *   256 bytes, only the 64 newest blocks are searched; an object in an older
 *   one is copied, and its block stays.
 */
SLICE_API void *slice_linear_resize (SliceLinear *linear, void *object,
                                     size_t old_size, size_t new_size);

/** Frees an object that is the last one of the current block, or the only one
 * of the last block.
 *
 * The last object of the current block ends where the next one would begin:
 * no object was added to the block after it, or all that were are freed and had
 * no padding in front.  A large object with a dedicated block leaves the
 * current block as it is; it is freed with its block if no other block was
 * added since.
 *
 * @param linear  the arena; not NULL
 * @param object  NULL does nothing
 * @param size    its present size, as it was allocated or last resized
 * @return        true if it was such an object, allocated since the newest
 *                mark, and was freed.  False, without effect, otherwise, and
 *                while an object grows
 *
 * Threads: the arena's owner.  Cost: O(1); a dedicated block is returned.
 */
SLICE_API bool slice_linear_free_last (SliceLinear *linear, void *object,
                                       size_t size);

/** Empties an arena: runs its cleanups and frees all objects.
 *
 * @param linear  the arena; not NULL
 * @param keep    which blocks stay for the next use
 *
 * A growing object is abandoned, too.
 * Threads: the arena's owner.  Cost: O(blocks), and the cleanups.
 */
SLICE_API void slice_linear_reset (SliceLinear *linear, SliceKeep keep);

/** Remembers the present state of an arena.
 * Errors: while an object grows it is misuse (302). */
SLICE_API SliceMark slice_linear_mark (SliceLinear *linear);

/** Returns to a mark: runs the cleanups that were added since, newest first,
 * and frees the objects that were added since.  Objects from before the mark
 * are as they were, even if they were resized since: resizing made a copy,
 * which is freed.  An object that is growing is abandoned.  The freed blocks
 * stay as spare blocks for the next objects, except blocks of single objects
 * above cap_bytes: each rollback returns these, as a reset does.  If such
 * objects come again and again, raise cap_bytes.  The next object lies at the
 * mark, or at the start of the block behind it if little space is left at the
 * mark.  The mark stays valid.
 *
 * @param linear  the arena; not NULL
 * @param mark    of this arena, at or below its end
 *
 * Errors: a mark of another arena (303), and one that a rollback or reset has
 *   undone (304), are misuse.  If a rollback before the last one has undone a
 *   mark, the library notices only while the mark is above the arena's end.
 * Threads: the arena's owner.
 * Cost: O(blocks since the mark), and the cleanups.
 */
SLICE_API void slice_linear_rollback (SliceLinear *linear, SliceMark mark);

/** Returns the spare blocks that rollbacks have left to the source, and shrinks
 * the table of blocks.
 * @return  bytes returned, by which SliceArenaStats.held_bytes falls */
SLICE_API size_t slice_linear_trim (SliceLinear *linear);

/** Adds a function, `cleanup (data)`, that runs before the present objects are
 * freed: at a reset, a destroy, or a rollback to before this call; newest
 * first.
 *
 * @param linear   the arena; not NULL
 * @param cleanup  not NULL; it must not use the arena
 * @param data     passed to it
 * @return         false with errno ENOMEM
 */
SLICE_API bool slice_linear_add_cleanup (SliceLinear *linear,
                                         void (*cleanup) (void *data),
                                         void *data);

/** Gets statistics of the arena.  Cost: O(blocks). */
SLICE_API void slice_linear_get_stats (const SliceLinear *linear,
                                       SliceArenaStats *stats);

/** Returns true if the address is in an object of this arena, or in padding
 * between objects.  Cost: O(blocks). */
SLICE_API bool slice_linear_owns (const SliceLinear *linear,
                                  const void *address);

/** Copies one object to a context, so that it outlives the arena.
 *
 * @param linear   the arena that the object is in; not NULL
 * @param object   not NULL
 * @param size     bytes to copy
 * @param context  the copy's parent; NULL: a root
 * @return         the copy, a node of the tree; NULL with errno ENOMEM
 *
 * Errors: an object that is not in the arena is misuse (301).
 * Cost: O(blocks) to find the object, one node and the copy.
 */
SLICE_API void *slice_linear_export (const SliceLinear *linear,
                                     const void *object, size_t size,
                                     const void *context);

/* --- growing objects ----------------------------------------------------- */

/* One object at a time may grow at the arena's end, until it is finished.  It
 * moves to a larger block as needed.  Meanwhile no other object can be
 * added. */

SLICE_API bool slice_linear_grow_slow_v1 (SliceLinear *linear, size_t size,
                                          const void *source);
SLICE_API void *slice_linear_finish_slow_v1 (SliceLinear *linear,
                                             size_t *size);

/* True if `size` bytes fit between two addresses, the second one not below the
 * first.  For a small constant a sum is shorter than a difference.  It does not
 * overflow, as no object ends in the last page of all addresses. */
#define SLICE_FITS_V1(start, end, size)                                       \
  (__builtin_constant_p (size) && (size) - 1 < (size_t) 4095                  \
       ? (uintptr_t) (start) + (size) <= (uintptr_t) (end)                    \
       : (size) - 1 < (size_t) ((end) - (start)))

/** Not for callers: starts a growing object at the end of the current block, if
 * that has space for `size` bytes; else NULL.  The block looks full then. */
SLICE_ARENA_INLINE char *slice_linear_begin_v1 (SliceBumpV1 *bump,
                                                size_t size);
SLICE_ARENA_INLINE char *
slice_linear_begin_v1 (SliceBumpV1 *bump, size_t size)
{
  char *start = (char *) (((uintptr_t) bump->next + 15) & ~(uintptr_t) 15);
  ptrdiff_t space = (ptrdiff_t) ((uintptr_t) bump->end - (uintptr_t) start);
  bool fits = __builtin_constant_p (size) && size - 1 < 4095
                  ? SLICE_FITS_V1 (start, bump->end, size)
                  : size - 1 < (size_t) PTRDIFF_MAX
                        && (ptrdiff_t) size <= space;
  if (SLICE_LIKELY (fits))
    {
      bump->growing_end = bump->end;
      bump->next = start;
      bump->end = start;
      if (start == NULL)
        __builtin_unreachable ();
      return start;
    }
  return NULL;
}

/** Appends to the growing object, or starts one.
 *
 * @param linear  the arena; not NULL
 * @param size    bytes to append
 * @param source  the bytes, which may be in the growing object; NULL: the new
 *                bytes are undefined
 * @return        false with errno ENOMEM, and the object is unchanged
 *
 * Cost: the copy; O(1) amortised.
 * Source: obstack_grow(), obstack_blank().
 */
SLICE_ARENA_INLINE bool slice_linear_grow (SliceLinear *linear, size_t size,
                                           const void *source);
SLICE_ARENA_INLINE bool
slice_linear_grow (SliceLinear *linear, size_t size, const void *source)
{
  SliceBumpV1 *bump = (SliceBumpV1 *) linear;
  char *place = bump->growing;
  if (!SLICE_LIKELY (SLICE_FITS_V1 (place, bump->growing_end, size)))
    {
      place = slice_linear_begin_v1 (bump, size);
      if (place == NULL)
        return slice_linear_grow_slow_v1 (linear, size, source);
    }
  if (source != NULL)
    memcpy (place, source, size);
  bump->growing = place + size;
  return true;
}

/** Appends one character.  Cost: 6 instructions.  Source: obstack_1grow(). */
SLICE_ARENA_INLINE bool slice_linear_grow_char (SliceLinear *linear, char c);
SLICE_ARENA_INLINE bool
slice_linear_grow_char (SliceLinear *linear, char c)
{
  SliceBumpV1 *bump = (SliceBumpV1 *) linear;
  char *place = bump->growing;
  if (!SLICE_LIKELY (place != bump->growing_end))
    {
      place = slice_linear_begin_v1 (bump, 1);
      if (place == NULL)
        {
          char copy = c; /* only this one is in memory */
          return slice_linear_grow_slow_v1 (linear, 1, &copy);
        }
      bump->growing = place;
    }
  /* The compiler can't know that the character does not change `growing', nor
   * that the assembler code does not.  So it adds to it in memory, which is
   * shorter than to store the sum. */
  *place = c;
  bump->growing++;
  __asm__ ("" : "+m"(bump->growing));
  return true;
}

/** Removes `size` bytes from the growing object's end; more bytes than it has
 * are misuse (305). */
SLICE_API void slice_linear_shrink (SliceLinear *linear, size_t size);

/** The growing object, which may still move.  NULL if there is none, or if it
 * has no bytes and the arena no block.
 * @param size  receives its size; may be NULL */
SLICE_API void *slice_linear_growing (const SliceLinear *linear, size_t *size);

/** Finishes the growing object, which becomes an object like any other.
 *
 * @param size  receives the object's size, 0 if none has grown; may be NULL
 * @return      the object; if none has grown, a new object of 1 byte (*size is
 *              0), or NULL with errno ENOMEM
 */
SLICE_ARENA_INLINE void *slice_linear_finish (SliceLinear *linear,
                                              size_t *size);
SLICE_ARENA_INLINE void *
slice_linear_finish (SliceLinear *linear, size_t *size)
{
  SliceBumpV1 *bump = (SliceBumpV1 *) linear;
  char *object = bump->next;
  char *end = bump->growing;
  /* NULL if no object grows.  Of an arena that has ended both may be 0. */
  if (SLICE_LIKELY ((uintptr_t) end > (uintptr_t) object))
    {
      if (size != NULL)
        *size = (size_t) (end - object);
      bump->next = (char *) (((uintptr_t) end + 7) & ~(uintptr_t) 7);
      bump->end = bump->growing_end;
      bump->growing = NULL;
      bump->growing_end = NULL;
      return object;
    }
  return slice_linear_finish_slow_v1 (linear, size);
}

/** Abandons the growing object, if there is one.  The next object starts where
 * it was; if that is behind 8 bytes of padding, these count as used. */
SLICE_API void slice_linear_abandon (SliceLinear *linear);

/* --- strings ------------------------------------------------------------- */

SLICE_API char *slice_linear_strdup_slow_v1 (SliceLinear *linear,
                                             const char *string);

/** A copy of a string; NULL for NULL. */
SLICE_ARENA_INLINE char *slice_linear_strdup (SliceLinear *linear,
                                              const char *string);
SLICE_ARENA_INLINE char *
slice_linear_strdup (SliceLinear *linear, const char *string)
{
  SliceBumpV1 *bump = (SliceBumpV1 *) linear;
  /* An ended arena shows no free bytes.  A string that was in it may have no
   * NUL. */
  if (SLICE_LIKELY (string != NULL && bump->next != bump->end))
    {
      size_t size = strlen (string) + 1;
      void *copy = slice_bump_take_aligned_v1 (bump, 8, size);
      if (SLICE_LIKELY (copy != NULL))
        return (char *) memcpy (copy, string, size);
    }
  return slice_linear_strdup_slow_v1 (linear, string);
}

/** A copy of at most `max` bytes, with a NUL; NULL for NULL. */
SLICE_API char *slice_linear_strndup (SliceLinear *linear, const char *string,
                                      size_t max);
/** Appends to a string of this arena, in place where slice_linear_resize()
 * would resize it in place.
 *
 * @param string  *string may be NULL, which counts as empty; it is updated if
 *                the string moves, and the old one may be freed
 * @param suffix  not NULL; it may be a part of the string
 * @return        false with errno ENOMEM, and *string is unchanged
 *
 * A string of more than 256 bytes that moves gets a dedicated block with half
 * as much again as it needs, or less if a limit or the memory forbids that; or
 * a spare block that has so much.  So n appends of one byte move a string O(log
 * n) times and the arena holds O(n) bytes for it, under valgrind and the
 * sanitizers, too, and if other objects are added between the appends.  While
 * a string moves, its old and its new block must fit the arena's limit.  Each
 * append to a shorter string that is not the last object makes a copy.
 */
SLICE_API bool slice_linear_strcat (SliceLinear *linear, char **string,
                                    const char *suffix);
/** A formatted string, written in place if it fits into the current block.
 * @return  NULL with errno ENOMEM, or as vsnprintf() sets it */
SLICE_API char *slice_linear_printf (SliceLinear *linear, const char *format,
                                     ...) SLICE_ATTR_PRINTF (2, 3);
/** As slice_linear_printf(). */
SLICE_API char *slice_linear_vprintf (SliceLinear *linear, const char *format,
                                      va_list arguments)
    __attribute__ ((format (printf, 2, 0)));

/* --- typed macros -------------------------------------------------------- */

/** Adds one `type`, with the alignment of the type. */
#define slice_linear_new_object(linear, type)                                 \
  SLICE_CAST_ (type *,                                                        \
               SLICE_ALIGNED_BY_SIZE_ (type)                                  \
                   ? slice_linear_alloc ((linear), SLICE_SIZEOF_ (type))      \
                   : slice_linear_alloc_aligned (                             \
                           (linear), __alignof__ (type), SLICE_SIZEOF_ (type)))

/** Adds an array of `n` of `type`, with the alignment of the type; a product
 * that overflows counts as no memory. */
#define slice_linear_new_array(linear, type, n)                               \
  SLICE_CAST_ (type *,                                                        \
               SLICE_ALIGNED_BY_SIZE_ (type)                                  \
                   ? slice_linear_alloc_n ((linear), (n), sizeof (type))      \
                   : slice_linear_alloc_aligned_n (                           \
                           (linear), __alignof__ (type), (n), sizeof (type)))

SLICE_END_DECLS

#endif
