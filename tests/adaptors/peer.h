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

/* The functions of all peers; those of others than this one are NULL. */
typedef struct
{
  PeerMallctl mallctl;        /* jemalloc's */
  PeerTcVersion tc_version;   /* tcmalloc's */
  PeerRelease tc_release;
  PeerMiVersion mi_version;   /* mimalloc's */
  PeerCollect mi_collect;
} Peer;

static inline Peer
peer_look (void)
{
  Peer peer;

  peer_find (&peer.mallctl, "mallctl");
  peer_find (&peer.tc_version, "tc_version");
  peer_find (&peer.tc_release, "MallocExtension_ReleaseFreeMemory");
  peer_find (&peer.mi_version, "mi_version");
  peer_find (&peer.mi_collect, "mi_collect");
  return peer;
}

static inline const char *
peer_version (void)
{
  static char version[64];
  const char *text = "?";
  size_t text_size = sizeof text;
  Peer peer = peer_look ();

  if (peer.mallctl != NULL
      && peer.mallctl ("version", &text, &text_size, NULL, 0) == 0)
    snprintf (version, sizeof version, "jemalloc %.20s", text);
  else if (peer.tc_version != NULL)
    snprintf (version, sizeof version, "tcmalloc %.20s",
              peer.tc_version (NULL, NULL, NULL));
  else if (peer.mi_version != NULL)
    snprintf (version, sizeof version, "mimalloc %d", peer.mi_version ());
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
  Peer peer = peer_look ();

  if (peer.mallctl != NULL)
    {
      /* 4096 stands for all arenas (MALLCTL_ARENAS_ALL). */
      peer.mallctl ("thread.tcache.flush", NULL, NULL, NULL, 0);
      peer.mallctl ("arena.4096.purge", NULL, NULL, NULL, 0);
    }
  else if (peer.mi_collect != NULL)
    peer.mi_collect (true);
  else if (peer.tc_release != NULL)
    peer.tc_release ();
#ifdef __GLIBC__
  else
    malloc_trim (0);
#endif
  return true;
}

#endif
