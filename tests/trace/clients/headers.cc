// headers.cc - allocations through slice's and the standard library's headers
//
// Tests: a program to be recorded.  Each call comes from a function whose name
// ends in _site: where the program calls the library, or what the library's
// templates call.
//
// SPDX-License-Identifier: MIT
#include "slice/slice.hpp"
#include "slice/slice.h"
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory_resource>
#include <thread>
#include <utility>
#include <vector>

#define APART __attribute__ ((noinline, noclone))

struct Particle
{
  SLICE_CLASS_OPERATORS
  int place[10];
};

struct Counted
{
  long place[5];
  APART static void *
  operator new (std::size_t size)
  {
    void *volatile block = malloc (size);
    return block;
  }
  APART static void *
  operator new[] (std::size_t size)
  {
    void *volatile block = malloc (size);
    return block;
  }
  static void
  operator delete (void *block)
  {
    free (block);
  }
  static void
  operator delete[] (void *block)
  {
    free (block);
  }
};

struct Message
{
  char text[64];
};

static void *volatile seen;

APART static void
c_site ()
{
  void *block = slice_alloc (40);
  seen = block;
  slice_free1 (40, block);
}

APART static void
class_site ()
{
  Particle *particle = new Particle;
  seen = particle;
  delete particle;
}

APART static void
unique_site ()
{
  auto number = slice::make_unique<int> (3);
  seen = number.get ();
}

APART static void
vector_site ()
{
  std::vector<int, slice::allocator<int> > numbers (5);
  seen = numbers.data ();
}

APART static void
list_site ()
{
  std::list<int, slice::allocator<int> > numbers;
  numbers.push_front (1);
  seen = &numbers.front ();
}

APART static void
resource_site ()
{
  std::pmr::vector<int> numbers (5, slice::default_resource ());
  seen = numbers.data ();
}

APART static void
counted_site ()
{
  Counted *counted = new Counted;
  seen = counted;
  delete counted;
}

APART static void
counted_array_site ()
{
  Counted *counted = new Counted[3];
  seen = counted;
  delete[] counted;
}

APART static Message *
generate_site ()
{
  Message *message = new Message;
  seen = message;
  return message;
}

APART static bool
compare_site (Message *, Message *)
{
  Message *message = new Message;
  seen = message;
  delete message;
  return false;
}

APART static void
function_site ()
{
  Message *message = new Message;
  seen = message;
  delete message;
}

APART static void
thread_site ()
{
  for (int i = 0; i < 500; i++)
    {
      Message *message = new Message;
      seen = message;
      delete message;
    }
}

int
main ()
{
  std::vector<Message *> messages (500);
  std::generate (messages.begin (), messages.end (), generate_site);
  std::stable_sort (messages.begin (), messages.end (), compare_site);
  std::function<void ()> call = function_site;
  std::thread ([] { thread_site (); }).join ();
  std::thread ([] {
    for (int i = 0; i < 500; i++)
      seen = new Message;
  }).join ();
  for (int i = 0; i < 500; i++)
    {
      c_site ();
      class_site ();
      unique_site ();
      vector_site ();
      list_site ();
      resource_site ();
      counted_site ();
      counted_array_site ();
      call ();
    }
}
