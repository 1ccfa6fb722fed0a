/* version.h - the version, and what every public header needs
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICE_VERSION_H
#define SLICE_VERSION_H

#define SLICE_VERSION_MAJOR 0
#define SLICE_VERSION_MINOR 1
#define SLICE_VERSION_MICRO 0
#define SLICE_VERSION_STRING "0.1.0"

/** Is the version of these headers at least this one?  For #if.
 * Source: GLIB_CHECK_VERSION(). */
#define SLICE_CHECK_VERSION(major, minor, micro)                              \
  (SLICE_VERSION_MAJOR > (major)                                              \
   || (SLICE_VERSION_MAJOR == (major) && SLICE_VERSION_MINOR > (minor))       \
   || (SLICE_VERSION_MAJOR == (major) && SLICE_VERSION_MINOR == (minor)       \
       && SLICE_VERSION_MICRO >= (micro)))

/* Inline functions are C, whatever a C++ program asks to be warned of; macros
 * are the program's own code and use these casts. */
#ifdef __cplusplus
# define SLICE_BEGIN_DECLS                                                    \
   _Pragma ("GCC diagnostic push")                                            \
   _Pragma ("GCC diagnostic ignored \"-Wold-style-cast\"")                    \
   _Pragma ("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")     \
   SLICE_NO_USELESS_CAST_                                                     \
   extern "C" {
# ifdef __clang__
#  define SLICE_NO_USELESS_CAST_
# else
#  define SLICE_NO_USELESS_CAST_                                              \
    _Pragma ("GCC diagnostic ignored \"-Wuseless-cast\"")
# endif
# define SLICE_END_DECLS                                                      \
   }                                                                          \
   _Pragma ("GCC diagnostic pop")
# define SLICE_CAST_(type, value) (static_cast<type> (value))
# define SLICE_NULL_(type) (static_cast<type> (nullptr))
#else
# define SLICE_BEGIN_DECLS
# define SLICE_END_DECLS
# define SLICE_CAST_(type, value) ((type) (value))
# define SLICE_NULL_(type) ((type) 0)
#endif

/* Exported whatever visibility the including program has pushed. */
#define SLICE_API __attribute__ ((visibility ("default")))

/* The pointer that is returned is the only way to the block, and no pointer to
 * anything lies in the block: compilers drop and reorder accesses by that.  So
 * it is not for what copies from the caller, hands out constructed objects, or
 * allocates from memory that the caller sees otherwise: a buffer or a file of
 * its own, a walk that hands out objects.  (A program may have a macro malloc:
 * the attribute's other name is not met by it.) */
#define SLICE_ATTR_MALLOC __attribute__ ((__malloc__))
/* Which function frees the result, and which argument that is: gcc warns when
 * another one is called. */
#if defined __GNUC__ && __GNUC__ >= 11 && !defined __clang__
# define SLICE_ATTR_FREED_BY(function, n)                                     \
  __attribute__ ((__malloc__ (function, n)))
#else
# define SLICE_ATTR_FREED_BY(function, n)
#endif
#define SLICE_ATTR_ALLOC_SIZE(n) __attribute__ ((alloc_size (n)))
/* The argument that counts first: gcc 14 warns of a sizeof there. */
#define SLICE_ATTR_ALLOC_SIZE2(n, m) __attribute__ ((alloc_size (n, m)))
#define SLICE_ATTR_UNUSED_RESULT __attribute__ ((warn_unused_result))
#define SLICE_ATTR_PRINTF(f, a) __attribute__ ((format (printf, f, a)))
#define SLICE_ATTR_ALWAYS_INLINE __attribute__ ((__always_inline__))

/* What the compiler knows of an object's size: where it sees the allocation,
 * the bytes that were asked for (alloc_size); else SIZE_MAX.  _FORTIFY_SOURCE
 * and the sanitizers hold the program to it, so no compiler may be promised more. */
#ifdef __has_builtin
# if __has_builtin (__builtin_dynamic_object_size)
#  define SLICE_KNOWN_BYTES_V1(object)                                        \
    __builtin_dynamic_object_size ((object), 0)
# endif
#endif
#ifndef SLICE_KNOWN_BYTES_V1
# define SLICE_KNOWN_BYTES_V1(object) __builtin_object_size ((object), 0)
#endif

SLICE_BEGIN_DECLS

/** The version of the library that is loaded, such as "1.0.0". */
SLICE_API const char *slice_version (void);

SLICE_END_DECLS

#endif
