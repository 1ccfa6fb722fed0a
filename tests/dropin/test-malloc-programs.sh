#!/bin/sh
# test-malloc-programs.sh - libslice-malloc preloaded: other people's programs, misuse
#
# What it exports and needs; programs whose output must be what it is without,
# in each mode; misuse of each kind and its message; C++; a limited address
# space; together with the g_slice drop-in and with contexts.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"
. "$(dirname "$0")/../clients/clients-lib.sh"

dropin=$top_builddir/slice/dropin/.libs/libslice-malloc.so
libslice=$top_builddir/slice/.libs/libslice.so.0
gslice=$top_builddir/slice/dropin/.libs/libslice-gslice.so
SLICE_RUN_PRELOAD=$libslice:$dropin
said=$temporary/said

have_dropin || skip_all "no drop-in was built, or with a sanitizer"

# --- the library ---

exports=$($NM -D --defined-only "$dropin" | awk '{ print $3 }' \
  | LC_ALL=C sort)
expect_none "it exports malloc's family, and C++'s operators, no more" \
  "$(echo "$exports" | grep -v '^_Z' | tr '\n' ' ' \
       | grep -v -x -e "aligned_alloc calloc \
cfree free free_aligned_sized free_sized mallinfo mallinfo2 malloc \
malloc_stats malloc_trim malloc_usable_size mallopt memalign posix_memalign \
pvalloc realloc reallocarray valloc ")"
# std::size_t is m, or j, in their names.
aligned=St11align_val_t nothrow=RKSt9nothrow_t
for how in "" $nothrow $aligned $aligned$nothrow; do
  echo "_Znwm$how _Znam$how _ZdlPv$how _ZdaPv$how"
done | tr ' ' '\n' > "$temporary/operators"
for how in m m$aligned; do
  echo "_ZdlPv$how _ZdaPv$how"
done | tr ' ' '\n' >> "$temporary/operators"
echo "$exports" | grep '^_Z' \
  | sed -e 's/^_Zn\(.\)j/_Zn\1m/' -e 's/^_Zd\(.\)Pvj/_Zd\1Pvm/' > "$said"
expect_none "they are all forms of new and delete" \
  "$(LC_ALL=C sort -o "$said" "$said"
     LC_ALL=C sort "$temporary/operators" | diff - "$said")"
expect_none "it needs libslice and the C library alone" \
  "$($READELF -d "$dropin" | awk '/NEEDED/ { print $NF }' \
       | grep -v -x -e '\[libslice\.so\.0\]' -e '\[libc\.so\.6\]' \
         -e '\[libpthread\.so\.0\]' -e '\[libdl\.so\.2\]' \
         -e '\[ld-linux.*\]')"
expect_found "it stays when it is closed" NODELETE "$($READELF -d "$dropin")"

# --- programs ---

# by_slices COMMAND...: runs it with the drop-in
by_slices ()
{
  sh "$slice_run" --malloc -- "$@"
}

by_slices sh -c 'grep -q libslice-malloc /proc/self/maps' \
  && pass "slice-run --malloc loads it" \
  || fail "slice-run --malloc loads it"

awk 'BEGIN { for (i = 0; i < 60000; i++) print (i * 7919) % 60013 }' \
  > "$temporary/numbers"
cat > "$temporary/many.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[40]; };
int main (void)
{
  struct node *list = NULL;
  for (int i = 0; i < 1000; i++)
    {
      struct node *node = malloc (sizeof *node);
      snprintf (node->text, sizeof node->text, "%d", i);
      node->next = list;
      list = node;
    }
  puts (list->text);
  return 0;
}
END
cat > "$temporary/try.py" <<'END'
import json, re, threading, zlib
def work (n, out):
  table = {str (i * n): [i] * (i % 50) for i in range (8000)}
  text = json.dumps (table)
  out.append (zlib.crc32 (zlib.decompress (zlib.compress (text.encode ()))))
  out.append (len (re.findall ("1[0-9]", text)))
results = [[] for i in range (4)]
threads = [threading.Thread (target = work, args = (i + 1, results[i]))
           for i in range (4)]
for thread in threads: thread.start ()
for thread in threads: thread.join ()
big = bytearray ()
for i in range (300): big += bytes (10007)
print (results, zlib.crc32 (big))
END

