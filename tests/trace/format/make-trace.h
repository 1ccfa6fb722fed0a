/* make-trace.h - traces with known answers, made without a recorder
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#ifndef MAKE_TRACE_H
#define MAKE_TRACE_H

#include <glib.h>

#include "tools/trace/format/trace-write.h"

typedef struct Maker Maker;

/* Every address handed out is fresh, unless reuse is asked for. */
Maker *maker_new (const char *path, uint32_t seed);
/* A stack of one to three made-up frames, innermost first; 0 ends it.  The
 * result is for maker_alloc(). */
uint32_t maker_site (Maker *maker, uint64_t a, uint64_t b, uint64_t c);
uint64_t maker_alloc (Maker *maker, uint32_t site, uint64_t size);
void maker_free (Maker *maker, uint64_t address);
uint64_t maker_realloc (Maker *maker, uint32_t site, uint64_t address,
                        uint64_t size);
void maker_scope (Maker *maker, bool begin);
/* Later events are that thread's (from 1). */
void maker_thread (Maker *maker, uint32_t thread);
uint32_t maker_random (Maker *maker, uint32_t below);
/* One of eight sizes of which the commonest two are 45 % of all. */
uint64_t maker_size (Maker *maker);
void maker_shuffle (Maker *maker, uint64_t *items, size_t n);
/* Writes what is left; frees the maker. */
void maker_end (Maker *maker);

/* The named traces; see make-trace.c. */
typedef struct
{
  const char *name;
  const char *class;
  double L, W, SW, R, P2, B; /* below 0: not compared */
  void (*make) (Maker *maker);
} KnownTrace;

extern const KnownTrace known_traces[];
extern const size_t n_known_traces;
/* Adds a test of each; its data is the KnownTrace. */
void known_traces_add (const char *path, GTestDataFunc test);

#endif
