/* yajl.c - parses a text of JSON three times, and adds up its numbers
 *
 * SPDX-License-Identifier: MIT
 */
#include "yajl/yajl_tree.h"
#include <stdio.h>
#include <stdlib.h>

static double
sum_of (yajl_val value)
{
  double sum = 0;

  if (YAJL_IS_NUMBER (value))
    return YAJL_GET_DOUBLE (value);
  if (YAJL_IS_ARRAY (value))
    for (size_t i = 0; i < value->u.array.len; i++)
      sum += sum_of (value->u.array.values[i]);
  if (YAJL_IS_OBJECT (value))
    for (size_t i = 0; i < value->u.object.len; i++)
      sum += sum_of (value->u.object.values[i]);
  return sum;
}

int
main (void)
{
  char *text = malloc (8000000), *out = text, error[200];
  double sum = 0;

  *out++ = '[';
  for (int i = 0; i < 20000; i++)
    out += sprintf (out,
                    "%s{\"id\":%d,\"name\":\"item %d\",\"at\":[%d,%d.5],"
                    "\"tags\":[\"a%d\",\"b\",null,true]}",
                    i > 0 ? "," : "", i, i, i % 90, i % 170, i % 7);
  sprintf (out, "]");
  for (int round = 0; round < 3; round++)
    {
      yajl_val tree = yajl_tree_parse (text, error, sizeof error);

      if (tree == NULL)
        return fprintf (stderr, "%s\n", error), 1;
      sum += sum_of (tree);
      yajl_tree_free (tree);
    }
  printf ("%g\n", sum);
  return 0;
}
