/* trace-names.c - the operations by their names
 *
 * Tools.  SPDX-License-Identifier: MIT
 */
#include "tools/trace/format/read/trace-read.h"

const char *
sli_trace_op_name (unsigned op)
{
  static const char *const names[TRACE_N_OPS]
      = { [TRACE_OP_NONE] = "none",
          [TRACE_OP_MALLOC] = "malloc",
          [TRACE_OP_CALLOC] = "calloc",
          [TRACE_OP_REALLOC] = "realloc",
          [TRACE_OP_REALLOCARRAY] = "reallocarray",
          [TRACE_OP_MEMALIGN] = "memalign",
          [TRACE_OP_POSIX_MEMALIGN] = "posix_memalign",
          [TRACE_OP_ALIGNED_ALLOC] = "aligned_alloc",
          [TRACE_OP_VALLOC] = "valloc",
          [TRACE_OP_PVALLOC] = "pvalloc",
          [TRACE_OP_NEW] = "new",
          [TRACE_OP_NEW_ARRAY] = "new[]",
          [TRACE_OP_NEW_ALIGNED] = "new-aligned",
          [TRACE_OP_NEW_ARRAY_ALIGNED] = "new[]-aligned",
          [TRACE_OP_SLICE_ALLOC] = "slice_alloc",
          [TRACE_OP_CONTEXT_ALLOC] = "context-alloc",
          [TRACE_OP_LINEAR_ALLOC] = "linear-alloc",
          [TRACE_OP_MMAP] = "mmap",
          [TRACE_OP_REALLOC_KEPT] = "realloc-kept",
          [TRACE_OP_STACK_ALLOC] = "stack-alloc",
          [TRACE_OP_POOL_ALLOC] = "pool-alloc",
          [TRACE_OP_TLSF_ALLOC] = "tlsf-alloc",
          [TRACE_OP_FREE] = "free",
          [TRACE_OP_REALLOC_FREE] = "realloc-free",
          [TRACE_OP_DELETE] = "delete",
          [TRACE_OP_DELETE_ARRAY] = "delete[]",
          [TRACE_OP_DELETE_SIZED] = "delete-sized",
          [TRACE_OP_DELETE_ARRAY_SIZED] = "delete[]-sized",
          [TRACE_OP_SLICE_FREE] = "slice_free",
          [TRACE_OP_CONTEXT_FREE] = "context-free",
          [TRACE_OP_LINEAR_FREE] = "linear-free",
          [TRACE_OP_MUNMAP] = "munmap",
          [TRACE_OP_STACK_FREE] = "stack-free",
          [TRACE_OP_POOL_FREE] = "pool-free",
          [TRACE_OP_TLSF_FREE] = "tlsf-free",
          [TRACE_OP_SCOPE_BEGIN] = "scope-begin",
          [TRACE_OP_SCOPE_END] = "scope-end",
          [TRACE_OP_MARK] = "mark" };

  return op < TRACE_N_OPS && names[op] != NULL ? names[op] : "?";
}
