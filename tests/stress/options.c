/* options.c - the command line
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <slice/version.h>

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define SEED_DEFAULT 123456789u
#define BLOCKS_DEFAULT 10000
#define BLOCKS_MIN (2 * WALK_ROW_BLOCKS)
#define BLOCKS_MAX 10000000
#define THREADS_MAX 256
#define MAX_BYTES_DEFAULT 1024
#define MAX_BYTES_MAX (16u << 20)
#define SECONDS_DEFAULT 1
#define SECONDS_MAX (7 * 86400)
#define ROUNDS_MAX UINT64_C (1000000000000)
#define TABLE_ROUNDS_DEFAULT 5
#define TABLE_ROUNDS_MAX 101
/* Lies of each kind that --expect-caught wants to see caught. */
#define EXPECT_DEFAULT 3

enum
{
  KEY_THREADS = 1000,
  KEY_MAX_SIZE,
  KEY_SEED,
  KEY_MODE,
  KEY_ORDER,
  KEY_BLOCKS,
  KEY_SECONDS,
  KEY_ROUNDS,
  KEY_EAGER,
  KEY_COUNTERS,
  KEY_CHECK,
  KEY_TOUCH,
  KEY_SHARE,
  KEY_LIE,
  KEY_EXPECT,
  KEY_SABOTAGE,
  KEY_REPLAY,
  KEY_ARENAS,
  KEY_HEADER,
  KEY_LITERAL,
  KEY_TABLE,
  KEY_QUICK,
  KEY_WALL,
  KEY_JSON,
  KEY_QUIET,
  KEY_VERSION,
  KEY_EXPANDED
};

static const struct option long_options[] = {
  { "threads", required_argument, NULL, KEY_THREADS },
  { "max-size", required_argument, NULL, KEY_MAX_SIZE },
  { "seed", required_argument, NULL, KEY_SEED },
  { "mode", required_argument, NULL, KEY_MODE },
  { "order", required_argument, NULL, KEY_ORDER },
  { "blocks", required_argument, NULL, KEY_BLOCKS },
  { "seconds", required_argument, NULL, KEY_SECONDS },
  { "rounds", required_argument, NULL, KEY_ROUNDS },
  { "eager", no_argument, NULL, KEY_EAGER },
  { "counters", no_argument, NULL, KEY_COUNTERS },
  { "check", no_argument, NULL, KEY_CHECK },
  { "touch", no_argument, NULL, KEY_TOUCH },
  { "share", no_argument, NULL, KEY_SHARE },
  { "lie", optional_argument, NULL, KEY_LIE },
  { "expect-caught", optional_argument, NULL, KEY_EXPECT },
  { "sabotage", required_argument, NULL, KEY_SABOTAGE },
  { "replay", required_argument, NULL, KEY_REPLAY },
  { "with-arenas", no_argument, NULL, KEY_ARENAS },
  { "header", required_argument, NULL, KEY_HEADER },
  { "literal-modulus", no_argument, NULL, KEY_LITERAL },
  { "table", no_argument, NULL, KEY_TABLE },
  { "quick", no_argument, NULL, KEY_QUICK },
  { "wall", no_argument, NULL, KEY_WALL },
  { "json", no_argument, NULL, KEY_JSON },
  { "quiet", no_argument, NULL, KEY_QUIET },
  { "help", no_argument, NULL, 'h' },
  { "version", no_argument, NULL, KEY_VERSION },
  { "expanded-fd", required_argument, NULL, KEY_EXPANDED },
  { NULL, 0, NULL, 0 },
};

static const char help_head[]
    = "Usage: slice-test [OPTION...]\n"
      "Drives an allocator with random or recorded operations and times it.\n"
      "\n"
      "  --mode=MODE         which allocator:\n";

static const char help_tail[]
    = "  --threads=N         1 to 256 (1)\n"
      "  --max-size=BYTES    sizes are below the largest prime that is not\n"
      "                      above it: 1021 for 1024, 509 for 512 (1024)\n"
      "  --blocks=N          blocks that each thread holds (10000)\n"
      "  --order=ORDER       announced: free every second block, refill;\n"
      "                      random: replace one random block at a time;\n"
      "                      rows: 100 blocks of one size, then free them\n"
      "  --seed=N            of the random numbers (123456789)\n"
      "  --seconds=N         how long, fractions too (1)\n"
      "  --rounds=N          so many laps a thread instead; a lap is half\n"
      "                      of --blocks, or the recording once\n"
      "  --replay=FILE       replay a recorded stream instead of the walk\n"
      "  --with-arenas       its linear and collected blocks, too\n"
      "  --header=BYTES      added to each recorded size (0)\n"
      "  --literal-modulus   divide by a global, as the announcement did\n"
      "  --eager             keep nothing: a working set of 0\n"
      "  --counters          print the statistics at the end\n"
      "  --touch             write each new block's first and last byte\n"
      "  --check             fill each block, verify it before its free\n"
      "  --share             threads free each other's blocks (and --check)\n"
      "  --lie[=KIND]        now and then free wrongly, with checked\n"
      "                      on; the allocator must end the program.  KIND:\n"
      "                      size-up, size-down, pointer, interior, twice,\n"
      "                      twice-later, foreign, stack, any (any)\n"
      "  --expect-caught[=N] tell N lies of each kind (or of --lie=KIND) in\n"
      "                      children, and see that each is caught (3)\n"
      "  --sabotage=KIND     with --check: change a byte of a live block\n"
      "                      (byte) or forget a block (leak) in each thread;\n"
      "                      the exit code must be 1\n"
      "  --table             compare all modes and the mallocs found here\n"
      "  --quick             a shorter table\n"
      "  --wall              the table in wall instead of CPU time\n"
      "  --json              figures as JSON\n"
      "  --quiet             no progress bar\n"
      "  --help, --version\n"
      "\n"
      "With --table, --seconds is the time of each single run and --rounds\n"
      "the number of interleaved rounds (5).\n"
      "Exit code: 0 well, 1 something was found, 2 usage, 77 not available.\n";

