/* words.cc - standard containers on an arena, through std::pmr
 *
 * Each line of a text has its words counted in a map that lives on one linear
 * arena.  When the line is done the arena is reset, and the next line finds the
 * memory there: nothing is freed one by one, and after the first lines nothing
 * is asked of the system.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#ifdef SLICE_HAS_PMR

namespace
{

using Words = std::pmr::vector<std::pmr::string>;
using Counts = std::pmr::map<std::pmr::string, unsigned>;

Words
split (const char *line, std::pmr::memory_resource *memory)
{
  Words words (memory);
  std::pmr::string word (memory);

  for (const char *at = line; *at != '\0'; at++)
    if (*at != ' ')
      word.push_back (*at);
    else if (!word.empty ())
      {
        words.push_back (word);
        word.clear ();
      }
  if (!word.empty ())
    words.push_back (word);
  return words;
}

/* How often the commonest word stands in a line. */
unsigned
commonest (const char *line, std::pmr::memory_resource *memory)
{
  Counts counts (memory);
  unsigned most = 0;

  for (const std::pmr::string &word : split (line, memory))
    {
      unsigned n = ++counts[word];
      most = n > most ? n : most;
    }
  return most;
}

} // namespace

int
main ()
{
  static const char *const lines[]
      = { "a rose is a rose is a rose is a rose",
          "to be or not to be that is the question whether it is nobler",
          "one word of more than fifteen letters: incomprehensibilities" };
  SliceLinear *arena = slice_linear_new (nullptr);
  slice::linear_resource memory (arena);
  unsigned sum = 0;

  for (unsigned round = 0; round < 1000; round++)
    for (const char *line : lines)
      {
        sum += commonest (line, &memory);
        slice_linear_reset (arena, SLICE_KEEP_ALL);
      }
  slice_linear_destroy (arena);
  std::printf ("pmr on a linear arena: %u\n", sum);
  return 0;
}

#else

int
main ()
{
  std::puts ("pmr on a linear arena: this library has no std::pmr");
  return 0;
}

#endif
