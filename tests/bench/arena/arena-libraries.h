/* arena-libraries.h - the headers of the arenas' peers, of those that there are
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ARENA_LIBRARIES_H
#define ARENA_LIBRARIES_H

#include <slice/slice.hpp> /* SLICE_HAS_PMR */

#include <obstack.h>
#define obstack_chunk_alloc std::malloc
#define obstack_chunk_free std::free
#ifdef SLICE_HAS_PMR
# include <memory_resource>
#endif
#ifdef HAVE_APR
# include <apr_general.h>
# include <apr_pools.h>
# include <apr_strings.h>
#endif
#if __has_include(<boost/pool/pool.hpp>)
# define HAVE_BOOST_POOL 1
# include <boost/pool/pool.hpp>
#endif
#if __has_include(<plf_colony.h>)
# define HAVE_COLONY 1
# include <plf_colony.h>
#endif
#ifdef HAVE_LLVM
# include <llvm/Support/Allocator.h>
# include <llvm/Support/RecyclingAllocator.h>
#endif

#endif
