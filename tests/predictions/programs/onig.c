/* onig.c - compiles a long list of words as one expression, and searches
 *
 * SPDX-License-Identifier: MIT
 */
#include "oniguruma.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main (void)
{
  char *text = malloc (4000000), *out = text;
  const OnigUChar *input = (const OnigUChar *) "x n1234y n77777y zz";
  OnigEncoding encoding = ONIG_ENCODING_ASCII;
  int at = 0;

  for (int i = 0; i < 120000; i++)
    out += sprintf (out, "%sn%dy", i > 0 ? "|" : "", i);
  onig_initialize (&encoding, 1);
  for (int round = 0; round < 2; round++)
    {
      regex_t *expression;
      OnigErrorInfo error;

      if (onig_new (&expression, (const OnigUChar *) text,
                    (const OnigUChar *) out, ONIG_OPTION_DEFAULT, encoding,
                    ONIG_SYNTAX_DEFAULT, &error)
          != ONIG_NORMAL)
        return fputs ("no expression\n", stderr), 1;
      at += onig_search (expression, input,
                         input + strlen ((const char *) input), input,
                         input + strlen ((const char *) input), NULL,
                         ONIG_OPTION_NONE);
      onig_free (expression);
    }
  printf ("%d\n", at);
  onig_end ();
  return 0;
}
