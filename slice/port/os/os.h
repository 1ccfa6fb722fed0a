/* os.h - the operating system
 *
 * Layer: port.  Above it: everything; below: the C library.
 * Nothing here takes a lock of ours.  A function that a system lacks returns
 * failure, so that no #if is needed elsewhere.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_OS_OS_H
#define SLI_PORT_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- os-posix.c --- */

/* The system's page size; a power of two. */
size_t sli_os_page_bytes (void);
/* Tests only, before anything else: sets the page size that
 * sli_os_page_bytes() returns (a multiple of the real one); 0: that one. */
void sli_os_pretend_page_bytes (size_t bytes);

/* Milliseconds of a clock that never jumps (cheap, coarse).  It starts above
 * 0 and wraps only after 500 million years. */
uint64_t sli_os_clock_msec (void);
/* Tests only: sets the time that sli_os_clock_msec() returns; 0: the real
 * one. */
void sli_os_pretend_clock_msec (uint64_t msec);

/* Sleeps until the time is over, or a signal arrives. */
void sli_os_sleep_msec (unsigned msec);

/* Sleeps until the time is over, the word has another value, or
 * sli_os_wake_word() is called for it.  It may return early. */
void sli_os_wait_word (const uint32_t *word, uint32_t value, unsigned msec);
void sli_os_wake_word (const uint32_t *word);

/* Writes all of a text to a file descriptor, or until an error. */
void sli_os_write (int fd, const char *text, size_t bytes);
/* An environment variable, or NULL; always NULL in a setuid program. */
const char *sli_os_getenv (const char *name);
/* Returns true in a setuid or setgid program. */
bool sli_os_is_secure (void);
/* Writes `bytes' (at most 256) random bytes; no cancellation point. */
void sli_os_random (void *to, size_t bytes);

/* The least of the limits that this process has for its address space and its
 * data (`ulimit -v' and `ulimit -d'); SIZE_MAX: none. */
size_t sli_os_memory_limit_bytes (void);
/* Returns true if the system reserves memory for all that is mapped, used or
 * not (Linux: vm.overcommit_memory=2, which ignores MAP_NORESERVE). */
bool sli_os_reserves_mapped (void);
/* Tests only: what that returns. */
void sli_os_pretend_reserves_mapped (bool is_so);
/* Maps pages at a multiple of alignment; NULL: no memory. */
void *sli_os_map (size_t bytes, size_t alignment);
void sli_os_unmap (void *address, size_t bytes);
/* Gives a mapping another size, at another address if need be; NULL: no
 * memory, or the system can't, and the mapping is as it was. */
void *sli_os_remap (void *address, size_t old_bytes, size_t bytes);
/* Makes whole pages inaccessible, or accessible again. */
bool sli_os_protect (void *address, size_t bytes, bool untouchable);
/* The functions of the same names; NULL: no memory, or the system lacks it. */
void *sli_os_posix_memalign (size_t bytes, size_t alignment);
void *sli_os_memalign (size_t bytes, size_t alignment);
/* The first that the system has of these and C11's aligned_alloc(); bytes is a
 * multiple of alignment. */
void *sli_os_aligned_alloc (size_t bytes, size_t alignment);
void *sli_os_valloc (size_t bytes);
bool sli_os_has_posix_memalign (void);
bool sli_os_has_memalign (void);
bool sli_os_has_valloc (void);
/* malloc, calloc and realloc, but blocks of 16 bytes and more are always
 * aligned to 16.  With 32 bits the system's may be aligned to 8: valgrind's
 * are. */
void *sli_os_malloc (size_t bytes, bool zero);
void *sli_os_realloc (void *block, size_t old_bytes, size_t bytes);
/* The usable size of a block of malloc; 0 if the system can't tell. */
size_t sli_os_malloc_bytes (const void *block);

/* --- os-linux.c --- */

/* The kernel's number of this thread, which debuggers show. */
unsigned sli_os_thread_id (void);
/* What other threads this process has, beside the calling one, which is not
 * the main thread. */
typedef enum
{
  OS_MAIN_LIVES, /* or the system can't say */
  OS_MAIN_ENDED, /* others live */
  OS_ALL_ENDED
} OsThreads;

OsThreads sli_os_other_threads (void);
/* Returns the memory of whole pages to the system; they read as zero
 * afterwards.  False if the system can't. */
bool sli_os_advise_away (void *address, size_t bytes);
/* Advises the system to use huge pages in a range, or to use none. */
void sli_os_advise_huge (void *address, size_t bytes, bool wanted);
/* Maps pages of the system's reserve of huge ones; NULL: it has none left. */
void *sli_os_map_huge (size_t bytes);
/* Gives a part of a file back, which reads as zero afterwards, if the file's
 * system can. */
void sli_os_punch_hole (int fd, size_t offset, size_t bytes);
/* Reserves the memory of a part of a file, so that a write to it through a
 * mapping finds some.  False: there is none.  True without effect: the file's
 * system can't. */
bool sli_os_reserve_in_file (int fd, size_t offset, size_t bytes);
/* Makes a file larger, from old_bytes to new_bytes, and reserves the memory of
 * the part from `from' on.  If the file can't grow, returns false, without a
 * signal, and the file is as it was. */
bool sli_os_grow_file (int fd, size_t old_bytes, size_t from,
                       size_t new_bytes);
/* Returns true if any of the pages has memory, or the system can't say. */
bool sli_os_is_present (void *address, size_t bytes);
/* Returns false if the address space has nothing at the first or the last of
 * some pages. */
bool sli_os_is_mapped (void *address, size_t bytes);
/* Returns true if a byte can be read, or is mapped and the system can't say
 * more. */
bool sli_os_is_readable (const void *address);
/* Gives each of the pages memory, in one call instead of a fault for each.
 * False if the system can't or has no memory: then each page faults when it is
 * touched. */
bool sli_os_populate (void *address, size_t bytes);
/* Returns after each running thread of this process has passed a full memory
 * barrier.  False if the system can't. */
bool sli_os_barrier_all_threads (void);

/* --- os-module.c --- */

/* A file that was loaded. */
typedef struct
{
  const char *name; /* "": the program; NULL: none */
  uintptr_t base;   /* what the loader added to its addresses: an address less
                       this is an offset in the file, for addr2line */
} OsModule;

/* The file that an address is in; its name stays until it is unloaded.  False:
 * unknown, and the module is none.  Allocates nothing. */
bool sli_os_module_find (const void *address, OsModule *module);
/* Writes the name of a module's file, also the program's; "" if it does not
 * fit.  False: unknown. */
bool sli_os_module_name (const OsModule *module, char *name,
                         size_t name_bytes);
/* Returns a return address, and its module; but if it is in our code, that of
 * the program's call which led there.  Then it is slow: it walks up the stack,
 * which may allocate the first time. */
const void *sli_os_caller_outside (const void *site, OsModule *module);

/* --- tool.c --- */

/* "valgrind" or "sanitizer" if such a tool watches this process, else NULL. */
const char *sli_os_memory_tool (void);
/* False if a sanitizer knows that no such block of malloc is live. */
bool sli_os_malloc_may_own (const void *block);

#endif
