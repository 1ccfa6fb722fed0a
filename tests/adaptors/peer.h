/* peer.h - version and trimming of whatever malloc is in force
 *
 * Shared by malloc.h and sized.h.  The peers are preloaded, so what each one
 * offers besides malloc is looked up by name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TESTS_ADAPTORS_PEER_H
#define TESTS_ADAPTORS_PEER_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#ifdef __GLIBC__
# include <gnu/libc-version.h>
#endif

#define ADAPTOR_ALIGNMENT(size) ((size) >= 16 ? 16 : 8)
#define ADAPTOR_VERSION() peer_version ()
#define ADAPTOR_TRIM() peer_trim ()
#define ADAPTOR_ALLOC0(size) calloc (1, size)
#define ADAPTOR_RESIZE(old_size, size, block)                                 \
 ((void) (old_size), realloc (block, size))

/* ISO C has no cast from an object's address to a function's; POSIX has. */
#define PEER_FUNCTION(type, variable, name)                                   \
 type variable;                                                               \
 *(void **) &variable = dlsym (RTLD_DEFAULT, name)

typedef int (*PeerMallctl) (const char *, void *, size_t *, void *, size_t);
typedef void (*PeerCollect) (bool);
typedef void (*PeerRelease) (void);
typedef const char *(*PeerTcVersion) (int *, int *, const char **);
typedef int (*PeerMiVersion) (void);

static inline const char *
peer_version (void)
{
  static char version[64];
  PEER_FUNCTION (PeerMallctl, mallctl, "mallctl");
  PEER_FUNCTION (PeerTcVersion, tc_version, "tc_version");
  PEER_FUNCTION (PeerMiVersion, mi_version, "mi_version");
  const char *text = "?";
  size_t text_size = sizeof text;
  if (mallctl != NULL && mallctl ("version", &text, &text_size, NULL, 0) == 0)
    snprintf (version, sizeof version, "jemalloc %.20s", text);
  else if (tc_version != NULL)
    snprintf (version, sizeof version, "tcmalloc %.20s",
              tc_version (NULL, NULL, NULL));
  else if (mi_version != NULL)
    snprintf (version, sizeof version, "mimalloc %d", mi_version ());
  else
#ifdef __GLIBC__
    snprintf (version, sizeof version, "glibc %s", gnu_get_libc_version ());
#else
    snprintf (version, sizeof version, "the C library");
#endif
  return version;
}

/* Asks in the peer's own way for everything to be given back. */
static inline bool
peer_trim (void)
{
  PEER_FUNCTION (PeerMallctl, mallctl, "mallctl");
  PEER_FUNCTION (PeerCollect, collect, "mi_collect");
  PEER_FUNCTION (PeerRelease, release, "MallocExtension_ReleaseFreeMemory");
  if (mallctl != NULL)
    {
      /* 4096 stands for all arenas (MALLCTL_ARENAS_ALL). */
      mallctl ("thread.tcache.flush", NULL, NULL, NULL, 0);
      mallctl ("arena.4096.purge", NULL, NULL, NULL, 0);
    }
  else if (collect != NULL)
    collect (true);
  else if (release != NULL)
    release ();
#ifdef __GLIBC__
  else
    malloc_trim (0);
#endif
  return true;
}

#endif