static void
help_print (void)
{
  fputs (help_head, stdout);
  for (unsigned i = 0; contestant_at (i) != NULL; i++)
    printf ("                        %-7s %s\n", contestant_at (i)->name,
            contestant_at (i)->what);
  fputs (help_tail, stdout);
}

/* --- values ---------------------------------------------------------------
 */

static uint64_t
number_parse (const char *option, const char *text, uint64_t least,
              uint64_t most)
{
  char *end;
  unsigned long long number;

  errno = 0;
  number = strtoull (text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0
      || number < least || number > most)
    stress_fail (EXIT_USAGE, "--%s: '%s' is no number from %llu to %llu",
                 option, text, (unsigned long long)least,
                 (unsigned long long)most);
  return number;
}

static double
seconds_parse (const char *text)
{
  char *end;
  double seconds = strtod (text, &end);

  if (end == text || *end != '\0' || !(seconds > 0 && seconds <= SECONDS_MAX))
    stress_fail (EXIT_USAGE, "--seconds: '%s' is no number above 0 up to %d",
                 text, SECONDS_MAX);
  return seconds;
}

static const Contestant *
mode_parse (const char *text)
{
  const Contestant *contestant = contestant_by_name (text);

  if (contestant == NULL)
    stress_fail (EXIT_USAGE, "--mode: there is no '%s' (see --help)", text);
  return contestant;
}

static const char *const order_names[N_ORDERS]
    = { "announced", "random", "rows" };

const char *
order_name (WalkOrder order)
{
  return order_names[order];
}

static WalkOrder
order_parse (const char *text)
{
  for (WalkOrder order = 0; order < N_ORDERS; order++)
    if (strcmp (text, order_names[order]) == 0)
      return order;
  stress_fail (EXIT_USAGE, "--order: there is no '%s' (see --help)", text);
}

static LieKind
lie_parse (const char *text)
{
  LieKind kind = text == NULL ? LIE_ANY : lie_by_name (text);

  if (kind == LIE_NONE)
    stress_fail (EXIT_USAGE, "--lie: there is no '%s' (see --help)", text);
  return kind;
}

static SabotageKind
sabotage_parse (const char *text)
{
  if (strcmp (text, "byte") == 0)
    return SABOTAGE_BYTE;
  if (strcmp (text, "leak") == 0)
    return SABOTAGE_LEAK;
  stress_fail (EXIT_USAGE, "--sabotage: there is no '%s' (see --help)", text);
}

/* The largest prime that is not above n; n itself below 2. */
static uint32_t
prime_not_above (uint32_t n)
{
  for (; n >= 2; n--)
    {
      uint32_t divisor = 2;

      while (divisor * divisor <= n && n % divisor != 0)
        divisor++;
      if (divisor * divisor > n)
        break;
    }
  return n;
}

/* --- the line -------------------------------------------------------------
 */

static void
options_default (Options *options)
{
  *options = (Options){
    .contestant = contestant_at (0),
    .order = ORDER_ANNOUNCED,
    .n_threads = 1,
    .n_blocks = BLOCKS_DEFAULT,
    .max_bytes = MAX_BYTES_DEFAULT,
    .seed = SEED_DEFAULT,
    .expanded_fd = -1,
  };
}

