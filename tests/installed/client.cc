/* client.cc - the same in C++, and a container of slice.hpp's
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <slice/slice.h>
#include <slice/slice.hpp>
#include <vector>

namespace
{

struct Point
{
  double x, y, z;
};

}

int
main ()
{
  Point *points[100];
  std::vector<double, slice::allocator<double>> sums;
  double sum = 0;

  for (int i = 0; i < 100; i++)
    {
      points[i] = slice_new0 (Point);
      points[i]->x = i;
    }
  for (Point *point : points)
    {
      Point *copy = slice_dup (Point, point);
      sums.push_back (copy->x + copy->y);
      slice_free (Point, copy);
      slice_free (Point, point);
    }
  for (double one : sums)
    sum += one;
  std::printf ("slice %s: %g\n", slice_version (), sum);
  return sum == 4950 ? 0 : 1;
}
