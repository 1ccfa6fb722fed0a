/* misuse.c - runs the misuse corpus and says what became of each case
 *
 *   misuse [--runs=N] [--mode=MODE] [--case=N] [--table]
 *   misuse --compare            a table over allocators, this one's modes first
 *   misuse --allocator=NAME --report   one line a compared case, for --compare
 *   misuse --under=TOOL         the cases that a tool must report, under it
 *
 * Each case runs in a process of its own, in each mode, and must end exactly
 * as the table of cases says: with that signal and that message.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "misuse.h"
#include "tests/hang.h"
#include "tests/misuse-texts.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <glib.h>
#include <slice/libslice.h>

enum
{
  N_MODES = 4,
  CASE_SECONDS = 60,      /* ten times as long in the long form */
  TEXT_BYTES = 1 << 16
};

static const char *const modes[N_MODES]
    = { "default", "checked", "hardened", "debug" };

static const Case *const tables[]
    = { free_cases, contents_cases, resource_cases, thread_cases };

/* --- what the cases use -------------------------------------------------- */

const Allocator *allocator;
Trace *trace;
void *(*volatile take) (size_t size);
void (*volatile give) (size_t size, void *block);

/* In the comparison a block handed out twice is the end of the story; in the
 * corpus the program goes on, for the default mode speaks later. */
static bool ends_at_harm;

void
fault_begin (const void *block, size_t size)
{
  trace->block = block;
  trace->size = size;
  trace->thread = (unsigned) syscall (SYS_gettid);
  trace->stage = AT_FAULT;
}

void
fault_end (void)
{
  trace->stage = PAST_FAULT;
}

void
give_wrongly (size_t size, void *block)
{
  fault_begin (block, size);
  give (size, block);
  fault_end ();
}

static int
by_address (const void *a, const void *b)
{
  uintptr_t x = *(const uintptr_t *) a, y = *(const uintptr_t *) b;

  return (x > y) - (x < y);
}

bool
hands_out_twice (size_t size, const void *wanted)
{
  enum
  {
    N = 9000
  };
  static uintptr_t blocks[N];
  int n = size > 10000 ? 100 : N;
  bool harm = false;

  for (int i = 0; i < n; i++)
    blocks[i] = (uintptr_t) take (size);
  qsort (blocks, (size_t) n, sizeof blocks[0], by_address);
  for (int i = 0; i < n; i++)
    harm = harm || (i > 0 && blocks[i] - blocks[i - 1] < size)
           || blocks[i] - (uintptr_t) wanted < 4096;
  if (harm && ends_at_harm)
    return true;
  for (int i = 0; i < n; i++)
    give (size, (void *) blocks[i]);
  return harm;
}

void
churn (size_t size)
{
  void *blocks[400];

  for (int round = 0; round < 60; round++)
    {
      for (int i = 0; i < 400; i++)
        blocks[i] = take (size);
      for (int i = 0; i < 400; i++)
        give (size, blocks[i]);
    }
}

/* --- allocators ---------------------------------------------------------- */

static void
slice_settle (void)
{
  slice_trim (0);
}

static void
malloc_give (size_t size, void *block)
{
  (void) size;
  free (block);
}

static void
malloc_settle (void)
{
  malloc_trim (0);
}

static void
nothing (void)
{
}

static const Allocator allocators[] = {
  { "slice", slice_alloc, slice_free1, slice_settle, true },
  { "gslice", g_slice_alloc, g_slice_free1, nothing, false },
  { "malloc", malloc, malloc_give, malloc_settle, false },
};

/* --- one case ------------------------------------------------------------ */

typedef struct
{
  int status;      /* as of waitpid() */
  Trace trace;
  pid_t pid;
  char text[TEXT_BYTES]; /* that it wrote to standard error */
} Outcome;

static void
run_child (const Case *one, const char *options, int fd)
{
  struct rlimit no_core = { 0, 0 };

  setrlimit (RLIMIT_CORE, &no_core);
  dup2 (fd, 2);
  if (options != NULL)
    setenv ("SLICE_OPTIONS", options, 1);
  hang_after (getenv ("MISUSE_LONG") != NULL ? 10 * CASE_SECONDS
                                             : CASE_SECONDS);
  take = allocator->alloc;
  give = allocator->free;
  exit (one->run ());
}

