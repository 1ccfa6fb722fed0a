/* gslice-config.c - options from GLib's variables and calls
 *
 * Layer: dropin.  Below: the public interface of slices, and the range of an
 * option.  G_SLICE and G_DEBUG mean what the manual of GLib 2.74 says (Running
 * GLib Applications).  They set our options, which SLICE_OPTIONS overrides.
 * No locks.
 *
 * In a program that slice-run started, G_SLICE is for GLib, and
 * SLICE_RUN_G_SLICE has the user's setting; otherwise G_SLICE is for both.
 *
 * Sources: GLib's reference manual, "Running GLib Applications" and
 * g_parse_debug_string(), for the meaning of the words.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "gslice-config.h"

#include <slice/slice.h>
#include <slice/options.h>
#include <slice/stats.h>

#include "base/option.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* As in g_parse_debug_string(). */
#define SEPARATORS ":;, \t"

enum
{
  /* As in GSlice: with larger magazines, blocks that one thread allocates and
   * another frees would pile up in them (decisions/0008). */
  MAGAZINE_BYTES_MAX = 16 * 1024,
  STATE_VALUES = 3             /* size, contention, rounds */
};

/* The words that a variable can have; a bit for each. */
static const char *const slice_words[] = { "always-malloc", "debug-blocks" };
enum
{
  WORD_ALWAYS_MALLOC = 1 << 0,
  WORD_DEBUG_BLOCKS = 1 << 1
};
static const char *const debug_words[]
    = { "gc-friendly", "fatal-warnings", "fatal-criticals" };
enum
{
  WORD_GC_FRIENDLY = 1 << 0
};

static pthread_once_t config_once = PTHREAD_ONCE_INIT;

/* Constant after sli_gslice_config_load(). */
static struct
{
  unsigned words;     /* of our setting */
  bool glib_mallocs;  /* GLib uses malloc, by G_SLICE or under valgrind */
} config;

/* The value that was set last; GLib's own at first.  It has no effect, since
 * one colour step is as good as another. */
static int64_t colour_increment = 1;

/* --- reading a variable -------------------------------------------------- */

/* Ignores case; as in GLib, an underscore is equal to a dash. */
static bool
word_is (const char *word, size_t length, const char *name)
{
  for (size_t i = 0; i < length; i++)
    {
      char c = word[i] == '_' ? '-' : word[i];

      if (name[i] == '\0' || strncasecmp (&c, &name[i], 1) != 0)
        return false;
    }
  return name[length] == '\0';
}

static void
print_words (const char *variable, const char *const *names, unsigned n)
{
  char line[160];
  size_t length = 0;

  line[0] = '\0';
  strncat (line, variable, sizeof line - 1);
  strncat (line, " takes:", sizeof line - strlen (line) - 1);
  for (unsigned i = 0; i < n; i++)
    {
      strncat (line, " ", sizeof line - strlen (line) - 1);
      strncat (line, names[i], sizeof line - strlen (line) - 1);
    }
  strncat (line, " all help\n", sizeof line - strlen (line) - 1);
  length = strlen (line);
  if (write (STDERR_FILENO, line, length) < 0)
    return; /* the error can't be reported */
}

/* The words of `value' as bits.  With "all", these are the words that `value'
 * does not have.  Unknown words are ignored, as in GLib. */
static unsigned
read_words (const char *variable, const char *value, const char *const *names,
            unsigned n, bool helps)
{
  unsigned bits = 0, all_bits = (1u << n) - 1;
  bool has_all = false;

  for (const char *at = value; *at != '\0';)
    {
      size_t length = strcspn (at, SEPARATORS);

      if (word_is (at, length, "all"))
        has_all = true;
      else if (helps && word_is (at, length, "help"))
        print_words (variable, names, n);
      for (unsigned i = 0; i < n; i++)
        if (word_is (at, length, names[i]))
          bits |= 1u << i;
      at += length;
      at += strspn (at, SEPARATORS);
    }
  return has_all ? all_bits & ~bits : bits;
}

#define N_WORDS(names) (sizeof (names) / sizeof (names)[0])

static unsigned
slice_words_of (const char *value, bool helps)
{
  return value == NULL ? 0
                       : read_words ("G_SLICE", value, slice_words,
                                     N_WORDS (slice_words), helps);
}

static unsigned
debug_words_of (const char *value)
{
  return value == NULL ? 0
                       : read_words ("G_DEBUG", value, debug_words,
                                     N_WORDS (debug_words), false);
}

/* --- setting options ----------------------------------------------------- */

/* Under valgrind GLib uses malloc, unless G_SLICE is set to anything. */
static bool
valgrind_watches (void)
{
  const char *tool = sli_os_memory_tool ();

  return tool != NULL && strcmp (tool, "valgrind") == 0;
}

