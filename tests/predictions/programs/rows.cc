// rows.cc - a table is read and grouped: rows of cells, and groups of rows
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <vector>

struct Cell
{
  Cell *next;
  double number;
  unsigned column;
  virtual double value () const { return number; }
  Cell (Cell *after, unsigned in, double n)
      : next (after), number (n), column (in)
  {
  }
  virtual ~Cell () = default;
};

struct Percent : Cell
{
  double whole;
  Percent (Cell *after, unsigned in, double n, double of)
      : Cell (after, in, n), whole (of)
  {
  }
  double value () const override { return number / whole; }
};

struct Row
{
  Row *next = nullptr;
  Cell *cells = nullptr;
  unsigned key = 0;
};

static unsigned state = 4242;

static unsigned
random_next ()
{
  state = state * 22695477u + 1u;
  return state >> 8;
}

class Table
{
public:
  explicit Table (unsigned rows)
  {
    for (unsigned i = 0; i < rows; i++)
      first = row_new (first);
  }
  ~Table ()
  {
    while (first != nullptr)
      {
        Row *old = first;

        first = old->next;
        while (old->cells != nullptr)
          {
            Cell *cell = old->cells;

            old->cells = cell->next;
            delete cell;
          }
        delete old;
      }
  }
  double group (std::vector<double> &sums) const
  {
    double all = 0;

    std::fill (sums.begin (), sums.end (), 0);
    for (const Row *row = first; row != nullptr; row = row->next)
      for (const Cell *cell = row->cells; cell != nullptr; cell = cell->next)
        sums[(row->key + cell->column) % sums.size ()] += cell->value ();
    for (double sum : sums)
      all = all * 0.5 + sum;
    return all;
  }

private:
  Row *first = nullptr;

  __attribute__ ((noinline)) Row *row_new (Row *after)
  {
    Row *made = new Row;

    made->next = after;
    made->key = random_next () % 64;
    for (unsigned column = 0; column < 6; column++)
      made->cells = cell_new (made->cells, column);
    return made;
  }
  __attribute__ ((noinline)) Cell *cell_new (Cell *after, unsigned column)
  {
    double n = random_next () % 1000;

    if (column % 3 == 2)
      return new Percent (after, column, n, 1000);
    return new Cell (after, column, n);
  }
};

int
main ()
{
  std::vector<double> sums (64);
  double sum = 0;

  for (int i = 0; i < 12; i++)
    {
      Table table (60000);

      sum += table.group (sums);
    }
  std::printf ("%.3f\n", sum);
  return 0;
}