# same NAME COMMAND: with the drop-in it must say and end as without
same ()
{
  command -v "${2%% *}" > /dev/null || { skip "$1" "not installed"; return; }
  code=0
  sh -c "$2" > "$temporary/plain" 2>&1 || code=$?
  code_by_slices=0
  by_slices sh -c "$2" > "$said" 2>&1 || code_by_slices=$?
  if test $code != $code_by_slices; then
    fail "$1" "ended with $code_by_slices, not $code: $(tail -n 3 "$said")"
  else
    expect_none "$1" "$(diff "$temporary/plain" "$said" | head -n 5)"
  fi
}

# try_programs MODE
try_programs ()
{
  SLICE_OPTIONS=$1
  export SLICE_OPTIONS
  same "sort, $1" "sort -n $temporary/numbers | cksum"
  same "perl, $1" "perl -e 'my %h; \$h{\$_} = [1 .. \$_ % 9] for 1 .. 20000; \
print join (\",\", (sort keys %h)[0 .. 9]), \"\\n\"'"
  same "python with threads, $1" "python3 $temporary/try.py"
  same "gcc, $1" "${CC%% *} -O1 -g -x c -c -o $temporary/many.o \
$temporary/many.c && size $temporary/many.o"
  same "git, $1" "git --version && git hash-object $temporary/numbers && \
git diff --no-index --stat $temporary/numbers $temporary/many.c"
  same "children and pipes, $1" "ls -la / | grep -c . | cat"
  unset SLICE_OPTIONS
}

modes=checked
test "${SLICE_TEST_TIER-}" != 2 \
  || modes="checked hardened bypass-magazines align-16 count"
try_programs ""
for mode in $modes; do
  try_programs "$mode"
done

# --- valgrind ---

# Its tools that leave malloc as it is see ours, memcheck puts its own there;
# and a first call that waits for itself would never end.
tool_modes=force-pool
test "${SLICE_TEST_TIER-}" != 2 || tool_modes="none $tool_modes"
for tool in callgrind memcheck; do
  for mode in $tool_modes; do
    test $mode != none || mode=
    name="under $tool${mode:+, $mode}"
    if ! command -v valgrind > /dev/null; then
      skip "$name" "no valgrind"
      continue
    fi
    code=0
    SLICE_OPTIONS=$mode LD_PRELOAD=$libslice:$dropin timeout 120 valgrind -q \
      --tool=$tool --log-file="$temporary/valgrind" \
      $(test $tool = memcheck || echo --callgrind-out-file=/dev/null) \
      sort -n "$temporary/numbers" > "$said" 2>&1 || code=$?
    expect_none "$name" "$(test $code = 0 || echo "ended with $code"
      cat "$temporary/valgrind"; sort -n "$temporary/numbers" | cmp - "$said")"
  done
done

# --- the interface in the checking modes ---

for mode in checked hardened; do
  code=0
  SLICE_OPTIONS=$mode "$top_builddir/tests/dropin/test-malloc" \
    -p /slice/malloc/model -p /slice/malloc/sizes -p /slice/malloc/aligned \
    -p /slice/malloc/calloc-is-zero > "$said" 2>&1 || code=$?
  expect_none "test-malloc, $mode" \
    "$(test $code = 0 || tail -n 3 "$said")"
done

# --- sources of pages that call malloc: that would be slice itself ---

for source in posix_memalign memalign valloc malloc; do
  code=0
  SLICE_OPTIONS=page-source=$source "$top_builddir/tests/dropin/test-malloc" \
    -p /slice/malloc/limited-space > "$said" 2>&1 || code=$?
  expect_none "test-malloc at a limit, page-source=$source" \
    "$(test $code = 0 || tail -n 3 "$said")"
done

# --- misuse ---

# misuse MODE KIND SIZE MESSAGE: "" expects that nothing is noticed
misuse ()
{
  code=0
  (exec 2> /dev/null
   SLICE_OPTIONS=$1 LD_PRELOAD=$SLICE_RUN_PRELOAD \
     exec "$top_builddir/tests/dropin/malloc-misuse" "$2" "$3" \
     > "$said" 2>&1) || code=$?
  if test -z "$4"; then
    expect_found "$2 of $3 bytes is not noticed: ${1:-no mode}" \
      'nothing was noticed' "$(cat "$said")"
  else
    expect_found "$2 of $3 bytes: ${1:-no mode}" "^slice: error $4" \
      "$(cat "$said"; echo "ended with $code")"
  fi
}

