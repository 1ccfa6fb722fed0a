/* checking-mallocs.c - blocks of malloc's in the checking modes
 *
 * Layer: checking.  Below: the registry, which has each of them with its
 * size.  No locks of its own.  Design: chapter 6.
 *
 *   hardened:  [ block | canary, 8 bytes | not used, 8 ]
 *   debug:     [ block | red zone, 16 bytes ]
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "checking-contents.h"
#include "checking/registry/block-registry.h"
#include "port/os/os.h"

/* --- red zones behind blocks of malloc ----------------------------------- */

size_t
sli_checking_begin_zones (void)
{
  if (back_of (sli_checking.mode) != 0
      && sli_checking.mode != CHECKING_ANNOTATED)
    sli_checking.zone_bytes = ZONE_BYTES;
  return sli_checking.zone_bytes;
}

static void
zone_write (char *block, size_t size)
{
  if (sli_checking.zone_bytes == 0)
    return;
  if (sli_checking.mode == CHECKING_HARDENED)
    canary_write (block, size);
  else
    memset (block + size, BYTE_ZONE, ZONE_BYTES);
}

static bool
zone_is_whole (const char *block, size_t size)
{
  return sli_checking.mode == CHECKING_HARDENED
             ? canary_is_whole (block, size)
             : sli_checking_zone_is_whole (block + size, ZONE_BYTES);
}

static void
check_zone (const char *block, size_t size, const char *operation)
{
  if (sli_checking.zone_bytes == 0 || LIKELY (zone_is_whole (block, size)))
    return;
  if (sli_checking.mode == CHECKING_DEBUG)
    sli_checking_report_zone (block, size, ZONE_BYTES, operation);
  sli_checking_report_overrun (block, size, operation);
}

/* The first block with a damaged red zone. */
typedef struct
{
  const char *block; /* NULL: there is none */
  size_t size;
} DamagedMalloc;

/* In debug the registry has chunks, too, and nodes without a red zone. */
static void
find_damaged (const RegisteredBlock *block, void *data)
{
  DamagedMalloc *damaged = data;

  if (damaged->block == NULL && !block->is_inside
      && !chunk_may_be_at (block->address)
      && !zone_is_whole (block->address, block->size))
    *damaged = (DamagedMalloc){ block->address, block->size };
}

void
sli_checking_check_mallocs (const char *operation)
{
  DamagedMalloc damaged = { NULL, 0 };

  if (sli_checking.zone_bytes == 0)
    return;
  sli_block_registry_each (find_damaged, &damaged);
  if (damaged.block != NULL)
    check_zone (damaged.block, damaged.size, operation);
}

/* --- blocks --------------------------------------------------------------- */

bool
sli_checking_add_malloc (void *block, size_t size, const void *site)
{
  zone_write (block, size);
  return sli_block_registry_add (block, size, site);
}

void
sli_checking_remove_malloc (const void *block, size_t size,
                            const char *operation, const void *site)
{
  size_t real_bytes = sli_block_registry_size (block);

  /* A block with another size is reported as that, and its red zone is left
   * alone, because the block may belong to other code by now. */
  if (real_bytes != SIZE_MAX
      && (size == real_bytes || size == BLOCK_ANY_SIZE))
    check_zone (block, real_bytes, operation);
  sli_block_registry_remove (block, size, operation, site);
}

bool
sli_checking_add_aligned (void *block, size_t alignment, size_t size,
                          const void *site)
{
  if (!sli_checking_add_malloc (block, size, site))
    return false;
  sli_block_registry_note_alignment (block, alignment);
  return true;
}

/* Outside the checking modes the alignment decides about the class. */
_Noreturn COLD static void
report_alignment (const void *block, size_t alignment, size_t real_alignment,
                  size_t size, const char *operation)
{
  char words[80];

  sli_diag_format (words, sizeof words,
                   "allocated with alignment %zu, freed with %zu",
                   real_alignment, alignment);
  sli_diag_misuse (ERROR_WRONG_SIZE, operation,
                   &(BlockFacts){ .address = block,
                                  .given_bytes = size,
                                  .real_bytes = size,
                                  .words = words,
                                  .sites = sli_block_registry_sites (block) });
}

void
sli_checking_remove_aligned (const void *block, size_t alignment, size_t size,
                             const char *operation, const void *site)
{
  size_t real_alignment = sli_block_registry_alignment (block);

  if (UNLIKELY (sli_block_registry_size (block) == size && real_alignment != 0
                && real_alignment != alignment))
    report_alignment (block, alignment, real_alignment, size, operation);
  sli_checking_remove_malloc (block, size, operation, site);
}

bool
sli_checking_add_large (void *block, size_t size, const void *site)
{
  /* The tool knows the size of malloc's blocks. */
  return sli_checking.mode == CHECKING_ANNOTATED
         || sli_checking_add_malloc (block, size, site);
}

void
sli_checking_remove_large (const void *block, size_t size,
                           const char *operation, const void *site)
{
  size_t real_bytes;

  if (sli_checking.mode != CHECKING_ANNOTATED)
    {
      sli_checking_remove_malloc (block, size, operation, site);
      return;
    }
  real_bytes = sli_os_malloc_bytes (block);
  if (real_bytes != 0 && real_bytes != size && size != BLOCK_ANY_SIZE)
    sli_diag_misuse (ERROR_MALLOC_SIZE, operation,
                     &(BlockFacts){ .address = block,
                                    .given_bytes = size,
                                    .real_bytes = real_bytes });
}

bool
sli_checking_is_large (const void *block)
{
  if (chunk_may_be_at (block))
    return false;
  return sli_checking.mode == CHECKING_ANNOTATED
         || sli_block_registry_size (block) != SIZE_MAX;
}

size_t
sli_checking_large_bytes (const void *block)
{
  size_t size = sli_block_registry_size (block);

  if (size != SIZE_MAX)
    return size;
  return sli_checking.mode == CHECKING_ANNOTATED ? sli_os_malloc_bytes (block)
                                                 : 0;
}
