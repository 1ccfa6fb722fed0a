/* sized.h - malloc, and the sized free of the preloaded peer
 *
 * jemalloc has sdallocx(), gperftools' tcmalloc tc_free_sized(), mimalloc
 * mi_free_size(); glibc has none.  Where none is found the build says so, and
 * the peer is measured with plain free only.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <tests/adaptors/peer.h>

#define ADAPTOR_NAME "malloc-sized"
#define ADAPTOR_START() sized_start ()

extern void (*sized_free) (void *block, size_t size);
extern void (*sized_dallocx) (void *block, size_t size, int flags);

ADAPTOR_INLINE void *
adaptor_alloc (size_t size)
{
  return malloc (size);
}

ADAPTOR_INLINE void
adaptor_free (size_t size, void *block)
{
  if (sized_dallocx != NULL)
    sized_dallocx (block, size, 0);
  else
    sized_free (block, size);
}

static inline const char *
sized_start (void)
{
  static const char *const names[] = { "tc_free_sized", "mi_free_size" };

  *(void **) &sized_dallocx = dlsym (RTLD_DEFAULT, "sdallocx");
  for (size_t i = 0; i < 2 && sized_free == NULL; i++)
    *(void **) &sized_free = dlsym (RTLD_DEFAULT, names[i]);
  if (sized_dallocx == NULL && sized_free == NULL)
    return "this malloc has no sized free";
  return NULL;
}

#ifdef ADAPTOR_DEFINE
void (*sized_free) (void *block, size_t size);
void (*sized_dallocx) (void *block, size_t size, int flags);
#endif
