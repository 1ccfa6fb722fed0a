// jsoncpp.cc - reads a list of objects twice, and adds up their sizes
//
// SPDX-License-Identifier: MIT
#include "json/json.h"
#include <cstdio>
#include <memory>
#include <string>

int
main ()
{
  std::string text = "[";
  long sum = 0;

  for (int i = 0; i < 60000; i++)
    {
      char object[160];
      std::snprintf (object, sizeof object,
                     "%s{\"id\": %d, \"size\": %d, \"ok\": true, \"mode\": %d}",
                     i > 0 ? "," : "", i, i % 977, i % 8);
      text += object;
    }
  text += "]";
  for (int round = 0; round < 2; round++)
    {
      Json::Value rows;
      Json::CharReaderBuilder builder;
      std::unique_ptr<Json::CharReader> reader (builder.newCharReader ());

      if (!reader->parse (text.data (), text.data () + text.size (), &rows,
                          nullptr))
        return 1;
      for (const Json::Value &row : rows)
        sum += row["size"].asInt ();
    }
  std::printf ("%ld\n", sum);
}
