// applied-cxx.cc - operators new and delete of sites with advice
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Point
{
  int x, y;
  std::string name;
};

struct alignas (64) Line
{
  char bytes[64];
};

__attribute__ ((noinline)) static std::unique_ptr<Point>
point_new (int i)
{
  return std::unique_ptr<Point> (
      new Point{ i, -i, "a name that is not short, with number "
                            + std::to_string (i) });
}

int
main ()
{
  long sum = 0;
  for (int round = 0; round < 20; round++)
    {
      std::vector<std::unique_ptr<Point>> points;
      std::list<int> numbers;
      for (int i = 0; i < 2000; i++)
        {
          points.push_back (point_new (i));
          numbers.push_back (i);
          int *some = new int[10]{ i };
          char *quiet = new (std::nothrow) char[20];
          Line *line = new Line;
          sum += some[0] + (quiet != nullptr)
                 + (reinterpret_cast<unsigned long> (line) % 64 == 0);
          delete[] some;
          operator delete[] (quiet, std::nothrow);
          delete line;
        }
      for (auto &point : points)
        sum += point->x + static_cast<long> (point->name.size ());
      for (int number : numbers)
        sum += number;
    }
  std::printf ("%ld\n", sum);
}
