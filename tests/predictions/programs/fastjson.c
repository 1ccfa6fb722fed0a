/* fastjson.c - parses a list of records twice, and adds up their sizes
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
  long sum = 0;

  *out++ = '[';
  for (int i = 0; i < 40000; i++)
    out += sprintf (out, "%s[%d, \"host%d\", %d, true, %d]", i > 0 ? "," : "",
                    i, i % 90, i % 1700, i * 7);
  sprintf (out, "]");
  for (int round = 0; round < 2; round++)
    {
      struct fjson_object *rows = fjson_tokener_parse (text);

      for (int i = 0; i < fjson_object_array_length (rows); i++)
        sum += fjson_object_get_int (fjson_object_array_get_idx (
            fjson_object_array_get_idx (rows, i), 2));
      fjson_object_put (rows);
    }
  printf ("%ld\n", sum);
  return 0;
}
