/* errors.h - the numbers of the contexts' messages
 *
 * Layer: context.  Stable for ever: no number is used again for another
 * message.  slice-errors(7) explains them, with those of the layers below
 * (base/errors.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CONTEXT_ERRORS_H
#define SLI_CONTEXT_ERRORS_H

enum
{
  /* The program is ended. */
  ERROR_NOT_A_NODE = 200,      /* no node at that address */
  ERROR_NODE_FREED = 201,      /* a node that was freed */
  ERROR_NODE_INTERIOR = 202,   /* into a block, not to a payload's start */
  ERROR_NODE_DAMAGED = 203,    /* links and neighbours do not fit */
  ERROR_NODE_CYCLE = 204,      /* a steal or adoption that closes a cycle */
  ERROR_NODE_PARENT = 205,     /* debug: reralloc names a wrong parent */
  ERROR_NOT_LINEAR = 206,      /* not a linear context */
  ERROR_NOT_GC = 207,          /* not a gc context or object, bad alignment */
  ERROR_NODE_TYPE = 208,       /* ralloc_get_type_abort() */
  ERROR_NODE_THREAD = 209,     /* debug: the tree belongs to another thread */
  ERROR_NODE_NULL = 210,       /* NULL where a string or node must be */
  ERROR_NODE_OVERRUN = 212,    /* hardened: bytes behind it were written */

  /* A warning, the program goes on. */
  ERROR_NODE_DYING = 211       /* a node being destroyed is kept or resized */
};

#endif
