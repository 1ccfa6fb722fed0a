// hunspell.cc - reads a large word list and checks a text against it
//
// SPDX-License-Identifier: MIT
#include "hunspell.hxx"
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// A word that looks like one, by its number.
static std::string
word_of (unsigned long number)
{
  static const char *const parts[]
      = { "ba", "ri", "ston", "el", "no", "ter", "mi", "qua", "lu", "ves" };
  std::string word;

  for (int i = 0; i < 6; i++, number /= 10)
    word += parts[number % 10];
  return word;
}

int
main ()
{
  std::FILE *file = std::fopen ("words.dic", "w");
  unsigned long n_good = 0;

  std::fprintf (file, "250000\n");
  for (unsigned long i = 0; i < 250000; i++)
    std::fprintf (file, "%s%s\n", word_of (i * 6).c_str (),
                  i % 4 == 0 ? "/A" : "");
  std::fclose (file);
  file = std::fopen ("words.aff", "w");
  std::fputs ("SET ISO8859-1\nSFX A Y 1\nSFX A 0 s .\n", file);
  std::fclose (file);
  {
    Hunspell speller ("words.aff", "words.dic");

    for (unsigned long i = 0; i < 20000; i++)
      n_good += speller.spell (word_of (i * 13)) ? 1 : 0;
  }
  std::printf ("%lu\n", n_good);
}
