// simplecpp.cc - reads and preprocesses a generated source file
//
// SPDX-License-Identifier: MIT
#include "externals/simplecpp/simplecpp.h"
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

int
main ()
{
  std::string text = "#define DEBUG 1\n#ifdef DEBUG\n";
  unsigned long n = 0, sum = 0;

  for (int i = 0; i < 9000; i++)
    {
      char lines[160];
      std::snprintf (lines, sizeof lines,
                     "static int\nf%d (int x)\n{\n  if (x > 10)\n"
                     "    return x + %d;\n  return 0;\n}\n",
                     i, i);
      text += lines;
    }
  text += "#endif\n";
  std::istringstream input (text);
  std::vector<std::string> files;
  {
    simplecpp::TokenList raw (input, files, "input.c");
    simplecpp::TokenList output (files);
    std::map<std::string, simplecpp::TokenList *> included;
    simplecpp::DUI options;

    simplecpp::preprocess (output, raw, files, included, options);
    for (const simplecpp::Token *token = output.cfront (); token;
         token = token->next)
      {
        n++;
        sum += token->str ().size ();
      }
  }
  std::printf ("%lu %lu\n", n, sum);
}
