/* arena-private.h - making an arena in memory that is there already
 *
 * Layer: arena.  For arenas that are nodes of a context's tree: the node is the
 * control block, and its destructor the arena's end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_ARENA_PRIVATE_H
#define SLI_ARENA_ARENA_PRIVATE_H

#include <slice/arena.h>

/* Bytes of control block and embedded block together; 0 with errno EINVAL if
 * the options are bad, which are filled in else. */
size_t sli_arena_linear_bytes (const SliceArenaOptions *given,
                               SliceArenaOptions *options);
size_t sli_arena_stack_bytes (const SliceArenaOptions *given,
                              SliceArenaOptions *options);
size_t sli_arena_pool_bytes (const SlicePoolOptions *given,
                             SlicePoolOptions *options);
size_t sli_arena_tlsf_bytes (const SliceArenaOptions *given,
                             SliceArenaOptions *options);

/* `end` is what destroy calls with the control block. */
SliceLinear *sli_arena_linear_setup (void *memory,
                                     const SliceArenaOptions *options,
                                     void (*end) (void *));
SliceStack *sli_arena_stack_setup (void *memory,
                                   const SliceArenaOptions *options,
                                   void (*end) (void *));
SlicePool *sli_arena_pool_setup (void *memory, const SlicePoolOptions *options,
                                 void (*end) (void *));
/* NULL with errno ENOMEM if there is none for the first region. */
SliceTlsf *sli_arena_tlsf_setup (void *memory,
                                 const SliceArenaOptions *options,
                                 void (*end) (void *));

/* All but freeing the control block. */
void sli_arena_linear_fini (void *linear);
void sli_arena_stack_fini (void *stack);
void sli_arena_pool_fini (void *pool);
void sli_arena_tlsf_fini (void *tlsf);

#endif
