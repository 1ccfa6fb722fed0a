/* ralloc-extension.c - destructors, names and types of nodes
 *
 * Layer: context.  No locks.  The record is allocated when it is first needed
 * and freed with its node; it does not move when the node does.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <slice/ralloc.h>

#include "extension.h"
#include "context/node-memory.h"
#include "context/node.h"
#include "context/owned.h"
#include "context/ralloc/debug/kept-text.h"
#include "context/ralloc/free/suspend.h"

/* --- the record ---------------------------------------------------------- */

CONTEXT_TEXT static Extension *
extension_init (void *payload, Extension *extension)
{
  Node *node = node_of (payload);

  memset (extension, 0, sizeof *extension);
  extension->owner = payload;
  extension->child = node->child;
  if (extension->child != NULL)
    node_of (extension->child)->pprev = &extension->child;
  node->child = extension;
  node->parent |= NODE_EXT;
  assert_slow (sli_context_node_is_right (payload));
  return extension;
}

CONTEXT_TEXT Extension *
sli_context_extend (void *payload)
{
  Extension *extension = node_extension (node_of (payload));

  if (extension != NULL)
    return extension;
  extension = slice_try_alloc (sizeof *extension);
  return extension != NULL ? extension_init (payload, extension) : NULL;
}

CONTEXT_TEXT static void
name_drop (Extension *extension)
{
  if (extension->name_bytes > 0 && (extension->name_bytes & NAME_KEPT) == 0)
    slice_free1 (extension->name_bytes, (void *) (uintptr_t) extension->name);
  extension->name = NULL;
  extension->name_bytes = 0;
}

CONTEXT_TEXT void
sli_context_unextend (Node *node)
{
  Extension *extension = node->child;

  if (UNLIKELY (extension->stays))
    sli_context_walks_left (extension);
  if (UNLIKELY (extension->search_serial != 0) && context_has_suspended ())
    sli_context_searches_leave (extension);
  name_drop (extension);
  sli_limit_drop (extension);
  sli_reference_target_freed (extension);
  node->child = extension->child;
  node->parent &= ~(uintptr_t) NODE_EXT;
  slice_free1 (sizeof *extension, extension);
}

static Extension *
extension_of (const void *ptr, const char *operation)
{
  void *payload = (void *) (uintptr_t) ptr;

  if (UNLIKELY (payload == NULL))
    sli_diag_abort (ERROR_NODE_NULL, "NULL where a node must be: %s",
                    operation);
  sli_context_check (payload, operation);
  return sli_context_extend (payload);
}

/* The record of a checked node, if it has one. */
static Extension *
extension_if (const void *ptr, const char *operation)
{
  return ptr != NULL ? node_extension (sli_context_check (ptr, operation))
                     : NULL;
}

/* --- destructors --------------------------------------------------------- */

CONTEXT_TEXT static bool
destructor_set (const void *ptr, void (*destructor) (void *),
                const char *operation)
{
  Extension *extension;

  /* Clearing needs no record. */
  if (destructor == NULL && ptr != NULL
      && extension_if (ptr, operation) == NULL)
    return true;
  extension = extension_of (ptr, operation);
  if (extension == NULL)
    return false;
  extension->destructor = destructor;
  return true;
}

CONTEXT_TEXT bool
ralloc_try_set_destructor (const void *ptr, void (*destructor) (void *))
{
  return destructor_set (ptr, destructor, "ralloc_try_set_destructor");
}

CONTEXT_TEXT void
ralloc_set_destructor (const void *ptr, void (*destructor) (void *))
{
  if (UNLIKELY (!destructor_set (ptr, destructor, "ralloc_set_destructor")))
    {
      /* slice_alloc() calls the failure handler and does not return NULL. */
      extension_init ((void *) (uintptr_t) ptr,
                      slice_alloc (sizeof (Extension)));
      destructor_set (ptr, destructor, "ralloc_set_destructor");
    }
}

