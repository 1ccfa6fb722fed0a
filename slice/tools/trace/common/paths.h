/* paths.h - where the other files of slice lie
 *
 * Tools.  Beside the program in a build tree; else as they were installed,
 * relative to the program, since an installation may be moved as a whole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMON_PATHS_H
#define SLI_TRACE_COMMON_PATHS_H

/* As configure has them. */
#ifndef SLICE_TRACE_LIBDIR
# define SLICE_TRACE_LIBDIR "/usr/local/lib/slice"
#endif
#ifndef SLICE_TRACE_SLICEDIR
# define SLICE_TRACE_SLICEDIR "/usr/local/lib"
#endif
#ifndef SLICE_TRACE_BINDIR
# define SLICE_TRACE_BINDIR "/usr/local/bin"
#endif
#ifndef SLICE_TRACE_PREFIX
# define SLICE_TRACE_PREFIX "/usr/local"
#endif

/* A file in one of the folders, which are relative to the program's (NULL ends
 * them); NULL: it is in none.  The caller frees it. */
char *sli_path_beside (const char *const *folders, const char *name);
/* A file of an installed folder, below the prefix: where that lies to the
 * program now, if it is there, else where it was installed.  The caller frees
 * it. */
char *sli_path_installed (const char *folder, const char *name);
/* Ends the program with a message if the library can't be preloaded: it can't
 * be read, or LD_PRELOAD can't hold its path.  The loader would only warn. */
void sli_path_preload_check (const char *library);

#endif
