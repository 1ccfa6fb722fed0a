/* slice-setup.c - makes the library ready as the command line asks
 *
 * SPDX-License-Identifier: MIT
 */
#include <tests/stress/stress.h>

#include <slice/options.h>

const char *
slice_prepare (const Options *options)
{
  if (options->eager
      && slice_set_option (SLICE_OPTION_WORKING_SET_MSEC, 0) != SLICE_SET_OK)
    return "the option working-set-msec was refused";
  if (options->counters
      && slice_set_option (SLICE_OPTION_COUNT, 1) != SLICE_SET_OK)
    return "the option count was refused";
  if (options->lie != LIE_NONE
      && slice_set_option (SLICE_OPTION_CHECKED, 1) != SLICE_SET_OK)
    return "the option checked was refused";
  return NULL;
}
