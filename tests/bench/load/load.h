/* load.h - the workloads' entry points, for the table in load-table.c
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "tests/bench/frame/bench.h"

void load_pair (Run *run);
void load_pair_variable (Run *run);
void load_lifo (Run *run);
void load_fifo (Run *run);
void load_skewed (Run *run);
void load_slice_test (Run *run);
void load_slice_test_touch (Run *run);
void load_slice_test_literal (Run *run);
void load_server (Run *run);
void load_producer (Run *run);
void load_set (Run *run);
void load_live (Run *run);
void load_live_deep (Run *run);
void load_latency (Run *run);
void load_tree (Run *run);
void load_churn (Run *run);
void load_sharing_active (Run *run);
void load_sharing_passive (Run *run);
void load_sharing_direct (Run *run);
void load_scratch (Run *run);
void load_thrash (Run *run);
void load_phases (Run *run);
void load_sizes (Run *run);
void load_colour (Run *run);
void load_replay (Run *run);

#endif