twice="free: block is free already"
inside="free: not the start of a block"
behind="written to behind its end"
misuse "" twice 100 "101: free: block freed twice in a row"
misuse "" twice 5000 "105: $twice"
misuse "" later 5000 "105: $twice"
misuse "" later 100000 "112: free: not in a slab: freed before"
misuse "" realloc-freed 5000 "105: realloc: block is free already"
misuse "" interior 5000 "104: $inside"
misuse "" interior 100000 "104: $inside"
misuse "" overrun 5000 ""
for mode in checked hardened debug; do
  for size in 100 5000; do
    misuse $mode twice $size "105: $twice"
    misuse $mode later $size "105: $twice"
    misuse $mode interior $size "104: $inside"
    misuse $mode realloc-freed $size "105: realloc: block is free already"
  done
  misuse $mode later 100000 "112: free: not in a slab: freed before"
  misuse $mode later 1000000 "108: free: not a live block"
  misuse $mode overrun 5000 "113: free: $behind"
  misuse $mode overrun 100000 "113: free: $behind"
  misuse $mode overrun 1000000 "113: free: $behind"
  misuse $mode overrun-realloc 5000 "113: realloc: $behind"
  for size in 100 5000 100000 1000000; do
    misuse $mode sized $size "103: free_sized: block freed with a wrong size"
  done
  misuse $mode stack 1 "102: free: not a block of this allocator"
  misuse $mode realloc-stack 100 "102: realloc: not a block of this allocator"
done
misuse hardened overrun 100 "113: free: $behind"
misuse debug overrun 100 "113: free: $behind"
misuse hardened overrun-realloc 100 "113: realloc: $behind"
misuse debug overrun-realloc 100 "113: realloc: $behind"
misuse "" sized 5000 ""
misuse hardened write-freed 100 "115: malloc: written to while it was free"
misuse checked overrun 100 ""

# --- C++ ---

cat > "$temporary/new.cc" <<'END'
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <vector>
struct alignas (64) Wide { char bytes[100]; };
struct Counted
{
  static int live;
  Counted () { live++; }
  ~Counted () { live--; }
  std::string text = std::string (50, 'x');
};
int Counted::live;
static int handled;
static void handler ()
{
  if (++handled == 3)
    std::set_new_handler (nullptr);
}
int main ()
{
  delete new int (5);
  delete[] new Counted[20];
  delete new Wide;
  delete[] new Wide[3];
  delete new (std::nothrow) int;
  Wide *wide = new (std::nothrow) Wide;
  if ((std::uintptr_t) wide % 64 != 0)
    return 1;
  ::operator delete (wide, std::align_val_t (64));
  ::operator delete (::operator new (3000), (std::size_t) 3000);
  std::vector<std::string> strings;
  for (int i = 0; i < 10000; i++)
    strings.push_back (std::to_string (i) + std::string (i % 100, '.'));
  volatile std::size_t much = SIZE_MAX / 4 * 3; // more than PTRDIFF_MAX
  if (::operator new (much, std::nothrow) != nullptr)
    return 2;
  std::set_new_handler (handler);
  try { (void) ::operator new (much); return 3; }
  catch (const std::bad_alloc &) { }
  std::printf ("%d live, handler called %d times\n", Counted::live, handled);
  return 0;
}
END
cat > "$temporary/replaced.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <new>
static int n;
void *operator new (std::size_t size)
{
  n++;
  char *block = (char *) std::malloc (size + 16);
  return block + 16;
}
void operator delete (void *block) noexcept
{
  n--;
  if (block != nullptr)
    std::free ((char *) block - 16);
}
struct Two { long a, b; ~Two () { } };
int main ()
{
  delete new Two;
  delete[] new Two[7];
  delete new (std::nothrow) Two;
  std::printf ("%d\n", n);
  return 0;
}
END
for name in new replaced; do
  if ${CXX:-c++} -std=c++17 -O1 -fno-builtin "$temporary/$name.cc" \
      -o "$temporary/$name" 2> "$said"; then
    for mode in "" hardened; do
      SLICE_OPTIONS=$mode
      export SLICE_OPTIONS
      same "operator new: $name.cc${mode:+, $mode}" "$temporary/$name"
      unset SLICE_OPTIONS
    done
  else
    skip "operator new: $name.cc" "no C++ compiler"
  fi
done

