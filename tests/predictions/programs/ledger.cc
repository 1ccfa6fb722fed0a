// ledger.cc - offers to buy and to sell, of many firms: each new one meets the
// best of the other side, and what is left of it waits
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <vector>

static unsigned state = 2027;

static unsigned
random_next ()
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

struct Offer
{
  Offer *next;
  unsigned price, number, firm;

  Offer (unsigned for_price, unsigned of_number, unsigned of_firm)
      : next (nullptr), price (for_price), number (of_number), firm (of_firm)
  {
  }
};

// The offers of one price, the oldest first.
struct Queue
{
  Offer *first = nullptr;
  Offer **end = &first;
};

class Book
{
public:
  Book () : buy (128), sell (128) {}
  void offer (bool buys, unsigned price, unsigned number, unsigned firm)
  {
    std::vector<Queue> &others = buys ? sell : buy;

    for (unsigned at = buys ? 0 : 127; number > 0; at += buys ? 1 : -1)
      {
        if (at >= 128 || (buys ? at > price : at < price))
          break;
        number = meet (others[at], number);
      }
    if (number > 0)
      wait ((buys ? buy : sell)[price], price, number, firm);
  }
  unsigned long sum = 0;

private:
  std::vector<Queue> buy, sell;

  unsigned meet (Queue &queue, unsigned number)
  {
    while (number > 0 && queue.first != nullptr)
      {
        Offer *old = queue.first;
        unsigned n = old->number < number ? old->number : number;

        sum += n * old->price + old->firm;
        number -= n;
        old->number -= n;
        if (old->number == 0)
          {
            queue.first = old->next;
            if (queue.first == nullptr)
              queue.end = &queue.first;
            delete old;
          }
      }
    return number;
  }
  __attribute__ ((noinline)) void wait (Queue &queue, unsigned price,
                                        unsigned number, unsigned firm)
  {
    Offer *made = new Offer (price, number, firm);

    *queue.end = made;
    queue.end = &made->next;
  }
};

int
main ()
{
  Book book;

  for (unsigned i = 0; i < 1500000; i++)
    {
      bool buys = random_next () % 2 == 0;
      unsigned middle = 64 + i / 4096 % 16;
      unsigned away = random_next () % 16 * (random_next () % 3);

      // who buys offers less, but for some that meet
      book.offer (buys, buys ? middle - away + 2 : middle + away - 2,
                  1 + random_next () % 100, i % 1000);
    }
  std::printf ("%lu\n", book.sum);
  return 0;
}
