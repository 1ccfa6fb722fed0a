/* check.h - checks, by what they cost
 *
 * Layer: base.
 *
 *   SLICE_STATIC_ASSERT  the compiler's: layouts, relations of constants
 *   require              always on, O(1): ends the program with error 140
 *   assert_here          in builds with --enable-debug
 *   assert_slow          with --enable-debug=full: calls a validator
 *   assert_held          in debug builds: first in a function that needs a lock
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_BASE_CHECK_H
#define SLI_BASE_CHECK_H

#include "diag.h"
#include "port/compiler.h"
#include "port/thread/lock.h"

#define SLICE_STATIC_ASSERT(condition, why) _Static_assert (condition, why)

#define require(condition)                                                    \
  ((condition) ? (void) 0                                                     \
               : sli_diag_broken (THIS_FILE, __LINE__, #condition))

#ifdef SLICE_DEBUG
# define assert_here(condition) require (condition)
# define assert_held(lock) require (sli_lock_rank_held ((lock)->rank))
#else
# define assert_here(condition) ((void) sizeof (condition))
# define assert_held(lock) ((void) sizeof (lock))
#endif

#ifdef SLICE_DEBUG_FULL
# define assert_slow(condition) require (condition)
#else
# define assert_slow(condition) ((void) sizeof (condition))
#endif

#endif
