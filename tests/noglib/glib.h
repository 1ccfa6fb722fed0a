/* glib.h - what the unit tests use of GLib, for machines that have none
 *
 * Stands in for <glib.h> where a test is built for another processor or
 * another C library (check-cross.sh, check-musl.sh).  The names mean what
 * GLib's do; a subprocess is a fork of the test instead of a new process, since
 * an emulator need not be able to start one.  Tests of `make check' use GLib.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NOGLIB_GLIB_H
#define NOGLIB_GLIB_H

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>

typedef int gboolean;
typedef int gint;
typedef unsigned guint;
typedef char gchar;
typedef size_t gsize;
typedef ssize_t gssize;
typedef int32_t gint32;
typedef uint32_t guint32;
typedef int64_t gint64;
typedef uint64_t guint64;
typedef void *gpointer;
typedef const void *gconstpointer;
typedef void (*GDestroyNotify) (gpointer);
typedef void (*GTestFunc) (void);
typedef void (*GTestDataFunc) (gconstpointer);

#define TRUE 1
#define FALSE 0
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, low, high) MAX (low, MIN (x, high))
#define G_N_ELEMENTS(array) (sizeof (array) / sizeof ((array)[0]))
#define G_MAXINT INT_MAX
#define G_MAXUINT16 UINT16_MAX
#define G_MAXUINT64 UINT64_MAX
#define G_GUINT64_FORMAT PRIu64
#define G_GINT64_FORMAT PRId64
#define G_STMT_START do
#define G_STMT_END while (0)
#define G_GNUC_UNUSED __attribute__ ((__unused__))
#define G_GNUC_NO_INLINE __attribute__ ((__noinline__))
#define G_GNUC_PRINTF(format, first)                                          \
  __attribute__ ((__format__ (__printf__, format, first)))
#define G_GNUC_BEGIN_IGNORE_DEPRECATIONS
#define G_GNUC_END_IGNORE_DEPRECATIONS
#define GINT_TO_POINTER(n) ((gpointer) (intptr_t) (n))
#define GUINT_TO_POINTER(n) ((gpointer) (uintptr_t) (n))
#define GSIZE_TO_POINTER(n) ((gpointer) (uintptr_t) (n))
#define GPOINTER_TO_INT(p) ((int) (intptr_t) (p))
#define GPOINTER_TO_UINT(p) ((unsigned) (uintptr_t) (p))
#define GPOINTER_TO_SIZE(p) ((size_t) (p))

/* --- assertions --- */

void noglib_failed (const char *file, int line, const char *what)
    __attribute__ ((__noreturn__));
void noglib_compared (const char *file, int line, const char *what,
                      long long left, long long right)
    __attribute__ ((__noreturn__));
void noglib_cmpstr (const char *file, int line, const char *what,
                    const char *left, const char *right, bool holds);
int g_strcmp0 (const char *left, const char *right);

