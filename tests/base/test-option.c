/* test-option.c - slice/base/option.c
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "base/option.h"
#include "port/os/os.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef SLICE_HARDENED
# define HARDENED_INITIAL 1
#else
# define HARDENED_INITIAL 0
#endif

/* Each option but page-source. */
static const struct
{
  SliceOption option;
  const char *name;
  int64_t initial, minimum, maximum;
} rows[] = {
  { SLICE_OPTION_ALWAYS_MALLOC, "always-malloc", 0, 0, 1 },
  { SLICE_OPTION_BYPASS_MAGAZINES, "bypass-magazines", 0, 0, 1 },
  { SLICE_OPTION_WORKING_SET_MSEC, "working-set-msec", 15000, 0, 86400000 },
  { SLICE_OPTION_HUGE_PAGES, "huge-pages", 1, 0, 2 },
  { SLICE_OPTION_TRIM_THREAD, "trim-thread", 0, 0, 1 },
  { SLICE_OPTION_COUNT, "count", 0, 0, 1 },
  { SLICE_OPTION_STATS, "stats", 0, 0, 1 },
  { SLICE_OPTION_ALIGN_16, "align-16", 0, 0, 1 },
  { SLICE_OPTION_FORCE_POOL, "force-pool", 0, 0, 2 },
  { SLICE_OPTION_CHECKED, "checked", 0, 0, 1 },
  { SLICE_OPTION_HARDENED, "hardened", HARDENED_INITIAL, 0, 1 },
  { SLICE_OPTION_DEBUG, "debug", 0, 0, 1 },
  { SLICE_OPTION_MAGAZINE_BYTES_MAX, "magazine-bytes-max", 131072, 4096,
    131072 },
  { SLICE_OPTION_LEAKS, "leaks", 1, 0, 1 },
  { SLICE_OPTION_EXIT_CHECK, "exit-check", 1, 0, 2 },
};

/* An option that this test does not know fails here. */
static void
test_every_option (void)
{
  unsigned n = 0;
  int64_t value;

  for (int option = 1; option < SLICE_N_OPTIONS; option++)
    n += slice_get_option ((SliceOption) option, &value);
  g_assert_cmpuint (n, ==, G_N_ELEMENTS (rows) + 1); /* page-source */
}

/* The manual's words for an option, which stand at the start of its text. */
static char *
words_of_manual (SliceOption option, const char *name, int64_t initial,
                 int64_t minimum, int64_t maximum)
{
  char escaped[64], range[64];
  size_t n = 0;

  for (; *name != '\0'; name++)
    {
      if (*name == '-')
        escaped[n++] = '\\';
      escaped[n++] = *name;
    }
  escaped[n] = '\0';
  if (maximum == 1)
    strcpy (range, "0 or 1");
  else if (maximum == 2)
    strcpy (range, "0, 1 or 2");
  else
    g_snprintf (range, sizeof range, "%d to %d", (int) minimum,
                (int) maximum);
  if (option == SLICE_OPTION_HARDENED)
    initial = 0; /* the manual has an exception for such builds */
  return g_strdup_printf (".TP\n.B %s\n%s; %d by default", escaped, range,
                          (int) initial);
}

/* Each option's range and default are those of slice-options(7). */
static void
test_manual (void)
{
  static char manual[64 * 1024];
  const char *folder = g_getenv ("top_srcdir");
  char *path;
  FILE *file;

  if (folder == NULL)
    {
      g_test_skip ("top_srcdir does not say where the manual is");
      return;
    }
  path = g_strdup_printf ("%s/docs/man/slice-options.7", folder);
  file = fopen (path, "r");
  g_free (path);
  g_assert_nonnull (file);
  g_assert_cmpuint (fread (manual, 1, sizeof manual - 1, file), >, 0);
  fclose (file);
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      char *words = words_of_manual (rows[i].option, rows[i].name,
                                     rows[i].initial, rows[i].minimum,
                                     rows[i].maximum);

      if (strstr (manual, words) == NULL)
        g_error ("slice-options(7) lacks: %s", words);
      g_free (words);
    }
}

