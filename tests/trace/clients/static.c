/* static.c - nothing that could be recorded: linked statically
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

int
main (void)
{
  void *volatile block = malloc (10);

  free (block);
  return 0;
}
