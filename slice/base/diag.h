/* diag.h - messages of one line, and the end of the program
 *
 * Layer: base.  Messages go to file descriptor 2 by write(2): no stdio, no
 * locale, no memory.  Each has the form
 *
 *   slice: error NUMBER: what: details [thread N]
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_DIAG_H
#define SLI_BASE_DIAG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "errors.h"
#include "port/os/os.h"

/* An address of code, and the file that it was loaded from, which may have been
 * unloaded; NULL: unknown. */
typedef struct
{
  const void *address;
  const OsModule *file;
} CodePlace;

/* Formats like a very small printf: %s, %u (unsigned), %d (int), %zu, %llu, %p
 * (pointer), %a (a CodePlace: FILE+0xOFFSET, as addr2line takes both, or the
 * address), %%.  Cuts at to_bytes - 1 characters; returns the length. */
size_t sli_diag_format (char *to, size_t to_bytes, const char *format, ...);

/* Writes "slice: error NUMBER: ..." with the format above and aborts. */
_Noreturn void sli_diag_abort (ErrorNumber number, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* Writes "slice: warning NUMBER: ..." and returns. */
void sli_diag_warn (ErrorNumber number, const char *format, ...);

#define DIAG_SIZE_UNKNOWN SIZE_MAX

/* Where a block was allocated and freed last: return addresses, NULL if
 * unknown, and the threads' ids. */
typedef struct
{
  CodePlace alloc_site, free_site;
  unsigned alloc_thread, free_thread;
} BlockSites;

/* What is known of a block that was misused; 0 and NULL: unknown. */
typedef struct
{
  const void *address;
  size_t given_bytes; /* the call's; DIAG_SIZE_UNKNOWN if it takes none */
  size_t real_bytes;  /* its real size */
  size_t slack_bytes; /* at a node's end, behind its payload */
  bool is_inside;     /* the pointer is inside the block, and no node's */
  const char *words;  /* further text */
  const void *wrong;  /* bytes of which some were overwritten; NULL: none */
  size_t n_wrong;     /* the number of these bytes, at least 1 */
  uint8_t expected;   /* the value that each should have */
  BlockSites sites;
} BlockFacts;

/* The misuse of a block.  operation is the function the user called; block is
 * NULL if it is the call that is wrong, not a block. */
_Noreturn void sli_diag_misuse (ErrorNumber number, const char *operation,
                                const BlockFacts *block);
/* As sli_diag_abort() and sli_diag_warn(), about a block: real_bytes and the
 * sites follow, where they are known. */
_Noreturn void sli_diag_abort_about (ErrorNumber number,
                                     const BlockFacts *block,
                                     const char *format, va_list arguments)
    __attribute__ ((format (printf, 3, 0)));
void sli_diag_warn_about (ErrorNumber number, const BlockFacts *block,
                          const char *format, va_list arguments)
    __attribute__ ((format (printf, 3, 0)));
/* Sets the names that messages use for slice_alloc(), slice_free1() and
 * slice_free_chain(), where slices serve the calls of a layer above (malloc and
 * free, for instance); NULL: as it was. */
void sli_diag_rename (const char *alloc_name, const char *free_name,
                      const char *chain_name);
/* An invariant does not hold (see check.h). */
_Noreturn void sli_diag_broken (const char *file, int line,
                                const char *condition);

/* What is wrong with the memory that a page source returned. */
typedef enum
{
  BAD_SOURCE_UNUSABLE, /* not aligned, or not mapped */
  BAD_SOURCE_IN_USE,   /* given before, and not returned */
  N_BAD_SOURCES
} BadSource;

/* Warns (132), once in a row for a source and a cause. */
void sli_diag_bad_source (BadSource cause, const void *source,
                          const char *name, const void *memory);

/* Tests: called with each message instead of writing it; it may longjmp away
 * from a fatal one.  NULL: none. */
typedef void (*DiagHook) (int number, const char *line);
void sli_diag_set_hook (DiagHook hook);

/* The program's own, called once, after the line and before abort().  The
 * caller sees to it that no two threads set it at once. */
typedef void (*DiagLastWords) (int number, const char *line, void *data);
void sli_diag_set_last_words (DiagLastWords call, void *data);

#endif