static int64_t
value_of (SliceOption option)
{
  int64_t value = -1;

  g_assert_true (slice_get_option (option, &value));
  return value;
}

/* Sets the variable alone, without what test_options() adds. */
static void
set_variable (const char *options)
{
  g_setenv ("SLICE_OPTIONS", options, TRUE);
}

/* Where memory is limited, malloc's heap ends up in gaps. */
static void
test_source_in_limit (void)
{
  struct rlimit limit;

  g_unsetenv ("SLICE_OPTIONS");
  g_assert_cmpint (getrlimit (RLIMIT_DATA, &limit), ==, 0);
  limit.rlim_cur = (rlim_t) 1 << 30;
  g_assert_cmpint (setrlimit (RLIMIT_DATA, &limit), ==, 0);
  g_assert_cmpint (value_of (SLICE_OPTION_PAGE_SOURCE), ==, SLICE_PAGES_MMAP);
}

static void
test_defaults (void)
{
  g_unsetenv ("SLICE_OPTIONS");
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (value_of (rows[i].option), ==, rows[i].initial);
  if (sli_os_has_posix_memalign ())
    g_assert_cmpint (value_of (SLICE_OPTION_PAGE_SOURCE), ==,
                     SLICE_PAGES_POSIX_MEMALIGN);
  sli_option_freeze ();
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_cmpint (value_of (rows[i].option), ==, rows[i].initial);
      g_assert_cmpint (sli_option (rows[i].option), ==, rows[i].initial);
    }
}

static void
test_names (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (slice_option_by_name (rows[i].name), ==,
                     rows[i].option);
  g_assert_cmpint (slice_option_by_name ("page-source"), ==,
                   SLICE_OPTION_PAGE_SOURCE);
  g_assert_cmpint (slice_option_by_name ("hardened"), ==,
                   SLICE_OPTION_HARDENED);
  g_assert_cmpint (slice_option_by_name (""), ==, 0);
  g_assert_cmpint (slice_option_by_name ("always_malloc"), ==, 0);
  g_assert_cmpint (slice_option_by_name ("count "), ==, 0);
}

static void
test_ranges (void)
{
  g_unsetenv ("SLICE_OPTIONS");
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      SliceOption option = rows[i].option;

      g_assert_cmpint (slice_set_option (option, rows[i].minimum), ==,
                       SLICE_SET_OK);
      g_assert_cmpint (value_of (option), ==, rows[i].minimum);
      g_assert_cmpint (slice_set_option (option, rows[i].maximum), ==,
                       SLICE_SET_OK);
      g_assert_cmpint (slice_set_option (option, rows[i].minimum - 1), ==,
                       SLICE_SET_BAD_VALUE);
      g_assert_cmpint (slice_set_option (option, INT64_MIN), ==,
                       SLICE_SET_BAD_VALUE);
      if (rows[i].maximum < INT64_MAX)
        g_assert_cmpint (slice_set_option (option, rows[i].maximum + 1), ==,
                         SLICE_SET_BAD_VALUE);
      g_assert_cmpint (value_of (option), ==, rows[i].maximum);
    }
  g_assert_cmpint (slice_set_option (SLICE_OPTION_PAGE_SOURCE,
                                     SLICE_PAGES_MALLOC),
                   ==, SLICE_SET_OK);
  g_assert_cmpint (slice_set_option (SLICE_OPTION_PAGE_SOURCE,
                                     SLICE_PAGES_CUSTOM),
                   ==, SLICE_SET_BAD_VALUE);
  g_assert_cmpint (value_of (SLICE_OPTION_PAGE_SOURCE), ==,
                   SLICE_PAGES_MALLOC);
}

static void
test_unknown (void)
{
  static const int unknown[] = { 0, -1, SLICE_N_OPTIONS, 1000, INT_MIN };

  for (size_t i = 0; i < G_N_ELEMENTS (unknown); i++)
    {
      int64_t value = 77;

      g_assert_cmpint (slice_set_option ((SliceOption) unknown[i], 1), ==,
                       SLICE_SET_UNKNOWN);
      g_assert_false (slice_get_option ((SliceOption) unknown[i], &value));
      g_assert_cmpint (value, ==, 0);
    }
}

