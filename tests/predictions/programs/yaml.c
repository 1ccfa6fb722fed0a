/* yaml.c - loads a list of hosts twice, and adds up the lengths of its values
 *
 * SPDX-License-Identifier: MIT
 */
#include "yaml.h"
#include <stdio.h>
#include <stdlib.h>

static size_t
weigh (const yaml_document_t *document)
{
  size_t sum = 0;

  for (yaml_node_t *node = document->nodes.start;
       node < document->nodes.top; node++)
    if (node->type == YAML_SCALAR_NODE)
      sum += node->data.scalar.length;
  return sum;
}

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  size_t sum = 0;

  for (int i = 0; i < 20000; i++)
    out += sprintf (out, "- name: host%d\n  port: %d\n  tags: [a%d, b]\n", i,
                    i % 9000, i % 70);
  for (int round = 0; round < 2; round++)
    {
      yaml_parser_t parser;
      yaml_document_t document;

      yaml_parser_initialize (&parser);
      yaml_parser_set_input_string (&parser, (unsigned char *) text,
                                    (size_t) (out - text));
      if (!yaml_parser_load (&parser, &document))
        return fprintf (stderr, "%s\n", parser.problem), 1;
      sum += weigh (&document);
      yaml_document_delete (&document);
      yaml_parser_delete (&parser);
    }
  printf ("%zu\n", sum);
  return 0;
}
