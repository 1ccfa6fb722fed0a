/* option.c - the options: one table, one row each
 *
 * Layer: base.  The variable is read as GLib reads G_SLICE: words between
 * colons, semicolons, commas or blanks; `all` stands for the mode with all
 * checks; `help` lists them.  Design: chapter 6.
 * Locks: option_lock (rank 10).
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "option.h"
#include "check.h"
#include "diag.h"
#include "port/annotate.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <string.h>

#define SEPARATORS ":;, \t\n"

enum
{
  ITEM_BYTES = 64,              /* longest item that is understood */
  HELP_BYTES = 256,             /* longest line of the help, two in one */
  WORKING_SET_MSEC = 15000,     /* Bonwick & Adams 2001, section 3.6: 15 s */
  MAGAZINE_CHUNK_BYTES_LOW = 4096,    /* nearly two largest blocks */
  MAGAZINE_CHUNK_BYTES_HIGH = 131072  /* decisions/0003 */
};

/* What a value is: what it may be written as. */
typedef enum
{
  UNIT_SWITCH, /* a number, or a word: yes, no */
  UNIT_MSEC,
  UNIT_BYTES,
  UNIT_SOURCE  /* the name of a page source */
} OptionUnit;

typedef struct
{
  SliceOption option;
  OptionUnit unit;
  const char *name;
  int64_t minimum, maximum;
  int64_t initial;
  const char *help;
} OptionRow;

#ifdef SLICE_HARDENED
# define HARDENED_INITIAL 1
#else
# define HARDENED_INITIAL 0
#endif

static const OptionRow option_rows[] = {
  { SLICE_OPTION_ALWAYS_MALLOC, UNIT_SWITCH, "always-malloc", 0, 1, 0,
    "every block is a malloc of its own" },
  { SLICE_OPTION_BYPASS_MAGAZINES, UNIT_SWITCH, "bypass-magazines", 0, 1, 0,
    "every call goes straight to a slab" },
  { SLICE_OPTION_WORKING_SET_MSEC, UNIT_MSEC, "working-set-msec", 0,
    WORKING_SET_MSEC_MAX, WORKING_SET_MSEC,
    "how long spare memory is kept" },
  { SLICE_OPTION_PAGE_SOURCE, UNIT_SOURCE, "page-source", 0,
    SLICE_PAGES_MALLOC,
    SLICE_PAGES_POSIX_MEMALIGN,
    "where pages come from" },
  { SLICE_OPTION_HUGE_PAGES, UNIT_SWITCH, "huge-pages", 0, 2, 1,
    "request huge pages: 1: once the heap is large; 2: from the start" },
  { SLICE_OPTION_TRIM_THREAD, UNIT_SWITCH, "trim-thread", 0, 1, 0,
    "a helper thread gives old memory back" },
  { SLICE_OPTION_COUNT, UNIT_SWITCH, "count", 0, 1, 0,
    "count every call (slower)" },
  { SLICE_OPTION_STATS, UNIT_SWITCH, "stats", 0, 1, 0,
    "print statistics at exit" },
  { SLICE_OPTION_ALIGN_16, UNIT_SWITCH, "align-16", 0, 1, 0,
    "every block is aligned to 16 bytes" },
  { SLICE_OPTION_FORCE_POOL, UNIT_SWITCH, "force-pool", 0, 2, 0,
    "1: slabs under valgrind and sanitizers, too; 2: known to them" },
  { SLICE_OPTION_CHECKED, UNIT_SWITCH, "checked", 0, 1, 0,
    "find bad frees at the call (also: debug-blocks)" },
  { SLICE_OPTION_HARDENED, UNIT_SWITCH, "hardened", 0, 1, HARDENED_INITIAL,
    "canaries, quarantine, zeroing, guard pages" },
  { SLICE_OPTION_DEBUG, UNIT_SWITCH, "debug", 0, 1, 0,
    "all checks, and who allocated and freed" },
  { SLICE_OPTION_MAGAZINE_BYTES_MAX, UNIT_BYTES, "magazine-bytes-max",
    MAGAZINE_CHUNK_BYTES_LOW, MAGAZINE_CHUNK_BYTES_HIGH,
    MAGAZINE_CHUNK_BYTES_HIGH,
    "the most bytes of blocks in a magazine" },
  { SLICE_OPTION_LEAKS, UNIT_SWITCH, "leaks", 0, 1, 1,
    "debug: list at exit what was never freed" },
  { SLICE_OPTION_EXIT_CHECK, UNIT_SWITCH, "exit-check", 0, 2, 1,
    "look for overruns and writes to free blocks at exit: 1: in debug; 2: and "
    "in hardened" }
};

