/* cases-resource.c - sizes and what runs out: numbers 43 to 48
 *
 * (46, pages that fail, is test-oom; 49, setuid, is check-setuid.sh.)
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* RLIMIT_AS, seccomp */
#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <slice/libslice.h>

#include "misuse.h"

/* Works like any allocator: all classes, patterns, everything back. */
static bool
works (void)
{
  static char *blocks[4000];
  bool whole = true;

  for (int round = 0; round < 3; round++)
    {
      for (int i = 0; i < 4000; i++)
        {
          size_t size = 1 + (size_t) i % 2000;

          blocks[i] = take (size);
          memset (blocks[i], i, size);
        }
      for (int i = 0; i < 4000; i++)
        {
          size_t size = 1 + (size_t) i % 2000;

          for (size_t j = 0; j < size; j++)
            whole = whole && blocks[i][j] == (char) i;
          give (size, blocks[i]);
        }
    }
  return whole;
}

static void *(*volatile try_take) (size_t) = NULL;
static void *(*volatile try_take_n) (size_t, size_t) = NULL;
static void *(*volatile try_take_aligned) (size_t, size_t) = NULL;

/* A quarter of all addresses is more than there is; with 32 bits it is more
 * than may be had from here on. */
static bool
has_no_quarter (void)
{
  struct rlimit limit = { SIZE_MAX / 4, SIZE_MAX / 4 };

  return sizeof (size_t) > 4 || setrlimit (RLIMIT_AS, &limit) == 0;
}

static Verdict
sizes_too_large (void)
{
  static const size_t sizes[]
      = { SIZE_MAX,           SIZE_MAX - 7,       SIZE_MAX - 15,
          SIZE_MAX - 16,      SIZE_MAX - 4095,    SIZE_MAX - 4096,
          SIZE_MAX / 2 + 1,   PTRDIFF_MAX,        (size_t) PTRDIFF_MAX + 1,
          PTRDIFF_MAX - 4096, SIZE_MAX / 4 + 1,   SIZE_MAX - 65536 };

  if (!has_no_quarter ())
    return SKIP;
  try_take = slice_try_alloc;
  try_take_aligned = slice_try_alloc_aligned;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (size_t alignment = 8; alignment <= 4096; alignment *= 8)
      {
        errno = 0;
        if (try_take (sizes[i]) != NULL || errno != ENOMEM)
          return HARM;
        errno = 0;
        if (try_take_aligned (alignment, sizes[i]) != NULL || errno != ENOMEM)
          return HARM;
      }
  return works () ? NO_HARM : HARM;
}

static Verdict
products (void)
{
  /* The square wraps to 0. */
  const size_t root = (size_t) 1 << sizeof (size_t) * CHAR_BIT / 2;
  const size_t pairs[][2]
      = { { SIZE_MAX, 2 },          { 2, SIZE_MAX },
          { SIZE_MAX / 8 + 1, 8 },  { root, root },
          { SIZE_MAX, 1 },          { SIZE_MAX / 3, 3 },
          { SIZE_MAX, SIZE_MAX },   { SIZE_MAX / 2 + 1, 2 } };

  try_take_n = slice_try_alloc_n;
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    {
      errno = 0;
      if (try_take_n (pairs[i][0], pairs[i][1]) != NULL || errno != ENOMEM)
        return HARM;
    }
  if (try_take_n (0, 8) != NULL || try_take_n (8, 0) != NULL)
    return HARM;
  return works () ? NO_HARM : HARM;
}

static Verdict
size_zero_block (void)
{
  void *p = take (0), *q = take (0);

  give (0, p);
  give (0, q);
  return p == NULL && q == NULL && works () ? NO_HARM : HARM;
}

static Verdict
little_address_space (void)
{
  struct rlimit limit = { 200000 * 1024ul, 200000 * 1024ul };

  if (setrlimit (RLIMIT_AS, &limit) != 0)
    return SKIP;
  return works () ? NO_HARM : HARM;
}

/* Forbids one system call: it fails with ENOSYS. */
static bool
forbid (unsigned number)
{
#ifdef __x86_64__
  struct sock_filter code[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  };
  struct sock_fprog program = { sizeof code / sizeof code[0], code };

  return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
         && prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
  (void) number;
  return false;
#endif
}

static Verdict
no_getrandom (void)
{
  if (!forbid (SYS_getrandom))
    return SKIP;
  return works () ? NO_HARM : HARM;
}

static Verdict
no_membarrier (void)
{
  if (!forbid (SYS_membarrier))
    return SKIP;
  if (!works ())
    return HARM;
  slice_trim (0);
  return works () ? NO_HARM : HARM;
}

static void *
work_in_thread (void *result)
{
  *(bool *) result = works ();
  return NULL;
}

/* The library took its key when it was loaded; it sees threads end.  The
 * others' values must stay as they are. */
static Verdict
keys_taken (void)
{
  static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
  pthread_t thread;
  bool worked = false;
  int n = 0;

  while (n <= PTHREAD_KEYS_MAX && pthread_key_create (&keys[n], NULL) == 0)
    n++;
  for (int i = 0; i < n; i++)
    pthread_setspecific (keys[i], &keys[i]);
  if (!works ())
    return HARM;
  pthread_create (&thread, NULL, work_in_thread, &worked);
  pthread_join (thread, NULL);
  for (int i = 0; i < n; i++)
    if (pthread_getspecific (keys[i]) != &keys[i])
      return HARM;
  return worked && n >= PTHREAD_KEYS_MAX - 16 ? NO_HARM : HARM;
}

#define ALL(what) { what, what, what, what }

const Case resource_cases[] = {
  { 43, "sizes too large", sizes_too_large, ALL ("N"), false, NULL },
  { 44, "products too large", products, ALL ("N"), false, NULL },
  { 45, "size 0", size_zero_block, ALL ("N"), false, NULL },
  { 47, "little address space", little_address_space, ALL ("N"), false,
    NULL },
  { 147, "getrandom forbidden", no_getrandom, ALL ("N"), false, NULL },
  { 148, "membarrier forbidden", no_membarrier, ALL ("N"), false, NULL },
  { 48, "all keys taken", keys_taken, ALL ("N"), false, NULL },
  { .number = 0 }
};
