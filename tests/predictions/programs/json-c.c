/* json-c.c - parses a table of numbers twice, and adds them up
 *
 * SPDX-License-Identifier: MIT
 */
#include "json_object.h"
#include "json_tokener.h"
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  double sum = 0;

  *out++ = '[';
  for (int i = 0; i < 40000; i++)
    out += sprintf (out, "%s[%d, %d, %d, %d, %d]", i > 0 ? "," : "", i,
                    i % 90, i % 170, i % 11, i * 7);
  sprintf (out, "]");
  for (int round = 0; round < 2; round++)
    {
      struct json_object *rows = json_tokener_parse (text);

      for (size_t i = 0; i < json_object_array_length (rows); i++)
        {
          struct json_object *row = json_object_array_get_idx (rows, i);

          for (size_t k = 0; k < json_object_array_length (row); k++)
            sum += json_object_get_int (json_object_array_get_idx (row, k));
        }
      json_object_put (rows);
    }
  printf ("%g\n", sum);
  return 0;
}
