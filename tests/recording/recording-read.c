/* recording-read.c - reads the operations of a recording
 *
 * Text, an operation a line (docs/man/slice-test.1 has the table), as it is
 * or compressed by xz, which is then run to read it.  The first line that
 * makes no sense ends the reading, with its number.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/recording/recording.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
  EXIT_SKIPPED = 77 /* for Automake: something is missing */
};

/* --- lines --------------------------------------------------------------- */

/* An operation's letter, and what the numbers after it are: n a node's id, o
 * that of another, s a size, a an alignment. */
static const struct
{
  char letter;
  const char *fields;
} operations[] = {
  { 'a', "nos" }, { 'z', "nos" }, { 'r', "ns" },   { 'f', "n" },
  { 'F', "n" },   { 's', "no" },  { 'o', "no" },   { 'd', "n" },
  { 'D', "n" },   { 'p', "nos" }, { 'l', "os" },   { 'G', "nos" },
  { 'g', "nosa" }, { 'x', "n" },  { 'S', "n" },    { 'm', "n" },
  { 'E', "n" },
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

/* NULL if there is none of that letter. */
static const char *
operation_fields (char letter)
{
  for (size_t i = 0; i < N_OPERATIONS; i++)
    if (operations[i].letter == letter)
      return operations[i].fields;
  return NULL;
}

/* One letter, and its numbers; those that the line has not stay 0. */
static bool
line_parse (const char *text, const char *fields, RecordedOp *op)
{
  op->letter = *text++;
  for (; *text != '\n' && *text != '\0'; fields++)
    {
      char *end;
      unsigned long number;

      if (*fields == '\0' || *text++ != ' ' || *text < '0' || *text > '9')
        return false;
      errno = 0;
      number = strtoul (text, &end, 10);
      if (errno != 0 || number > UINT32_MAX)
        return false;
      text = end;
      *(*fields == 'n'   ? &op->node
        : *fields == 'o' ? &op->other
        : *fields == 's' ? &op->size
                         : &op->alignment)
          = (uint32_t)number;
    }
  /* Older recordings give a collected context no size. */
  return *fields == '\0' || (op->letter == 'G' && strcmp (fields, "s") == 0);
}

/* NULL, or what is wrong with the line. */
static const char *
line_apply (Recording *recording, const char *text)
{
  RecordedOp op = { 0 };
  const char *fields;

  if (*text == '#' || *text == '\n')
    return NULL;
  fields = operation_fields (*text);
  if (fields == NULL)
    return "no such operation";
  if (!line_parse (text, fields, &op))
    return "not the numbers that this operation wants";
  if (op.size > recording->size_max)
    return "the size is out of range";
  return recording_apply (recording, op);
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

bool
recording_read (Recording *recording, FILE *file, const char *name)
{
  char text[256];

  for (unsigned number = 1; fgets (text, sizeof text, file) != NULL; number++)
    {
      const char *wrong = line_apply (recording, text);

      if (strchr (text, '\n') == NULL && !feof (file))
        wrong = "the line is too long";
      if (wrong == NULL)
        continue;
      text_make_printable (text);
      fprintf (stderr, "%s: %s:%u: %s: %.40s\n", recording->program, name,
               number, wrong, text);
      return false;
    }
  if (ferror (file))
    fprintf (stderr, "%s: %s: %s\n", recording->program, name,
             strerror (errno));
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
xz_open (const Recording *recording, FILE *file, pid_t *pid)
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
      fprintf (stderr, "%s: xz: %s (Debian: xz-utils)\n", recording->program,
               strerror (errno));
      _exit (EXIT_SKIPPED);
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
read_xz (Recording *recording, FILE *file, const char *path)
{
  pid_t pid;
  int status;
  FILE *plain = xz_open (recording, file, &pid);
  bool good;

  if (plain == NULL)
    {
      fprintf (stderr, "%s: xz: %s\n", recording->program, strerror (errno));
      return false;
    }
  good = recording_read (recording, plain, path);
  fclose (plain);
  waitpid (pid, &status, 0);
  if (good && status != 0)
    fprintf (stderr, "%s: %s: xz could not read it\n", recording->program,
             path);
  return good && status == 0;
}

bool
recording_read_path (Recording *recording, const char *path)
{
  FILE *file = fopen (path, "re");
  bool good;

  if (file == NULL)
    {
      fprintf (stderr, "%s: %s: %s\n", recording->program, path,
               strerror (errno));
      return false;
    }
  good = file_is_xz (file) ? read_xz (recording, file, path)
                           : recording_read (recording, file, path);
  fclose (file);
  return good;
}
