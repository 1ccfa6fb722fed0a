/* os.h - the operating system, as little of it as we need
 *
 * Layer: port.  Above it: everything; below: the C library.
 * Nothing here takes a lock of ours.  Functions that a system lacks report
 * it by their result, so that no #if is needed elsewhere.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_PORT_OS_H
#define SLI_PORT_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- os-posix.c --- */

/* The system's page size; a power of two. */
size_t sli_os_page_bytes (void);
/* Tests only, before anything else: pretend another page size (a multiple of
 * the real one); 0 ends the pretence. */
void sli_os_pretend_page_bytes (size_t bytes);

/* Milliseconds of a clock that never jumps (cheap, coarse).  It starts above
 * 0 and wraps only after 500 million years. */
uint64_t sli_os_clock_msec (void);
/* Tests only: what sli_os_clock_msec() says from now on; 0 ends it. */
void sli_os_pretend_clock_msec (uint64_t msec);

/* Sleeps, if no signal comes. */
void sli_os_sleep_msec (unsigned msec);

/* The whole text to a file descriptor, as far as it will go. */
void sli_os_write (int fd, const char *text, size_t bytes);
/* An environment variable, or NULL; always NULL in a setuid program. */
const char *sli_os_getenv (const char *name);
/* Is this a setuid or setgid program? */
bool sli_os_is_secure (void);
/* `bytes` (at most 256) random bytes, without a cancellation point. */
void sli_os_random (void *to, size_t bytes);

/* Pieces of memory.  NULL if there is none or the system lacks the call.
 * map: pages of the kernel's, at a multiple of alignment. */
void *sli_os_map (size_t bytes, size_t alignment);
void sli_os_unmap (void *address, size_t bytes);
/* Makes whole pages untouchable, or usable again. */
bool sli_os_protect (void *address, size_t bytes, bool untouchable);
void *sli_os_posix_memalign (size_t bytes, size_t alignment);
void *sli_os_memalign (size_t bytes, size_t alignment);
/* The best there is of these and C11's; bytes is a multiple of alignment. */
void *sli_os_aligned_alloc (size_t bytes, size_t alignment);
void *sli_os_valloc (size_t bytes);
bool sli_os_has_posix_memalign (void);
bool sli_os_has_memalign (void);
bool sli_os_has_valloc (void);
/* malloc, calloc and realloc, whose blocks of 16 bytes and more are aligned to
 * 16.  With 32 bits the system's may be to 8 only: valgrind's are. */
void *sli_os_malloc (size_t bytes, bool zero);
void *sli_os_realloc (void *block, size_t old_bytes, size_t bytes);
/* The usable size of a block of malloc; 0 if the system can't tell. */
size_t sli_os_malloc_bytes (const void *block);

/* --- os-linux.c --- */

/* The kernel's number of this thread, as debuggers show it. */
unsigned sli_os_thread_id (void);
/* Give the memory of whole pages back; they read as zero afterwards.
 * False if the system can't. */
bool sli_os_advise_away (void *address, size_t bytes);
/* Ask for huge pages in a range, or say explicitly that none are wanted. */
void sli_os_advise_huge (void *address, size_t bytes, bool wanted);
/* Has any of the pages memory of its own?  True if the system can't say. */
bool sli_os_is_present (void *address, size_t bytes);
/* Gives each of the pages memory in one call instead of a fault each.  False
 * if the system can't, or has none: then they fault as they are touched. */
bool sli_os_populate (void *address, size_t bytes);
/* Every running thread of this process passes a full memory barrier before
 * the call returns.  False if the system can't. */
bool sli_os_barrier_all_threads (void);

/* --- os-module.c --- */

/* The file that an address of code came from (as it was loaded; "" if its name
 * does not fit), and where in that file, as addr2line counts.  False: unknown.
 * Takes no memory. */
bool sli_os_module_of (const void *address, char *name, size_t room,
                       uintptr_t *offset);
/* A return address of ours is replaced by that of the program's call which led
 * there; any other is as it was.  Slow where it is ours: a walk up the stack,
 * which at its first may allocate. */
const void *sli_os_caller_outside (const void *site);

/* --- tool.c --- */

/* The tool that watches this process's memory, or NULL. */
const char *sli_os_memory_tool (void);

#endif