/* All that comes; a grandchild may hold the pipe open: ask the child, too. */
static void
collect (int fd, Outcome *outcome)
{
  size_t length = 0;
  bool ended = false;

  for (;;)
    {
      struct pollfd waiting = { fd, POLLIN, 0 };
      ssize_t n = 0;

      if (poll (&waiting, 1, ended ? 0 : 10) > 0)
        n = read (fd, outcome->text + length, TEXT_BYTES - 1 - length);
      else if (ended)
        break;
      else
        ended = waitpid (outcome->pid, &outcome->status, WNOHANG) != 0;
      if (n > 0)
        length += (size_t) n;
      else if (waiting.revents != 0)
        break;
    }
  outcome->text[length] = '\0';
  if (!ended)
    waitpid (outcome->pid, &outcome->status, 0);
}

static void
run_case (const Case *one, const char *options, Outcome *outcome)
{
  int ends[2];

  if (pipe (ends) != 0)
    abort ();
  memset (trace, 0, sizeof *trace);
  fflush (NULL);
  outcome->pid = fork ();
  if (outcome->pid == 0)
    {
      close (ends[0]);
      run_child (one, options, ends[1]);
    }
  close (ends[1]);
  collect (ends[0], outcome);
  close (ends[0]);
  outcome->trace = *trace;
}

/* --- what it must be ----------------------------------------------------- */

static const char *
message_text (int number)
{
  for (size_t i = 0; i < sizeof misuse_texts / sizeof misuse_texts[0]; i++)
    if (misuse_texts[i].number == number)
      return misuse_texts[i].text;
  return "?";
}

/* Is it the one line, whole, with that number?  Where the faulty call is
 * known, it must name its block, size and thread. */
static bool
message_is (const Outcome *outcome, int number, bool later)
{
  char begin[160], operation[40] = "", rest[1024];
  const char *text = outcome->text, *at;
  char *wanted;
  bool is_it;

  if (strncmp (text, "slice: error ", 13) != 0
      || strchr (text, '\n') != text + strlen (text) - 1)
    return false;
  snprintf (begin, sizeof begin, "slice: error %d: ", number);
  if (strncmp (text, begin, strlen (begin)) != 0)
    return false;
  at = text + strlen (begin);
  /* A call, or, where the fault is found later, perhaps "flush of ...". */
  if (sscanf (at, "%39[a-z0-9_ ]: ", operation) != 1
      || (!later && strchr (operation, ' ') != NULL))
    return false;
  if (number == 116) /* no block's fault */
    return g_str_has_prefix (at, "slice_alloc: ")
           || g_str_has_prefix (at, "slice_free1: ")
                  ? strstr (at, ": called again before a call had ended "
                                "(in a signal handler?) [thread ")
                        != NULL
                  : false;
  snprintf (rest, sizeof rest, "%s: %s: block 0x", operation,
            message_text (number));
  if (strncmp (at, rest, strlen (rest)) != 0
      || strstr (at, ", given size ") == NULL || strstr (at, " [class ") == NULL
      || strstr (at, ", thread ") == NULL)
    return false;
  if (later || outcome->trace.block == NULL)
    return true;
  wanted = g_strdup_printf ("block %p, given size %zu", outcome->trace.block,
                            outcome->trace.size);
  is_it = strstr (at, wanted) != NULL;
  g_free (wanted);
  wanted = g_strdup_printf (", thread %u]\n", outcome->trace.thread);
  is_it = is_it && g_str_has_suffix (at, wanted);
  g_free (wanted);
  return is_it;
}

static bool
is_warning (const char *text, const char *number)
{
  static const char head[] = "slice: warning ";

  return strncmp (text, head, sizeof head - 1) == 0
         && strncmp (text + sizeof head - 1, number, strlen (number)) == 0;
}

static bool
is_as_word (const Outcome *outcome, const char *word)
{
  int status = outcome->status;
  bool aborted = WIFSIGNALED (status) && WTERMSIG (status) == SIGABRT;
  int verdict = WIFEXITED (status) ? WEXITSTATUS (status) : 0;

  if (verdict == SKIP)
    return true;
  if (strcmp (word, "N") == 0)
    return verdict == NO_HARM && outcome->text[0] == '\0';
  if (strcmp (word, "U") == 0)
    return verdict == NO_HARM || verdict == HARM;
  if (strcmp (word, "G") == 0)
    return WIFSIGNALED (status)
           && (WTERMSIG (status) == SIGSEGV || WTERMSIG (status) == SIGBUS);
  if (word[0] == 'E') /* ends well, with a warning */
    return verdict == NO_HARM && is_warning (outcome->text, word + 1);
  if (strcmp (word, "abort") == 0)
    return aborted;
  if (word[0] == 'L')
    return aborted && outcome->trace.stage == PAST_FAULT
           && message_is (outcome, atoi (word + 1), true);
  return aborted && outcome->trace.stage == AT_FAULT
         && message_is (outcome, atoi (word), false);
}

