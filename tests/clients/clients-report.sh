#!/bin/sh
# clients-report.sh - what the drop-in brings, in figures
#
# `make report-clients'.  Each program runs with GLib's own GSlice, with
# always-malloc (what GLib does from 2.76 on), and with the drop-in, one after
# the other, several rounds; the table gives medians and the medians of the
# ratios of each round; then instructions (with valgrind) and the memory of a
# GTK program, also on a GLib that glib-rebuild.sh left.  It judges nothing:
# times belong to the machine.
#
#   REPORT_ROUNDS  how many; 7
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/clients-lib.sh"

have_dropin || { echo "no drop-in was built, or with a sanitizer" >&2; exit 1; }
missing=$(need_packages gstreamer1.0-tools libglib2.0-tests python3)
test -z "$missing" || { echo "not installed: $missing" >&2; exit 1; }
GST_REGISTRY=$temporary/registry
export GST_REGISTRY
gst-inspect-1.0 >/dev/null 2>&1
LD_LIBRARY_PATH=$top_builddir/slice/.libs
export LD_LIBRARY_PATH
exec python3 "$top_srcdir/tests/clients/clients-report.py" \
  "$top_builddir/tests/clients/measure" \
  "$slice_run" "$top_builddir/tests/stress/.libs/slice-test" \
  "$installed_tests" "${GLIB_REBUILD_DIR:-$top_builddir/glib-rebuild}" \
  "${REPORT_ROUNDS:-7}"
