// derive.cc - formulas and their derivatives are made, evaluated, and let go
//
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdio>
#include <vector>

static unsigned state = 12;

static unsigned
random_next ()
{
  state = state * 1103515245u + 12345u;
  return state >> 8;
}

struct Term
{
  virtual double value (double x) const = 0;
  virtual ~Term () = default;
};

struct Number : Term
{
  double number;
  explicit Number (double of) : number (of) {}
  double value (double) const override { return number; }
};

struct Variable : Term
{
  double value (double x) const override { return x; }
};

struct Pair : Term
{
  const Term *a, *b;
  char kind;
  Pair (char of, const Term *left, const Term *right)
      : a (left), b (right), kind (of)
  {
  }
  ~Pair () override
  {
    delete a;
    delete b;
  }
  double value (double x) const override
  {
    double l = a->value (x), r = b->value (x);

    return kind == '+' ? l + r : kind == '-' ? l - r : l * r * 0.25;
  }
};

struct Call : Term
{
  const Term *of;
  bool is_sine;
  Call (bool sine, const Term *term) : of (term), is_sine (sine) {}
  ~Call () override { delete of; }
  double value (double x) const override
  {
    double y = of->value (x);

    return is_sine ? y - y * y * y / 6 : 1 - y * y / 2;
  }
};

class Maker
{
public:
  const Term *formula (int depth)
  {
    unsigned kind = random_next () % 8;

    if (depth == 0)
      return kind < 5 ? variable () : number (kind);
    if (kind == 7)
      return call (kind % 2 == 0, formula (depth - 1));
    const Term *left = formula (depth - 1);

    return pair ("+-*"[kind % 3], left, formula (depth - 1));
  }
  const Term *derivative (const Term *term)
  {
    if (const Pair *of = dynamic_cast<const Pair *> (term))
      {
        const Term *l = derivative (of->a), *r = derivative (of->b);

        if (of->kind != '*')
          return pair (of->kind, l, r);
        return pair ('+', pair ('*', l, copy (of->b)),
                     pair ('*', copy (of->a), r));
      }
    if (const Call *of = dynamic_cast<const Call *> (term))
      {
        const Term *inside = derivative (of->of);

        return pair ('*', call (!of->is_sine, copy (of->of)), inside);
      }
    return number (dynamic_cast<const Variable *> (term) != nullptr);
  }

private:
  const Term *copy (const Term *term)
  {
    if (const Pair *of = dynamic_cast<const Pair *> (term))
      {
        const Term *left = copy (of->a);

        return pair (of->kind, left, copy (of->b));
      }
    if (const Call *of = dynamic_cast<const Call *> (term))
      return call (of->is_sine, copy (of->of));
    if (const Number *of = dynamic_cast<const Number *> (term))
      return number (of->number);
    return variable ();
  }
  __attribute__ ((noinline)) const Term *variable ()
  {
    return new Variable;
  }
  __attribute__ ((noinline)) const Term *number (double of)
  {
    return new Number (of);
  }
  __attribute__ ((noinline)) const Term *call (bool sine, const Term *of)
  {
    return new Call (sine, of);
  }
  __attribute__ ((noinline)) const Term *pair (char kind, const Term *a,
                                               const Term *b)
  {
    return new Pair (kind, a, b);
  }
};

int
main ()
{
  double sum = 0;

  for (int i = 0; i < 3; i++)
    {
      Maker maker;
      double all = 0;

      // the terms of a row are kept until all are known
      std::vector<const Term *> terms, derivatives;

      for (int k = 0; k < 80; k++)
        {
          terms.push_back (maker.formula (11));
          derivatives.push_back (maker.derivative (terms.back ()));
        }
      for (int k = 0; k < 80; k++)
        all += terms[k]->value (0.5) + derivatives[k]->value (0.5);
      for (int k = 0; k < 80; k++)
        {
          delete terms[k];
          delete derivatives[k];
        }
      sum = sum * 0.5 + std::atan (all);
    }
  std::printf ("%.9f\n", sum);
  return 0;
}
