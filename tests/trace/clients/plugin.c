/* plugin.c - a plugin that allocates, built under two names
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

void *PLUGIN_FUNCTION (void);

void *
PLUGIN_FUNCTION (void)
{
  void *volatile block = malloc (48);

  return block;
}
