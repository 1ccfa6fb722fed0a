/* libconfig.c - reads a configuration twice, and adds up its ports
 *
 * SPDX-License-Identifier: MIT
 */
#include "libconfig.h"
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  char *text = malloc (8000000), *out = text;
  long sum = 0;

  out += sprintf (out, "hosts = (\n");
  for (int i = 0; i < 12000; i++)
    out += sprintf (out,
                    "%s{ name = \"host%d\"; port = %d; weight = %d.5;\n"
                    "  tags = [ \"a%d\", \"b\" ]; up = true; }",
                    i > 0 ? "," : "", i, i % 700, i % 9, i % 13);
  sprintf (out, ");\n");
  for (int round = 0; round < 2; round++)
    {
      config_t config;
      config_setting_t *hosts;

      config_init (&config);
      if (!config_read_string (&config, text))
        return fprintf (stderr, "%s\n", config_error_text (&config)), 1;
      hosts = config_lookup (&config, "hosts");
      for (int i = 0; i < config_setting_length (hosts); i++)
        {
          int port = 0;

          config_setting_lookup_int (config_setting_get_elem (hosts, i),
                                     "port", &port);
          sum += port;
        }
      config_destroy (&config);
    }
  printf ("%ld\n", sum);
  return 0;
}
