/* advice.h - a piece of advice: sites, and the stacks by which they are known
 *
 * Layer: dropin.  Made by advice-file.c from the file that slice-trace apply
 * writes; advice-sites.c looks stacks up in it.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_H
#define SLI_DROPIN_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
  ADVICE_SITES_MAX = 1024,
  ADVICE_MODULES_MAX = 256,
  ADVICE_NODES_MAX = 16384,
  ADVICE_ID_BYTES_MAX = 32
};

typedef enum
{
  ADVICE_LINEAR, /* a linear region: chunks that go with their last block */
  ADVICE_SLICE   /* blocks are slices */
} AdviceKind;

typedef struct
{
  AdviceKind kind;
  uint64_t pin_bytes;    /* of memory without live blocks switch it off */
  uint64_t n_expected;   /* blocks in the trace */
  const char *name;      /* in the text, not terminated */
  size_t n_name;
} AdviceSite;

typedef struct
{
  uint8_t id[ADVICE_ID_BYTES_MAX];
  size_t n_id;
  const char *name; /* the file's, in the text, not terminated */
  size_t n_name;
} AdviceModule;

/* A frame of a stack, as a node of a tree that grows outward.  Node 0 is the
 * root, whose children are callers of malloc. */
typedef struct
{
  uint64_t offset; /* of the return address in its module */
  uint64_t pc;     /* the same while the module is loaded; else 0 */
  uint32_t parent;
  uint32_t outer_at; /* where the return address of the next frame is: bytes
                        above the stack pointer of malloc's caller; 0: there
                        is no next frame */
  uint16_t module;
  uint16_t site; /* whose outermost frame it is, plus 1; or 0 */
} AdviceNode;

typedef struct
{
  AdviceSite sites[ADVICE_SITES_MAX];
  AdviceModule modules[ADVICE_MODULES_MAX];
  AdviceNode nodes[ADVICE_NODES_MAX];
  unsigned n_sites, n_modules, n_nodes;
} Advice;

typedef struct
{
  unsigned line;
  const char *message;
} AdviceError;

/* Fills an empty Advice from the text of a file, which must stay.  False: the
 * error says why and where. */
bool sli_advice_parse (Advice *advice, const char *text, size_t n_text,
                       AdviceError *error);

#endif