static void
config_load (void)
{
  const char *for_glib = secure_getenv ("G_SLICE");
  const char *for_us = secure_getenv ("SLICE_RUN") != NULL
                           ? secure_getenv ("SLICE_RUN_G_SLICE")
                           : for_glib;

  config.glib_mallocs
      = for_glib == NULL
            ? valgrind_watches ()
            : (slice_words_of (for_glib, false) & WORD_ALWAYS_MALLOC) != 0;
  config.words = slice_words_of (for_us, true);
  /* GLib's blocks are in practice aligned to two pointers. */
  slice_set_option (SLICE_OPTION_ALIGN_16, 1);
  slice_set_option (SLICE_OPTION_MAGAZINE_BYTES_MAX, MAGAZINE_BYTES_MAX);
  if (config.words & WORD_ALWAYS_MALLOC)
    slice_set_option (SLICE_OPTION_ALWAYS_MALLOC, 1);
  /* If G_SLICE is set, even if it is empty, slabs are used under valgrind. */
  else if (for_us != NULL)
    slice_set_option (SLICE_OPTION_FORCE_POOL, 1);
  if (config.words & WORD_DEBUG_BLOCKS)
    slice_set_option (SLICE_OPTION_CHECKED, 1);
  /* hardened zeroes freed blocks, so new ones are zero. */
  if (debug_words_of (secure_getenv ("G_DEBUG")) & WORD_GC_FRIENDLY)
    slice_set_option (SLICE_OPTION_HARDENED, 1);
}

void
sli_gslice_config_load (void)
{
  pthread_once (&config_once, config_load);
}

bool
sli_gslice_config_glib_mallocs (void)
{
  return config.glib_mallocs;
}

/* --- the calls ----------------------------------------------------------- */

static int64_t
clamp (int64_t value, int64_t minimum, int64_t maximum)
{
  return value < minimum ? minimum : value > maximum ? maximum : value;
}

static SliceOption
option_of (int key)
{
  static const SliceOption options[]
      = { [GSLICE_ALWAYS_MALLOC] = SLICE_OPTION_ALWAYS_MALLOC,
          [GSLICE_BYPASS_MAGAZINES] = SLICE_OPTION_BYPASS_MAGAZINES,
          [GSLICE_WORKING_SET_MSECS] = SLICE_OPTION_WORKING_SET_MSEC };

  return key >= GSLICE_ALWAYS_MALLOC && key <= GSLICE_WORKING_SET_MSECS
             ? options[key]
             : (SliceOption) 0;
}

static int64_t
option_value (int key, int64_t value)
{
  switch (key)
    {
    case GSLICE_ALWAYS_MALLOC:
      return value != 0 || (config.words & WORD_ALWAYS_MALLOC) != 0;
    case GSLICE_BYPASS_MAGAZINES:
      return value != 0;
    default:
      return clamp (value, 0, WORKING_SET_MSEC_MAX);
    }
}

void
sli_gslice_config_set (int key, int64_t value)
{
  static const char too_late[]
      = "slice: g_slice_set_config: blocks have been handed out; nothing "
        "changed\n";
  SliceOption option = option_of (key);

  sli_gslice_config_load ();
  if (key == GSLICE_COLOUR_INCREMENT)
    STORE (&colour_increment, value);
  if (option != 0
      && slice_set_option (option, option_value (key, value))
             == SLICE_SET_TOO_LATE
      && write (STDERR_FILENO, too_late, sizeof too_late - 1) < 0)
    return; /* the error can't be reported */
}

int64_t
sli_gslice_config_get (int key)
{
  int64_t value = 0;

  sli_gslice_config_load ();
  if (key == GSLICE_CHUNK_SIZES)
    return SLICE_N_CLASSES - 1; /* GLib does not count class 0 */
  if (key == GSLICE_COLOUR_INCREMENT)
    return LOAD (&colour_increment);
  slice_get_option (option_of (key), &value);
  return value;
}

int64_t *
sli_gslice_config_state (int key, int64_t index, unsigned *n_values)
{
  SliceStats *stats;
  int64_t *values = NULL;

  if (n_values != NULL)
    *n_values = 0;
  if (key != GSLICE_CONTENTION_COUNTER || index < 0
      || index >= SLICE_N_CLASSES - 1)
    return NULL;
  stats = malloc (sizeof *stats);
  if (stats != NULL)
    values = malloc (STATE_VALUES * sizeof *values);
  if (values != NULL)
    {
      const SliceClassStats *class = &stats->classes[index + 1];

      /* The classes are known only after the first block. */
      sli_gslice_config_load ();
      slice_free1 (1, slice_alloc (1));
      slice_get_stats (stats);
      values[0] = (int64_t) class->block_bytes;
      values[1] = (int64_t) class->n_contended;
      values[2] = (int64_t) class->rounds_now;
      if (n_values != NULL)
        *n_values = STATE_VALUES;
    }
  free (stats);
  return values;
}
