/* plist.c - libplist reads a list of properties twice, and adds up its ports
 *
 * SPDX-License-Identifier: MIT
 */
#include "plist/plist.h"
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  uint64_t sum = 0;

  out += sprintf (out, "<?xml version=\"1.0\"?><plist version=\"1.0\"><array>");
  for (int i = 0; i < 15000; i++)
    out += sprintf (out,
                    "<array><string>host%d</string><integer>%d</integer>"
                    "<string>t%d</string><true/><integer>%d</integer></array>",
                    i, i % 700, i % 13, i);
  out += sprintf (out, "</array></plist>");
  for (int round = 0; round < 2; round++)
    {
      plist_t list = NULL;

      plist_from_xml (text, (uint32_t) (out - text), &list);
      for (uint32_t i = 0; i < plist_array_get_size (list); i++)
        {
          uint64_t port = 0;

          plist_get_uint_val (
              plist_array_get_item (plist_array_get_item (list, i), 1), &port);
          sum += port;
        }
      plist_free (list);
    }
  printf ("%llu\n", (unsigned long long) sum);
  return 0;
}