bool
ralloc_set_refusing_destructor (const void *ptr, bool (*refuses) (void *))
{
  Extension *extension
      = extension_of (ptr, "ralloc_set_refusing_destructor");

  if (extension == NULL)
    return false;
  extension->refuses = refuses;
  if (context_has_suspended ())
    sli_context_walks_touched (ptr, NULL);
  return true;
}

/* --- nodes that the library uses itself ---------------------------------- */

/* The end function of each kind. */
static void (*owned_ends[N_OWNED]) (void *);

bool
sli_context_own (void *payload, OwnedKind kind, void (*end) (void *))
{
  Extension *extension = sli_context_extend (payload);

  if (extension == NULL)
    return false;
  STORE (&owned_ends[kind], end);
  extension->kind = (uint8_t) (EXT_OWNED + kind);
  return true;
}

CONTEXT_TEXT void (*
sli_context_take_destructor (Extension *extension)) (void *)
{
  void (*destructor) (void *) = extension->destructor;

  extension->destructor = NULL;
  if (destructor == NULL && extension->kind >= EXT_OWNED)
    {
      destructor = LOAD (&owned_ends[extension->kind - EXT_OWNED]);
      extension->kind = EXT_ENDED;
    }
  return destructor;
}

/* --- names and types ----------------------------------------------------- */

bool
ralloc_set_name_const (const void *ptr, const char *name)
{
  Extension *extension = extension_of (ptr, "ralloc_set_name_const");

  if (extension == NULL)
    return false;
  name_drop (extension);
  extension->name = name;
  if (name != NULL)
    extension->name_bytes = NAME_KEPT | sli_kept_sum (name);
  return true;
}

bool
ralloc_set_name (const void *ptr, const char *name)
{
  Extension *extension = extension_of (ptr, "ralloc_set_name");
  size_t bytes = name != NULL ? strlen (name) + 1 : 0;
  char *copy = NULL;

  if (extension == NULL)
    return false;
  if (name != NULL)
    {
      copy = slice_try_alloc (bytes);
      if (copy == NULL)
        return false;
      memcpy (copy, name, bytes);
    }
  name_drop (extension);
  extension->name = copy;
  extension->name_bytes = bytes;
  return true;
}

const char *
ralloc_get_name (const void *ptr)
{
  Extension *extension = extension_if (ptr, "ralloc_get_name");

  return extension != NULL ? extension->name : NULL;
}

static bool
name_is (const void *ptr, const char *name)
{
  const Extension *extension = node_extension (node_of (ptr));

  return extension != NULL && extension->name != NULL
         && (extension->name == name || strcmp (extension->name, name) == 0);
}

void *
ralloc_find_parent_by_name (const void *ptr, const char *name)
{
  void *at = NULL;

  if (ptr != NULL)
    at = node_parent (sli_context_check (ptr, "ralloc_find_parent_by_name"));
  while (at != NULL && !name_is (at, name))
    at = node_parent (node_of (at));
  return at;
}

void *
ralloc_named_const (const void *ctx, size_t size, const char *name)
{
  void *ptr = sli_context_zalloc (ctx, size, "ralloc_named_const");

  if (ptr != NULL && !ralloc_set_name_const (ptr, name))
    {
      ralloc_free (ptr);
      return NULL;
    }
  return ptr;
}

static void *
check_name (const void *ptr, const char *name, const char *operation)
{
  if (ptr == NULL)
    return NULL;
  sli_context_check (ptr, operation);
  return name_is (ptr, name) ? (void *) (uintptr_t) ptr : NULL;
}

void *
ralloc_check_name (const void *ptr, const char *name)
{
  return check_name (ptr, name, "ralloc_check_name");
}

void *
ralloc_check_name_abort (const void *ptr, const char *name,
                         const char *place)
{
  void *found = check_name (ptr, name, "ralloc_check_name_abort");

  if (UNLIKELY (found == NULL))
    {
      const char *real = ptr != NULL ? ralloc_get_name (ptr) : "NULL";

      sli_context_abort (ERROR_NODE_TYPE, ptr,
                         "%p is no `%s' but `%s': at %s", ptr, name,
                         real != NULL ? real : "(unnamed)",
                         place != NULL ? place : "?");
    }
  return found;
}
