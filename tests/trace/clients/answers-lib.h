/* answers-lib.h - a private library between a program and malloc
 *
 * Tests.  SPDX-License-Identifier: MIT
 */
#ifndef ANSWERS_LIB_H
#define ANSWERS_LIB_H

#include <stdarg.h>
#include <stddef.h>

void *foo_create (size_t size);
void foo_destroy (void *object);
void *foo_context_alloc (void *context, size_t size);
void foo_each (int n, void (*visit) (int number));

#endif
