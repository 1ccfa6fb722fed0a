/* trace.c - reads a recorded stream of operations
 *
 * Text, an operation a line (docs/man/slice-test.1 has the table), as it is
 * or compressed by xz, which is then run to read it.  The first line that
 * makes no sense ends the reading, with its number.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/expand.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS_MAX 4

/* --- lines ----------------------------------------------------------------
 */

typedef struct
{
  Expansion *expansion;
  bool with_arenas;
  uint32_t header_bytes;
} Reader;

typedef struct
{
  char op;
  unsigned n;
  uint32_t field[FIELDS_MAX];
} Line;

/* One letter, and up to four numbers. */
static bool
line_parse (const char *text, Line *line)
{
  line->op = *text++;
  line->n = 0;
  for (;;)
    {
      if (*text == '\n' || *text == '\0')
        return true;
      if (*text++ != ' ' || line->n == FIELDS_MAX || *text < '0'
          || *text > '9')
        return false;
      char *end;
      errno = 0;
      unsigned long number = strtoul (text, &end, 10);
      if (errno != 0 || number > UINT32_MAX)
        return false;
      line->field[line->n++] = (uint32_t)number;
      text = end;
    }
}

/* An operation's letter, how many numbers follow it, and which of them
 * (counted from 0) is a size; no size is ever the first. */
