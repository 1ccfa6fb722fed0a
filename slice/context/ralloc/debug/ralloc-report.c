/* ralloc-report.c - reports of trees; the list of roots
 *
 * Layer: context.  One lock, for the list of roots, held for a few stores and
 * during no call.
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"
#include "alloc/untraced-slice.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <slice/ralloc.h>

#include "debug.h"
#include "kept-text.h"
#include "context/gc/gc.h"
#include "context/node.h"
#include "context/ralloc/extension.h"
#include "port/os/os.h"

enum
{
  INDENT_DEPTH_MAX = 40, /* deeper levels are indented no further */
  TOTALS_DEPTH_MAX = 8   /* deeper nodes don't get subtree totals, which would
                            make a report of a deep tree quadratic */
};

static struct
{
  pthread_mutex_t mutex;
  void *first;      /* an Extension; linked by root.next, root.pprev */
  uint8_t process;  /* forks since the first process, and 1; never 0.  A root
                       keeps the number of the process that made it */
  bool forks_known; /* fork_child() is registered */
  bool report;      /* at exit */
  bool full;
} roots = { .mutex = PTHREAD_MUTEX_INITIALIZER, .process = 1 };

/* --- the list of roots ---------------------------------------------------- */

static void
roots_lock (void)
{
  pthread_mutex_lock (&roots.mutex);
}

static void
roots_unlock (void)
{
  pthread_mutex_unlock (&roots.mutex);
}

void
sli_roots_add (void *payload)
{
  /* Without memory for the record, the root is just not on the list. */
  Extension *extension;

  if ((sli_context_mode & MODE_ROOTS) == 0)
    return;
  extension = sli_context_extend (payload);
  if (extension == NULL || extension->tracked != 0)
    return;
  roots_lock ();
  extension->tracked = roots.process;
  extension->root.next = roots.first;
  extension->root.pprev = &roots.first;
  if (roots.first != NULL)
    ((Extension *) roots.first)->root.pprev = &extension->root.next;
  roots.first = extension;
  roots_unlock ();
}

void
sli_roots_remove (void *payload)
{
  Extension *extension = node_extension (node_of (payload));

  if (extension == NULL || extension->tracked == 0)
    return;
  roots_lock ();
  *extension->root.pprev = extension->root.next;
  if (extension->root.next != NULL)
    ((Extension *) extension->root.next)->root.pprev = extension->root.pprev;
  extension->tracked = 0;
  roots_unlock ();
}

void *
ralloc_mark_place (const void *ptr, const char *file, unsigned line)
{
  void *payload = (void *) (uintptr_t) ptr;
  Extension *extension;

  if (ptr == NULL || sli_context_mode == 0)
    return payload;
  sli_context_check (ptr, "ralloc_mark_place");
  if (sli_context_mode & MODE_DEBUG)
    {
      extension = sli_context_extend (payload);
      if (extension != NULL)
        {
          extension->file = file;
          extension->file_sum
              = (file != NULL ? sli_kept_sum (file) : 0)
                & ((1u << PLACE_SUM_BITS) - 1);
          extension->line = line & ((1u << PLACE_LINE_BITS) - 1);
        }
    }
  return payload;
}

/* A child of a fork may free the roots of its parent, but they are the
 * parent's. */
static void
fork_child (void)
{
  roots.process++;
  if (roots.process == 0)
    roots.process = 1;
  roots_unlock ();
}

void
ralloc_track_roots (bool on)
{
  Extension *extension;

  if (!sli_context_init ())
    return;
  if (on)
    {
      if (!roots.forks_known)
        roots.forks_known
            = pthread_atfork (roots_lock, roots_unlock, fork_child) == 0;
      sli_context_set_modes (MODE_ROOTS, true);
      return;
    }
  sli_context_set_modes (MODE_ROOTS, false);
  roots_lock ();
  for (extension = roots.first; extension != NULL;
       extension = extension->root.next)
    extension->tracked = 0;
  roots.first = NULL;
  roots_unlock ();
}

/* --- strings ------------------------------------------------------------- */

/* The number of bytes that follow the first one of a character, and the range
 * of the second: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
static unsigned
utf8_more (unsigned char first, unsigned char *low, unsigned char *high)
{
  *low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  *high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (first >= 0xf0)
    return first <= 0xf4 ? 3 : 0;
  return first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
}

/* The bytes of the UTF-8 character at `text', or 0 if there is none.  (A NUL
 * continues no character, so no byte behind it is read.) */
