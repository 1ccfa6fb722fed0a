// sheets.cc - spreadsheets: cells, formulas as trees, and what depends on what
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <vector>

struct Formula
{
  Formula *left = nullptr, *right = nullptr;
  double value = 0;
  unsigned cell = 0;
  char kind;

  explicit Formula (char kind_of) : kind (kind_of) {}
  virtual ~Formula ()
  {
    delete left;
    delete right;
  }
};

struct Dependent
{
  Dependent *next;
  unsigned cell, order;
};

struct Cell
{
  Formula *formula = nullptr;
  Dependent *dependents = nullptr;
  double value = 0;
};

static unsigned state = 9;

static unsigned
random_next (unsigned n)
{
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % n;
}

class Sheet
{
public:
  explicit Sheet (unsigned n) : cells (n)
  {
    for (unsigned i = 0; i < n; i++)
      cells[i].formula = parse (i, 2);
  }
  ~Sheet ()
  {
    for (Cell &cell : cells)
      {
        delete cell.formula;
        while (cell.dependents != nullptr)
          {
            Dependent *old = cell.dependents;

            cell.dependents = old->next;
            delete old;
          }
      }
  }
  double evaluate ()
  {
    double sum = 0;

    for (Cell &cell : cells)
      sum += cell.value = value_of (cell.formula);
    return sum;
  }

private:
  std::vector<Cell> cells;

  __attribute__ ((noinline)) Formula *formula_new (char kind)
  {
    return new Formula (kind);
  }
  __attribute__ ((noinline)) Dependent *dependent_new (Dependent *next,
                                                       unsigned cell)
  {
    return new Dependent{ next, cell, next == nullptr ? 0 : next->order + 1 };
  }
  Formula *parse (unsigned cell, int depth)
  {
    Formula *made;

    if (depth == 0 && cell > 0 && random_next (2) == 0)
      {
        made = formula_new ('c');
        made->cell = random_next (cell);
        cells[made->cell].dependents
            = dependent_new (cells[made->cell].dependents, cell);
        return made;
      }
    made = formula_new (depth == 0 ? 'n' : "+-*"[random_next (3)]);
    made->value = random_next (100) / 100.0;
    if (depth > 0)
      {
        made->left = parse (cell, depth - 1);
        made->right = parse (cell, depth - 1);
      }
    return made;
  }
  double value_of (const Formula *of) const
  {
    switch (of->kind)
      {
      case 'c':
        return cells[of->cell].value;
      case 'n':
        return of->value;
      case '+':
        return (value_of (of->left) + value_of (of->right)) / 2;
      case '-':
        return value_of (of->left) - value_of (of->right);
      default:
        return value_of (of->left) * value_of (of->right);
      }
  }
};

int
main ()
{
  double sum = 0;

  for (int i = 0; i < 3; i++)
    {
      Sheet sheet (40000);

      for (int round = 0; round < 3; round++)
        sum += sheet.evaluate ();
    }
  std::printf ("%.6f\n", sum);
}
