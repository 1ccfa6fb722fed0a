/* test-ralloc-cxx.cc - the operators for C++
 *
 * SPDX-License-Identifier: MIT
 */
#include <cassert>
#include <cstdio>

#include <slice/ralloc.h>
#include <slice/source.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_destroyed;

struct Plain
{
  DECLARE_RALLOC_CXX_OPERATORS (Plain)
  int value;
};

struct Zeroed
{
  DECLARE_RZALLOC_CXX_OPERATORS (Zeroed)
  int values[10];
};

struct Owner
{
  DECLARE_RALLOC_CXX_OPERATORS (Owner)
  ~Owner ()
  {
    n_destroyed++;
  }
  int value = 7;
};

/* Types that do not begin the object that they are a base of. */
struct Other
{
  virtual ~Other ()
  {
  }
  int n_other = 1;
};

struct Node
{
  DECLARE_RALLOC_CXX_OPERATORS (Node)
  virtual ~Node ()
  {
    n_destroyed += value == 5;
  }
  int value = 5;
};

struct Second : Other, Node
{
  ~Second () override
  {
    n_destroyed++;
  }
};

struct SecondOwn : Other, Node
{
  DECLARE_RALLOC_CXX_OPERATORS (SecondOwn)
  ~SecondOwn () override
  {
    n_destroyed++;
  }
};

struct Late : Owner
{
  DECLARE_RALLOC_CXX_OPERATORS (Late)
  virtual ~Late ()
  {
    n_destroyed += value == 7;
  }
};

struct Throws
{
  DECLARE_RALLOC_CXX_OPERATORS (Throws)
  Throws ()
  {
    throw 1;
  }
  ~Throws ()
  {
    n_destroyed++;
  }
};

struct Linear
{
  DECLARE_LINEAR_ALLOC_CXX_OPERATORS (Linear)
  int value;
};

struct LinearZeroed
{
  DECLARE_LINEAR_ZALLOC_CXX_OPERATORS (LinearZeroed)
  int values[4];
};

static int failures;

static void
check (bool good, const char *what)
{
  static int n;

  std::printf ("%s %d %s\n", good ? "ok" : "not ok", ++n, what);
  failures += !good;
}

/* delete finds the node through any base with a virtual destructor; and the
 * tree destroys all of a type that has the operators itself. */
static void
check_bases ()
{
  void *ctx = ralloc_context (nullptr);
  n_destroyed = 0;
  Node *node = new (ctx) Second;
  check (static_cast<void *> (node) != dynamic_cast<void *> (node),
         "a second base is elsewhere");
  delete node;
  check (n_destroyed == 2, "delete through a second base");
  Other *other = new (ctx) SecondOwn;
  delete other;
  check (n_destroyed == 4, "delete through a base without the operators");
  new (ctx) SecondOwn;
  new (ctx) Late;
  ralloc_free (ctx);
  check (n_destroyed == 8, "the tree destroys those with their own operators");
}

/* A source that has one extent.  Behind its start is what is aligned. */
static void *
map_once (const SliceSource *source, size_t bytes, size_t alignment)
{
  const SliceSource *real = slice_source_builtin (SLICE_PAGES_POSIX_MEMALIGN);
  static int n;

  (void) source;
  return n++ == 0 ? real->map (real, bytes, alignment) : nullptr;
}

/* Without memory for the record of a destructor, an object is not made. */
static void
check_no_record ()
{
  static const SliceSource once
      = { "once", map_once, nullptr, nullptr, false, nullptr };
  enum { RECORD_BYTES = 112 };
  int status = 0;

  std::fflush (stdout);
  pid_t child = fork ();
  if (child == 0)
    {
      if (slice_set_source (&once) != SLICE_SET_OK)
        _exit (2);
      void *ctx = ralloc_context (nullptr);
      void *node = ralloc_size (ctx, sizeof (Owner));
      /* under a tool each block is a malloc */
      while (slice_is_ours (slice_try_alloc (1))
             && slice_try_alloc (RECORD_BYTES) != nullptr)
        continue;
      ralloc_free (node);
      try
        {
          for (int i = 0; i < 1000000; i++)
            new (ctx) Owner;
          _exit (3);
        }
      catch (std::bad_alloc &)
        {
          _exit (ralloc_total_nodes (ctx) == 1 ? 0 : 1);
        }
    }
  waitpid (child, &status, 0);
  std::printf ("# status %d\n", status);
  check (status == 0, "no memory for a record is bad_alloc");
}

int
main ()
{
  std::printf ("1..14\n");
  check_no_record ();
  void *ctx = ralloc_context (nullptr);
  RallocLinear *linear = ralloc_linear_context (ctx);

  Plain *plain = new (ctx) Plain;
  check (ralloc_parent (plain) == ctx, "new hangs on the context");
  Plain *stolen = ralloc_stolen (nullptr, plain);
  check (stolen == plain && ralloc_parent (plain) == nullptr,
         "a steal returns what it stole");
  delete plain;
  check (ralloc_total_nodes (ctx) == 2, "delete frees");
  Zeroed *zeroed = new (ctx) Zeroed;
  check (zeroed->values[0] == 0 && zeroed->values[9] == 0, "zeroed");

  Owner *owner = new (ctx) Owner;
  delete owner;
  check (n_destroyed == 1, "delete destroys once");
  new (ctx) Owner;
  Owner *parent = new (ctx) Owner;
  new (parent) Owner;

  try
    {
      new (ctx) Throws;
    }
  catch (int)
    {
    }
  check (n_destroyed == 1, "what was never built is not destroyed");

  Linear *object = new (linear) Linear;
  object->value = 3;
  Linear *objects = new (linear) Linear[10];
  objects[9].value = 4;
  LinearZeroed *cleared = new (linear) LinearZeroed[5];
  check (cleared[4].values[3] == 0 && object->value == 3, "linear");
  delete object;

  ralloc_free (ctx);
  check (n_destroyed == 4, "a tree destroys each once");
  check_bases ();
  check (failures == 0, "all");
  return failures != 0;
}
