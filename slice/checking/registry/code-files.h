/* code-files.h - the files that code was loaded from, of which some may have
 * been unloaded since
 *
 * Layer: checking; private to the registry of live blocks, whose lock the
 * callers hold.  Design: chapter 6.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_CHECKING_REGISTRY_CODE_FILES_H
#define SLI_CHECKING_REGISTRY_CODE_FILES_H

#include "port/os/os.h"

/* Makes the table; before the first of the calls below.  Without the lock,
 * since it needs memory. */
void sli_code_files_begin (void);
/* The number of a loaded file, which stays its own; 0 if the name is NULL or
 * the table is full. */
unsigned sli_code_file_number (const OsModule *file);
/* The file of a number, which stays there; NULL for 0.  Needs no lock. */
const OsModule *sli_code_file (unsigned number);

#endif
