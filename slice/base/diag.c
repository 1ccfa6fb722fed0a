/* diag.c - messages of one line, and the end of the program
 *
 * Layer: base.  No locks, no memory: it must work when all else fails.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "diag.h"
#include "sizeclass.h"
#include "port/compiler.h"
#include "port/os/os.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum
{
  FILE_BYTES = 512, /* longest name of a file that is shown */
  LINE_BYTES = 416 + 2 * FILE_BYTES, /* longest message; what is longer is
                                        cut */
  WAIT_MSEC = 10,    /* for another thread's report: 10 s in all */
  WAITS_MAX = 1000
};

static DiagHook diag_hook;

/* The function to call at the end.  It is read without a lock, because the
 * thread may hold any lock.  So a pair is written first, and then
 * published. */
static struct
{
  struct
  {
    DiagLastWords call;
    void *data;
  } pairs[2];
  int shown;       /* the index of the current pair */
  unsigned thread; /* the one that ends the program; 0: none yet */
  bool is_done;
} last_words;

/* A text that grows up to a limit. */
typedef struct
{
  char *to;
  size_t capacity;
  size_t length;
} Text;

static void
text_put (Text *text, const char *bytes, size_t n)
{
  for (size_t i = 0; i < n && text->length + 1 < text->capacity; i++)
    text->to[text->length++] = bytes[i];
}

static void
text_put_number (Text *text, uintmax_t number, unsigned base)
{
  char digits[3 * sizeof number];
  size_t at = sizeof digits;

  do
    digits[--at] = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  text_put (text, digits + at, sizeof digits - at);
}

static void
text_put_address (Text *text, const void *address)
{
  text_put (text, "0x", 2);
  text_put_number (text, (uintptr_t) address, 16);
}

/* A program may lie anywhere in memory (PIE), so its addresses say nothing by
 * themselves. */
static void
text_put_code (Text *text, const CodePlace *place)
{
  char name[FILE_BYTES];

  if (place->file == NULL
      || !sli_os_module_name (place->file, name, sizeof name))
    {
      text_put_address (text, place->address);
      return;
    }
  text_put (text, name, strlen (name));
  text_put (text, "+", 1);
  text_put_address (text,
                    (const char *) place->address - place->file->base);
}

static void
text_put_signed (Text *text, int number)
{
  if (number < 0)
    text_put (text, "-", 1);
  text_put_number (
      text, (uintmax_t) (number < 0 ? -(intmax_t) number : number), 10);
}

static void
text_put_string (Text *text, const char *string)
{
  text_put (text, string, strlen (string));
}

/* One argument; returns the end of its conversion. */
static const char *
text_put_argument (Text *text, const char *at, va_list *arguments)
{
  if (strncmp (at, "llu", 3) == 0)
    {
      text_put_number (text, va_arg (*arguments, unsigned long long), 10);
      return at + 3;
    }
  if (strncmp (at, "zu", 2) == 0)
    {
      text_put_number (text, va_arg (*arguments, size_t), 10);
      return at + 2;
    }
  switch (*at)
    {
    case 's':
      text_put_string (text, va_arg (*arguments, const char *));
      break;
    case 'u':
      text_put_number (text, va_arg (*arguments, unsigned), 10);
      break;
    case 'd':
      text_put_signed (text, va_arg (*arguments, int));
      break;
    case 'p':
      text_put_address (text, va_arg (*arguments, const void *));
      break;
    case 'a':
      text_put_code (text, va_arg (*arguments, const CodePlace *));
      break;
    default:
      text_put (text, at, 1);
      break;
    }
  return at + 1;
}

static void
text_vformat (Text *text, const char *format, va_list arguments)
{
  va_list rest;

  va_copy (rest, arguments);
  while (*format != '\0')
    if (*format == '%' && format[1] != '\0')
      format = text_put_argument (text, format + 1, &rest);
    else
      text_put (text, format++, 1);
  va_end (rest);
  if (text->capacity > 0)
    text->to[text->length] = '\0';
}

static void
text_format (Text *text, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  text_vformat (text, format, arguments);
  va_end (arguments);
}

COMMON_TEXT size_t
sli_diag_format (char *to, size_t capacity, const char *format, ...)
{
  Text text = { to, capacity, 0 };
  va_list arguments;

  va_start (arguments, format);
  text_vformat (&text, format, arguments);
  va_end (arguments);
  return text.length;
}

void
sli_diag_set_hook (DiagHook hook)
{
  diag_hook = hook;
}

