/* one-owner.cc - a class that owns its objects' arena
 *
 * A bit vector of a data-flow analysis, made and thrown away in the order of
 * a recursion: each level owns what it allocates, on one stack.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdint>
#include <cstdio>

#include <slice/slice.hpp>

namespace
{

class Solver
{
public:
  explicit Solver (std::size_t n_bits) : n_words_ ((n_bits + 63) / 64)
  {
  }

  /* The number of subsets of `depth` things, the slow way: each level has a
   * vector of its own, gone when the level returns. */
  unsigned long
  count (unsigned depth)
  {
    if (depth == 0)
      return 1;
    std::uint64_t *bits = words_.allocate (n_words_);
    for (std::size_t i = 0; i < n_words_; i++)
      bits[i] = depth;
    unsigned long n = count (depth - 1) + count (depth - 1);
    for (std::size_t i = 0; i < n_words_; i++)
      if (bits[i] != depth)
        n = 0;
    words_.deallocate (bits, n_words_);
    return n;
  }

private:
  std::size_t n_words_;
  slice::CustomAllocator<std::uint64_t, slice::StackPool> words_;
};

} // namespace

int
main ()
{
  Solver solver (1000);
  std::printf ("one owner, a stack: %lu subsets\n", solver.count (12));
  return 0;
}
