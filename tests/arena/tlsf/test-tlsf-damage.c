/* test-tlsf-damage.c - TLSF heaps whose words were overwritten: what
 * slice_tlsf_is_valid() says of each, and which calls stop
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/arena/arena-test.h"

#include <errno.h>
#include <string.h>

#include "arena/tlsf/tlsf.h"

enum
{
  SIZE = 100,
  N_OBJECTS = 8,
  BUFFER_BYTES = 65536
};

/* A heap over a buffer; objects 1 and 3 are free, 3 is the first of their
 * list, and behind the last object is one large free block. */
typedef struct
{
  SliceTlsf *tlsf;
  void *objects[N_OBJECTS];
  TlsfBlock *pieces[N_OBJECTS];
  TlsfBlock *rest;
  unsigned list; /* of 1 and 3 */
} Heap;

static _Alignas (16) char buffer[BUFFER_BYTES];

static void
heap_make (Heap *heap)
{
  SliceTlsf *tlsf = slice_tlsf_new_fixed (buffer, sizeof buffer);

  heap->tlsf = tlsf;
  for (unsigned i = 0; i < N_OBJECTS; i++)
    {
      heap->objects[i] = slice_tlsf_alloc (tlsf, SIZE);
      heap->pieces[i] = object_block (heap->objects[i]);
    }
  slice_tlsf_free (tlsf, heap->objects[1]);
  slice_tlsf_free (tlsf, heap->objects[3]);
  heap->rest = tlsf_block_at (heap->pieces[N_OBJECTS - 1],
                         tlsf_block_stride (heap->pieces[0]));
  heap->list = sli_tlsf_list_of (tlsf_block_stride (heap->pieces[1]));
  g_assert_true (slice_tlsf_is_valid (tlsf, NULL));
  g_assert_true (tlsf->lists[heap->list] == heap->pieces[3]);
  g_assert_true (tlsf_block_is_free (heap->rest));
}

/* --- what is found ------------------------------------------------------- */

/* With `word` changed so the heap is said to be wrong in that way. */
#define DAMAGE(word, value, text)                                             \
 do                                                                           \
  {                                                                           \
   const char *why_ = NULL;                                                   \
   __typeof__ (word) before_ = (word);                                        \
   (word) = (value);                                                          \
   g_assert_false (slice_tlsf_is_valid (heap.tlsf, &why_));                   \
   g_assert_cmpstr (why_, ==, text);                                          \
   g_assert_false (slice_tlsf_is_valid (heap.tlsf, NULL));                    \
   (word) = before_;                                                          \
   g_assert_true (slice_tlsf_is_valid (heap.tlsf, &why_));                    \
   g_assert_null (why_);                                                      \
  }                                                                           \
 while (0)

static void
test_pieces (void)
{
  Heap heap;
  size_t *live;
  size_t *behind;
  TlsfBlock *end;
  size_t *other;

  heap_make (&heap);
  live = &heap.pieces[0]->stride_and_bits;
  behind = &heap.pieces[2]->stride_and_bits;
  end = tlsf_block_at (heap.rest, tlsf_block_stride (heap.rest));
  /* The two that a wrong size leads to are in order themselves. */
  tlsf_block_at (heap.pieces[0], 16)->stride_and_bits = *live - 16;
  DAMAGE (*live, 16, "a block has an impossible size");
  other = &heap.pieces[5]->stride_and_bits;
  tlsf_block_at (heap.pieces[6], 8)->stride_and_bits = *other - 8;
  DAMAGE (*other, *other + 8, "a block has an impossible size");
  DAMAGE (*live, BUFFER_BYTES, "a block has an impossible size");
  DAMAGE (*behind, *behind & ~BLOCK_BEFORE_FREE,
          "a block is wrong about the one before it");
  DAMAGE (*behind, *behind | BLOCK_FREE, "two free blocks are neighbours");
  DAMAGE (*tlsf_block_before_word (heap.pieces[2]), heap.pieces[0],
          "the last word of a free block is wrong");
  DAMAGE (end->stride_and_bits, end->stride_and_bits | TLSF_UNIT_BYTES,
          "the end of a region was overwritten");
  DAMAGE (end->stride_and_bits, end->stride_and_bits | BLOCK_FREE,
          "the end of a region was overwritten");
  DAMAGE (end->stride_and_bits, end->stride_and_bits & ~BLOCK_BEFORE_FREE,
          "the end of a region was overwritten");
}

