/* lines-cxx.cc - source lines are C's: a C++ program is compiled as it was
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#define SLICE_TRACE_SOURCE_LINES
#include <slice/trace.h>
#include <cstdlib>

inline void *
grab (std::size_t n)
{
  return malloc (n);
}

struct Holder
{
  void *
  grab ()
  {
    return std::malloc (3);
  }
};

int
main ()
{
  Holder holder;
  auto lambda = [] (int n) { return malloc ((std::size_t)n); };
  slice_trace_scope_begin ("all");
  std::free (grab (3));
  std::free (holder.grab ());
  std::free (lambda (3));
  slice_trace_scope_end ("all");
  slice_trace_print_lines (stdout);
  return 0;
}
