/* ralloc-operators.hpp - operator new and delete of a class, from a context
 *
 * Public; a part of ralloc.h, which programs include.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_RALLOC_OPERATORS_HPP
#define SLICE_RALLOC_OPERATORS_HPP

#include <slice/ralloc.h>

#include <new>

/** In a class: `new (ctx) Type` allocates from a context, `delete` frees, and
 * a destructor that does something runs when the tree is freed.
 *
 * The compiler refuses types that must be aligned to more than 16 bytes, and
 * from C++17 on also such types that are derived from Type.  It refuses
 * `new (ctx) Type[n]`, because nothing would destroy the elements.
 *
 * For a type derived from Type, only Type's own destructor runs with the tree,
 * at the object's start.  So a derived type must declare the operators itself
 * if it has something to destroy, or if Type does not lie at its start: Type is
 * not its first base, or it has the first virtual function.  As always, delete
 * through a base needs a virtual destructor there: a pointer into a node is
 * misuse (202).
 * Errors: std::bad_alloc; without exceptions as slice_alloc() (120).
 * Source: Mesa DECLARE_ALLOC_CXX_OPERATORS_TEMPLATE(). */
#define DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)               \
private:                                                                      \
  static void _ralloc_destructor (void *p)                                    \
  {                                                                           \
    reinterpret_cast<TYPE *> (p)->TYPE::~TYPE ();                             \
  }                                                                           \
                                                                              \
public:                                                                       \
  static void *operator new (size_t size, void *mem_ctx)                      \
  {                                                                           \
    static_assert (alignof (TYPE) <= RALLOC_ALIGN_V1,                         \
                   "a node is aligned to 16 bytes");                          \
    for (;;)                                                                  \
      {                                                                       \
        void *p = ALLOC_FUNC (mem_ctx, size);                                 \
        if (p != SLICE_NULL_ (void *)                                         \
            && (__has_trivial_destructor (TYPE)                               \
                || ralloc_try_set_destructor (p, _ralloc_destructor)))        \
          return p;                                                           \
        ralloc_free (p);                                                      \
        SLICE_RALLOC_BAD_ALLOC_ (size);                                       \
      }                                                                       \
  }                                                                           \
  SLICE_RALLOC_NO_ALIGNED_NEW_                                                \
  static void *operator new[] (size_t, void *) = delete;                      \
  static void *operator new[] (size_t size)                                   \
  {                                                                           \
    return ::operator new[] (size);                                           \
  }                                                                           \
  static void operator delete (void *p, void *)                               \
  {                                                                           \
    ralloc_set_destructor (p, NULL);                                          \
    ralloc_free (p);                                                          \
  }                                                                           \
  static void operator delete (void *p)                                       \
  {                                                                           \
    if (p != NULL && !__has_trivial_destructor (TYPE))                        \
      ralloc_set_destructor (p, NULL);                                        \
    ralloc_free (p);                                                          \
  }

#define DECLARE_ALLOC_CXX_OPERATORS_TEMPLATE(TYPE, ALLOC_FUNC)                \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, ALLOC_FUNC)
/** As the template, by ralloc_size(). */
#define DECLARE_RALLOC_CXX_OPERATORS(TYPE)                                    \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, ralloc_size)
/** As the template, by rzalloc_size(). */
#define DECLARE_RZALLOC_CXX_OPERATORS(TYPE)                                   \
  DECLARE_RALLOC_CXX_OPERATORS_TEMPLATE (TYPE, rzalloc_size)

/* Throws.  Without exceptions it calls the failure handler, and returns if the
 * handler says to try again; otherwise it ends the program (120). */
#if defined __cpp_exceptions || defined __EXCEPTIONS
# define SLICE_RALLOC_BAD_ALLOC_(size) throw std::bad_alloc ()
#else
# define SLICE_RALLOC_BAD_ALLOC_(size) slice_out_of_memory ((size), 0)
#endif
/* A derived type that needs more alignment would call these.  gcc knows that it
 * can do without a deleted operator. */
#ifdef __cpp_aligned_new
# define SLICE_RALLOC_NO_ALIGNED_NEW_                                         \
    template <int Served = 0>                                                 \
    static void *operator new (size_t, std::align_val_t, void *)              \
    {                                                                         \
      static_assert (Served != 0, "a context does not align so much");        \
      __builtin_unreachable ();                                               \
    }                                                                         \
    template <int Served = 0>                                                 \
    static void *operator new[] (size_t, std::align_val_t, void *)            \
    {                                                                         \
      static_assert (Served != 0, "a context does not align so much");        \
      __builtin_unreachable ();                                               \
    }
#else
# define SLICE_RALLOC_NO_ALIGNED_NEW_
#endif

#endif