#define g_assert_true(x)                                                      \
  ((x) ? (void) 0 : noglib_failed (__FILE__, __LINE__, #x))
#define g_assert_false(x) g_assert_true (!(x))
#define g_assert_nonnull(x) g_assert_true ((x) != NULL)
#define g_assert_null(x) g_assert_true ((x) == NULL)
#define g_assert_not_reached()                                                \
  noglib_failed (__FILE__, __LINE__, "not to be reached")
#define NOGLIB_COMPARE(type, a, op, b)                                        \
  do                                                                          \
    {                                                                         \
      type noglib_a = (type) (a), noglib_b = (type) (b);                      \
      if (!(noglib_a op noglib_b))                                            \
        noglib_compared (__FILE__, __LINE__, #a " " #op " " #b,               \
                         (long long) noglib_a, (long long) noglib_b);         \
    }                                                                         \
  while (0)
#define g_assert_cmpint(a, op, b) NOGLIB_COMPARE (int64_t, a, op, b)
#define g_assert_cmpuint(a, op, b) NOGLIB_COMPARE (uint64_t, a, op, b)
#define g_assert_cmpstr(a, op, b)                                             \
  do                                                                          \
    {                                                                         \
      const char *noglib_a = (a), *noglib_b = (b);                            \
      noglib_cmpstr (__FILE__, __LINE__, #a " " #op " " #b, noglib_a,         \
                     noglib_b, g_strcmp0 (noglib_a, noglib_b) op 0);          \
    }                                                                         \
  while (0)
#define g_assert_cmpmem(a, a_bytes, b, b_bytes)                               \
  g_assert_true ((a_bytes) == (b_bytes) && memcmp (a, b, b_bytes) == 0)
void g_error (const char *format, ...) G_GNUC_PRINTF (1, 2)
    __attribute__ ((__noreturn__));
void g_print (const char *format, ...) G_GNUC_PRINTF (1, 2);
void g_printerr (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* --- tests --- */

typedef enum
{
  G_TEST_SUBPROCESS_DEFAULT = 0,
  G_TEST_SUBPROCESS_INHERIT_STDOUT = 1,
  G_TEST_SUBPROCESS_INHERIT_STDERR = 2
} GTestSubprocessFlags;

void noglib_test_init (int *argc, char ***argv);
#define g_test_init(argc, argv, ...) noglib_test_init (argc, argv)
int g_test_run (void);
void g_test_add_func (const char *path, GTestFunc body);
void g_test_add_data_func (const char *path, gconstpointer data,
                           GTestDataFunc body);
void g_test_add_data_func_full (const char *path, gpointer data,
                                GTestDataFunc body, GDestroyNotify destroy);
void g_test_message (const char *format, ...) G_GNUC_PRINTF (1, 2);
void g_test_skip (const char *why);
void g_test_fail (void);
gboolean g_test_slow (void);
gboolean g_test_subprocess (void);
void g_test_trap_subprocess (const char *path, uint64_t usec_timeout,
                             GTestSubprocessFlags flags);
void noglib_trap_assert (const char *file, int line, bool passed);
void noglib_trap_output (const char *file, int line, bool error,
                         const char *pattern);
#define g_test_trap_assert_passed()                                           \
  noglib_trap_assert (__FILE__, __LINE__, true)
#define g_test_trap_assert_failed()                                           \
  noglib_trap_assert (__FILE__, __LINE__, false)
#define g_test_trap_assert_stderr(pattern)                                    \
  noglib_trap_output (__FILE__, __LINE__, true, pattern)
#define g_test_trap_assert_stdout(pattern)                                    \
  noglib_trap_output (__FILE__, __LINE__, false, pattern)
uint32_t g_random_int (void);
int g_test_rand_int_range (int low, int high);
double g_test_rand_double_range (double low, double high);
#define g_test_rand_bit() (g_test_rand_int_range (0, 2) != 0)
#define g_bit_storage(n)                                                      \
  ((n) == 0 ? 1u                                                              \
            : (unsigned) (sizeof (long) * 8) - (unsigned) __builtin_clzl (n))

/* --- memory and strings --- */

void *g_malloc (size_t bytes);
void *g_malloc0 (size_t bytes);
#define g_free free
#define g_new(type, n) ((type *) g_malloc (sizeof (type) * (size_t) (n)))
#define g_new0(type, n) ((type *) g_malloc0 (sizeof (type) * (size_t) (n)))
char *g_strdup (const char *text);
char *g_strdup_printf (const char *format, ...) G_GNUC_PRINTF (1, 2);
char *g_strconcat (const char *first, ...);
size_t g_strlcpy (char *target, const char *source, size_t bytes);
char **g_strsplit (const char *text, const char *separator, int most);
unsigned g_strv_length (char **strings);
void g_strfreev (char **strings);
gboolean g_str_has_prefix (const char *text, const char *prefix);
gboolean g_str_has_suffix (const char *text, const char *suffix);
gboolean g_pattern_match_simple (const char *pattern, const char *text);
#define g_snprintf snprintf
#define g_ascii_strtoull strtoull
#define g_ascii_isdigit isdigit
#define g_ascii_isalnum isalnum
#define g_getenv getenv
#define g_setenv setenv
#define g_unsetenv unsetenv
#define g_usleep(usec) ((void) usleep ((useconds_t) (usec)))
#define g_thread_yield() ((void) sched_yield ())
gboolean g_file_get_contents (const char *path, char **text, size_t *bytes,
                              void *error);
typedef enum
{
  G_FILE_TEST_EXISTS,
  G_FILE_TEST_IS_DIR
} GFileTest;
gboolean g_file_test (const char *path, GFileTest test);

#define g_atomic_int_get(place) __atomic_load_n (place, __ATOMIC_SEQ_CST)
#define g_atomic_int_set(place, n) __atomic_store_n (place, n, __ATOMIC_SEQ_CST)
#define g_atomic_int_add(place, n)                                            \
  __atomic_fetch_add (place, n, __ATOMIC_SEQ_CST)
#define g_atomic_int_inc(place) ((void) g_atomic_int_add (place, 1))

/* --- containers --- */

typedef struct
{
  char *str;
  size_t len, allocated_len;
} GString;

GString *g_string_new (const char *text);
char *g_string_free (GString *string, gboolean with_text);
GString *g_string_append (GString *string, const char *text);
GString *g_string_append_len (GString *string, const char *text, ssize_t bytes);
GString *g_string_append_c (GString *string, char c);
GString *g_string_truncate (GString *string, size_t bytes);
void g_string_append_printf (GString *string, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

typedef struct
{
  char *data;
  unsigned len;
  unsigned n_allocated, element_bytes;
} GArray;

GArray *noglib_array_new (unsigned element_bytes);
#define g_array_new(zero_ended, clear, bytes)                                 \
  noglib_array_new ((unsigned) (bytes))
#define g_array_index(array, type, i) (((type *) (void *) (array)->data)[i])
char *g_array_free (GArray *array, gboolean with_data);
void noglib_array_insert (GArray *array, unsigned at, const void *element);
#define g_array_append_val(array, value)                                      \
  noglib_array_insert (array, (array)->len, &(value))
#define g_array_prepend_val(array, value)                                     \
  noglib_array_insert (array, 0, &(value))
GArray *g_array_set_size (GArray *array, unsigned n);
GArray *g_array_remove_index (GArray *array, unsigned at);
GArray *g_array_remove_index_fast (GArray *array, unsigned at);

/* Keys are compared as pointers. */
typedef struct NoglibTable GHashTable;
GHashTable *noglib_table_new (void);
#define g_hash_table_new(hash, equal) noglib_table_new ()
void g_hash_table_unref (GHashTable *table);
#define g_hash_table_destroy g_hash_table_unref
gboolean g_hash_table_insert (GHashTable *table, gpointer key, gpointer value);
#define g_hash_table_add(table, key) g_hash_table_insert (table, key, key)
gboolean g_hash_table_remove (GHashTable *table, gconstpointer key);
gboolean g_hash_table_lookup_extended (GHashTable *table, gconstpointer key,
                                       gpointer *found, gpointer *value);
gpointer g_hash_table_lookup (GHashTable *table, gconstpointer key);
gboolean g_hash_table_contains (GHashTable *table, gconstpointer key);
unsigned g_hash_table_size (GHashTable *table);

#endif