enum
{
  N_ROWS = sizeof option_rows / sizeof option_rows[0],
  N_GONE = 5 /* numbers of options.h that no option has any more */
};

SLICE_STATIC_ASSERT (N_ROWS == SLICE_N_OPTIONS - 1 - N_GONE,
                     "a row for every option");

/* The page sources' names, by SlicePageSource. */
static const char *const source_names[] = { "posix_memalign", "mmap",
                                            "memalign", "valloc", "malloc" };

static Lock option_lock = LOCK_INIT (LOCK_RANK_BASE);

static struct
{
  bool have_initials;              /* the values below are set */
  bool freezing;                   /* too late for changes: the environment is
                                      being read */
  bool frozen;                     /* all values are final */
  uint32_t said;                   /* the messages are written */
  const void *source;              /* the caller's own page source */
  bool is_malloc;                  /* see sli_option_be_malloc() */
  int64_t values[SLICE_N_OPTIONS]; /* by SliceOption */
} options;

static const OptionRow *
option_row (SliceOption option)
{
  for (int i = 0; i < N_ROWS; i++)
    if (option_rows[i].option == option)
      return &option_rows[i];
  return NULL;
}

COMMON_TEXT SliceOption
slice_option_by_name (const char *name)
{
  for (int i = 0; i < N_ROWS; i++)
    if (strcmp (option_rows[i].name, name) == 0)
      return option_rows[i].option;
  if (strcmp (name, "debug-blocks") == 0)
    return SLICE_OPTION_CHECKED; /* as GLib calls it */
  return (SliceOption) 0;
}

COMMON_TEXT bool
sli_option_has_source (SlicePageSource which)
{
  switch (which)
    {
    case SLICE_PAGES_POSIX_MEMALIGN:
      return sli_os_has_posix_memalign ();
    case SLICE_PAGES_MEMALIGN:
      return sli_os_has_memalign ();
    case SLICE_PAGES_VALLOC:
      return sli_os_has_valloc ();
    default:
      return which == SLICE_PAGES_MMAP || which == SLICE_PAGES_MALLOC;
    }
}

/* The first that is built in, in GSlice's order; mmap if the process's memory
 * is limited.  At the limit malloc cuts its heap into holes that are as large
 * as what was allocated, and too small for an aligned block of that size. */
static int64_t
source_initial (void)
{
  static const SlicePageSource order[]
      = { SLICE_PAGES_POSIX_MEMALIGN, SLICE_PAGES_MEMALIGN,
          SLICE_PAGES_VALLOC, SLICE_PAGES_MALLOC };
  size_t i = 0;

  if (sli_os_memory_limit_bytes () != SIZE_MAX)
    return SLICE_PAGES_MMAP;
  while (!sli_option_has_source (order[i]))
    i++;
  return order[i];
}

COMMON_TEXT static void
options_take_initials (int64_t *values)
{
  for (int i = 0; i < N_ROWS; i++)
    values[option_rows[i].option] = option_rows[i].initial;
  values[SLICE_OPTION_PAGE_SOURCE] = source_initial ();
}

