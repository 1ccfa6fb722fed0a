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

/* Finds a function of the peer; NULL: it is another peer.  ISO C has no cast
 * from an object's address to a function's; POSIX has. */
static inline void
peer_find (void *function, const char *name)
{
  void *found = dlsym (RTLD_DEFAULT, name);

  memcpy (function, &found, sizeof found);
}

typedef int (*PeerMallctl) (const char *, void *, size_t *, void *, size_t);
typedef void (*PeerCollect) (bool);
typedef void (*PeerRelease) (void);
typedef const char *(*PeerTcVersion) (int *, int *, const char **);
typedef int (*PeerMiVersion) (void);

static inline const char *
peer_version (void)
{
  static char version[64];
  const char *text = "?";
  size_t text_size = sizeof text;
  PeerMallctl mallctl;
  PeerTcVersion tc_version;
  PeerMiVersion mi_version;

  peer_find (&mallctl, "mallctl");
  peer_find (&tc_version, "tc_version");
  peer_find (&mi_version, "mi_version");
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
  PeerMallctl mallctl;
  PeerCollect collect;
  PeerRelease release;

  peer_find (&mallctl, "mallctl");
  peer_find (&collect, "mi_collect");
  peer_find (&release, "MallocExtension_ReleaseFreeMemory");
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
