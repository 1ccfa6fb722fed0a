/* fault.h - which of the faults that are built in is on
 *
 * Read before all else by the sources that faults.patch was applied to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_SEEDED_FAULT_H
#define TESTS_SEEDED_FAULT_H

extern int sli_seeded_fault;
#define SEEDED(number) (sli_seeded_fault == (number))

#endif