void
sli_diag_set_last_words (DiagLastWords call, void *data)
{
  int next = 1 - LOAD (&last_words.shown);

  STORE (&last_words.pairs[next].call, call);
  STORE (&last_words.pairs[next].data, data);
  STORE_RELEASE (&last_words.shown, next);
}

/* Another thread reports a fault already: its abort() ends the program. */
static void
wait_for_last_words (void)
{
  for (int i = 0; i < WAITS_MAX && !LOAD_ACQUIRE (&last_words.is_done); i++)
    sli_os_sleep_msec (WAIT_MSEC);
}

static void
say_last_words (int number, const char *line)
{
  int shown = LOAD_ACQUIRE (&last_words.shown);
  DiagLastWords call = LOAD (&last_words.pairs[shown].call);
  unsigned self = sli_os_thread_id (), nobody = 0;

  if (call == NULL)
    return;
  if (__atomic_compare_exchange_n (&last_words.thread, &nobody, self, false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    {
      call (number, line, LOAD (&last_words.pairs[shown].data));
      STORE_RELEASE (&last_words.is_done, true);
    }
  else if (nobody != self)
    wait_for_last_words ();
}

static Text
line_begin (char line[LINE_BYTES], const char *kind, int number)
{
  Text text = { line, LINE_BYTES - 1, 0 };

  text_format (&text, "slice: %s %d: ", kind, number);
  return text;
}

/* The line keeps its text, without its end. */
static void
line_say (const Text *line, int number)
{
  if (diag_hook != NULL)
    {
      diag_hook (number, line->to);
      return;
    }
  line->to[line->length] = '\n';
  sli_os_write (2, line->to, line->length + 1);
  line->to[line->length] = '\0';
}

_Noreturn static void
line_die (const Text *line, int number)
{
  line_say (line, number);
  say_last_words (number, line->to);
  abort ();
}

void
sli_diag_abort (ErrorNumber number, const char *format, ...)
{
  char bytes[LINE_BYTES];
  Text line = line_begin (bytes, "error", number);
  va_list arguments;

  va_start (arguments, format);
  text_vformat (&line, format, arguments);
  va_end (arguments);
  line_die (&line, number);
}

void
sli_diag_warn (ErrorNumber number, const char *format, ...)
{
  char bytes[LINE_BYTES];
  Text line = line_begin (bytes, "warning", number);
  va_list arguments;

  va_start (arguments, format);
  text_vformat (&line, format, arguments);
  va_end (arguments);
  line_say (&line, number);
}

void
sli_diag_bad_source (BadSource cause, const void *source, const char *name,
                     const void *memory)
{
  static const char *const texts[N_BAD_SOURCES]
      = { [BAD_SOURCE_UNUSABLE] = "can't be used",
          [BAD_SOURCE_IN_USE] = "is in use already" };
  static const void *last[N_BAD_SOURCES];

  if (__atomic_exchange_n (&last[cause], source, __ATOMIC_RELAXED) != source)
    sli_diag_warn (ERROR_BAD_SOURCE, "page source %s: memory at %p %s",
                   name != NULL ? name : "without a name", memory,
                   texts[cause]);
}

static const char *
misuse_text (ErrorNumber number)
{
  switch (number)
    {
    case ERROR_FREED_TWICE:
      return "block freed twice in a row";
    case ERROR_FOREIGN:
      return "not a block of this allocator";
    case ERROR_WRONG_SIZE:
      return "block freed with a wrong size";
    case ERROR_INTERIOR:
      return "not the start of a block";
    case ERROR_ALREADY_FREE:
      return "block is free already";
    case ERROR_NEVER_ALLOCATED:
      return "block was never allocated";
    case ERROR_NOT_A_BLOCK:
      return "not a live block";
    case ERROR_NOT_THAT_SIZE:
    case ERROR_MALLOC_SIZE:
      return "live block has another size";
    case ERROR_NO_SLAB:
      return "not in a slab: freed before, or never a block";
    case ERROR_OVERRUN:
      return "written to behind its end";
    case ERROR_UNDERRUN:
      return "written to before its start";
    case ERROR_WRITTEN_FREE:
      return "written to while it was free";
    case ERROR_REENTERED:
      return "called again before a call had ended (in a signal handler?)";
    case ERROR_CYCLIC_CHAIN:
      return "chain comes back to itself";
    default:
      return "misuse";
    }
}

/* Where bytes are wrong, and what they are. */
static void
text_put_wrong (Text *text, const BlockFacts *block)
{
  const unsigned char *wrong = block->wrong;
  size_t n = block->n_wrong, at = 0;

  while (at + 1 < n && wrong[at] == block->expected)
    at++;
  text_format (text, ", at byte %d:",
               (int) (wrong + at - (const unsigned char *) block->address));
  for (size_t i = at; i < at + 4; i++)
    text_format (text, " %u", i < n ? (unsigned) wrong[i] : 0u);
  text_format (text, " (was %u)", (unsigned) block->expected);
}

/* A return address may belong to the next line or function.  The address
 * before it lies within the call. */
static void
text_put_site (Text *text, const char *what, const CodePlace *site,
               unsigned thread)
{
  CodePlace place = *site;

  if (site->address == NULL)
    return;
  place.address = (const char *) site->address - 1;
  text_format (text, ", %s at %a by thread %u", what, &place, thread);
}

/* The class that a block of that size has. */
static void
text_put_class (Text *text, const BlockFacts *block)
{
  bool is_given = block->given_bytes != DIAG_SIZE_UNKNOWN;
  size_t bytes = is_given ? block->given_bytes : block->real_bytes;
  size_t class_bytes = sli_sizeclass_round (bytes);

  if (bytes == 0 && !is_given)
    text_put_string (text, "unknown");
  else if (bytes != 0 && class_bytes == 0)
    text_put_string (text, "malloc");
  else
    text_put_number (text, class_bytes, 10);
}

static void
text_put_sites (Text *text, const BlockSites *sites)
{
  text_put_site (text, "allocated", &sites->alloc_site, sites->alloc_thread);
  text_put_site (text, "freed", &sites->free_site, sites->free_thread);
}

static void
text_put_block (Text *text, const BlockFacts *block)
{
  text_format (text, ": block %p, given size ", block->address);
  if (block->given_bytes != DIAG_SIZE_UNKNOWN)
    text_put_number (text, block->given_bytes, 10);
  else
    text_put_string (text, "unknown");
  if (block->real_bytes != 0)
    text_format (text, ", real size %zu", block->real_bytes);
  if (block->wrong != NULL)
    text_put_wrong (text, block);
  if (block->words != NULL)
    text_format (text, ", %s", block->words);
  text_put_sites (text, &block->sites);
  text_put_string (text, " [class ");
  text_put_class (text, block);
  text_format (text, ", thread %u]", sli_os_thread_id ());
}

/* The library's calls, and what the program calls them. */
static const char *const own_names[]
    = { "slice_alloc", "slice_free1", "slice_free_chain" };
#define N_NAMES (sizeof own_names / sizeof *own_names)
static const char *names[N_NAMES]; /* NULL: the same */

HEAP_TEXT void
sli_diag_rename (const char *alloc_name, const char *free_name,
                 const char *chain_name)
{
  const char *const given[N_NAMES] = { alloc_name, free_name, chain_name };

  for (size_t i = 0; i < N_NAMES; i++)
    if (given[i] != NULL)
      STORE (&names[i], given[i]);
}

static const char *
name_of (const char *operation)
{
  for (size_t i = 0; i < N_NAMES; i++)
    if (LOAD (&names[i]) != NULL && strcmp (operation, own_names[i]) == 0)
      return LOAD (&names[i]);
  return operation;
}

void
sli_diag_misuse (ErrorNumber number, const char *operation,
                 const BlockFacts *block)
{
  char bytes[LINE_BYTES];
  Text line = line_begin (bytes, "error", number);

  text_format (&line, "%s: %s", name_of (operation), misuse_text (number));
  if (block != NULL)
    text_put_block (&line, block);
  else
    text_format (&line, " [thread %u]", sli_os_thread_id ());
  line_die (&line, number);
}

static void
text_put_about (Text *text, const BlockFacts *block, const char *format,
                va_list arguments)
{
  text_vformat (text, format, arguments);
  if (block->real_bytes != 0)
    text_format (text,
                 block->is_inside ? ", inside a block of %zu bytes"
                                  : ", space for %zu bytes",
                 block->real_bytes);
  text_put_sites (text, &block->sites);
}

void
sli_diag_abort_about (ErrorNumber number, const BlockFacts *block,
                      const char *format, va_list arguments)
{
  char bytes[LINE_BYTES];
  Text line = line_begin (bytes, "error", number);

  text_put_about (&line, block, format, arguments);
  line_die (&line, number);
}

void
sli_diag_warn_about (ErrorNumber number, const BlockFacts *block,
                     const char *format, va_list arguments)
{
  char bytes[LINE_BYTES];
  Text line = line_begin (bytes, "warning", number);

  text_put_about (&line, block, format, arguments);
  line_say (&line, number);
}

void
sli_diag_broken (const char *file, int line, const char *condition)
{
  sli_diag_abort (ERROR_BROKEN, "%s:%d: does not hold: %s", file, line,
                  condition);
}
