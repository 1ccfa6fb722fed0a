/* test-objects.cc - slice.hpp: arrays of objects, and who owns them
 *
 * Needs neither GLib nor C++17, so that it runs in any of the language's
 * versions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <slice/slice.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace
{

void
require (bool holds, int line, const char *what)
{
  if (holds)
    return;
  std::printf ("not ok - line %d: %s\n", line, what);
  std::fflush (stdout);
  std::_Exit (1);
}

#define REQUIRE(...) require ((__VA_ARGS__), __LINE__, #__VA_ARGS__)

int n_alive, n_alive_max = 1000;
const int *last_gone;

struct Counted
{
  Counted () : value (3)
  {
    if (n_alive == n_alive_max)
      throw 1;
    n_alive++;
  }
  ~Counted ()
  {
    REQUIRE (last_gone == nullptr || &value < last_gone);
    last_gone = &value;
    n_alive--;
  }
  int value;
};

/* Elements that are arrays themselves. */
void
test_rows ()
{
  slice::unique_ptr<int[][3]> numbers = slice::make_unique<int[][3]> (4);
  REQUIRE (numbers.get_deleter ().size () == 4);
  for (int i = 0; i < 12; i++)
    REQUIRE (numbers[i / 3][i % 3] == 0);
  slice::unique_ptr<Counted[][3][2]> counted
      = slice::make_unique<Counted[][3][2]> (4);
  REQUIRE (n_alive == 24 && counted[3][2][1].value == 3);
  counted.reset ();
  REQUIRE (n_alive == 0);
  auto texts = slice::make_unique<std::string[][2]> (3);
  texts[2][1] = "a text that is too long to lie inside of the string";
  slice::unique_ptr<const int[][2]> constant
      = slice::make_unique<const int[][2]> (2);
  REQUIRE (constant[1][1] == 0);
}

/* What may be written is given to those who only read; never another type. */
struct Derived : Counted
{
};
static_assert (!std::is_convertible<slice::unique_ptr<Derived>,
                                    slice::unique_ptr<Counted>>::value,
               "another size");
static_assert (!std::is_convertible<slice::unique_ptr<const int>,
                                    slice::unique_ptr<int>>::value,
               "const stays");

void
test_const ()
{
  slice::unique_ptr<int> one = slice::make_unique<int> (3);
  slice::unique_ptr<const int> constant = std::move (one);
  REQUIRE (*constant == 3);
  constant = slice::make_unique<int> (4);
  slice::unique_ptr<const int[]> array = slice::make_unique<int[]> (7);
  REQUIRE (array.get_deleter ().size () == 7 && array[6] == 0);
}

/* The constructor of one element throws, amid a row. */
void
test_rows_throw ()
{
  n_alive_max = 7;
  last_gone = nullptr;
  bool has_thrown = false;
  try
    {
      slice::make_unique<Counted[][3]> (4);
    }
  catch (int)
    {
      has_thrown = true;
    }
  REQUIRE (has_thrown && n_alive == 0);
  n_alive_max = 1000;
}

/* Arrays that make_unique() did not make. */
void
test_adopted ()
{
  for (std::size_t bytes : { 40, 400, 4000 })
    {
      slice::unique_ptr<int[]> array (static_cast<int *> (slice_alloc (bytes)));
      REQUIRE (array.get_deleter ().size () == 0);
      slice::unique_ptr<int[]> known (
          static_cast<int *> (slice_alloc (bytes)),
          slice::deleter<int[]> (bytes / sizeof (int)));
      REQUIRE (known.get_deleter ().size () == bytes / sizeof (int));
    }
  slice::unique_ptr<int[]> none, empty = slice::make_unique<int[]> (0);
  none = std::move (empty);
  REQUIRE (none.get () != nullptr && none.get_deleter ().size () == 0);
  std::vector<slice::unique_ptr<Counted[]>> many (3);
  last_gone = nullptr;
  many[1] = slice::make_unique<Counted[]> (5);
  many.clear ();
  REQUIRE (n_alive == 0);
}

/* How many are to be destroyed is not known. */
void
adopt_counted ()
{
  void *block = slice_alloc (4 * sizeof (Counted));
  slice::unique_ptr<Counted[]> (static_cast<Counted *> (block));
}

/* Does it end with that error? */
bool
dies (void (*misuse) (), const char *error)
{
  int ends[2];
  REQUIRE (pipe (ends) == 0);
  std::fflush (stdout);
  pid_t child = fork ();
  if (child == 0)
    {
      dup2 (ends[1], 2);
      misuse ();
      std::_Exit (0);
    }
  close (ends[1]);
  char said[512] = "";
  REQUIRE (read (ends[0], said, sizeof said - 1) >= 0);
  close (ends[0]);
  int status = 0;
  waitpid (child, &status, 0);
  return WIFSIGNALED (status) && std::strstr (said, error) != nullptr;
}

void
test_adopted_misuse ()
{
  REQUIRE (dies (adopt_counted, "slice: error 103: "));
}

/* A 0 is a size; a buffer is a pointer, and nullptr none. */
void
test_heaps ()
{
  slice::TlsfPool zero (0, 4096), small (8, 8), wide (std::size_t (64), 64);
  zero.deallocate (zero.allocate (100, 8), 100, 8);
  wide.deallocate (wide.allocate (64, 64), 64, 64);
  small.deallocate (small.allocate (1, 8), 1, 8);
  alignas (16) static char buffer[65536];
  slice::TlsfPool fixed (buffer, sizeof buffer);
  char *object = static_cast<char *> (fixed.allocate (100, 8));
  REQUIRE (object > buffer && object < buffer + sizeof buffer);
  bool has_thrown = false;
  try
    {
      slice::TlsfPool none (nullptr, 4096);
    }
  catch (const std::bad_alloc &)
    {
      has_thrown = true;
    }
  REQUIRE (has_thrown);
  slice::LinearPool linear (0, 0), linear_alone (0);
  slice::StackPool stack (0, 0), stack_alone (0);
  slice::Pool pool (0, 0);
}

struct Test
{
  const char *name;
  void (*run) ();
};

const Test tests[] = {
  { "rows", test_rows },
  { "const", test_const },
  { "rows-throw", test_rows_throw },
  { "adopted", test_adopted },
  { "adopted-misuse", test_adopted_misuse },
  { "heaps", test_heaps },
};

} // namespace

int
main ()
{
  int n = 0;
  for (const Test &test : tests)
    {
      last_gone = nullptr;
      test.run ();
      std::printf ("ok %d %s\n", ++n, test.name);
    }
  std::printf ("1..%d\n", n);
  return 0;
}
