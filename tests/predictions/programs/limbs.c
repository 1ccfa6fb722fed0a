/* limbs.c - numbers of many digits as lists of limbs: the terms of a recurrence
 * are kept, and their sums are not
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#define BASE 1000000000u
#define N_TERMS 1600
#define N_KEPT 640

typedef struct limb
{
  struct limb *next;
  unsigned digits;
} limb;

static limb *
limb_new (unsigned digits)
{
  limb *made = malloc (sizeof *made);

  made->next = NULL;
  made->digits = digits;
  return made;
}

static void
number_free (limb *old)
{
  while (old != NULL)
    {
      limb *next = old->next;

      free (old);
      old = next;
    }
}

static limb *
sum_of (const limb *a, const limb *b)
{
  limb *first = NULL, **end = &first;
  unsigned carry = 0;

  while (a != NULL || b != NULL || carry > 0)
    {
      unsigned digits = carry;

      if (a != NULL)
        {
          digits += a->digits;
          a = a->next;
        }
      if (b != NULL)
        {
          digits += b->digits;
          b = b->next;
        }
      carry = digits >= BASE;
      *end = limb_new (carry ? digits - BASE : digits);
      end = &(*end)->next;
    }
  return first;
}

static limb *
times (const limb *a, unsigned factor)
{
  limb *first = NULL, **end = &first;
  unsigned long carry = 0;

  for (; a != NULL || carry > 0; a = a == NULL ? NULL : a->next)
    {
      unsigned long digits = carry;

      if (a != NULL)
        digits += (unsigned long) a->digits * factor;
      *end = limb_new (digits % BASE);
      end = &(*end)->next;
      carry = digits / BASE;
    }
  return first;
}

static unsigned
digest (const limb *a)
{
  unsigned sum = 0;

  for (; a != NULL; a = a->next)
    sum = sum * 7 + a->digits;
  return sum;
}

int
main (void)
{
  limb *terms[N_TERMS];
  unsigned sum = 0;

  terms[0] = limb_new (1);
  terms[1] = limb_new (1);
  for (int i = 2; i < N_TERMS; i++)
    {
      limb *large = times (terms[i - 1], 999999937u);
      limb *small = times (terms[i - 2], 999999893u);

      terms[i] = sum_of (large, small);
      number_free (large);
      number_free (small);
      if (i >= N_KEPT)
        {
          sum ^= digest (terms[i - N_KEPT]);
          number_free (terms[i - N_KEPT]);
        }
    }
  for (int i = N_TERMS - N_KEPT; i < N_TERMS; i++)
    {
      sum ^= digest (terms[i]);
      number_free (terms[i]);
    }
  printf ("%u\n", sum);
  return 0;
}