static void
test_lists (void)
{
  Heap heap;
  SliceTlsf *tlsf;
  unsigned empty;
  const char *why;

  heap_make (&heap);
  tlsf = heap.tlsf;
  empty = heap.list + 1;
  DAMAGE (tlsf->lists[heap.list], heap.pieces[1],
          "a free block is not in its list");
  DAMAGE (heap.pieces[3]->next, sli_tlsf_none (tlsf),
          "a free block is not in its list");
  DAMAGE (tlsf->map_map, tlsf->map_map ^ 2, "the map of maps is wrong");
  DAMAGE (tlsf->map_map, tlsf->map_map ^ 1, "the map of maps is wrong");
  DAMAGE (tlsf->maps[0], tlsf->maps[0] ^ (UINT64_C (1) << empty),
          "a map of lists is wrong");
  DAMAGE (tlsf->maps[0], tlsf->maps[0] ^ (UINT64_C (1) << heap.list),
          "a map of lists is wrong");
  /* A list more, of a live block, or of one that is in a list already. */
  tlsf->maps[0] ^= UINT64_C (1) << empty;
  memset (heap.objects[0], 0xff, SIZE);
  tlsf->lists[empty] = heap.pieces[0];
  g_assert_false (slice_tlsf_is_valid (tlsf, &why));
  g_assert_cmpstr (why, ==, "a list holds a block that is not free");
  tlsf->lists[empty] = heap.pieces[1];
  g_assert_false (slice_tlsf_is_valid (tlsf, &why));
  g_assert_cmpstr (why, ==, "a list holds a block that is not free");
}

/* --- what stops ---------------------------------------------------------- */

/* The header of a free block, when it is wanted for a small object and for a
 * large one. */
static void
small_header (Heap *heap)
{
  heap->pieces[3]->stride_and_bits &= ~BLOCK_FREE;
  slice_tlsf_alloc (heap->tlsf, SIZE);
}

static void
large_header (Heap *heap)
{
  heap->rest->stride_and_bits &= ~BLOCK_FREE;
  slice_tlsf_alloc (heap->tlsf, BUFFER_BYTES / 4);
}

static void
large_link (Heap *heap)
{
  heap->rest->prev = heap->pieces[1];
  slice_tlsf_alloc (heap->tlsf, BUFFER_BYTES / 4);
}

/* The last word of a free block, when the one behind is freed. */
static void
last_word_far (Heap *heap)
{
  *tlsf_block_before_word (heap->pieces[2]) = NULL;
  slice_tlsf_free (heap->tlsf, heap->objects[2]);
}

static void
last_word_near (Heap *heap)
{
  *tlsf_block_before_word (heap->pieces[4]) = heap->pieces[1];
  slice_tlsf_free (heap->tlsf, heap->objects[4]);
}

/* The links of a free block that another joins: of one in the list, of the
 * first, and of one that keeps its place there. */
static void
link_behind (Heap *heap)
{
  heap->pieces[3]->next = sli_tlsf_none (heap->tlsf);
  slice_tlsf_free (heap->tlsf, heap->objects[0]);
}

static void
link_first (Heap *heap)
{
  heap->pieces[1]->prev = sli_tlsf_none (heap->tlsf);
  slice_tlsf_free (heap->tlsf, heap->objects[0]);
}

static void
link_kept (Heap *heap)
{
  memset (heap->objects[0], 0, SIZE);
  heap->rest->prev = heap->pieces[0];
  slice_tlsf_resize (heap->tlsf, heap->objects[N_OBJECTS - 1], SIZE + 16);
}

/* A live object's header, and that of the one behind. */
static void
live_stride (Heap *heap)
{
  heap->pieces[5]->stride_and_bits = BUFFER_BYTES;
  slice_tlsf_free (heap->tlsf, heap->objects[5]);
}

static void
live_before (Heap *heap)
{
  heap->pieces[6]->stride_and_bits |= BLOCK_BEFORE_FREE;
  slice_tlsf_free (heap->tlsf, heap->objects[5]);
}

static const struct
{
  const char *path;
  void (*body) (Heap *heap);
} stops[] = {
  { "/slice/tlsf-damage/small-header", small_header },
  { "/slice/tlsf-damage/large-header", large_header },
  { "/slice/tlsf-damage/large-link", large_link },
  { "/slice/tlsf-damage/last-word-far", last_word_far },
  { "/slice/tlsf-damage/last-word-near", last_word_near },
  { "/slice/tlsf-damage/link-behind", link_behind },
  { "/slice/tlsf-damage/link-first", link_first },
  { "/slice/tlsf-damage/link-kept", link_kept },
  { "/slice/tlsf-damage/live-stride", live_stride },
  { "/slice/tlsf-damage/live-before", live_before },
};

static void
test_stops (const void *data)
{
  unsigned i = GPOINTER_TO_UINT (data);
  Heap heap;

  if (!g_test_subprocess ())
    {
      expect_error (332, "the header at * was overwritten");
      return;
    }
  heap_make (&heap);
  stops[i].body (&heap);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (is_annotated ())
    return g_test_run (); /* the words are hidden from us, too */
  g_test_add_func ("/slice/tlsf-damage/pieces", test_pieces);
  g_test_add_func ("/slice/tlsf-damage/lists", test_lists);
  for (unsigned i = 0; i < G_N_ELEMENTS (stops); i++)
    g_test_add_data_func (stops[i].path, GUINT_TO_POINTER (i), test_stops);
  return g_test_run ();
}
