/* advice-file.c - reads the text of an advice file
 *
 * Layer: dropin.  It allocates nothing, since malloc's first call may be here.
 *
 * Design: chapter 15, which has the format.  SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "dropin/advice/advice.h"

#include <string.h>

enum
{
  OUTER_BYTES_MAX = 1 << 20
};

typedef struct
{
  Advice *advice;
  const char *at, *end; /* of the text */
  const char *line_end;
  unsigned line;
  unsigned node; /* the last frame of the path; 0: none yet */
  bool in_path;
  const char *message; /* NULL: no error */
} Scan;

typedef struct
{
  const char *text;
  size_t n;
} Word;

static bool
scan_fail (Scan *scan, const char *message)
{
  if (scan->message == NULL)
    scan->message = message;
  return false;
}

/* --- words --------------------------------------------------------------- */

/* The next word of the line; empty at its end. */
static Word
scan_word (Scan *scan)
{
  Word word;

  while (scan->at < scan->line_end && *scan->at == ' ')
    scan->at++;
  word.text = scan->at;
  while (scan->at < scan->line_end && *scan->at != ' ')
    scan->at++;
  word.n = (size_t) (scan->at - word.text);
  return word;
}

static bool
word_is (Word word, const char *text)
{
  return word.n == strlen (text) && memcmp (word.text, text, word.n) == 0;
}

/* The rest of the line, which may have spaces. */
static Word
scan_rest (Scan *scan)
{
  Word word = scan_word (scan);

  scan->at = scan->line_end;
  word.n = (size_t) (scan->line_end - word.text);
  return word;
}

static int
digit_value (char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : 99;
}

static bool
scan_number (Scan *scan, uint64_t *number)
{
  Word word = scan_word (scan);
  bool is_hex = word.n > 2 && memcmp (word.text, "0x", 2) == 0;
  unsigned base = is_hex ? 16 : 10;

  *number = 0;
  for (size_t i = is_hex ? 2 : 0; i < word.n; i++)
    {
      unsigned digit = (unsigned) digit_value (word.text[i]);

      if (digit >= base || *number > (UINT64_MAX - digit) / base)
        return scan_fail (scan, "this is no number");
      *number = *number * base + digit;
    }
  return word.n > 0 || scan_fail (scan, "a number is missing");
}

/* A word and the number after it. */
static bool
scan_named (Scan *scan, const char *name, uint64_t *number)
{
  return word_is (scan_word (scan), name)
             ? scan_number (scan, number)
             : scan_fail (scan, "a word is missing or unknown");
}

/* --- lines --------------------------------------------------------------- */

static bool
id_read (AdviceModule *module, Word word)
{
  if (word.n == 0 || word.n % 2 != 0 || word.n / 2 > ADVICE_ID_BYTES_MAX)
    return false;
  for (size_t i = 0; i < word.n; i += 2)
    {
      int high = digit_value (word.text[i]);
      int low = digit_value (word.text[i + 1]);

      if (high > 15 || low > 15)
        return false;
      module->id[i / 2] = (uint8_t) (high * 16 + low);
    }
  module->n_id = word.n / 2;
  return true;
}

/* module BUILD-ID NAME */
static bool
line_module (Scan *scan)
{
  AdviceModule *module = &scan->advice->modules[scan->advice->n_modules];
  Word name;

  if (scan->advice->n_modules == ADVICE_MODULES_MAX)
    return scan_fail (scan, "too many modules");
  if (!id_read (module, scan_word (scan)))
    return scan_fail (scan, "this is no build id");
  name = scan_rest (scan);
  if (name.n == 0)
    return scan_fail (scan, "the module has no name");
  module->name = name.text;
  module->n_name = name.n;
  scan->advice->n_modules++;
  return true;
}

/* site KIND pin BYTES blocks N NAME */
static bool
line_site (Scan *scan)
{
  AdviceSite *site = &scan->advice->sites[scan->advice->n_sites];
  Word kind = scan_word (scan), name;

  if (scan->advice->n_sites == ADVICE_SITES_MAX)
    return scan_fail (scan, "too many sites");
  if (word_is (kind, "linear"))
    site->kind = ADVICE_LINEAR;
  else if (word_is (kind, "slice"))
    site->kind = ADVICE_SLICE;
  else
    return scan_fail (scan, "no such kind of allocator");
  if (!scan_named (scan, "pin", &site->pin_bytes)
      || !scan_named (scan, "blocks", &site->n_expected))
    return false;
  name = scan_rest (scan);
  site->name = name.text;
  site->n_name = name.n;
  scan->advice->n_sites++;
  scan->in_path = false;
  return true;
}