static void
test_too_late (void)
{
  g_unsetenv ("SLICE_OPTIONS");
  g_assert_cmpint (slice_set_option (SLICE_OPTION_COUNT, 1), ==,
                   SLICE_SET_OK);
  g_assert_false (sli_option_is_frozen ());
  sli_option_freeze ();
  g_assert_true (sli_option_is_frozen ());
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (slice_set_option (rows[i].option, rows[i].maximum), ==,
                     SLICE_SET_TOO_LATE);
  g_assert_cmpint (sli_option_set_custom_source (rows), ==, SLICE_SET_TOO_LATE);
  g_assert_cmpint (value_of (SLICE_OPTION_COUNT), ==, 1);
  g_assert_cmpint (value_of (SLICE_OPTION_STATS), ==, 0);
  /* What the variable says now comes too late, too. */
  set_variable ("stats");
  sli_option_freeze ();
  g_assert_cmpint (value_of (SLICE_OPTION_STATS), ==, 0);
}

/* The variable wins, and shows before the first block. */
static void
test_variable (void)
{
  g_assert_cmpint (slice_set_option (SLICE_OPTION_WORKING_SET_MSEC, 1), ==,
                   SLICE_SET_OK);
  set_variable ("working-set-msec=2,count:stats;align-16 debug-blocks=1\t"
                "huge-pages=0\npage-source=mmap");
  for (int i = 0; i < 2; i++)
    {
      g_assert_cmpint (value_of (SLICE_OPTION_WORKING_SET_MSEC), ==, 2);
      g_assert_cmpint (value_of (SLICE_OPTION_COUNT), ==, 1);
      g_assert_cmpint (value_of (SLICE_OPTION_STATS), ==, 1);
      g_assert_cmpint (value_of (SLICE_OPTION_ALIGN_16), ==, 1);
      g_assert_cmpint (value_of (SLICE_OPTION_CHECKED), ==, 1);
      g_assert_cmpint (value_of (SLICE_OPTION_HUGE_PAGES), ==, 0);
      g_assert_cmpint (value_of (SLICE_OPTION_PAGE_SOURCE), ==,
                       SLICE_PAGES_MMAP);
      g_assert_cmpint (value_of (SLICE_OPTION_ALWAYS_MALLOC), ==, 0);
      sli_option_freeze ();
    }
}

static void
test_all (void)
{
  /* The mode that has every check; with malloc's blocks there would be no
   * canary to look at. */
  set_variable ("all");
  g_assert_cmpint (value_of (SLICE_OPTION_DEBUG), ==, 1);
  g_assert_cmpint (value_of (SLICE_OPTION_ALWAYS_MALLOC), ==, 0);
  g_assert_cmpint (value_of (SLICE_OPTION_COUNT), ==, 0);
}

static void
test_all_with_value (void)
{
  int64_t value;

  set_variable ("all=1");
  g_assert_true (slice_get_option (SLICE_OPTION_DEBUG, &value));
  g_assert_cmpint (value, ==, 1);
  set_variable ("all,all=0");
  g_assert_true (slice_get_option (SLICE_OPTION_DEBUG, &value));
  g_assert_cmpint (value, ==, 0);
  set_variable ("debug all=no");
  g_assert_true (slice_get_option (SLICE_OPTION_DEBUG, &value));
  g_assert_cmpint (value, ==, 0);
}

