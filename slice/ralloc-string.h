/* ralloc-string.h - strings that are nodes
 *
 * Public; a part of ralloc.h, which programs include.  Its rules on order,
 * memory, threads and misuse hold here, too.
 *
 * Design: chapter 7.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_RALLOC_STRING_H
#define SLICE_RALLOC_STRING_H

#include <slice/ralloc.h>

SLICE_BEGIN_DECLS

/** A copy of a string; NULL of NULL.  Source: Mesa ralloc_strdup(). */
SLICE_API char *ralloc_strdup (const void *ctx, const char *str)
    SLICE_ATTR_MALLOC;
/** A copy of at most n bytes of a string, with a NUL; NULL of NULL.
 * Source: Mesa ralloc_strndup(). */
SLICE_API char *ralloc_strndup (const void *ctx, const char *str, size_t n)
    SLICE_ATTR_MALLOC;

/** Appends to a string that is a node.
 *
 * @param dest  where the string is; neither it nor the string may be NULL;
 *              updated when the string moves
 * @param str   what to append, not NULL
 * @return      false, *dest untouched, with errno ENOMEM; or EINVAL if the
 *              string is being destroyed
 *
 * The block grows geometrically: n appends of one byte move the string O(log
 * n) times.  With always-malloc, valgrind and the sanitizers each append moves
 * it, because blocks have their exact size there, so that the tool finds an
 * overrun.
 *
 * Errors: NULL where none may be (210).  In its own destructor, or in that of
 *   a descendant, a string that is being freed has a warning (211), also if str
 *   is empty.
 * Threads: tree.  Cost: O(length of both); ralloc_str_append() does not
 *   look for the end.
 * Source: Mesa ralloc_strcat().
 */
SLICE_API bool ralloc_strcat (char **dest, const char *str);
/** As ralloc_strcat(), at most n bytes of str. */
SLICE_API bool ralloc_strncat (char **dest, const char *str, size_t n);
/** As ralloc_strcat() for known lengths: `existing_length` of *dest and
 * `str_size` bytes of str, none of which is looked at for a NUL; str may be
 * NULL if str_size is 0.
 * Source: Mesa ralloc_str_append(). */
SLICE_API bool ralloc_str_append (char **dest, const char *str,
                                  size_t existing_length, size_t str_size);

/** A new string by printf's rules.
 *
 * @return  the string, or NULL (no memory, or a format that libc refuses)
 *
 * Cost: one formatting where the text is shorter than 256 bytes.
 * Source: Mesa ralloc_asprintf().
 */
SLICE_API char *ralloc_asprintf (const void *ctx, const char *fmt, ...)
    SLICE_ATTR_PRINTF (2, 3) SLICE_ATTR_MALLOC;
/** As ralloc_asprintf(). */
SLICE_API char *ralloc_vasprintf (const void *ctx, const char *fmt,
                                  va_list args)
    SLICE_ATTR_PRINTF (2, 0) SLICE_ATTR_MALLOC;

/** Overwrites a string from an index on with formatted text.
 *
 * @param str    where the string is; if *str is NULL a root is allocated
 * @param start  index to write at; afterwards that of the new end
 * @return       false with *str as it was: no memory, a format that libc
 *               refuses, or a string that is being destroyed (EINVAL)
 *
 * The string itself may be among the arguments.
 *
 * Errors: a string that is being destroyed (211), as in ralloc_strcat().
 * Cost: one formatting of a text of less than 256 bytes, two of a longer one,
 *   and a copy.
 * Source: Mesa ralloc_asprintf_rewrite_tail().
 */
SLICE_API bool ralloc_asprintf_rewrite_tail (char **str, size_t *start,
                                             const char *fmt, ...)
    SLICE_ATTR_PRINTF (3, 4);
/** As ralloc_asprintf_rewrite_tail(). */
SLICE_API bool ralloc_vasprintf_rewrite_tail (char **str, size_t *start,
                                              const char *fmt, va_list args)
    SLICE_ATTR_PRINTF (3, 0);
/** Appends formatted text; if *str is NULL a root is allocated.  Returns false
 * as ralloc_asprintf_rewrite_tail() does.
 * Source: Mesa ralloc_asprintf_append(). */
SLICE_API bool ralloc_asprintf_append (char **str, const char *fmt, ...)
    SLICE_ATTR_PRINTF (2, 3);
/** As ralloc_asprintf_append(). */
SLICE_API bool ralloc_vasprintf_append (char **str, const char *fmt,
                                        va_list args)
    SLICE_ATTR_PRINTF (2, 0);

SLICE_END_DECLS

#endif
