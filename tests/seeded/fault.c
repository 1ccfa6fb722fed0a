/* fault.c - which of the faults that are built in is on: SEEDED_FAULT
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdlib.h>

int sli_seeded_fault;

/* Before the library's own constructors. */
__attribute__ ((constructor (101))) static void
choose (void)
{
  const char *text = getenv ("SEEDED_FAULT");

  sli_seeded_fault = text != NULL ? atoi (text) : 0;
}