static const struct
{
  const char *variable;
  SliceOption option;
  int64_t value;
} units[] = {
  { "working-set-msec=500ms", SLICE_OPTION_WORKING_SET_MSEC, 500 },
  { "working-set-msec=20s", SLICE_OPTION_WORKING_SET_MSEC, 20000 },
  { "working-set-msec=2min", SLICE_OPTION_WORKING_SET_MSEC, 120000 },
  { "working-set-msec=24h", SLICE_OPTION_WORKING_SET_MSEC, 86400000 },
  { "magazine-bytes-max=16K", SLICE_OPTION_MAGAZINE_BYTES_MAX, 16384 },
  { "magazine-bytes-max=16k", SLICE_OPTION_MAGAZINE_BYTES_MAX, 16384 },
  { "magazine-bytes-max=128KiB", SLICE_OPTION_MAGAZINE_BYTES_MAX, 131072 },
  { "count=yes", SLICE_OPTION_COUNT, 1 },
  { "count=on", SLICE_OPTION_COUNT, 1 },
  { "count=true", SLICE_OPTION_COUNT, 1 },
  { "count,count=no", SLICE_OPTION_COUNT, 0 },
  { "count,count=off", SLICE_OPTION_COUNT, 0 },
  { "count,count=false", SLICE_OPTION_COUNT, 0 },
  { "huge-pages=off", SLICE_OPTION_HUGE_PAGES, 0 },
  { "huge-pages=2", SLICE_OPTION_HUGE_PAGES, 2 },
};

/* As people write times, sizes and switches. */
static void
test_units (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (units); i++)
    {
      set_variable (units[i].variable);
      g_assert_cmpint (value_of (units[i].option), ==, units[i].value);
    }
}

static void
test_source_names (void)
{
  static const char *const names[]
      = { "posix_memalign", "mmap", "memalign", "valloc", "malloc" };

  const bool is_built_in[]
      = { sli_os_has_posix_memalign (), true, sli_os_has_memalign (),
          sli_os_has_valloc (), true };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      char *text = g_strconcat ("page-source=", names[i], NULL);

      set_variable (text);
      if (is_built_in[i])
        g_assert_cmpint (value_of (SLICE_OPTION_PAGE_SOURCE), ==, (int) i);
      g_free (text);
    }
}

static const char *variable_of_child;

static void
freeze_with_variable (void)
{
  int64_t value;

  set_variable (variable_of_child);
  slice_get_option (SLICE_OPTION_COUNT, &value); /* says it once */
  sli_option_freeze ();
  sli_option_freeze ();
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpint (value_of (rows[i].option), ==, rows[i].initial);
}

#define UNKNOWN(word)                                                         \
  "slice: warning 130: SLICE_OPTIONS: unknown option '" word                  \
  "' is ignored (SLICE_OPTIONS=help lists all)\n"
#define BAD(item, range)                                                      \
  "slice: warning 131: SLICE_OPTIONS: '" item                                 \
  "' is ignored: its value may be " range "\n"
#define VALUELESS(item, range)                                                \
  "slice: warning 131: SLICE_OPTIONS: '" item                                 \
  "' is ignored: it needs a value: " range "\n"
#define SWITCH "no or yes (0 or 1)"
#define TIME "0 to 86400000 ms (or as 500ms, 15s, 2min, 1h)"
#define BYTES(from, to) from " " to " bytes (or as 4K, 128K)"
#define SOURCES "posix_memalign, mmap, memalign, valloc or malloc"