static bool
is_as_expected (const Outcome *outcome, const char *expected)
{
  char **words = g_strsplit (expected, "|", -1);
  bool found = false;

  for (char **word = words; *word != NULL; word++)
    found = found || is_as_word (outcome, *word);
  g_strfreev (words);
  return found;
}

/* What it was, for people. */
static const char *
outcome_word (const Outcome *outcome)
{
  static char word[32];
  int status = outcome->status, number = 0;

  sscanf (outcome->text, "slice: error %d:", &number);
  if (WIFEXITED (status))
    snprintf (word, sizeof word, "%s",
              WEXITSTATUS (status) == NO_HARM ? "no harm"
              : WEXITSTATUS (status) == HARM  ? "SILENT"
              : WEXITSTATUS (status) == SKIP  ? "skipped"
                                              : "exit");
  else if (WTERMSIG (status) == SIGABRT)
    snprintf (word, sizeof word, "%s%d",
              outcome->trace.stage == PAST_FAULT ? "later " : "", number);
  else
    snprintf (word, sizeof word, "%s",
              WTERMSIG (status) == SIGALRM ? "hangs"
              : WTERMSIG (status) == SIGSEGV || WTERMSIG (status) == SIGBUS
                  ? "crash"
                  : "signal");
  return word;
}

static bool
is_stopped (const Outcome *outcome)
{
  return WIFSIGNALED (outcome->status)
         && WTERMSIG (outcome->status) != SIGALRM;
}

/* --- the corpus ---------------------------------------------------------- */

static int n_tests, n_failed;

static void
report (bool passed, const char *name, const char *mode, const char *why)
{
  printf ("%s %d - %s, %s%s%s\n", passed ? "ok" : "not ok", ++n_tests, name,
          mode, passed ? "" : ": ", passed ? "" : why);
  n_failed += !passed;
}

static void
run_corpus (int n_runs, const char *only_mode, int only_case, bool with_table)
{
  static Outcome outcome;
  GString *table = g_string_new ("");
  int n_stopped[N_MODES] = { 0 }, n_silent[N_MODES] = { 0 }, n_cases = 0;

  for (size_t t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const Case *one = tables[t]; one->number != 0; one++)
      {
        if (only_case != 0 && one->number != only_case)
          continue;
        g_string_append_printf (table, "# %4d %-40s", one->number, one->name);
        n_cases++;
        for (int mode = 0; mode < N_MODES; mode++)
          {
            bool passed = true;

            if (only_mode != NULL && strcmp (modes[mode], only_mode) != 0)
              continue;
            for (int run = 0; run < n_runs && passed; run++)
              {
                run_case (one, mode == 0 ? "" : modes[mode], &outcome);
                passed = is_as_expected (&outcome, one->expected[mode]);
              }
            g_string_append_printf (table, " %-10s", outcome_word (&outcome));
            n_stopped[mode] += is_stopped (&outcome);
            n_silent[mode] += WIFEXITED (outcome.status)
                              && WEXITSTATUS (outcome.status) == HARM;
            report (passed, one->name, modes[mode], outcome_word (&outcome));
            if (!passed)
              printf ("# expected %s, stage %d, block %p, size %zu: %s\n",
                      one->expected[mode], outcome.trace.stage,
                      outcome.trace.block, outcome.trace.size, outcome.text);
          }
        g_string_append (table, "\n");
      }
  if (with_table)
    {
      printf ("# %-45s %-10s %-10s %-10s %-10s\n%s", "case", modes[0],
              modes[1], modes[2], modes[3], table->str);
      printf ("# of %d cases: stopped %d, %d, %d, %d; silent %d, %d, %d, "
              "%d\n",
              n_cases, n_stopped[0], n_stopped[1], n_stopped[2],
              n_stopped[3], n_silent[0], n_silent[1], n_silent[2],
              n_silent[3]);
    }
  g_string_free (table, TRUE);
}

/* --- the comparison ------------------------------------------------------ */

