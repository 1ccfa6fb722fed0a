# seeded-lib.sh - a copy of the library's sources with faults built in
#
# Read by `.' after check-lib.sh.  faults.patch makes the faults: where it says
# SEEDED (n), fault n is on if the environment's SEEDED_FAULT is n (fault.c).
# The library itself holds none of this.
#
# When the sources change under the patch it no longer applies and the tests
# say so.  To mend it: copy slice/ to a/ and b/, apply it to b/ by hand, and
# `diff -ru -U2 a b'.
#
# SPDX-License-Identifier: MIT

seeded=$top_srcdir/tests/seeded
command -v patch > /dev/null || skip_all "install patch"

# seeded_tree DIRECTORY: slice/ with the faults in it
seeded_tree ()
{
  mkdir -p "$1"
  (cd "$top_srcdir" && find slice -name '*.[ch]' ! -path 'slice/tools/*' \
     ! -path 'slice/dropin/*' -print | tar cf - -T -) | tar xf - -C "$1"
  chmod -R u+w "$1"
  if ! patch -s -d "$1" -p1 < "$seeded/faults.patch" > "$1/said" 2>&1; then
    fail "faults.patch applies to the sources" "$(head -5 "$1/said")"
    finish
  fi
}

# seeded_files FAULT: the files that it is in
seeded_files ()
{
  awk -v mark="SEEDED ($1)" '
    /^\+\+\+ / { file = substr($2, 3) }
    index($0, mark) && !(file in seen) { seen[file]; print file }' \
    "$seeded/faults.patch"
}

# The number of the last fault that a stage of seeded.sh can find: those from
# 101 on are found by check-full.sh alone.
seeded_last ()
{
  grep -oE 'SEEDED \([0-9]+\)' "$seeded/faults.patch" \
  | grep -oE '[0-9]+' | sort -n | awk '$1 <= 100' | tail -1
}
