/* list.h - doubly linked rings through their members
 *
 * Layer: base.
 *
 *      head <--> first <--> ... <--> last <--> (head)
 *
 * A head points to itself when the ring is empty.  A link that is in no ring
 * points to itself as well.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_LIST_H
#define SLI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include "port/compiler.h"

typedef struct Link
{
  struct Link *next;
  struct Link *previous;
} Link;

/* The structure that holds a link as its member. */
#define LINK_OWNER(link, type, member) \
  ((type *) (void *) ((char *) (link) - offsetof (type, member)))

/* A ring has no NULL in it, which clang's analyzer can't know. */
#define LINK_IS_NONE(link) (IS_ANALYZED && (link) == NULL)

#define LINK_EACH(link, head)                                                 \
  for (Link *link = (head)->next; link != (head) && !LINK_IS_NONE (link);     \
       link = link->next)

static inline void
link_init (Link *link)
{
  link->next = link->previous = link;
}

static inline bool
link_is_alone (const Link *link)
{
  return link->next == link;
}

static inline void
link_after (Link *link, Link *position)
{
  link->next = position->next;
  link->previous = position;
  position->next->previous = link;
  position->next = link;
}

static inline void
link_before (Link *link, Link *position)
{
  link_after (link, position->previous);
}

static inline void
link_remove (Link *link)
{
  link->next->previous = link->previous;
  link->previous->next = link->next;
  link_init (link);
}

#endif