# A block of one malloc must not come to the other's delete.
cat > "$temporary/linked.cc" <<'END'
#include <cstdio>
#include <new>
#include <string>
#include <vector>
int main ()
{
  std::vector<std::string> strings;
  for (int i = 0; i < 1000; i++)
    strings.push_back (std::string (i, 'x'));
  for (int i = 0; i < 1000; i++)
    {
      delete[] new int[i];
      delete new long;
      ::operator delete[] (new (std::nothrow) char[i], std::nothrow);
      ::operator delete (::operator new (i, std::align_val_t (64)), i,
                         std::align_val_t (64));
    }
  std::puts ("done");
  return 0;
}
END
for other in libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4; do
  name="a program that is linked with $other"
  if ${CXX:-c++} -std=c++17 -O1 -fno-builtin "$temporary/linked.cc" \
      -o "$temporary/linked" -Wl,--no-as-needed -l:$other 2> "$said"; then
    code=0
    by_slices "$temporary/linked" > "$said" 2>&1 || code=$?
    expect_found "$name" '^done$' "$(cat "$said"; echo "ended with $code")"
  else
    skip "$name" "it is not installed"
  fi
done

# --- sanitizers ---

# Their runtimes call malloc and free before they, and we, are ready.
cat > "$temporary/threads.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work (void *data)
{
  for (int i = 1; i < 1000; i++)
    free (realloc (malloc (i), 2 * i));
  return data;
}
int main (void)
{
  pthread_t thread;
  pthread_create (&thread, NULL, work, NULL);
  work (NULL);
  pthread_join (thread, NULL);
  puts ("done");
  return 0;
}
END
for sanitizer in address leak thread; do
  name="a program with -fsanitize=$sanitizer"
  if $CC -fsanitize=$sanitizer -pthread "$temporary/threads.c" \
      -o "$temporary/sanitized" 2> "$said" \
      && "$temporary/sanitized" > "$said" 2>&1; then
    code=0
    by_slices "$temporary/sanitized" > "$said" 2>&1 || code=$?
    expect_found "$name" '^done$' "$(cat "$said"; echo "ended with $code")"
  else
    skip "$name" "it does not run here without us"
  fi
done

# --- a limited address space ---

# (The shell itself is not under the drop-in.)
(ulimit -v 150000 && by_slices sort -n "$temporary/numbers" | cksum) \
  > "$said" 2>&1
expect_found "sort in 150 MB of addresses" \
  "^$(sort -n "$temporary/numbers" | cksum)\$" "$(cat "$said")"

# --- with the other drop-ins ---

SLICE_RUN_PRELOAD=$libslice:$dropin:$gslice
if test -x "$top_builddir/tests/dropin/border"; then
  for mode in "" checked; do
    code=0
    SLICE_OPTIONS=$mode by_slices "$top_builddir/tests/dropin/border" 2000 \
      > "$said" 2>&1 || code=$?
    expect_found "with the g_slice drop-in, blocks cross the border${mode:+, \
$mode}" '^ended with 0$' "$(cat "$said"; echo "ended with $code")"
  done
fi

# One slice-run within the other, as the manual says: both are preloaded.
nested () # options of the outer one, of the inner one, program...
(
  outer=$1
  inner=$2
  shift 2
  unset SLICE_RUN_PRELOAD
  sh "$slice_run" $outer sh "$slice_run" $inner "$@"
)
for order in "--malloc " " --malloc"; do
  outer=${order% *}
  inner=${order#* }
  expect_found "slice-run $outer slice-run $inner: both are preloaded" '^2$' \
    "$(nested "$outer" "$inner" printenv LD_PRELOAD | tr : '\n' \
      | grep -c 'slice-gslice\.so$\|slice-malloc\.so$')"
  test -x "$top_builddir/tests/clients/border" || continue
  for mode in "" checked hardened; do
    code=0
    SLICE_OPTIONS=$mode nested "$outer" "$inner" \
      "$top_builddir/tests/clients/border" 2000 > "$said" 2>&1 || code=$?
    expect_found "slice-run $outer slice-run $inner: blocks cross the border\
${mode:+, $mode}" '^ended with 0$' "$(cat "$said"; echo "ended with $code")"
  done
done

SLICE_RUN_PRELOAD=$libslice:$dropin
for program in tests/context/free/test-ralloc-free \
    tests/context/test-ralloc-string tests/arena/linear/test-linear; do
  test -x "$top_builddir/$program" || continue
  code=0
  by_slices "$top_builddir/$program" > "$said" 2>&1 || code=$?
  expect_none "$program under it" \
    "$(test $code = 0 || grep -v '^ok' "$said" | tail -n 5)"
done

finish
