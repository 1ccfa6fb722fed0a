/* watch-show.c - shows what lives, each second
 *
 * Tools.  On a terminal the picture is drawn again at the same place; elsewhere
 * one follows the other.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include "watch-parts.h"
#include "tools/trace/common/stage/stage.h"
#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_USUAL 80
#define COLUMNS_MIN 50
#define COLUMNS_OF_NUMBERS 49

static int
columns (void)
{
  struct winsize size;

  if (ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return COLUMNS_USUAL;
  return size.ws_col < COLUMNS_MIN ? COLUMNS_MIN : size.ws_col;
}

/* A rate with its sign, in a field of the table's. */
static void
rate_show (double change)
{
  char text[32];

  snprintf (text, sizeof text, "%c%s/s", change < 0 ? '-' : '+',
            sli_human_bytes (fabs (change)));
  printf (" %12s", text);
}

static void
row_show (const WatchPlace *place, double span, int width)
{
  printf ("%10s", sli_human_bytes (place->live));
  rate_show ((place->live - place->live_before) / span);
  printf (" %9s/s", sli_human_count ((place->calls - place->calls_before)
                                     / span));
  printf (" %9s/s  %.*s\n",
          sli_human_bytes ((place->bytes - place->bytes_before) / span), width,
          place->name);
}

void
sli_watch_show (const WatchSums *sums, double seconds, double span,
                double resident, size_t n_rows)
{
  const WatchPlace *all = &sums->all;
  bool is_terminal = isatty (STDOUT_FILENO);
  int width = columns () - COLUMNS_OF_NUMBERS;

  if (is_terminal)
    fputs ("\033[H\033[J", stdout);
  printf ("%.0f s: %s allocated since then live", seconds,
          sli_human_bytes (all->live));
  if (resident > 0)
    printf ("; %s resident", sli_human_bytes (resident));
  if (sums->n_before > 0)
    printf ("; %s blocks from before were freed",
            sli_human_count (sums->n_before));
  printf ("\n\n%10s %12s %11s %11s  %s\n", "live", "change", "calls", "bytes",
          "place");
  row_show (all, span, width);
  for (size_t i = 0; i < sums->n_places && i < n_rows; i++)
    row_show (sums->places[i], span, width);
  fputs (is_terminal ? "\nq ends the watch\n" : "\n", stdout);
  fflush (stdout);
}