/* The path that ends here is one of the site's. */
static bool
path_end (Scan *scan)
{
  AdviceNode *node = &scan->advice->nodes[scan->node];

  if (!scan->in_path)
    return true;
  if (scan->node == 0)
    return scan_fail (scan, "a path without frames");
  if (node->site != 0)
    return scan_fail (scan, "the path before is that of an earlier site, too");
  node->site = (uint16_t) scan->advice->n_sites;
  return true;
}

static bool
line_path (Scan *scan)
{
  if (scan->advice->n_sites == 0)
    return scan_fail (scan, "a path without a site");
  scan->node = 0;
  scan->in_path = true;
  return true;
}

/* The child of a node with this frame; makes it. */
static unsigned
node_child (Scan *scan, unsigned parent, unsigned module, uint64_t offset)
{
  Advice *advice = scan->advice;

  for (unsigned i = parent + 1; i < advice->n_nodes; i++)
    if (advice->nodes[i].parent == parent && advice->nodes[i].module == module
        && advice->nodes[i].offset == offset)
      return i;
  if (advice->n_nodes == ADVICE_NODES_MAX)
    return 0;
  advice->nodes[advice->n_nodes] = (AdviceNode){ .offset = offset,
                                                 .parent = parent,
                                                 .module = (uint16_t) module };
  return advice->n_nodes++;
}

/* frame MODULE OFFSET AT FUNCTION */
static bool
line_frame (Scan *scan)
{
  AdviceNode *parent = &scan->advice->nodes[scan->node];
  uint64_t module, offset, at;

  if (!scan->in_path)
    return scan_fail (scan, "a frame without a path");
  if (!scan_number (scan, &module) || !scan_number (scan, &offset)
      || !scan_number (scan, &at))
    return false;
  scan_rest (scan);
  if (module >= scan->advice->n_modules)
    return scan_fail (scan, "no such module");
  if (at > OUTER_BYTES_MAX || at % sizeof (void *) != 0
      || (at == 0) != (scan->node == 0))
    return scan_fail (scan, "this is no place in the stack");
  if (parent->outer_at != 0 && parent->outer_at != at)
    return scan_fail (scan, "another place than in an earlier path");
  parent->outer_at = (uint32_t) at;
  scan->node = node_child (scan, scan->node, (unsigned) module, offset);
  return scan->node != 0 || scan_fail (scan, "too many frames");
}

static bool
line_read (Scan *scan)
{
  Word word = scan_word (scan);

  if (word.n == 0 || word.text[0] == '#')
    return true;
  if (word_is (word, "frame"))
    return line_frame (scan);
  if (!path_end (scan))
    return false;
  scan->in_path = false;
  if (word_is (word, "path"))
    return line_path (scan);
  if (word_is (word, "site"))
    return line_site (scan);
  if (word_is (word, "module"))
    return line_module (scan);
  return scan_fail (scan, "a line of no known kind");
}

/* Moves to the next line; false at the end of the text. */
static bool
scan_line (Scan *scan)
{
  const char *found;

  if (scan->at == scan->end)
    return false;
  found = memchr (scan->at, '\n', (size_t) (scan->end - scan->at));
  scan->line_end = found != NULL ? found : scan->end;
  scan->line++;
  return true;
}

bool
sli_advice_parse (Advice *advice, const char *text, size_t n_text,
                  AdviceError *error)
{
  Scan scan = { .advice = advice, .at = text, .end = text + n_text };

  advice->n_nodes = 1;
  if (!scan_line (&scan)
      || !word_is ((Word){ text, (size_t) (scan.line_end - text) },
                   "slice-advice 1"))
    scan_fail (&scan, "not an advice file of version 1");
  for (scan.at = scan.line_end;
       scan.message == NULL && scan.at < scan.end;)
    {
      scan.at++; /* the end of the line before */
      if (!scan_line (&scan) || !line_read (&scan))
        break;
      scan.at = scan.line_end;
    }
  if (scan.message == NULL)
    path_end (&scan);
  error->line = scan.line;
  error->message = scan.message;
  return scan.message == NULL;
}
