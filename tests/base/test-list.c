/* test-list.c - slice/base/list.h and align.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "tests/testlib.h"
#include "base/align.h"
#include "base/list.h"

typedef struct
{
  int number;
  Link link;
} Item;

/* The numbers in a ring, forwards; looks at it backwards, too. */
static char *
ring_text (Link *head)
{
  GString *text = g_string_new (NULL);
  unsigned n = 0;

  LINK_EACH (link, head)
    {
      g_string_append_printf (text, "%d",
                              LINK_OWNER (link, Item, link)->number);
      n++;
    }
  for (Link *link = head->previous; link != head; link = link->previous)
    n--;
  g_assert_cmpuint (n, ==, 0);
  return g_string_free (text, FALSE);
}

#define CHECK_RING(head, expected)                                            \
  do                                                                          \
    {                                                                         \
      char *text = ring_text (head);                                          \
      g_assert_cmpstr (text, ==, expected);                                   \
      g_free (text);                                                          \
    }                                                                         \
  while (0)

static void
test_ring (void)
{
  Link head;
  Item items[4];

  link_init (&head);
  g_assert_true (link_is_alone (&head));
  CHECK_RING (&head, "");
  for (int i = 0; i < 4; i++)
    {
      items[i].number = i;
      link_init (&items[i].link);
    }
  link_after (&items[0].link, &head);
  link_after (&items[1].link, &head);
  link_before (&items[2].link, &head);
  link_after (&items[3].link, &items[1].link);
  CHECK_RING (&head, "1302");
  link_remove (&items[3].link);
  g_assert_true (link_is_alone (&items[3].link));
  CHECK_RING (&head, "102");
  link_remove (&items[3].link); /* alone already: nothing */
  link_remove (&items[2].link);
  link_remove (&items[1].link);
  link_remove (&items[0].link);
  g_assert_true (link_is_alone (&head));
}

static void
test_align (void)
{
  char bytes[64];

  g_assert_cmpuint (align_up (0, 16), ==, 0);
  g_assert_cmpuint (align_up (1, 16), ==, 16);
  g_assert_cmpuint (align_up (16, 16), ==, 16);
  g_assert_cmpuint (align_up (17, 1), ==, 17);
  g_assert_false (is_power_of_two (0));
  g_assert_true (is_power_of_two (1));
  g_assert_false (is_power_of_two (48));
  g_assert_true (is_power_of_two ((SIZE_MAX >> 24) + 1)); /* 64 bits: 2^40 */
  g_assert_true (is_power_of_two (SIZE_MAX / 2 + 1));
  g_assert_false (is_power_of_two (SIZE_MAX / 2 + 2));
  g_assert_cmpuint (lowest_bit (48), ==, 16);
  g_assert_cmpuint (lowest_bit (1), ==, 1);
  g_assert_cmpuint (min_size (2, 3), ==, 2);
  g_assert_cmpuint (max_size (2, 3), ==, 3);
  g_assert_cmpuint (KIB (3), ==, 3072);
  g_assert_cmpuint (MIB (1), ==, 1048576);
  for (size_t i = 0; i < sizeof bytes; i++)
    {
      uintptr_t down = (uintptr_t) align_down_address (&bytes[i], 16);

      g_assert_cmpuint (down % 16, ==, 0);
      g_assert_cmpuint ((uintptr_t) &bytes[i] - down, <, 16);
    }
}

int
main (int argc, char **argv)
{
  test_init (&argc, &argv);
  test_add ("/slice/list/ring", test_ring);
  test_add ("/slice/align/arithmetic", test_align);
  return g_test_run ();
}
