/* commands.h - slice-trace's commands, one function each
 *
 * Tools.  Each takes its name and the arguments after it, and returns an exit
 * code.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLI_TRACE_COMMAND_COMMANDS_H
#define SLI_TRACE_COMMAND_COMMANDS_H

int sli_command_record (int argc, char **argv);
int sli_command_watch (int argc, char **argv);
int sli_command_dump (int argc, char **argv);
int sli_command_info (int argc, char **argv);
int sli_command_hot (int argc, char **argv);
int sli_command_patterns (int argc, char **argv);
int sli_command_callers (int argc, char **argv);
int sli_command_pins (int argc, char **argv);
int sli_command_replay (int argc, char **argv);
int sli_command_advise (int argc, char **argv);
int sli_command_predict (int argc, char **argv);
int sli_command_apply (int argc, char **argv);
int sli_command_report (int argc, char **argv);
int sli_command_run (int argc, char **argv);
int sli_command_time (int argc, char **argv);
int sli_command_diff (int argc, char **argv);
int sli_command_compare (int argc, char **argv);
int sli_command_export (int argc, char **argv);
int sli_command_replay_run (int argc, char **argv);

#endif
