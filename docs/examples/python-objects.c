/* python-objects.c - an embedded Python on the heap
 *
 * Python frees by address alone, as malloc does, so its hook leads to heap.h.
 * Set before Py_Initialize(), for all three domains.
 *
 * SPDX-License-Identifier: MIT
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <slice/heap.h>
#include <slice/stats.h>

static void *
python_alloc (void *ctx, size_t size)
{
  return slice_heap_alloc (size);
}

/* Python has seen to it that the product is no more than PY_SSIZE_T_MAX. */
static void *
python_alloc0 (void *ctx, size_t n, size_t size)
{
  return slice_heap_alloc0 (n * size);
}

static void *
python_realloc (void *ctx, void *block, size_t size)
{
  return slice_heap_realloc (block, size);
}

static void
python_free (void *ctx, void *block)
{
  slice_heap_free (block);
}

static PyMemAllocatorEx by_slices
    = { NULL, python_alloc, python_alloc0, python_realloc, python_free };

static const char program[]
    = "words = [{'name': f'word {i}', 'length': i} for i in range(20000)]\n"
      "print('sum', sum(word['length'] for word in words))\n"
      "import sys; sys.stdout.flush()\n";

int
main (void)
{
  static SliceStats stats;
  int status;

  PyMem_SetAllocator (PYMEM_DOMAIN_RAW, &by_slices);
  PyMem_SetAllocator (PYMEM_DOMAIN_MEM, &by_slices);
  PyMem_SetAllocator (PYMEM_DOMAIN_OBJ, &by_slices);
  Py_InitializeEx (0);
  status = PyRun_SimpleString (program);
  slice_get_stats (&stats);
  if (Py_FinalizeEx () < 0 || status != 0)
    return 1;
  printf ("slices: more than 60000 %s\n",
          stats.live_blocks > 60000 ? "in use" : "expected");
  return 0;
}
