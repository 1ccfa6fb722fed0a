/* many-consumers.cc - several users share an arena, and the last one ends it
 *
 * A parser makes nodes and hands on its pool: an optimiser frees some and
 * makes others, a printer only reads.  Whoever is left last ends the pool.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <memory>
#include <utility>

#include <slice/slice.hpp>

namespace
{

struct Node
{
  Node (long v, Node *n) : value (v), next (n)
  {
  }
  long value;
  Node *next;
};

typedef std::shared_ptr<slice::Pool> SharedPool;
typedef slice::CustomAllocator<Node, slice::Pool> Nodes;

Node *
parse (const SharedPool &pool, int n)
{
  Nodes nodes (pool);
  Node *list = nullptr;
  for (int i = 1; i <= n; i++)
    list = nodes.create (i, list);
  return list;
}

/* Two neighbours become one: frees in any order. */
void
fold (const SharedPool &pool, Node *list)
{
  Nodes nodes (pool);
  for (Node *node = list; node != nullptr && node->next != nullptr;
       node = node->next)
    {
      Node *other = node->next;
      node->value += other->value;
      node->next = other->next;
      nodes.dispose (other);
    }
}

class Printer
{
public:
  Printer (SharedPool pool, Node *list)
      : pool_ (std::move (pool)), list_ (list)
  {
  }

  long
  sum () const
  {
    long sum = 0;
    for (Node *node = list_; node != nullptr; node = node->next)
      sum += node->value;
    return sum;
  }

private:
  SharedPool pool_;
  Node *list_;
};

} // namespace

int
main ()
{
  SharedPool pool
      = std::make_shared<slice::Pool> (sizeof (Node), alignof (Node));
  Node *list = parse (pool, 10000);
  fold (pool, list);
  Printer printer (pool, list);
  std::size_t n_live = slice_pool_n_live (pool->arena ());
  pool.reset ();
  std::printf ("many consumers, a pool: %zu nodes, sum %ld\n", n_live,
               printer.sum ());
  return 0;
}
