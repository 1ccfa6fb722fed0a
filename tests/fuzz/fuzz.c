/* fuzz.c - libFuzzer's entry, and a generator in its place
 *
 * SPDX-License-Identifier: MIT
 */
#include "config.h"

#include "fuzz.h"

#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n);

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n)
{
  static unsigned n_inputs;
  static SliceStats stats;
  Input input = { bytes, n < INPUT_BYTES_MAX ? n : INPUT_BYTES_MAX };

  fuzz_one (&input);
  if (++n_inputs % VALIDATE_EVERY == 0)
    {
      const char *broken = slice_validate (NULL);

      if (broken != NULL)
        fprintf (stderr, "fuzz-%s: %s\n", fuzz_name, broken);
      CHECK (broken == NULL);
      slice_get_stats (&stats);
      CHECK (stats.live_blocks <= fuzz_n_kept);
    }
  return 0;
}

#ifndef WITH_LIBFUZZER
static void
run_inputs (unsigned long n, uint64_t state)
{
  for (unsigned long i = 0; i < n; i++)
    {
      static uint8_t bytes[INPUT_BYTES_MAX];
      size_t length;

      state = state * 6364136223846793005u + 1442695040888963407u;
      length = (size_t) (state >> 33) % INPUT_BYTES_MAX;
      for (size_t at = 0; at < length; at++)
        {
          state = state * 6364136223846793005u + 1442695040888963407u;
          bytes[at] = (uint8_t) (state >> 56);
        }
      LLVMFuzzerTestOneInput (bytes, length);
    }
}

int
main (int argc, char **argv)
{
  static const char *const modes[]
      = { "force-pool", "force-pool:checked", "force-pool:hardened",
          "force-pool:debug", "force-pool:bypass-magazines",
          "force-pool:debug-blocks", "always-malloc" };
  const char *tier = getenv ("SLICE_TEST_TIER");
  unsigned long usual = tier != NULL && strcmp (tier, "2") == 0 ? 2000 : 500;
  unsigned long n = argc > 1 && argv[1][0] != '-' ? strtoul (argv[1], NULL, 10)
                                                  : usual;
  uint64_t seed = argc > 2 ? strtoull (argv[2], NULL, 10) : 1;
  int n_modes = (int) (sizeof modes / sizeof modes[0]), n_failed = 0;

  for (int i = 0; i < n_modes; i++)
    {
      int status = 0;
      pid_t pid;

      fflush (NULL);
      pid = fork ();
      if (pid == 0)
        {
          setenv ("SLICE_OPTIONS", modes[i], 1);
          run_inputs (n, seed);
          _exit (0);
        }
      waitpid (pid, &status, 0);
      printf ("%s %d - %lu inputs from seed %llu, %s\n",
              status == 0 ? "ok" : "not ok", i + 1, n,
              (unsigned long long) seed, modes[i]);
      n_failed += status != 0;
    }
  printf ("1..%d\n", n_modes);
  return n_failed != 0;
}
#endif