static unsigned
utf8_length (const unsigned char *text)
{
  unsigned char low;
  unsigned char high;
  unsigned n = utf8_more (text[0], &low, &high);
  unsigned i;

  if (text[0] < 0x80)
    return 1;
  if (n == 0 || text[1] < low || text[1] > high)
    return 0;
  for (i = 2; i <= n; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  return n + 1;
}

/* The code of a control character of so many bytes; 0: it is none. */
static unsigned
control_code (const unsigned char *text, unsigned n)
{
  if (n == 1 && (*text < ' ' || *text == 0x7f))
    return *text;
  return n == 2 && text[0] == 0xc2 && text[1] < 0xa0 ? text[1] : 0;
}

/* Prints a string in one line.  Names may have any bytes. */
static void
print_escaped (FILE *f, const char *string, const char *with_backslash)
{
  const unsigned char *text = (const unsigned char *) string;
  unsigned n;

  for (; *text != '\0'; text += n != 0 ? n : 1)
    {
      n = utf8_length (text);
      if (n == 0)
        fputs ("\\ufffd", f);
      else if (strchr (with_backslash, *text) != NULL)
        fprintf (f, "\\%c", *text);
      else if (control_code (text, n) != 0)
        fprintf (f, "\\u%04x", control_code (text, n));
      else
        fwrite (text, 1, n, f);
    }
}

static void
json_string (FILE *f, const char *string)
{
  fputc ('"', f);
  print_escaped (f, string, "\"\\");
  fputc ('"', f);
}

/* --- the line of a node -------------------------------------------------- */

static const char *
kind_of (const void *payload)
{
  const Node *node = node_of (payload);
  const Extension *extension = node_extension (node);

  if (extension != NULL && extension->kind == EXT_GC)
    return "gc";
  if (extension != NULL && extension->kind == EXT_REFERENCE)
    return "reference";
  if ((node->parent & NODE_HAS_PREFIX)
      && ((const size_t *) node)[-1] == KIND_LINEAR)
    return "linear";
  return "node";
}

static size_t
own_bytes (const void *payload, const char *operation)
{
  return sli_context_payload_bytes (payload, operation)
         + (sli_gc_is_context (payload) ? sli_gc_bytes (payload) : 0);
}

/* A node's name for people; NULL: it has none. */
static const char *
name_of (const Extension *extension)
{
  if (extension == NULL || (extension->name_bytes & NAME_KEPT) == 0)
    return extension != NULL ? extension->name : NULL;
  return sli_kept_text (extension->name, (uint32_t) extension->name_bytes,
                        NAME_SUM_BITS);
}

/* The file of its place. */
static const char *
file_of (const Extension *extension)
{
  return sli_kept_text (extension->file, extension->file_sum, PLACE_SUM_BITS);
}

static void
text_enter (FILE *f, const void *payload, unsigned depth)
{
  const Extension *extension = node_extension (node_of (payload));
  const char *name = name_of (extension);
  size_t n = depth <= TOTALS_DEPTH_MAX ? ralloc_total_nodes (payload) : 1;

  fprintf (f, "%*s",
           2 * (int) (depth < INDENT_DEPTH_MAX ? depth : INDENT_DEPTH_MAX),
           "");
  print_escaped (f, name != NULL ? name : kind_of (payload), "\\");
  fprintf (f, ": %zu bytes", own_bytes (payload, "ralloc_report"));
  if (name != NULL && kind_of (payload)[0] != 'n')
    fprintf (f, " (%s)", kind_of (payload));
  if (n > 1)
    fprintf (f, ", %zu bytes in %zu nodes", ralloc_total_size (payload), n);
  if (extension != NULL && extension->references != NULL)
    fprintf (f, ", %zu references", ralloc_reference_count (payload));
  if (extension != NULL && extension->limit != NULL)
    fprintf (f, ", %zu bytes held under a limit",
             ralloc_limit_used (payload));
  if (extension != NULL && extension->file != NULL)
    {
      fputs (", at ", f);
      print_escaped (f, file_of (extension), "\\");
      fprintf (f, ":%u", (unsigned) extension->line);
    }
  fputc ('\n', f);
}

static void
json_enter (FILE *f, const void *payload, unsigned depth)
{
  const Extension *extension = node_extension (node_of (payload));

  fprintf (f, "{\"kind\": \"%s\"", kind_of (payload));
  if (extension != NULL && extension->name != NULL)
    {
      fputs (", \"name\": ", f);
      json_string (f, name_of (extension));
    }
  fprintf (f, ", \"bytes\": %zu", own_bytes (payload, "ralloc_report_json"));
  if (depth <= TOTALS_DEPTH_MAX)
    fprintf (f, ", \"total_bytes\": %zu, \"total_nodes\": %zu",
             ralloc_total_size (payload), ralloc_total_nodes (payload));
  if (extension != NULL && extension->references != NULL)
    fprintf (f, ", \"references\": %zu", ralloc_reference_count (payload));
  if (extension != NULL && extension->limit != NULL)
    fprintf (f, ", \"limit_used\": %zu", ralloc_limit_used (payload));
  if (extension != NULL && extension->file != NULL)
    {
      fputs (", \"file\": ", f);
      json_string (f, file_of (extension));
      fprintf (f, ", \"line\": %u", (unsigned) extension->line);
    }
}

/* --- trees --------------------------------------------------------------- */

void
ralloc_report (FILE *f, const void *ptr)
{
  const void *at;
  const void *up;
  unsigned depth;

  if (ptr == NULL)
    {
      sli_roots_print (f, true);
      return;
    }
  sli_context_check (ptr, "ralloc_report");
  for (at = ptr; at != NULL; at = sli_context_walk (ptr, at))
    {
      depth = 0;
      for (up = at; up != ptr && depth <= INDENT_DEPTH_MAX; depth++)
        up = node_parent (node_of (up));
      text_enter (f, at, depth);
    }
}

/* Closes the brackets between a node that has no children and the next one. */
static const void *
json_leave (FILE *f, const void *top, const void *at, unsigned *depth)
{
  const void *next;

  for (;;)
    {
      fputc ('}', f);
      if (at == top)
        return NULL;
      next = node_next (node_of (at), at);
      if (next != NULL)
        {
          fputs (", ", f);
          return next;
        }
      fputc (']', f);
      at = node_parent (node_of (at));
      --*depth;
    }
}

static void
json_tree (FILE *f, const void *top)
{
  const void *at = top;
  unsigned depth = 0;

  while (at != NULL)
    {
      json_enter (f, at, depth);
      if (node_first_child (node_of (at)) != NULL)
        {
          fputs (", \"children\": [", f);
          at = node_first_child (node_of (at));
          depth++;
        }
      else
        at = json_leave (f, top, at, &depth);
    }
}

void
ralloc_report_json (FILE *f, const void *ptr)
{
  const Extension *extension;

  if (ptr != NULL)
    {
      sli_context_check (ptr, "ralloc_report_json");
      json_tree (f, ptr);
    }
  else
    {
      fputc ('[', f);
      for (extension = roots.first; extension != NULL;
           extension = extension->root.next)
        {
          json_tree (f, extension->owner);
          fputs (extension->root.next != NULL ? ", " : "", f);
        }
      fputc (']', f);
    }
  fputc ('\n', f);
}

/* The headers and records of a tree. */
static size_t
metadata_bytes (const void *top)
{
  size_t bytes = 0;
  const void *at;

  for (at = top; at != NULL; at = sli_context_walk (top, at))
    bytes += sizeof (Node)
             + (node_extension (node_of (at)) != NULL ? sizeof (Extension)
                                                      : 0);
  return bytes;
}

void
ralloc_print_info (FILE *f, const void *ptr, unsigned flags)
{
  if (ptr == NULL)
    return;
  sli_context_check (ptr, "ralloc_print_info");
  if ((flags & RALLOC_PRINT_INFO_SUMMARY_ONLY) == 0)
    ralloc_report (f, ptr);
  fprintf (f, "%zu nodes, %zu bytes of content, %zu bytes of metadata\n",
           ralloc_total_nodes (ptr), ralloc_total_size (ptr),
           metadata_bytes (ptr));
}

/* --- roots at exit ------------------------------------------------------- */

void
sli_roots_print (FILE *f, bool full)
{
  const Extension *extension;

  for (extension = roots.first; extension != NULL;
       extension = extension->root.next)
    if (full)
      ralloc_report (f, extension->owner);
    else
      text_enter (f, extension->owner, 0);
}

/* Runs after the program's exit functions and destructors, which may free
 * roots. */
__attribute__ ((destructor (101))) static void
report_at_exit (void)
{
  const Extension *extension;
  bool is_first = true;

  if (!roots.report)
    return;
  for (extension = roots.first; extension != NULL;
       extension = extension->root.next)
    if (extension->tracked == roots.process)
      {
        if (is_first)
          fputs ("slice: roots alive at exit:\n", stderr);
        is_first = false;
        if (roots.full)
          ralloc_report (stderr, extension->owner);
        else
          text_enter (stderr, extension->owner, 0);
      }
}

void
ralloc_report_at_exit (bool full)
{
  ralloc_track_roots (true);
  roots.report = true;
  roots.full = full;
}
