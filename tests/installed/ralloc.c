/* ralloc.c - a program for Mesa's ralloc, against the installed stand-in
 *
 * SPDX-License-Identifier: MIT
 */

#include <stdio.h>
#include <string.h>
#include <util/ralloc.h>

int
main (void)
{
  void *tree = ralloc_context (NULL);
  char *text = ralloc_asprintf (tree, "%s %d", "ralloc", 26);

  if (text == NULL || strcmp (text, "ralloc 26") != 0
      || ralloc_parent (text) != tree)
    return 1;
  puts (text);
  ralloc_free (tree);
  return 0;
}
