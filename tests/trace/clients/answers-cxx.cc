// answers-cxx.cc - small programs in C++ whose right allocator is known
//
// Tests: a program to be recorded; see answers.c.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define APART __attribute__ ((noinline, noclone)) static

static unsigned state = 1;

static unsigned
below (unsigned n)
{
  state = state * 1664525 + 1013904223;
  return unsigned ((unsigned long long)state * n >> 32);
}

struct Particle
{
  double place[6];
};

APART Particle *
particle_new ()
{
  return new Particle ();
}

static void
cxx_pool ()
{
  std::vector<Particle *> all (300);
  for (int i = 0; i < 20000; i++)
    {
      Particle *&one = all[below (300)];
      delete one;
      one = particle_new ();
    }
}

APART void
list_fill (std::list<int> &list)
{
  for (int i = 0; i < 200; i++)
    list.push_back (i);
}

static void
cxx_list ()
{
  for (int i = 0; i < 50; i++)
    {
      std::list<int> list;
      list_fill (list);
    }
}

APART void
map_add (std::map<int, int> &map, int key)
{
  map[key] = key;
}

static void
cxx_map ()
{
  std::map<int, int> map;
  for (int i = 0; i < 20000; i++)
    {
      map_add (map, int (below (100000)));
      if (map.size () > 300)
        map.erase (map.lower_bound (int (below (90000))));
    }
}

APART std::string
name_make (int number)
{
  return "a name that is too long for its object, "
         + std::to_string (number);
}

static void
cxx_string ()
{
  for (int i = 0; i < 50; i++)
    {
      std::vector<std::string> names;
      names.reserve (200);
      for (int k = 0; k < 200; k++)
        names.push_back (name_make (k));
    }
}

/* Called by nothing but a comparison, which the compiler inlines into many
 * templates. */
APART int
weight_of (int item)
{
  void *volatile weight = std::malloc (16);
  std::free (weight);
  return item * 7919 % 1000;
}

static void
cxx_sort ()
{
  std::vector<int> items;
  for (int i = 0; i < 500; i++)
    items.push_back (i);
  std::sort (items.begin (), items.end (), [] (int left, int right) {
    return weight_of (left) < weight_of (right);
  });
}

struct Shape
{
  virtual ~Shape () = default;
  char bytes[40];
};

APART std::unique_ptr<Shape>
shape_make ()
{
  return std::make_unique<Shape> ();
}

APART void
shapes_nest (int depth)
{
  auto first = shape_make ();
  for (int i = 0; depth > 0 && i < 3; i++)
    shapes_nest (depth - 1);
}

static void
cxx_stack ()
{
  shapes_nest (7);
}

template <class T> struct Tree
{
  std::vector<std::unique_ptr<T>> children;
  __attribute__ ((noinline)) void
  add ()
  {
    children.push_back (std::unique_ptr<T> (new T ()));
  }
};

static void
cxx_template ()
{
  for (int i = 0; i < 50; i++)
    {
      Tree<Particle> tree;
      tree.children.reserve (200);
      for (int k = 0; k < 200; k++)
        tree.add ();
    }
}

/* As in C, but with arguments in their names, and in a namespace. */
APART void *
xmalloc (std::size_t size)
{
  void *block = std::malloc (size);
  if (block == nullptr)
    std::abort ();
  return block;
}

namespace util
{
template <class T>
APART T *
xcalloc (std::size_t n)
{
  T *block = static_cast<T *> (std::calloc (n, sizeof (T)));
  if (block == nullptr)
    std::abort ();
  return block;
}
} // namespace util

APART void *
row_make ()
{
  return xmalloc (40 + below (200));
}

APART Particle *
cell_make ()
{
  return util::xcalloc<Particle> (1);
}

static void
cxx_wrapper ()
{
  void *rows[200];
  Particle *cells[300] = {};
  for (int i = 0; i < 50; i++)
    {
      for (auto &row : rows)
        row = row_make ();
      for (auto row : rows)
        std::free (row);
    }
  for (int i = 0; i < 20000; i++)
    {
      Particle *&one = cells[below (300)];
      std::free (one);
      one = cell_make ();
    }
}

static const struct
{
  const char *name;
  void (*run) ();
} answers[] = { { "cxx_pool", cxx_pool },     { "cxx_list", cxx_list },
                { "cxx_map", cxx_map },       { "cxx_string", cxx_string },
                { "cxx_stack", cxx_stack },
                { "cxx_template", cxx_template },
                { "cxx_sort", cxx_sort },
                { "cxx_wrapper", cxx_wrapper } };

int
main (int argc, char **argv)
{
  for (const auto &answer : answers)
    if (argc > 1 && std::strcmp (answer.name, argv[1]) == 0)
      {
        answer.run ();
        return 0;
      }
  return 2;
}
