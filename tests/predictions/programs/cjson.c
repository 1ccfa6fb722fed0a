/* cjson.c - reads a JSON document of records with cJSON, sums it up, and frees
 * it; cJSON.c is that of Debian's package
 *
 * SPDX-License-Identifier: MIT
 */
#include "cJSON.c"

int
main (void)
{
  static char text[2 << 20];
  char *out = text;
  double sum = 0;

  *out++ = '[';
  for (int i = 0; i < 8000; i++)
    out += sprintf (out,
                    "%s{\"id\":%d,\"name\":\"record %d\",\"tags\":[%d,%d,%d],"
                    "\"on\":%s,\"at\":{\"x\":%d.5,\"y\":%d}}",
                    i == 0 ? "" : ",", i, i, i % 7, i % 11, i % 13,
                    i % 2 != 0 ? "true" : "false", i % 640, i % 480);
  strcpy (out, "]");
  for (int round = 0; round < 12; round++)
    {
      cJSON *document = cJSON_Parse (text), *record;

      cJSON_ArrayForEach (record, document)
        {
          const cJSON *at = cJSON_GetObjectItem (record, "at");

          sum += cJSON_GetObjectItem (record, "id")->valuedouble
                 + cJSON_GetObjectItem (at, "x")->valuedouble;
        }
      cJSON_Delete (document);
    }
  printf ("%g\n", sum);
  return 0;
}
