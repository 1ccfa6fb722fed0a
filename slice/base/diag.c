/* diag.c - one line to the user, and the end
 *
 * Layer: base.  No locks, no memory: it must work when all else fails.
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "diag.h"
#include "sizeclass.h"
#include "port/compiler.h"
#include "port/os.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum
{
  LINE_BYTES = 256 + DIAG_MORE_BYTES, /* longest message; what is longer is
                                        cut */
  WAIT_MSEC = 10,    /* for another thread's last words: 10 s in all */
  WAITS_MAX = 1000
};

static DiagHook diag_hook;

/* What to call at the end.  It is read without a lock, for there may be none
 * to be had: so a pair is written unseen, and then published. */
static struct
{
  struct
  {
    DiagLastWords call;
    void *data;
  } pairs[2];
  int shown;       /* which of them holds */
  unsigned thread; /* that is at it, or was; 0: none yet */
  bool is_done;
} last_words;

/* A text that grows up to a limit. */
typedef struct
{
  char *to;
  size_t room;
  size_t length;
} Text;

static void
text_put (Text *text, const char *bytes, size_t n)
{
  for (size_t i = 0; i < n && text->length + 1 < text->room; i++)
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
text_put_code (Text *text, const void *address)
{
  char name[DIAG_FILE_BYTES];
  uintptr_t offset;

  if (!sli_os_module_of (address, name, sizeof name, &offset))
    {
      text_put_address (text, address);
      return;
    }
  text_put (text, name, strlen (name));
  text_put (text, "+", 1);
  text_put_address (text, (const void *) offset);
}

static void
text_put_argument (Text *text, char kind, va_list *arguments)
{
  switch (kind)
    {
    case 's':
      {
        const char *string = va_arg (*arguments, const char *);

        text_put (text, string, strlen (string));
        break;
      }
    case 'u':
      text_put_number (text, va_arg (*arguments, unsigned), 10);
      break;
    case 'd':
      {
        int number = va_arg (*arguments, int);

        if (number < 0)
          text_put (text, "-", 1);
        text_put_number (text, (uintmax_t) (number < 0 ? -(intmax_t) number
                                                       : number),
                         10);
        break;
      }
    case 'z':
      text_put_number (text, va_arg (*arguments, size_t), 10);
      break;
    case 'p':
      text_put_address (text, va_arg (*arguments, const void *));
      break;
    case 'a':
      text_put_code (text, va_arg (*arguments, const void *));
      break;
    default:
      text_put (text, &kind, 1);
      break;
    }
}

COMMON_TEXT size_t
sli_diag_vformat (char *to, size_t room, const char *format,
                  va_list arguments)
{
  Text text = { to, room, 0 };
  va_list rest;

  va_copy (rest, arguments);
  for (const char *at = format; *at != '\0'; at++)
    if (*at == '%' && at[1] != '\0')
      text_put_argument (&text, *++at, &rest);
    else
      text_put (&text, at, 1);
  va_end (rest);
  if (room > 0)
    to[text.length] = '\0';
  return text.length;
}

COMMON_TEXT size_t
sli_diag_format (char *to, size_t room, const char *format, ...)
{
  va_list arguments;
  size_t length;

  va_start (arguments, format);
  length = sli_diag_vformat (to, room, format, arguments);
  va_end (arguments);
  return length;
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

/* Another thread is at it: its abort() is to be the end. */
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

/* The line is left in `line', without its end. */
static void
diag_say (char line[LINE_BYTES], const char *kind, int number,
          const char *format, va_list arguments)
{
  size_t length = sli_diag_format (line, LINE_BYTES - 1, "slice: %s %d: ",
                                   kind, number);

  length += sli_diag_vformat (line + length, LINE_BYTES - 1 - length, format,
                              arguments);
  if (diag_hook != NULL)
    {
      diag_hook (number, line);
      return;
    }
  line[length] = '\n';
  sli_os_write (2, line, length + 1);
  line[length] = '\0';
}

void
sli_diag_abort (int number, const char *format, ...)
{
  char line[LINE_BYTES];
  va_list arguments;

  va_start (arguments, format);
  diag_say (line, "error", number, format, arguments);
  va_end (arguments);
  say_last_words (number, line);
  abort ();
}

void
sli_diag_warn (int number, const char *format, ...)
{
  char line[LINE_BYTES];
  va_list arguments;

  va_start (arguments, format);
  diag_say (line, "warning", number, format, arguments);
  va_end (arguments);
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

void
sli_diag_misuse (ErrorNumber number, const char *operation, const void *block,
                 size_t given_bytes, size_t real_bytes)
{
  sli_diag_misuse_more (number, operation, block, given_bytes, real_bytes,
                        "");
}

void
sli_diag_misuse_more (ErrorNumber number, const char *operation,
                      const void *block, size_t given_bytes,
                      size_t real_bytes, const char *more)
{
  char size[48] = "unknown", real[48] = "", class[32] = "malloc";
  size_t of_bytes = given_bytes != DIAG_SIZE_UNKNOWN ? given_bytes : real_bytes;
  size_t class_bytes = sli_sizeclass_round (of_bytes);

  if (given_bytes != DIAG_SIZE_UNKNOWN)
    sli_diag_format (size, sizeof size, "%z", given_bytes);
  if (real_bytes != 0)
    sli_diag_format (real, sizeof real, ", real size %z", real_bytes);
  if (of_bytes == 0 && given_bytes != 0)
    sli_diag_format (class, sizeof class, "unknown");
  else if (class_bytes != 0 || of_bytes == 0)
    sli_diag_format (class, sizeof class, "%z", class_bytes);
  if (block == NULL) /* no block's, but a call's */
    sli_diag_abort (number, "%s: %s [thread %u]", operation,
                    misuse_text (number), sli_os_thread_id ());
  sli_diag_abort (number,
                  "%s: %s: block %p, given size %s%s%s "
                  "[class %s, thread %u]",
                  operation, misuse_text (number), block, size, real, more,
                  class, sli_os_thread_id ());
}

void
sli_diag_broken (const char *file, int line, const char *condition)
{
  sli_diag_abort (ERROR_BROKEN, "%s:%d: does not hold: %s", file, line,
                  condition);
}