/* Options with a value; false if it is none of them. */
static bool
option_take_value (Options *options, int key, const char *value)
{
  switch (key)
    {
    case KEY_THREADS:
      options->n_threads
          = (unsigned)number_parse ("threads", value, 1, THREADS_MAX);
      return true;
    case KEY_MAX_SIZE:
      options->max_bytes
          = (uint32_t)number_parse ("max-size", value, 1, MAX_BYTES_MAX);
      return true;
    case KEY_SEED:
      options->seed = (uint32_t)number_parse ("seed", value, 0, UINT32_MAX);
      return true;
    case KEY_MODE:
      options->contestant = mode_parse (value);
      return true;
    case KEY_ORDER:
      options->order = order_parse (value);
      return true;
    case KEY_BLOCKS:
      options->n_blocks
          = (unsigned)number_parse ("blocks", value, BLOCKS_MIN, BLOCKS_MAX);
      return true;
    case KEY_SECONDS:
      options->seconds = seconds_parse (value);
      return true;
    case KEY_ROUNDS:
      options->n_rounds = number_parse ("rounds", value, 1, ROUNDS_MAX);
      return true;
    case KEY_LIE:
      options->lie = lie_parse (value);
      return true;
    case KEY_EXPECT:
      options->n_expect
          = value == NULL
                ? EXPECT_DEFAULT
                : (unsigned)number_parse ("expect-caught", value, 1, 10000);
      return true;
    case KEY_SABOTAGE:
      options->sabotage = sabotage_parse (value);
      return true;
    case KEY_REPLAY:
      options->replay_path = value;
      return true;
    case KEY_HEADER:
      options->header_bytes
          = (uint32_t)number_parse ("header", value, 0, 4096);
      return true;
    case KEY_EXPANDED:
      options->expanded_fd
          = (int)number_parse ("expanded-fd", value, 0, INT32_MAX);
      return true;
    default:
      return false;
    }
}

static bool
option_take_flag (Options *options, int key)
{
  switch (key)
    {
    case KEY_EAGER:
      return options->eager = true;
    case KEY_COUNTERS:
      return options->counters = true;
    case KEY_CHECK:
      return options->check = true;
    case KEY_TOUCH:
      return options->touch = true;
    case KEY_SHARE:
      return options->share = true;
    case KEY_ARENAS:
      return options->with_arenas = true;
    case KEY_LITERAL:
      return options->literal = true;
    case KEY_TABLE:
      return options->table = true;
    case KEY_QUICK:
      return options->quick = true;
    case KEY_WALL:
      return options->wall = true;
    case KEY_JSON:
      return options->json = true;
    case KEY_QUIET:
      return options->quiet = true;
    default:
      return false;
    }
}

/* What can't go together. */
static void
options_check (const Options *options)
{
  bool slice = options->contestant->is_slice;
  bool replays = options->replay_path != NULL || options->expanded_fd >= 0;
  bool lies = options->lie != LIE_NONE;

  if ((options->eager || options->counters || lies) && !slice)
    stress_fail (EXIT_USAGE,
                 "--eager, --counters and --lie are for slices,"
                 " not for --mode=%s",
                 options->contestant->name);
  if (replays && (lies || options->share || options->literal))
    stress_fail (EXIT_USAGE, "--lie, --share and --literal-modulus are for"
                             " the walk, not for a recording");
  if (options->sabotage != SABOTAGE_NONE && (!options->check || replays))
    stress_fail (EXIT_USAGE, "--sabotage is for the walk with --check");
  if ((options->with_arenas || options->header_bytes > 0) && !replays
      && !options->table)
    stress_fail (EXIT_USAGE, "--with-arenas and --header need --replay");
  if ((options->quick || options->wall) && !options->table)
    stress_fail (EXIT_USAGE, "--quick and --wall need --table");
  if (options->table
      && (lies || options->n_expect > 0 || options->check || options->share))
    stress_fail (EXIT_USAGE, "--table can't be combined with --check,"
                             " --share, --lie or --expect-caught");
  if (options->table && options->n_rounds > TABLE_ROUNDS_MAX)
    stress_fail (EXIT_USAGE, "--table: at most %d rounds", TABLE_ROUNDS_MAX);
  if (options->literal && options->touch)
    stress_fail (EXIT_USAGE, "--literal-modulus can't be combined with"
                             " --touch");
}

static void
options_finish (Options *options)
{
  /* What is verified is walked in one order (careful.c). */
  if (options->check || options->share || options->lie != LIE_NONE)
    options->order = ORDER_RANDOM;
  options->modulus = prime_not_above (options->max_bytes);
  options->n_table_rounds = options->n_rounds > 0 ? (unsigned)options->n_rounds
                                                  : TABLE_ROUNDS_DEFAULT;
  /* The table has a time of its own for its runs. */
  if (options->seconds == 0 && !options->table)
    options->seconds = SECONDS_DEFAULT;
}

/* Ends the program on --help, --version and on what it can't take. */
void
options_parse (Options *options, int argc, char **argv)
{
  int key;

  options_default (options);
  while ((key = getopt_long (argc, argv, "h", long_options, NULL)) != -1)
    {
      if (key == 'h')
        {
          help_print ();
          stress_output_end ();
          exit (EXIT_GOOD);
        }
      if (key == KEY_VERSION)
        {
          printf ("slice-test %s\n", SLICE_VERSION_STRING);
          stress_output_end ();
          exit (EXIT_GOOD);
        }
      if (!option_take_value (options, key, optarg)
          && !option_take_flag (options, key))
        {
          fputs ("slice-test --help shows what there is\n", stderr);
          exit (EXIT_USAGE);
        }
    }
  if (optind < argc)
    stress_fail (EXIT_USAGE, "'%s' is not an option (see --help)",
                 argv[optind]);
  options_check (options);
  options_finish (options);
}
