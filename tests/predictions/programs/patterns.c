/* patterns.c - hyphen reads the patterns of a file, and divides some words
 *
 * SPDX-License-Identifier: MIT
 */
#include "hyphen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main (int argc, char **argv)
{
  static const char *const words[] = { "example", "hyphenation", "patterns" };
  HyphenDict *dict = argc > 1 ? hnj_hyphen_load (argv[1]) : NULL;

  if (dict == NULL)
    return 1;
  for (int i = 0; i < 3; i++)
    {
      char marks[100], **rep = NULL;
      int *pos = NULL, *cut = NULL;

      hnj_hyphen_hyphenate2 (dict, words[i], (int) strlen (words[i]), marks,
                             NULL, &rep, &pos, &cut);
      puts (marks);
    }
  hnj_hyphen_free (dict);
  return 0;
}
