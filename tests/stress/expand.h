/* expand.h - from a recorded tree of blocks to plain allocations and frees
 *
 * A program that uses contexts frees a whole tree by one call.  Slices have
 * no trees, so the tree is followed here, before anything is timed, and each
 * block gets a free of its own.
 *
 * Each call returns NULL, or what is wrong with it; the expansion is then as
 * it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_EXPAND_H
#define STRESS_EXPAND_H

#include <tests/stress/stress.h>

typedef struct Expansion Expansion;

/* What a node is. */
typedef enum
{
  NODE_BLOCK,    /* a block of its own */
  NODE_BARE,     /* has children only: an arena that is not modelled */
  NODE_COLLECTED /* a block that a sweep of its context may free */
} NodeKind;

Expansion *expansion_new (void);
/* Frees all that is alive and moves the operations to `stream`. */
void expansion_finish (Expansion *expansion, Stream *stream);
void expansion_destroy (Expansion *expansion);

/* A node under a parent (0: none). */
const char *expansion_add (Expansion *expansion, uint32_t id, uint32_t parent,
                           NodeKind kind, uint32_t size, bool zeroed);
/* The same without an id: it goes with its parent. */
const char *expansion_add_nameless (Expansion *expansion, uint32_t parent,
                                    uint32_t size);
const char *expansion_resize (Expansion *expansion, uint32_t id,
                              uint32_t size);
/* A node and all beneath it. */
const char *expansion_free (Expansion *expansion, uint32_t id);
/* To another parent. */
const char *expansion_move (Expansion *expansion, uint32_t id,
                            uint32_t parent);
/* All children of a node. */
const char *expansion_adopt (Expansion *expansion, uint32_t new_parent,
                             uint32_t old_parent);
/* A sweep of a context: what it collects and is not marked since
 * expansion_sweep_begin() is freed by expansion_sweep_end(). */
const char *expansion_sweep_begin (Expansion *expansion, uint32_t id);
const char *expansion_mark (Expansion *expansion, uint32_t id);
const char *expansion_sweep_end (Expansion *expansion, uint32_t id);

#endif
