// tasks.cc - a loop of events: tasks of several kinds wait until they are due,
// and most make others
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <vector>

static unsigned state = 555;

static unsigned
random_next ()
{
  state = state * 22695477u + 1u;
  return state >> 8;
}

class Loop;

struct Task
{
  Task *next = nullptr;
  virtual unsigned run (Loop &loop) = 0;
  virtual ~Task () = default;
};

// The tasks of each moment are a list.
class Loop
{
public:
  Loop () : wheel (8192) {}
  void add (Task *task, unsigned delay)
  {
    Task *&slot = wheel[(now + delay) % wheel.size ()];

    task->next = slot;
    slot = task;
  }
  unsigned long run (unsigned n)
  {
    unsigned long sum = 0;

    for (; n > 0; n--, now++)
      for (Task *&slot = wheel[now % wheel.size ()]; slot != nullptr;)
        {
          Task *task = slot;

          slot = task->next;
          sum += task->run (*this);
          delete task;
        }
    return sum;
  }
  void clear ()
  {
    for (Task *&slot : wheel)
      while (slot != nullptr)
        {
          Task *task = slot;

          slot = task->next;
          delete task;
        }
  }
  unsigned now = 1;

private:
  std::vector<Task *> wheel;
};

struct Tick : Task
{
  unsigned number;
  explicit Tick (unsigned of) : number (of) {}
  unsigned run (Loop &loop) override;
};

struct Answer : Task
{
  unsigned from, to, words[3];
  Answer (unsigned a, unsigned b) : from (a), to (b), words{ a, b, a ^ b } {}
  unsigned run (Loop &) override { return words[from % 3] + to; }
};

struct Question : Task
{
  unsigned from, to;
  Question (unsigned a, unsigned b) : from (a), to (b) {}
  unsigned run (Loop &loop) override
  {
    loop.add (new Answer (to, from), 1 + random_next () % 3000);
    return 1;
  }
};

unsigned
Tick::run (Loop &loop)
{
  loop.add (new Tick (number), 1 + random_next () % 6000);
  if (number % 2 == 0)
    loop.add (new Question (number, random_next () % 4096),
              1 + random_next () % 2000);
  return 2;
}

int
main ()
{
  Loop loop;
  unsigned long sum = 0;

  for (unsigned i = 0; i < 200000; i++)
    loop.add (new Tick (i), 1 + random_next () % 6000);
  for (int i = 0; i < 6; i++)
    sum = sum * 3 + loop.run (2500);
  loop.clear ();
  std::printf ("%lu\n", sum);
  return 0;
}
