#!/bin/sh
# clients-gst.sh - GStreamer pipelines on the drop-in
#
# Every pipeline must end well with every block checked, and bring out the
# same bytes as without.  The last runs a minute.
#
#   CLIENTS_SECONDS  how long that is; 60
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/clients-lib.sh"

have_dropin || skip_all "no drop-in was built, or with a sanitizer"
missing=$(need_packages gstreamer1.0-tools gstreamer1.0-plugins-base)
test -z "$missing" || skip_all "not installed: $missing"
seconds=${CLIENTS_SECONDS:-60}
# Its list of plug-ins is made once, without us.
GST_REGISTRY=$temporary/registry
export GST_REGISTRY
gst-inspect-1.0 >/dev/null 2>&1

# findings FILE CODE LEAST: an end that is no good, messages, too few blocks
findings ()
{
  test "$2" = 0 || echo "ended with $2"
  grep -e '^slice: .*\[' -e CRITICAL -e ERROR "$1"
  n=$(n_allocated "$1")
  test "${n:-0}" -ge "$3" || cat "$1"
}

said=$temporary/said
code=0
SLICE_OPTIONS=count sh "$slice_run" --stats \
  gst-launch-1.0 -q fakesrc num-buffers=500000 ! queue ! queue ! fakesink \
  >"$said" 2>&1 || code=$?
expect_none "500000 buffers through two queues: $(n_allocated "$said") blocks \
allocated, $(n_passed_on "$said") passed on" \
  "$(findings "$said" $code 500000)"

# same NAME LEAST PIPELINE...: which ends in a fdsink
same ()
{
  same_name=$1
  same_least=$2
  shift 2
  gst-launch-1.0 -q "$@" >"$temporary/without" 2>"$said" \
    || { skip "$same_name" "$(head -n 1 "$said")"; return; }
  for mode in "" --debug-blocks; do
    code=0
    SLICE_OPTIONS=count sh "$slice_run" --stats $mode \
      gst-launch-1.0 -q "$@" >"$temporary/with" 2>"$said" || code=$?
    expect_none "$same_name${mode:+, $mode}: the same \
$(wc -c < "$temporary/without") bytes, $(n_allocated "$said") blocks" \
      "$(findings "$said" $code "$same_least"
         cmp "$temporary/without" "$temporary/with" 2>&1)"
  done
}

same "audio" 5000 audiotestsrc num-buffers=2000 ! audioconvert \
  ! audioresample ! audio/x-raw,rate=22050 ! queue ! fdsink
same "video" 200 videotestsrc num-buffers=60 ! videoconvert ! queue \
  ! videoscale ! video/x-raw,width=160,height=120 ! fdsink

# A minute, every block checked: as many buffers as it takes; SIGINT with -e
# ends the pipeline in order.
SLICE_OPTIONS=count timeout --signal=INT --kill-after=60 "$seconds" \
  sh "$slice_run" --stats --debug-blocks gst-launch-1.0 -e -q \
    audiotestsrc ! audioconvert ! queue ! tee name=t \
    t. ! queue ! fakesink t. ! queue ! audioresample ! fakesink \
  >"$said" 2>&1
code=$?
# timeout's own 124 says that it ran so long.
test $code = 124 && code=0
expect_none "$seconds seconds with --debug-blocks: no report" \
  "$(test $code = 0 || echo "ended with $code"
     grep -e '^slice: .*\[' -e CRITICAL "$said"
     grep -q "passed on" "$said" || cat "$said")"
sed -n 's/^slice-gslice: /# &/p' "$said"
finish
