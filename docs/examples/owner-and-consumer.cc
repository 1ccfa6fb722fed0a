/* owner-and-consumer.cc - the owner of the arena and its user are two
 *
 * A pass owns a linear arena; the dominator tree that it builds for each
 * function only allocates from it, and never frees: the pass resets the arena
 * between two functions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>

#include <slice/slice.hpp>

namespace
{

struct Node
{
  Node (int b, Node *p) : block (b), parent (p), next (nullptr)
  {
  }
  int block;
  Node *parent;
  Node *next;
};

/* The consumer. */
class Tree
{
public:
  explicit Tree (slice::LinearPool &pool) : nodes_ (pool), first_ (nullptr)
  {
  }

  Node *
  add (int block, Node *parent)
  {
    Node *node = nodes_.create (block, parent);
    node->next = first_;
    first_ = node;
    return node;
  }

  int
  depth () const
  {
    int deepest = 0;
    for (Node *node = first_; node != nullptr; node = node->next)
      {
        int depth = 0;
        for (Node *up = node; up != nullptr; up = up->parent)
          depth++;
        deepest = depth > deepest ? depth : deepest;
      }
    return deepest;
  }

private:
  slice::CustomAllocator<Node, slice::LinearPool> nodes_;
  Node *first_;
};

/* The owner. */
class Pass
{
public:
  int
  run (int n_blocks)
  {
    pool_.reset ();
    Tree tree (pool_);
    Node *last = nullptr;
    for (int block = 0; block < n_blocks; block++)
      last = tree.add (block, block % 3 == 0 ? last : nullptr);
    return tree.depth ();
  }

private:
  slice::LinearPool pool_;
};

} // namespace

int
main ()
{
  Pass pass;
  int sum = 0;
  for (int function = 1; function <= 100; function++)
    sum += pass.run (function * 10);
  std::printf ("owner and consumer, linear: depths add up to %d\n", sum);
  return 0;
}
