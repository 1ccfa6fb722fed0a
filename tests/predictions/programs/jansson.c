/* jansson.c - loads a table of numbers twice, and adds them up
 *
 * SPDX-License-Identifier: MIT
 */
#include "jansson.h"
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  double sum = 0;

  *out++ = '[';
  for (int i = 0; i < 60000; i++)
    out += sprintf (out, "%s[%d, %d.25, %d, %d.5, %d]", i > 0 ? "," : "", i,
                    i % 90, i % 170, i % 11, i * 7);
  sprintf (out, "]");
  for (int round = 0; round < 2; round++)
    {
      json_error_t error;
      json_t *rows = json_loads (text, 0, &error), *row, *cell;
      size_t i, k;

      if (rows == NULL)
        return fprintf (stderr, "%s\n", error.text), 1;
      json_array_foreach (rows, i, row)
        json_array_foreach (row, k, cell)
          sum += json_number_value (cell);
      json_decref (rows);
    }
  printf ("%g\n", sum);
  return 0;
}