static const struct
{
  const char *variable;
  const char *message;
} bad_variables[] = {
  { "", "" },
  { " ,;:\t\n", "" },
  { "nonsense", UNKNOWN ("nonsense") },
  { "Count", UNKNOWN ("Count") },
  { "nonsense=1", UNKNOWN ("nonsense") },
  { "=1", UNKNOWN ("") },
  { "one,two", UNKNOWN ("one") UNKNOWN ("two") },
  { "alls=1", UNKNOWN ("alls") },
  { "count=2", BAD ("count=2", SWITCH) },
  { "count=", BAD ("count=", SWITCH) },
  { "count=-1", BAD ("count=-1", SWITCH) },
  { "count=+1", BAD ("count=+1", SWITCH) },
  { "count=maybe", BAD ("count=maybe", SWITCH) },
  { "count=1s", BAD ("count=1s", SWITCH) },
  { "count=1=1", BAD ("count=1=1", SWITCH) },
  { "count=0x1", BAD ("count=0x1", SWITCH) },
  { "huge-pages=3", BAD ("huge-pages=3", "no, yes, or 0 to 2") },
  { "working-set-msec", VALUELESS ("working-set-msec", TIME) },
  { "working-set-msec=s", BAD ("working-set-msec=s", TIME) },
  { "working-set-msec=yes", BAD ("working-set-msec=yes", TIME) },
  { "working-set-msec=15K", BAD ("working-set-msec=15K", TIME) },
  { "working-set-msec=15S", BAD ("working-set-msec=15S", TIME) },
  { "working-set-msec=25h", BAD ("working-set-msec=25h", TIME) },
  { "working-set-msec=86400001", BAD ("working-set-msec=86400001", TIME) },
  { "working-set-msec=9223372036854775808",
    BAD ("working-set-msec=9223372036854775808", TIME) },
  { "working-set-msec=9223372036854775807h",
    BAD ("working-set-msec=9223372036854775807h", TIME) },
  /* Names that are gone. */
  { "colour-increment=0", UNKNOWN ("colour-increment") },
  { "depot-limit-bytes=1M", UNKNOWN ("depot-limit-bytes") },
  { "magazine-rounds-max=4", UNKNOWN ("magazine-rounds-max") },
  { "clear-freed", UNKNOWN ("clear-freed") },
  { "magazine-bytes-max=4095",
    BAD ("magazine-bytes-max=4095", BYTES ("4096", "to 131072")) },
  { "magazine-bytes-max=129K",
    BAD ("magazine-bytes-max=129K", BYTES ("4096", "to 131072")) },
  { "page-source", VALUELESS ("page-source", SOURCES) },
  { "page-source=1", BAD ("page-source=1", SOURCES) },
  { "page-source=custom", BAD ("page-source=custom", SOURCES) },
  { "magazine-bytes-max=9223372036854775808",
    BAD ("magazine-bytes-max=9223372036854775808",
         BYTES ("4096", "to 131072")) },
  { "magazine-bytes-max=9223372036854775807K",
    BAD ("magazine-bytes-max=9223372036854775807K",
         BYTES ("4096", "to 131072")) },
  { "nonsense,count=3", UNKNOWN ("nonsense") BAD ("count=3", SWITCH) },
  /* What is too long to be a name is cut. */
  { "a23456789b23456789c23456789d23456789e23456789f23456789g23456789h23",
    UNKNOWN ("a23456789b23456789c23456789d23456789"
             "e23456789f23456789g23456789") },
};

static void
test_bad_variables (void)
{
  for (size_t i = 0; i < G_N_ELEMENTS (bad_variables); i++)
    {
      int status;
      char *said;

      variable_of_child = bad_variables[i].variable;
      said = test_capture (freeze_with_variable, &status);
      g_assert_cmpstr (said, ==, bad_variables[i].message);
      g_assert_cmpint (status, ==, 0);
      g_free (said);
    }
}

/* A bad item does not take the good ones with it. */
static void
test_good_beside_bad (void)
{
  set_variable ("nonsense,stats,count=7,working-set-msec=5");
  g_assert_cmpint (value_of (SLICE_OPTION_STATS), ==, 1);
  g_assert_cmpint (value_of (SLICE_OPTION_COUNT), ==, 0);
  g_assert_cmpint (value_of (SLICE_OPTION_WORKING_SET_MSEC), ==, 5);
}

static void
test_help_as_switch (void)
{
  static const char *const variables[]
      = { "help=0", "help=no", "help=7", "help=1", "help=yes" };
  static const char *const patterns[]
      = { "", "",
          "slice: warning 131: SLICE_OPTIONS: 'help=7' is ignored: its value "
          "may be no or yes (0 or 1)\n",
          "slice: options of SLICE_OPTIONS:\n*",
          "slice: options of SLICE_OPTIONS:\n*" };

  for (size_t i = 0; i < G_N_ELEMENTS (variables); i++)
    {
      char *said;

      variable_of_child = variables[i];
      said = test_said_by (freeze_with_variable);
      if (!g_pattern_match_simple (patterns[i], said))
        g_error ("%s: %s", variables[i], said);
      g_free (said);
    }
}

static void
ask_with_variable (void)
{
  int64_t value;

  set_variable (variable_of_child);
  slice_get_option (SLICE_OPTION_COUNT, &value);
  slice_get_option (SLICE_OPTION_CHECKED, &value);
}

