/* misuse-texts.h - what the messages about misuse say, as slice-errors(7) has
 * it: written down once more, so that a change of them is noticed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_MISUSE_TEXTS_H
#define TESTS_MISUSE_TEXTS_H

static const struct
{
  int number;
  const char *text;
} misuse_texts[] = {
  { 101, "block freed twice in a row" },
  { 102, "not a block of this allocator" },
  { 103, "block freed with a wrong size" },
  { 104, "not the start of a block" },
  { 105, "block is free already" },
  { 106, "block was never allocated" },
  { 107, "misuse" },
  { 108, "not a live block" },
  { 109, "live block has another size" },
  { 110, "live block has another size" },
  { 111, "chain comes back to itself" },
  { 112, "not in a slab: freed before, or never a block" },
  { 113, "written to behind its end" },
  { 114, "written to before its start" },
  { 115, "written to while it was free" },
  { 116, "called again before a call had ended (in a signal handler?)" },
};

#endif
