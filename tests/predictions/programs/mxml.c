/* mxml.c - loads a document of XML twice, and counts what it has
 *
 * SPDX-License-Identifier: MIT
 */
#include "mxml.h"
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  unsigned n = 0, n_fast = 0;

  out += sprintf (out, "<?xml version=\"1.0\"?><list>");
  for (int i = 0; i < 15000; i++)
    out += sprintf (out,
                    "<entry kind=\"%s%d\"><name>thing number %d</name>"
                    "<size>%d</size></entry>",
                    i % 3 == 0 ? "fast" : "slow", i, i, i * 3);
  sprintf (out, "</list>");
  for (int round = 0; round < 2; round++)
    {
      mxml_node_t *top = mxmlLoadString (NULL, text, MXML_TEXT_CALLBACK);

      for (mxml_node_t *at = mxmlGetFirstChild (top); at != NULL;
           at = mxmlWalkNext (at, top, MXML_DESCEND))
        {
          const char *kind = mxmlElementGetAttr (at, "kind");

          n++;
          n_fast += kind != NULL && kind[0] == 'f';
        }
      mxmlDelete (top);
    }
  printf ("%u %u\n", n, n_fast);
  return 0;
}