enum
{
  STOPPED,  /* by a check */
  CRASHED,
  HARMLESS,
  SILENTLY,
  N_FATES
};

/* Does it end with a word of the allocator's, or by accident? */
static int
fate_of (const Outcome *outcome)
{
  int status = outcome->status;

  if (WIFSIGNALED (status))
    {
      /* glibc, hardened and others abort(); some trap. */
      if (WTERMSIG (status) == SIGABRT || WTERMSIG (status) == SIGILL
          || WTERMSIG (status) == SIGTRAP || outcome->text[0] != '\0')
        return STOPPED;
      return CRASHED;
    }
  return WEXITSTATUS (status) == NO_HARM ? HARMLESS : SILENTLY;
}

/* One line: the fate that most of the runs had; silent if it ever was. */
static void
print_fates (const char *label, const char *options, int n_runs, bool each)
{
  static Outcome outcome;
  int sums[N_FATES] = { 0 };

  for (size_t t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const Case *one = tables[t]; one->number != 0; one++)
      {
        int fates[N_FATES] = { 0 }, most = 0;

        if (!one->is_compared)
          continue;
        for (int run = 0; run < n_runs; run++)
          {
            run_case (one, options, &outcome);
            fates[fate_of (&outcome)]++;
          }
        for (int i = 1; i < N_FATES; i++)
          if (fates[i] > fates[most])
            most = i;
        if (fates[SILENTLY] > 0)
          most = SILENTLY;
        sums[most]++;
        if (each)
          printf ("#   %-40s %s\n", one->name,
                  most == STOPPED    ? "stopped"
                  : most == CRASHED  ? "crash"
                  : most == HARMLESS ? "no harm"
                                     : "SILENT");
      }
  printf ("%-28s %8d %8d %8d %8d\n", label, sums[STOPPED], sums[CRASHED],
          sums[HARMLESS], sums[SILENTLY]);
  fflush (stdout);
}

/* A malloc that comes from the environment: this program again, with it. */
static void
compare_preloaded (const char *self, const char *label, const char *library,
                   const char *variable, const char *value, int n_runs)
{
  g_autofree char *runs = g_strdup_printf ("--runs=%d", n_runs);
  pid_t pid;

  if (library != NULL && access (library, R_OK) != 0)
    return;
  fflush (stdout);
  pid = fork ();
  if (pid == 0)
    {
      if (library != NULL)
        setenv ("LD_PRELOAD", library, 1);
      if (variable != NULL)
        setenv (variable, value, 1);
      execl (self, self, "--fates", label, runs, (char *) NULL);
      _exit (1);
    }
  waitpid (pid, NULL, 0);
}

static const struct
{
  const char *label, *name, *variable, *value;
} peers[] = { { "jemalloc", "libjemalloc.so.2", NULL, NULL },
              { "mimalloc", "libmimalloc.so.2", NULL, NULL },
              { "mimalloc (secure)", "libmimalloc-secure.so.2", NULL, NULL },
              { "tcmalloc", "libtcmalloc.so.4", NULL, NULL },
              { "tcmalloc (debug)", "libtcmalloc_debug.so.4", NULL, NULL },
              { "snmalloc (checks)", "libsnmallocshim-checks.so", NULL,
                NULL },
              { "hardened_malloc", "libhardened_malloc.so", NULL, NULL },
              { "libumem", "libumem.so.0", NULL, NULL },
              { "tbbmalloc", "libtbbmalloc_proxy.so.2", NULL, NULL },
              { "electric fence", "libefence.so.0", NULL, NULL } };

static void
compare (const char *self, int n_runs)
{
  printf ("%-28s %8s %8s %8s %8s\n", "28 faults", "stopped", "crash",
          "no harm", "SILENT");
  allocator = &allocators[0];
  for (int mode = 0; mode < N_MODES; mode++)
    {
      g_autofree char *label = g_strdup_printf ("slice, %s", modes[mode]);

      print_fates (label, mode == 0 ? "" : modes[mode], n_runs, false);
    }
  allocator = &allocators[1];
  print_fates ("GSlice", NULL, n_runs, false);
  setenv ("G_SLICE", "debug-blocks", 1);
  compare_preloaded (self, "GSlice, debug-blocks", NULL, "MISUSE_ALLOCATOR",
                     "gslice", n_runs);
  unsetenv ("G_SLICE");
  allocator = &allocators[2];
  print_fates ("glibc malloc", NULL, n_runs, false);
  for (size_t i = 0; i < G_N_ELEMENTS (peers); i++)
    {
      g_autofree char *path
          = g_strdup_printf ("/usr/lib/%s-linux-gnu/%s",
#ifdef __x86_64__
                             "x86_64",
#else
                             "aarch64",
#endif
                             peers[i].name);

      compare_preloaded (self, peers[i].label, path, peers[i].variable,
                         peers[i].value, n_runs);
    }
}

