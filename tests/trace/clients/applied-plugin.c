/* applied-plugin.c - a module with a site
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

void *make (size_t size);

void *
make (size_t size)
{
  return malloc (size);
}
