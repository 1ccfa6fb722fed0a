/* advice-modules.h - the modules for which there is advice, as they are loaded
 *
 * Layer: dropin.  One thread at a time scans; any thread may look modules up.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_MODULES_H
#define SLI_DROPIN_ADVICE_MODULES_H

#include "dropin/advice/advice.h"

/* Takes the advice; `path' is for messages. */
void sli_advice_modules_begin (const Advice *advice, const char *path);
/* Reads the loader's list.  True at the first call, and if a module of the
 * advice was loaded, moved or unloaded since the last.  Warns once of each
 * module that is another build. */
bool sli_advice_modules_scan (void);
/* Returns true if the address lies in a module that the last scan saw. */
bool sli_advice_module_has (uintptr_t pc);
/* The difference of a module's addresses from its offsets; false: it is not
 * loaded. */
bool sli_advice_module_bias (unsigned module, uint64_t *bias);
/* Returns true if some scan saw the module. */
bool sli_advice_module_was (unsigned module);

#endif
