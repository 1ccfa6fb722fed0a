/* slice-test.c - the stress program: an allocator, driven and timed
 *
 * After the program that came with GSlice's announcement (Tim Janik, 2005):
 * threads that keep a table of blocks of random sizes and replace them over
 * and over, for several allocators in turn.  Grown up: it verifies what it
 * was given, replays what a real program did, compares in interleaved
 * rounds, and lies to see whether the allocator notices.
 *
 * stress.h lists the files; slice-test(1) is the manual.
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

static bool
stream_load (const Options *options, Stream *stream)
{
  if (options->expanded_fd >= 0)
    return stream_from_file (stream, options->expanded_fd);
  return stream_read (stream, options->replay_path, options->with_arenas,
                      options->header_bytes);
}

static int
run_once (const Options *options)
{
  bool replays = options->replay_path != NULL || options->expanded_fd >= 0;
  Stream stream = { 0 };
  RunResult result;
  const char *missing;
  bool good;

  walk_modulus = options->modulus;
  missing = options->contestant->prepare (options);
  if (missing != NULL)
    {
      fprintf (stderr, "slice-test: %s: %s\n", options->contestant->name,
               missing);
      return EXIT_MISSING;
    }
  if (replays && !stream_load (options, &stream))
    return EXIT_FOUND;
  good = run_gang (options, replays ? &stream : NULL, &result);
  if (options->json)
    result_print_json (options, replays ? &stream : NULL, &result);
  else
    result_print (options, replays ? &stream : NULL, &result);
  if (replays && options->expanded_fd < 0)
    stream_destroy (&stream);
  return good ? EXIT_GOOD : EXIT_FOUND;
}

int
slice_test (int argc, char **argv)
{
  Options options;
  int code;

  options_parse (&options, argc, argv);
  code = options.table          ? table_run (&options)
         : options.n_expect > 0 ? expect_caught (&options)
                                : run_once (&options);
  stress_output_end ();
  return code;
}

int
main (int argc, char **argv)
{
  return slice_test (argc, argv);
}