static const struct
{
  char op;
  unsigned n_fields;
  unsigned size_position;
} operations[] = {
  { 'a', 3, 2 }, { 'z', 3, 2 }, { 'r', 2, 1 }, { 'f', 1, 0 }, { 'F', 1, 0 },
  { 's', 2, 0 }, { 'o', 2, 0 }, { 'd', 1, 0 }, { 'D', 1, 0 }, { 'p', 3, 2 },
  { 'l', 2, 1 }, { 'G', 3, 2 }, { 'g', 4, 2 }, { 'x', 1, 0 }, { 'S', 1, 0 },
  { 'm', 1, 0 }, { 'E', 1, 0 },
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

/* N_OPERATIONS if there is none of that letter. */
static size_t
operation_find (char op)
{
  size_t i = 0;
  while (i < N_OPERATIONS && operations[i].op != op)
    i++;
  return i;
}

/* The operations on arenas: linear parents and collected contexts. */
static const char *
reader_apply_arena (const Reader *reader, const Line *line)
{
  Expansion *expansion = reader->expansion;
  const uint32_t *field = line->field;
  switch (line->op)
    {
    case 'l':
      return expansion_add_nameless (expansion, field[0], field[1]);
    case 'g':
      return expansion_add (expansion, field[0], field[1], NODE_COLLECTED,
                            field[2], false);
    case 'x':
      return expansion_free (expansion, field[0]);
    case 'm':
      return expansion_mark (expansion, field[0]);
    case 'S':
      return expansion_sweep_begin (expansion, field[0]);
    default:
      return expansion_sweep_end (expansion, field[0]);
    }
}

static const char *
reader_apply (const Reader *reader, const Line *line)
{
  Expansion *expansion = reader->expansion;
  const uint32_t *field = line->field;
  uint32_t header = reader->header_bytes;
  switch (line->op)
    {
    case 'a':
    case 'z':
      return expansion_add (expansion, field[0], field[1], NODE_BLOCK,
                            field[2] + header, line->op == 'z');
    case 'p':
    case 'G':
      return expansion_add (expansion, field[0], field[1],
                            reader->with_arenas ? NODE_BLOCK : NODE_BARE,
                            field[2] + header, false);
    case 'r':
      return expansion_resize (expansion, field[0], field[1] + header);
    case 'f':
      return expansion_free (expansion, field[0]);
    case 's':
      return expansion_move (expansion, field[0], field[1]);
    case 'o':
      return expansion_adopt (expansion, field[0], field[1]);
    case 'F':
    case 'd':
    case 'D':
      return NULL; /* consequences, and facts that a replay needs not */
    default:
      return reader->with_arenas ? reader_apply_arena (reader, line) : NULL;
    }
}

/* NULL, or what is wrong with the line. */
static const char *
reader_take_line (const Reader *reader, const char *text)
{
  Line line;
  if (*text == '#' || *text == '\n')
    return NULL;
  size_t operation = operation_find (*text);
  if (operation == N_OPERATIONS)
    return "no such operation";
  /* Older recordings give a collected context no size. */
  if (!line_parse (text, &line)
      || (line.n != operations[operation].n_fields
          && !(line.op == 'G' && line.n == 2)))
    return "not the numbers that this operation wants";
  if (line.op == 'G' && line.n == 2)
    line.field[2] = 0;
  unsigned position = operations[operation].size_position;
  if (position != 0
      && line.field[position] > STREAM_SIZE_MAX - reader->header_bytes)
    return "the size is out of range";
  return reader_apply (reader, &line);
}

/* The file may be anything, the terminal should not see all of it. */
static void
text_make_printable (char *text)
{
  text[strcspn (text, "\n")] = '\0';
  for (; *text != '\0'; text++)
    if (*text < ' ' || *text > '~')
      *text = '?';
}

static bool
reader_take_file (const Reader *reader, FILE *file, const char *path)
{
  char text[256];
  for (unsigned number = 1; fgets (text, sizeof text, file) != NULL; number++)
    {
      const char *wrong = reader_take_line (reader, text);
      if (strchr (text, '\n') == NULL && !feof (file))
        wrong = "the line is too long";
      if (wrong == NULL)
        continue;
      text_make_printable (text);
      fprintf (stderr, "slice-test: %s:%u: %s: %.40s\n", path, number, wrong,
               text);
      return false;
    }
  if (ferror (file))
    fprintf (stderr, "slice-test: %s: %s\n", path, strerror (errno));
  return !ferror (file);
}

/* --- files ----------------------------------------------------------------
 */

static bool
file_is_xz (FILE *file)
{
  static const char magic[6] = { '\xfd', '7', 'z', 'X', 'Z', '\0' };
  char head[sizeof magic];
  bool is_xz = fread (head, 1, sizeof head, file) == sizeof head
               && memcmp (head, magic, sizeof head) == 0;
  rewind (file);
  return is_xz;
}

/* Runs xz over an open file; its output is read from what is returned. */
static FILE *
xz_open (FILE *file, pid_t *pid)
{
  int ends[2];
  if (pipe (ends) != 0)
    return NULL;
  *pid = fork ();
  if (*pid == 0)
    {
      dup2 (fileno (file), STDIN_FILENO);
      lseek (STDIN_FILENO, 0, SEEK_SET);
      dup2 (ends[1], STDOUT_FILENO);
      close (ends[0]);
      close (ends[1]);
      execlp ("xz", "xz", "-dc", (char *)NULL);
      fprintf (stderr, "slice-test: xz: %s (Debian: xz-utils)\n",
               strerror (errno));
      _exit (EXIT_MISSING);
    }
  close (ends[1]);
  if (*pid < 0)
    {
      close (ends[0]);
      return NULL;
    }
  return fdopen (ends[0], "r");
}

static bool
reader_take_xz (const Reader *reader, FILE *file, const char *path)
{
  pid_t pid;
  int status;
  FILE *plain = xz_open (file, &pid);
  if (plain == NULL)
    {
      fprintf (stderr, "slice-test: xz: %s\n", strerror (errno));
      return false;
    }
  bool good = reader_take_file (reader, plain, path);
  fclose (plain);
  waitpid (pid, &status, 0);
  if (good && status != 0)
    fprintf (stderr, "slice-test: %s: xz could not read it\n", path);
  return good && status == 0;
}

/* Reads and expands a recorded stream.  False: said on standard error. */
bool
stream_read (Stream *stream, const char *path, bool with_arenas,
             uint32_t header_bytes)
{
  FILE *file = fopen (path, "re");
  if (file == NULL)
    {
      fprintf (stderr, "slice-test: %s: %s\n", path, strerror (errno));
      return false;
    }
  const Reader reader = { expansion_new (), with_arenas, header_bytes };
  bool good = file_is_xz (file) ? reader_take_xz (&reader, file, path)
                                : reader_take_file (&reader, file, path);
  fclose (file);
  expansion_finish (reader.expansion, stream);
  expansion_destroy (reader.expansion);
  if (good && stream->n_ops == 0)
    fprintf (stderr, "slice-test: %s: no operations in it\n", path);
  good = good && stream->n_ops > 0;
  if (!good)
    stream_destroy (stream);
  return good;
}