/* --- under a tool -------------------------------------------------------- */

/* What memcheck wrote of a child: its log lies beside. */
static char *
tool_words (const Outcome *outcome)
{
  const char *prefix = getenv ("MISUSE_LOG");
  g_autofree char *path = NULL;
  char *text = NULL;

  if (prefix == NULL)
    return g_strdup (outcome->text);
  path = g_strdup_printf ("%s.%d", prefix, (int) outcome->pid);
  if (!g_file_get_contents (path, &text, NULL, NULL))
    return g_strdup (outcome->text);
  return text;
}

static void
run_under_tool (const char *tool, const char *options, int only_case)
{
  static Outcome outcome;
  char letter = tool[0]; /* memcheck, asan, leaks */
  int n = 0, n_reported = 0;

  for (size_t t = 0; t < G_N_ELEMENTS (tables); t++)
    for (const Case *one = tables[t]; one->number != 0; one++)
      {
        bool reported;
        char *words;

        if (one->tools == NULL || strchr (one->tools, letter) == NULL
            || (only_case != 0 && one->number != only_case))
          continue;
        run_case (one, options, &outcome);
        words = tool_words (&outcome);
        reported = strstr (words, "Invalid ") != NULL
                   || strstr (words, "uninitialised") != NULL
                   || strstr (words, "definitely lost: 1") != NULL
                   || strstr (words, "definitely lost: 6") != NULL
                   || strstr (words, "are definitely lost") != NULL
                   || strstr (words, "ERROR: AddressSanitizer") != NULL
                   || strstr (words, "ERROR: LeakSanitizer") != NULL
                   || strstr (outcome.text, "slice: error ") != NULL;
        n++;
        n_reported += reported;
        report (reported, one->name, tool, outcome_word (&outcome));
        if (!reported)
          printf ("# case %d: nothing of it in: %.300s\n", one->number,
                  words);
        g_free (words);
      }
  printf ("# %s: %d of %d reported\n", tool, n_reported, n);
}

/* --- the command line ---------------------------------------------------- */

int
main (int argc, char **argv)
{
  int n_runs = 1, only_case = 0;
  const char *mode = NULL, *tool = NULL, *fates = NULL, *options = NULL;
  bool with_table = false, compares = false, each = false;

  for (int i = 1; i < argc; i++)
    if (g_str_has_prefix (argv[i], "--runs="))
      n_runs = atoi (argv[i] + 7);
    else if (g_str_has_prefix (argv[i], "--case="))
      only_case = atoi (argv[i] + 7);
    else if (g_str_has_prefix (argv[i], "--mode="))
      mode = argv[i] + 7;
    else if (g_str_has_prefix (argv[i], "--under="))
      tool = argv[i] + 8;
    else if (g_str_has_prefix (argv[i], "--options="))
      options = argv[i] + 10;
    else if (strcmp (argv[i], "--table") == 0)
      with_table = true;
    else if (strcmp (argv[i], "--each") == 0)
      each = true;
    else if (strcmp (argv[i], "--compare") == 0)
      compares = true;
    else if (strcmp (argv[i], "--fates") == 0 && i + 1 < argc)
      fates = argv[++i];
    else if (strcmp (argv[i], "--tap") != 0)
      {
        fprintf (stderr, "misuse: unknown word: %s\n", argv[i]);
        return 2;
      }
  trace = mmap (NULL, sizeof *trace, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  allocator = &allocators[0];
  ends_at_harm = fates != NULL || compares;
  if (fates != NULL)
    {
      const char *name = getenv ("MISUSE_ALLOCATOR");

      allocator = &allocators[name != NULL ? 1 : 2];
      print_fates (fates, NULL, n_runs, each);
      return 0;
    }
  if (compares)
    {
      compare ("/proc/self/exe", n_runs);
      return 0;
    }
  if (tool != NULL)
    run_under_tool (tool, options, only_case);
  else
    run_corpus (n_runs, mode, only_case, with_table);
  printf ("1..%d\n", n_tests);
  return n_failed != 0;
}
