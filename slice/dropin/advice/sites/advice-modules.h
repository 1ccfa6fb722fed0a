/* advice-modules.h - the loaded modules that the advice speaks of
 *
 * Layer: dropin.  One thread at a time scans; any may ask.
 *
 * Design: chapter 15.  SPDX-License-Identifier: MIT
 */
#ifndef SLI_DROPIN_ADVICE_MODULES_H
#define SLI_DROPIN_ADVICE_MODULES_H

#include "dropin/advice/advice.h"

/* The path of the advice is for messages. */
void sli_advice_modules_begin (const Advice *advice, const char *path);
/* Asks the loader; true if a module of the advice has come, moved or gone, or
 * at the first time.  Says once of each module if it is another build. */
bool sli_advice_modules_scan (void);
/* Returns true if the address lies in a module that the last scan saw. */
bool sli_advice_module_has (uintptr_t pc);
/* What to add to a module's offsets; false: it is not loaded. */
bool sli_advice_module_bias (unsigned module, uint64_t *bias);
/* Returns true if some scan saw the module. */
bool sli_advice_module_was (unsigned module);

#endif
