/* result.c - one run's figures, as text and as JSON
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <slice/version.h>

#include <dlfcn.h>

/* The file that malloc comes from: shows whether a preload took hold. */
static const char *
malloc_file (void)
{
  Dl_info info;
  void *address = dlsym (RTLD_DEFAULT, "malloc");

  if (address == NULL || dladdr (address, &info) == 0
      || info.dli_fname == NULL)
    return "unknown";
  return info.dli_fname;
}

static double
nsec_per_pair (double sec, const RunResult *result)
{
  return result->n_pairs > 0 ? sec * NSEC_PER_SEC / (double)result->n_pairs
                             : 0;
}

static void
print_what (const Options *options, const Stream *stream)
{
  printf ("%s: %u thread%s, ", options->contestant->name, options->n_threads,
          options->n_threads == 1 ? "" : "s");
  if (stream != NULL)
    printf ("%s: %llu allocations (%llu zeroed, %llu resizes), at most %u"
            " live, %llu left to the end\n",
            options->replay_path != NULL ? options->replay_path : "recording",
            (unsigned long long)stream->n_pairs,
            (unsigned long long)stream->n_zeroed,
            (unsigned long long)stream->n_resizes, stream->n_slots,
            (unsigned long long)stream->n_left);
  else
    printf ("%s order, %u blocks a thread, sizes below %u%s, seed %u\n",
            order_name (options->order), options->n_blocks, options->modulus,
            options->literal ? " (literal modulus)" : "", options->seed);
}

void
result_print (const Options *options, const Stream *stream,
              const RunResult *result)
{
  print_what (options, stream);
  printf ("  %llu pairs of an allocation and a free in %.2f s\n",
          (unsigned long long)result->n_pairs, result->wall_sec);
  printf ("  %.2f ns CPU a pair (%.2f in the first lap), %.2f ns wall\n",
          nsec_per_pair (result->cpu_sec, result), result->first_nsec,
          nsec_per_pair (result->wall_sec, result));
  printf ("  peak RSS %.2f MiB",
          (double)result->peak_rss_bytes / (1024 * 1024));
  if (options->contestant->is_slice)
    printf ("; at the end slice_trim (0) gave %.2f MiB back",
            (double)result->trimmed_bytes / (1024 * 1024));
  printf ("\n");
  if (options->check || options->share)
    printf ("  every pattern held%s\n",
            options->contestant->is_slice && !result->kept_blocks
                ? ", and the statistics show no block alive at the end"
                : "");
}

static void
print_bool (const char *name, bool value)
{
  printf ("\"%s\": %s, ", name, value ? "true" : "false");
}

void
result_print_json (const Options *options, const Stream *stream,
                   const RunResult *result)
{
  printf ("{\"program\": \"slice-test\", \"version\": \"%s\", ",
          SLICE_VERSION_STRING);
  printf ("\"mode\": \"%s\", \"stream\": \"%s\", ", options->contestant->name,
          stream != NULL ? "recording" : order_name (options->order));
  printf ("\"threads\": %u, \"blocks\": %u, \"max_bytes\": %u, "
          "\"modulus\": %u, \"seed\": %u, ",
          options->n_threads, options->n_blocks, options->max_bytes,
          options->modulus, options->seed);
  print_bool ("literal_modulus", options->literal);
  print_bool ("touch", options->touch);
  print_bool ("check", options->check);
  print_bool ("share", options->share);
  print_bool ("eager", options->eager);
  printf ("\"malloc_from\": \"%s\", ", malloc_file ());
  printf ("\"pairs\": %llu, \"wall_sec\": %.9f, \"cpu_sec\": %.9f, ",
          (unsigned long long)result->n_pairs, result->wall_sec,
          result->cpu_sec);
  printf ("\"cpu_nsec_per_pair\": %.4f, \"wall_nsec_per_pair\": %.4f, "
          "\"first_nsec_per_pair\": %.4f, ",
          nsec_per_pair (result->cpu_sec, result),
          nsec_per_pair (result->wall_sec, result), result->first_nsec);
  printf ("\"peak_rss_bytes\": %llu, \"trimmed_bytes\": %llu}\n",
          (unsigned long long)result->peak_rss_bytes,
          (unsigned long long)result->trimmed_bytes);
}
