/* test-ralloc-misuse-null.c - NULL where a node or a string must be
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/context/misuse/ralloc-misuse.h"

static void
append_to_null (void)
{
  char *text = NULL;

  ralloc_strcat (&text, "x");
}

static void
limit_of_null (void)
{
  ralloc_set_limit (NULL, 1000);
}

static void
name_of_null (void)
{
  ralloc_set_name (NULL, "name");
}

static void
destructor_of_null (void)
{
  ralloc_set_destructor (NULL, NULL);
}

static void
refusal_of_null (void)
{
  ralloc_set_refusing_destructor (NULL, NULL);
}

static void
no_limit_of_null (void)
{
  ralloc_set_limit (NULL, 0);
}

static void
reference_to_null (void)
{
  ralloc_reference (ralloc_context (NULL), NULL);
}

static void
reference_from_null (void)
{
  ralloc_reference (NULL, ralloc_context (NULL));
}

static void
linear_append_to_null (void)
{
  char *text = NULL;

  ralloc_linear_strcat (ralloc_linear_context (NULL), &text, "more");
}

static void
linear_append_null (void)
{
  void *linear = ralloc_linear_context (NULL);
  char *text = ralloc_linear_strdup (linear, "text");

  ralloc_linear_strcat (linear, &text, NULL);
}

static void
append_null (void)
{
  char *text = ralloc_strdup (NULL, "text");

  ralloc_str_append (&text, NULL, 4, 1);
}

static void
linear_print_to_null (void)
{
  ralloc_linear_asprintf_append (ralloc_linear_context (NULL), NULL, "%d", 1);
}

static void
linear_rewrite_null (void)
{
  size_t start = 0;

  ralloc_linear_asprintf_rewrite_tail (ralloc_linear_context (NULL), NULL,
                                       &start, "%d", 1);
}

static void
type_of_null (void)
{
  ralloc_check_name_abort (NULL, "int", "here");
}

static const Misuse misuses[]
    = { { "append-to-null", append_to_null, "*error 210*", false },
        { "limit-of-null", limit_of_null, "*error 210*ralloc_set_limit*",
          false },
        { "destructor-of-null", destructor_of_null,
          "*error 210*ralloc_set_destructor*", false },
        { "refusal-of-null", refusal_of_null,
          "*error 210*ralloc_set_refusing_destructor*", false },
        { "no-limit-of-null", no_limit_of_null, "*error 210*ralloc_set_limit*",
          false },
        { "name-of-null", name_of_null, "*error 210*ralloc_set_name*", false },
        { "reference-to-null", reference_to_null,
          "*error 210*ralloc_reference*", false },
        { "reference-from-null", reference_from_null,
          "*error 210*ralloc_reference*", false },
        { "append-null", append_null, "*error 210*ralloc_str_append*", false },
        { "linear-print-to-null", linear_print_to_null,
          "*error 210*ralloc_linear_asprintf_append*", false },
        { "linear-rewrite-null", linear_rewrite_null,
          "*error 210*ralloc_linear_asprintf_rewrite_tail*", false },
        { "linear-append-to-null", linear_append_to_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "linear-append-null", linear_append_null,
          "*error 210*ralloc_linear_strcat*", false },
        { "type-of-null", type_of_null, "*error 208*int*NULL*here*", false } };

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  misuses_add ("/slice/ralloc-misuse-null", misuses, G_N_ELEMENTS (misuses),
               misuse_test);
  return g_test_run ();
}
