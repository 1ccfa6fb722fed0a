/* xml2.c - reads a list of people twice, and adds up their years
 *
 * SPDX-License-Identifier: MIT
 */
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  long sum = 0;

  out += sprintf (out, "<people>");
  for (int i = 0; i < 30000; i++)
    out += sprintf (out,
                    "<person sex=\"f\"><name>person number %d</name>"
                    "<born>in %d</born></person>",
                    i, 1900 + i % 100);
  out += sprintf (out, "</people>");
  for (int round = 0; round < 2; round++)
    {
      xmlDoc *document = xmlParseMemory (text, (int) (out - text));

      if (document == NULL)
        return 1;
      for (xmlNode *person = xmlDocGetRootElement (document)->children;
           person != NULL; person = person->next)
        sum += atoi ((char *) person->last->children->content + 3);
      xmlFreeDoc (document);
    }
  printf ("%ld\n", sum);
  return 0;
}
