/* arena-private.h - makes an arena in memory of the caller
 *
 * Layer: arena.  For arenas that are nodes of a context's tree: the node is
 * the control block, and its destructor ends the arena.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_ARENA_ARENA_PRIVATE_H
#define SLI_ARENA_ARENA_PRIVATE_H

#include <slice/arena.h>

/* The size of control block and embedded block together, with the options
 * filled in.  0 with errno EINVAL if an option is out of range. */
size_t sli_arena_linear_bytes (const SliceArenaOptions *given,
                               SliceArenaOptions *options);
size_t sli_arena_stack_bytes (const SliceArenaOptions *given,
                              SliceArenaOptions *options);
size_t sli_arena_pool_bytes (const SlicePoolOptions *given,
                             SlicePoolOptions *options);
size_t sli_arena_tlsf_bytes (const SliceArenaOptions *given,
                             SliceArenaOptions *options);

/* Destroy calls `end' with the control block. */
SliceLinear *sli_arena_linear_setup (void *memory,
                                     const SliceArenaOptions *options,
                                     void (*end) (void *));
SliceStack *sli_arena_stack_setup (void *memory,
                                   const SliceArenaOptions *options,
                                   void (*end) (void *));
SlicePool *sli_arena_pool_setup (void *memory, const SlicePoolOptions *options,
                                 void (*end) (void *));
/* NULL with errno ENOMEM if there is no memory for the first region. */
SliceTlsf *sli_arena_tlsf_setup (void *memory,
                                 const SliceArenaOptions *options,
                                 void (*end) (void *));

/* Ends an arena, but does not free its control block. */
void sli_arena_linear_fini (void *linear);
void sli_arena_stack_fini (void *stack);
void sli_arena_pool_fini (void *pool);
void sli_arena_tlsf_fini (void *tlsf);

#endif
