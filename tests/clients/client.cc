/* client.cc - the same in C++
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <slice/slice.h>

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
  double sum = 0;

  for (int i = 0; i < 100; i++)
    {
      points[i] = slice_new0 (Point);
      points[i]->x = i;
    }
  for (Point *point : points)
    {
      Point *copy = slice_dup (Point, point);
      sum += copy->x + copy->y;
      slice_free (Point, copy);
      slice_free (Point, point);
    }
  std::printf ("slice %s: %g\n", slice_version (), sum);
  return sum == 4950 ? 0 : 1;
}