static bool
row_allows (const OptionRow *row, int64_t value)
{
  return value >= row->minimum && value <= row->maximum
         && (row->option != SLICE_OPTION_PAGE_SOURCE
             || sli_option_has_source ((SlicePageSource) value));
}

/* A word of a table and what it stands for. */
typedef struct
{
  const char *word;
  int64_t value;
} Word;

static bool
parse_word (const Word *words, size_t n, const char *text, int64_t *value)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp (words[i].word, text) == 0)
      {
        *value = words[i].value;
        return true;
      }
  return false;
}

#define PARSE_WORD(words, text, value)                                        \
  parse_word ((words), sizeof (words) / sizeof (words)[0], (text), (value))

/* What a number is to be multiplied with; the empty word is a unit, too. */
static bool
parse_unit (OptionUnit unit, const char *text, int64_t *factor)
{
  static const Word times[]
      = { { "ms", 1 }, { "s", 1000 }, { "min", 60000 }, { "h", 3600000 } };
  static const Word sizes[]
      = { { "K", 1 << 10 },   { "k", 1 << 10 },   { "M", 1 << 20 },
          { "G", 1 << 30 },   { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
          { "GiB", 1 << 30 }, { "B", 1 } };

  *factor = 1;
  return *text == '\0'
         || (unit == UNIT_MSEC && PARSE_WORD (times, text, factor))
         || (unit == UNIT_BYTES && PARSE_WORD (sizes, text, factor));
}

/* A decimal number and perhaps its unit; false if it is none or does not
 * fit. */
static bool
parse_number (OptionUnit unit, const char *text, int64_t *number)
{
  int64_t value = 0, factor;

  if (*text < '0' || *text > '9')
    return false;
  for (; *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow (value, 10, &value)
        || __builtin_add_overflow (value, *text - '0', &value))
      return false;
  return parse_unit (unit, text, &factor)
         && !__builtin_mul_overflow (value, factor, number);
}

static bool
parse_switch (const char *text, int64_t *value)
{
  static const Word words[]
      = { { "no", 0 },  { "off", 0 }, { "false", 0 },
          { "yes", 1 }, { "on", 1 },  { "true", 1 } };

  return PARSE_WORD (words, text, value);
}

static bool
parse_source (const char *text, int64_t *number)
{
  for (size_t i = 0; i < sizeof source_names / sizeof source_names[0]; i++)
    if (strcmp (text, source_names[i]) == 0)
      {
        *number = (int64_t) i;
        return true;
      }
  return false;
}

static bool
parse_value (const OptionRow *row, const char *text, int64_t *value)
{
  bool understood = row->unit == UNIT_SOURCE
                        ? parse_source (text, value)
                        : (row->unit == UNIT_SWITCH
                           && parse_switch (text, value))
                              || parse_number (row->unit, text, value);

  return understood && row_allows (row, *value);
}

/* What a value may be, and how it may be written. */
static void
describe_range (const OptionRow *row, char *to, size_t to_bytes)
{
  static const char *const units[]
      = { [UNIT_SWITCH] = "", [UNIT_SOURCE] = "",
          [UNIT_MSEC] = " ms (or as 500ms, 15s, 2min, 1h)",
          [UNIT_BYTES] = " bytes (or as 4K, 128K)" };

  if (row->unit == UNIT_SOURCE)
    sli_diag_format (to, to_bytes, "%s, %s, %s, %s or %s", source_names[0],
                     source_names[1], source_names[2], source_names[3],
                     source_names[4]);
  else if (row->unit == UNIT_SWITCH)
    sli_diag_format (to, to_bytes,
                     row->maximum > 1 ? "no, yes, or 0 to %zu"
                                      : "no or yes (0 or %zu)",
                     (size_t) row->maximum);
  else
    sli_diag_format (to, to_bytes, "%zu to %zu%s", (size_t) row->minimum,
                     (size_t) row->maximum, units[row->unit]);
}

static void
describe_initial (const OptionRow *row, char *to, size_t to_bytes)
{
  if (row->unit == UNIT_SOURCE)
    sli_diag_format (to, to_bytes, "%s", source_names[source_initial ()]);
  else if (row->unit == UNIT_SWITCH && row->maximum == 1)
    sli_diag_format (to, to_bytes, "%s", row->initial != 0 ? "yes" : "no");
  else
    sli_diag_format (to, to_bytes, "%zu", (size_t) row->initial);
}

static void
print_help (void)
{
  char line[HELP_BYTES], range[HELP_BYTES / 2], initial[ITEM_BYTES];
  size_t length;

  length = sli_diag_format (line, sizeof line,
                            "slice: options of SLICE_OPTIONS:\n");
  sli_os_write (2, line, length);
  for (int i = 0; i < N_ROWS; i++)
    {
      const OptionRow *row = &option_rows[i];

      describe_range (row, range, sizeof range);
      describe_initial (row, initial, sizeof initial);
      length = sli_diag_format (line, sizeof line,
                                "  %s%s  %s\n      %s; by default %s\n",
                                row->name, row->maximum > 1 ? "=VALUE" : "",
                                row->help, range, initial);
      sli_os_write (2, line, length);
    }
  length = sli_diag_format (line, sizeof line,
                            "  all  the same as debug\n"
                            "  help  this list\n");
  sli_os_write (2, line, length);
}

static void
warn_of_value (const OptionRow *row, const char *name, const char *value)
{
  char range[HELP_BYTES / 2];

  describe_range (row, range, sizeof range);
  if (value == NULL)
    sli_diag_warn (ERROR_BAD_OPTION_VALUE,
                   "SLICE_OPTIONS: '%s' is ignored: it needs a value: %s",
                   name, range);
  else
    sli_diag_warn (ERROR_BAD_OPTION_VALUE,
                   "SLICE_OPTIONS: '%s=%s' is ignored: its value may be %s",
                   name, value, range);
}

/* "help" is a switch, but no option. */
static void
help_if_wanted (const char *text)
{
  static const OptionRow help = { .unit = UNIT_SWITCH, .maximum = 1 };
  int64_t value = 1;

  if (text != NULL && !parse_value (&help, text, &value))
    warn_of_value (&help, "help", text);
  else if (value != 0)
    print_help ();
}

/* One item of the variable: NAME or NAME=VALUE.  Quiet: without warnings. */
static void
read_item (char *item, int64_t *values, bool quiet)
{
  char *equals = strchr (item, '=');
  const char *text = equals != NULL ? equals + 1 : NULL;
  const OptionRow *row;
  int64_t value = 1;

  if (equals != NULL)
    *equals = '\0';
  if (strcmp (item, "help") == 0)
    {
      if (!quiet)
        help_if_wanted (text);
      return;
    }
  row = option_row (strcmp (item, "all") == 0 ? SLICE_OPTION_DEBUG
                                              : slice_option_by_name (item));
  if (row == NULL)
    {
      if (!quiet)
        sli_diag_warn (ERROR_UNKNOWN_OPTION,
                       "SLICE_OPTIONS: unknown option '%s' is ignored "
                       "(SLICE_OPTIONS=help lists all)", item);
    }
  else if (text == NULL ? row->unit != UNIT_SWITCH
                        : !parse_value (row, text, &value))
    {
      if (!quiet)
        warn_of_value (row, item, text);
    }
  else
    values[row->option] = value;
}

COMMON_TEXT void
sli_option_be_malloc (void)
{
  STORE (&options.is_malloc, true);
}

/* Returns true if a source calls malloc or one of its kin. */
static bool
source_is_malloc (int64_t source)
{
  return source != SLICE_PAGES_MMAP && source != SLICE_PAGES_CUSTOM;
}

COMMON_TEXT static void
read_environment (int64_t *values, bool quiet)
{
  const char *at = sli_os_getenv ("SLICE_OPTIONS");
  char item[ITEM_BYTES];

  while (at != NULL && *at != '\0')
    {
      size_t length;

      at += strspn (at, SEPARATORS);
      length = strcspn (at, SEPARATORS);
      if (length > 0)
        {
          sli_diag_format (item, length < sizeof item ? length + 1
                                                      : sizeof item,
                           "%s", at);
          read_item (item, values, quiet);
        }
      at += length;
    }
  if (sli_os_is_secure ())
    values[SLICE_OPTION_HARDENED] = 1;
  if (LOAD (&options.is_malloc)
      && source_is_malloc (values[SLICE_OPTION_PAGE_SOURCE]))
    values[SLICE_OPTION_PAGE_SOURCE] = SLICE_PAGES_MMAP;
}

COMMON_TEXT int64_t
sli_option (SliceOption option)
{
  return options.values[option];
}

/* The values as they are before the environment is read. */
static void
options_copy (int64_t *values)
{
  sli_lock (&option_lock);
  if (options.have_initials)
    memcpy (values, options.values, sizeof options.values);
  else
    options_take_initials (values);
  sli_unlock (&option_lock);
}

/* Returns true if messages about the environment were written; they are
 * written once, by the first that reads it. */
COMMON_TEXT static bool
options_are_said (void)
{
  return __atomic_exchange_n (&options.said, 1, __ATOMIC_RELAXED) != 0;
}

COMMON_TEXT void
sli_option_freeze (void)
{
  int64_t values[SLICE_N_OPTIONS] = { 0 };

  if (sli_option_is_frozen ())
    return;
  /* From here on setting an option is too late: the value would be lost. */
  sli_lock (&option_lock);
  options.freezing = true;
  sli_unlock (&option_lock);
  options_copy (values);
  SCHEDULE_POINT ("options are frozen");
  read_environment (values, options_are_said ()); /* no lock is held */
  sli_lock (&option_lock);
  memcpy (options.values, values, sizeof values);
  options.have_initials = true;
  /* Arenas read both without the lock. */
  sli_annotate_published (&options.frozen, sizeof options.frozen);
  sli_annotate_published (options.values, sizeof options.values);
  STORE_RELEASE (&options.frozen, true);
  sli_unlock (&option_lock);
}

bool
sli_option_is_frozen (void)
{
  return LOAD_ACQUIRE (&options.frozen);
}

static SliceSetResult
option_store (SliceOption option, int64_t value, const void *source)
{
  SliceSetResult result = SLICE_SET_TOO_LATE;

  sli_lock (&option_lock);
  if (!options.freezing)
    {
      if (source != NULL)
        options.source = source;
      if (!options.have_initials)
        options_take_initials (options.values);
      options.have_initials = true;
      options.values[option] = value;
      result = SLICE_SET_OK;
    }
  sli_unlock (&option_lock);
  return result;
}

COMMON_TEXT SliceSetResult
slice_set_option (SliceOption option, int64_t value)
{
  const OptionRow *row = option_row (option);

  if (row == NULL)
    return SLICE_SET_UNKNOWN;
  if (!row_allows (row, value))
    return SLICE_SET_BAD_VALUE;
  return option_store (option, value, NULL);
}

SliceSetResult
sli_option_set_custom_source (const void *source)
{
  return option_store (SLICE_OPTION_PAGE_SOURCE, SLICE_PAGES_CUSTOM, source);
}

const void *
sli_option_custom_source (void)
{
  const void *source;

  sli_lock (&option_lock);
  source = options.source;
  sli_unlock (&option_lock);
  return source;
}

COMMON_TEXT bool
slice_get_option (SliceOption option, int64_t *value)
{
  int64_t values[SLICE_N_OPTIONS] = { 0 };

  *value = 0;
  if (option_row (option) == NULL)
    return false;
  options_copy (values);
  if (!sli_option_is_frozen ())
    read_environment (values, options_are_said ());
  *value = values[option];
  return true;
}

COMMON_TEXT Lock *
sli_option_lock (void)
{
  return &option_lock;
}
