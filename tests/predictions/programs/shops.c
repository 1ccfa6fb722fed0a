/* shops.c - customers of a shop, with their orders and what they ordered; some
 * leave, and others come
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_CUSTOMERS 16000
#define N_CHANGES 40000

typedef struct item
{
  struct item *next;
  unsigned article, number, price;
} item;

typedef struct order
{
  struct order *next;
  item *items;
  char *address;
  unsigned day;
} order;

typedef struct customer
{
  order *orders;
  char *name;
  unsigned number;
} customer;

static customer *customers[N_CUSTOMERS];
static unsigned state = 8;

static unsigned
random_next (void)
{
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static void *
customer_alloc (customer *of, size_t size)
{
  (void) of;
  return malloc (size);
}

static char *
text_new (customer *of, const char *word, unsigned number)
{
  char *made = customer_alloc (of, 32);
  size_t n = strlen (word);

  memcpy (made, word, n);
  do
    made[n++] = '0' + number % 10;
  while ((number /= 10) > 0);
  made[n] = '\0';
  return made;
}

static void
item_add (customer *of, order *to)
{
  item *made = customer_alloc (of, sizeof *made);

  made->next = to->items;
  made->article = random_next () % 5000;
  made->number = 1 + random_next () % 4;
  made->price = made->article % 97 + 3;
  to->items = made;
}

static void
order_add (customer *of)
{
  order *made = customer_alloc (of, sizeof *made);

  made->next = of->orders;
  made->items = NULL;
  made->address = text_new (of, "Harbour Street ", random_next () % 300);
  made->day = random_next () % 365;
  for (unsigned n = 2 + random_next () % 8; n > 0; n--)
    item_add (of, made);
  of->orders = made;
}

static customer *
customer_new (unsigned number)
{
  customer *made = malloc (sizeof *made);

  made->orders = NULL;
  made->number = number;
  made->name = text_new (made, "customer ", number);
  for (unsigned n = 2 + random_next () % 4; n > 0; n--)
    order_add (made);
  return made;
}

static void
customer_free (customer *old)
{
  while (old->orders != NULL)
    {
      order *next = old->orders->next;

      while (old->orders->items != NULL)
        {
          item *after = old->orders->items->next;

          free (old->orders->items);
          old->orders->items = after;
        }
      free (old->orders->address);
      free (old->orders);
      old->orders = next;
    }
  free (old->name);
  free (old);
}

static unsigned long
bill (const customer *of)
{
  unsigned long sum = 0;

  for (const order *at = of->orders; at != NULL; at = at->next)
    for (const item *one = at->items; one != NULL; one = one->next)
      sum += one->number * one->price;
  return sum;
}

int
main (void)
{
  unsigned long sum = 0;

  for (unsigned i = 0; i < N_CUSTOMERS; i++)
    customers[i] = customer_new (i);
  for (unsigned i = 0; i < N_CHANGES; i++)
    {
      unsigned who = random_next () % N_CUSTOMERS;

      if (i % 4 == 0)
        order_add (customers[who]);
      else
        {
          sum += bill (customers[who]);
          customer_free (customers[who]);
          customers[who] = customer_new (i);
        }
    }
  for (unsigned i = 0; i < N_CUSTOMERS; i++)
    {
      sum += bill (customers[i]);
      customer_free (customers[i]);
    }
  printf ("%lu\n", sum);
  return 0;
}
