/* arena-peers.h - the arenas' peers, each with the same functions
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ARENA_PEERS_H
#define ARENA_PEERS_H

#include <cstddef>
#include <cstdlib>

#include <slice/slice.hpp>

#include "arena-libraries.h"
#ifdef HAVE_TALLOC
# include <talloc.h>
#endif
#ifdef HAVE_FOONATHAN
# include <foonathan/memory/memory_pool.hpp>
# include <foonathan/memory/memory_stack.hpp>
#endif

inline void
use (void *pointer)
{
  __asm__ volatile ("" : "+r"(pointer) : : "memory");
}

/* --- pools: alloc() and release() ----------------------------------------- */

struct Pool
{
  SlicePool *pool;
  void *
  alloc ()
  {
    return slice_pool_alloc (pool);
  }
  void
  release (void *object)
  {
    slice_pool_free (pool, object);
  }
};

template <std::size_t Size>
struct Slices
{
  void *
  alloc ()
  {
    return slice_alloc (Size);
  }
  void
  release (void *object)
  {
    slice_free1 (Size, object);
  }
};

/* What people write by hand: a list of the free objects, which are cut from
 * blocks of 64 KiB. */
template <std::size_t Size>
struct HandWritten
{
  struct State
  {
    void *free;
    char *at;
    char *end;
  };
  State *state;
  void *
  alloc ()
  {
    void *object = state->free;

    if (object != nullptr)
      {
        state->free = *static_cast<void **> (object);
        return object;
      }
    if (std::size_t (state->end - state->at) < Size)
      {
        state->at = static_cast<char *> (std::malloc (65536));
        state->end = state->at + 65536;
      }
    object = state->at;
    state->at += Size;
    return object;
  }
  void
  release (void *object)
  {
    *static_cast<void **> (object) = state->free;
    state->free = object;
  }
};

#ifdef HAVE_BOOST_POOL
template <std::size_t Size>
struct BoostPool
{
  boost::pool<> *pool;
  void *
  alloc ()
  {
    return pool->malloc ();
  }
  void
  release (void *object)
  {
    pool->free (object);
  }
};
#endif

#ifdef HAVE_LLVM
template <std::size_t Size>
struct LlvmRecycler
{
  struct Object
  {
    alignas (8) char bytes[Size];
  };
  llvm::RecyclingAllocator<llvm::BumpPtrAllocator, Object> *pool;
  void *
  alloc ()
  {
    return pool->template Allocate<Object> ();
  }
  void
  release (void *object)
  {
    pool->Deallocate (static_cast<Object *> (object));
  }
};
#endif

#ifdef HAVE_FOONATHAN
struct FoonathanPool
{
  foonathan::memory::memory_pool<> *pool;
  void *
  alloc ()
  {
    return pool->allocate_node ();
  }
  void
  release (void *object)
  {
    pool->deallocate_node (object);
  }
};
#endif

#ifdef SLICE_HAS_PMR
template <std::size_t Size>
struct PmrPool
{
  std::pmr::unsynchronized_pool_resource *pool;
  void *
  alloc ()
  {
    return pool->allocate (Size, 8);
  }
  void
  release (void *object)
  {
    pool->deallocate (object, Size, 8);
  }
};
#endif

/* A colony constructs its elements: these are not written to. */
#ifdef HAVE_COLONY
template <std::size_t Size>
struct ColonyPool
{
  struct Object
  {
    alignas (8) char bytes[Size];
    Object () {}
  };
  plf::colony<Object> *pool;
  void *
  alloc ()
  {
    return &*pool->emplace ();
  }
  void
  release (void *object)
  {
    pool->erase (pool->get_iterator (static_cast<Object *> (object)));
  }
};
#endif

/* Calls visit (name, pool) for each kind of pool. */
template <std::size_t Size, typename Visit>
void
with_pools (Visit visit)
{
  SlicePool *pool = slice_pool_new_plain (Size);

  visit ("slice: pool", Pool{ pool });
  slice_pool_destroy (pool);
  visit ("slices: block", Slices<Size> ());
  typename HandWritten<Size>::State state = {};
  visit ("by hand: pool", HandWritten<Size>{ &state });
#ifdef HAVE_BOOST_POOL
  boost::pool<> boosts (Size);
  visit ("Boost: pool", BoostPool<Size>{ &boosts });
#endif
#ifdef HAVE_LLVM
  llvm::RecyclingAllocator<llvm::BumpPtrAllocator,
                           typename LlvmRecycler<Size>::Object>
      recycler;
  visit ("LLVM: pool", LlvmRecycler<Size>{ &recycler });
#endif
#ifdef HAVE_FOONATHAN
  foonathan::memory::memory_pool<> nodes (Size, 65536);
  visit ("foonathan: pool", FoonathanPool{ &nodes });
#endif
#ifdef HAVE_COLONY
  plf::colony<typename ColonyPool<Size>::Object> colony;
  visit ("colony: pool", ColonyPool<Size>{ &colony });
#endif
#ifdef SLICE_HAS_PMR
  std::pmr::unsynchronized_pool_resource resource;
  visit ("pmr: pool", PmrPool<Size>{ &resource });
#endif
}

#endif
