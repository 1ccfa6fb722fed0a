/* polynomials.cc - sparse polynomials as lists of terms: products and sums
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdint>
#include <cstdio>

struct Term
{
  Term *next;
  int exponent;
  int64_t factor;
};

static Term *
terms_add (const Term *a, const Term *b, int64_t times, int shift)
{
  Term *first = nullptr, **end = &first;

  while (a != nullptr || b != nullptr)
    {
      int ea = a != nullptr ? a->exponent : -1;
      int eb = b != nullptr ? b->exponent + shift : -1;
      int exponent = ea > eb ? ea : eb;
      int64_t factor = 0;

      if (ea == exponent)
        factor += a->factor, a = a->next;
      if (eb == exponent)
        factor += b->factor * times, b = b->next;
      factor %= 1000003;
      if (factor == 0)
        continue;
      *end = new Term{ nullptr, exponent, factor };
      end = &(*end)->next;
    }
  return first;
}

static void
terms_delete (Term *terms)
{
  while (terms != nullptr)
    {
      Term *next = terms->next;

      delete terms;
      terms = next;
    }
}

static Term *
product (const Term *a, const Term *b)
{
  Term *sum = nullptr;

  for (; a != nullptr; a = a->next)
    {
      Term *more = terms_add (sum, b, a->factor, a->exponent);

      terms_delete (sum);
      sum = more;
    }
  return sum;
}

int
main ()
{
  int64_t sum = 0;

  for (int round = 0; round < 300; round++)
    {
      Term one{ nullptr, 0, 1 }, x{ &one, 1 + round % 2, 3 + round };
      Term *power = terms_add (nullptr, &x, 1, 0);

      for (int i = 0; i < 6; i++)
        {
          Term *next = product (power, power);

          terms_delete (power);
          power = next;
        }
      for (const Term *term = power; term != nullptr; term = term->next)
        sum += term->factor * term->exponent;
      Term *square = product (power, power);
      sum += square->factor;
      terms_delete (square);
      terms_delete (power);
    }
  std::printf ("%lld\n", (long long) sum);
  return 0;
}
