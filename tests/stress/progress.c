/* progress.c - a bar on the terminal while something runs
 *
 * On standard error, and only if that is a terminal: what is piped or
 * written to a file stays clean.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <unistd.h>

#define BAR_CELLS 30
/* To the line's start, and erase it. */
#define LINE_CLEAR "\r\033[K"

void
progress_begin (Progress *progress, bool wanted)
{
  progress->began_sec = clock_wall_sec ();
  progress->shown = wanted && isatty (STDERR_FILENO);
}

void
progress_show (Progress *progress, double fraction, const char *what)
{
  char bar[BAR_CELLS + 1];
  double spent_sec;

  if (!progress->shown)
    return;
  if (fraction > 1)
    fraction = 1;
  spent_sec = clock_wall_sec () - progress->began_sec;
  for (int i = 0; i < BAR_CELLS; i++)
    bar[i] = i < (int)(fraction * BAR_CELLS) ? '#' : '.';
  bar[BAR_CELLS] = '\0';
  fprintf (stderr, LINE_CLEAR "[%s] %3.0f %%", bar, fraction * 100);
  if (fraction > 0.02)
    fprintf (stderr, "  %3.0f s left", spent_sec * (1 - fraction) / fraction);
  fprintf (stderr, "  %s", what);
  fflush (stderr);
}

void
progress_end (Progress *progress)
{
  if (progress->shown)
    fputs (LINE_CLEAR, stderr);
}
