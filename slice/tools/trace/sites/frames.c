/* frames.c - how large a frame is at a call
 *
 * Tools.  If a function addresses its frame by the stack pointer, the frame's
 * size at a call is the same each time, and the unwind table has it. Functions
 * with a frame pointer have no such entry.
 *
 * Source: DWARF 5, section 6.4; the System V ABI's .eh_frame.
 *
 * SPDX-License-Identifier: MIT
 */
#include "frames.h"
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>

/* The number that DWARF gives the stack pointer; -1: another machine. */
static int
stack_pointer (Dwfl_Module *module)
{
  GElf_Addr bias;
  GElf_Ehdr head;
  Elf *elf = dwfl_module_getelf (module, &bias);

  if (elf == NULL || gelf_getehdr (elf, &head) == NULL)
    return -1;
  switch (head.e_machine)
    {
    case EM_X86_64:
      return 7;
    case EM_AARCH64:
      return 31;
    case EM_RISCV:
      return 2;
    default:
      return -1;
    }
}

/* The offset from the stack pointer, of an expression that is one. */
static bool
offset_of_pointer (const Dwarf_Op *ops, size_t n, int pointer, uint64_t *bytes)
{
  uint64_t number;

  if (n != 1)
    return false;
  if (ops[0].atom == DW_OP_bregx)
    *bytes = ops[0].number2;
  else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
    *bytes = ops[0].number;
  else
    return false;
  number = ops[0].number;
  if (ops[0].atom != DW_OP_bregx)
    number = (uint64_t) (ops[0].atom - DW_OP_breg0);
  return number == (uint64_t) pointer && *bytes < 1u << 20;
}

/* Where the return address ends, from the end of the frame. */
static bool
return_end_find (Dwarf_Frame *frame, int64_t *end)
{
  Dwarf_Op space[3], *ops;
  size_t n;
  int number = dwarf_frame_info (frame, NULL, NULL, NULL);

  if (number < 0 || dwarf_frame_register (frame, number, space, &ops, &n) != 0
      || n == 0 || n > 2 || ops[0].atom != DW_OP_call_frame_cfa
      || (n == 2 && ops[1].atom != DW_OP_plus_uconst))
    return false;
  *end = (n == 2 ? (int64_t) ops[1].number : 0) + (int64_t) sizeof (void *);
  return true;
}

bool
sli_frame_find (Symbols *symbols, uint64_t pc, uint64_t *bytes,
                int64_t *return_end)
{
  Dwfl_Module *module = sli_symbols_loaded (symbols, pc);
  Dwarf_Addr bias = 0;
  Dwarf_Frame *frame = NULL;
  Dwarf_Op *ops;
  size_t n;
  Dwarf_CFI *cfi = module == NULL ? NULL : dwfl_module_eh_cfi (module, &bias);
  bool good;

  if (cfi == NULL
      || dwarf_cfi_addrframe (cfi, (pc & TRACE_PC_MASK) - 1 - bias, &frame)
             != 0)
    return false;
  good = dwarf_frame_cfa (frame, &ops, &n) == 0
         && offset_of_pointer (ops, n, stack_pointer (module), bytes)
         && return_end_find (frame, return_end);
  free (frame);
  return good;
}