/* A program that only asks has the messages, too. */
static void
test_asked_only (void)
{
  char *said;

  variable_of_child = "nonsense";
  said = test_said_by (ask_with_variable);
  g_assert_cmpstr (said, ==,
                   "slice: warning 130: SLICE_OPTIONS: unknown option "
                   "'nonsense' is ignored (SLICE_OPTIONS=help lists all)\n");
  g_free (said);
}

static void
test_help (void)
{
  char *said;

  variable_of_child = "help";
  said = test_said_by (freeze_with_variable);
  g_assert_true (
      g_str_has_prefix (said, "slice: options of SLICE_OPTIONS:\n"));
  for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      bool is_switch = rows[i].maximum <= 2;
      char *most = rows[i].maximum == INT64_MAX
                       ? g_strdup ("or more")
                       : g_strdup_printf ("to %" G_GINT64_FORMAT,
                                          (gint64) rows[i].maximum);
      char *range
          = rows[i].maximum == 1 ? g_strdup ("no or yes (0 or 1)")
            : is_switch
                ? g_strdup_printf ("no, yes, or 0 %s", most)
                : g_strdup_printf ("%d %s*", (int) rows[i].minimum, most);
      char *initial = rows[i].maximum == 1
                          ? g_strdup (rows[i].initial ? "yes" : "no")
                          : g_strdup_printf ("%d", (int) rows[i].initial);
      char *line = g_strdup_printf ("*\n  %s%s  *\n      %s; by default "
                                    "%s\n*", rows[i].name,
                                    rows[i].maximum > 1 ? "=VALUE" : "",
                                    range, initial);

      g_assert_true (g_pattern_match_simple (line, said));
      g_free (line);
      g_free (initial);
      g_free (range);
      g_free (most);
    }
  g_assert_nonnull (strstr (said, "\n      0 to 86400000 ms (or as 500ms, "
                                  "15s, 2min, 1h); by default 15000\n"));
  g_assert_nonnull (strstr (said, "\n      " SOURCES "; by default "));
  g_assert_nonnull (strstr (said, "\n  all  "));
  g_free (said);
}

static void
set_in_thread (unsigned index, void *data G_GNUC_UNUSED)
{
  for (int i = 0; i < 1000; i++)
    {
      int64_t value;

      slice_set_option (SLICE_OPTION_WORKING_SET_MSEC, index);
      slice_get_option (SLICE_OPTION_WORKING_SET_MSEC, &value);
      g_assert_cmpint (value, <, 3);
      if (i == 900)
        sli_option_freeze ();
    }
}

static void
test_threads (void)
{
  g_unsetenv ("SLICE_OPTIONS");
  slice_set_option (SLICE_OPTION_WORKING_SET_MSEC, 0);
  test_gang (3, set_in_thread, NULL);
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add_fresh ("/slice/option/every", test_every_option);
  test_add_fresh ("/slice/option/manual", test_manual);
  test_add_fresh ("/slice/option/defaults", test_defaults);
  test_add_fresh ("/slice/option/source-in-limit", test_source_in_limit);
  test_add_fresh ("/slice/option/names", test_names);
  test_add_fresh ("/slice/option/ranges", test_ranges);
  test_add_fresh ("/slice/option/unknown", test_unknown);
  test_add_fresh ("/slice/option/too-late", test_too_late);
  test_add_fresh ("/slice/option/variable", test_variable);
  test_add_fresh ("/slice/option/all", test_all);
  test_add_fresh ("/slice/option/all-with-value", test_all_with_value);
  test_add_fresh ("/slice/option/units", test_units);
  test_add_fresh ("/slice/option/source-names", test_source_names);
  test_add ("/slice/option/bad-variables", test_bad_variables);
  test_add_fresh ("/slice/option/good-beside-bad", test_good_beside_bad);
  test_add ("/slice/option/help", test_help);
  test_add ("/slice/option/asked-only", test_asked_only);
  test_add ("/slice/option/help-as-switch", test_help_as_switch);
  test_add_fresh ("/slice/option/threads", test_threads);
  return g_test_run ();
}
