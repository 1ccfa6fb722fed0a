/* adaptor.c - the adaptor as the frame sees it, and its variables
 *
 * SPDX-License-Identifier: MIT
 */
#define BENCH_ADAPTOR_DEFINE
#include "adaptor.h"

const char *
bench_adaptor_name (void)
{
  return ADAPTOR_NAME;
}

const char *
bench_adaptor_version (void)
{
  return adaptor_version ();
}

const char *
bench_adaptor_start (void)
{
  return adaptor_start ();
}

void
bench_adaptor_thread_exit (void)
{
  adaptor_thread_exit ();
}

bool
bench_adaptor_trim (void)
{
  return adaptor_trim ();
}

bool
bench_adaptor_count (Counts *counts)
{
  return adaptor_count (counts);
}

size_t
bench_adaptor_alignment (size_t size)
{
  return ADAPTOR_ALIGNMENT (size);
}

unsigned
bench_adaptor_threads_max (void)
{
  return ADAPTOR_THREADS_MAX;
}
