#!/bin/sh
# test-predict.sh - slice-trace predict, and the library that tries an arena
#
# What is tried, on how many blocks, and that the program works as before; no
# test here depends on how long something takes.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

trial=$build/slice/dropin/.libs/slice-trace-trial.so
test -f "$trial" || skip_all "no shared libraries were built"
unset SLICE_ADVICE SLICE_TRIAL SLICE_TRIAL_COUNT SLICE_OPTIONS LD_PRELOAD
compile tried tried.c -O2 -Wl,--build-id=sha1 -lpthread
record "$work/tried.trace" "$work/tried"
record "$work/threads.trace" "$work/tried" threads

predict () # option...: "out" and "err"
{
  "$trace" predict -n 5 "$@" "$work/tried.trace" "$work/tried" \
    > "$work/out" 2> "$work/err"
}

# --- what it prints ---

predict --site list_item
equal "list: status" $? 0
equal "list: the site and its arena" "$(sed -n 1p "$work/out")" \
  "site     list_item: Linear good; tried on: linear"
equal "list: its calls" "$(sed -n '2s/;.*//p' "$work/out")" \
  "calls    20000 allocations, 20000 frees"
equal "list: time and memory" "$(sed -n 's/ .*//p' "$work/out" | tr '\n' ' ')" \
  "site calls frees time memory runs "
equal "list: the loop that only frees is measured" \
  "$(awk '$1 == "frees" { print $2 }' "$work/out")" 19800
# the program's memory hardly changes
equal "list: memory is inconclusive" "$(awk '$1 == "memory" { print $2 }' \
  "$work/out")" "inconclusive:"
predict --site queue_item --as pool
equal "queue: a pool of what is largest" "$(sed -n 1p "$work/out")" \
  "site     queue_item: Pool; tried on: pool 24"
predict --site queue_item --as slice
equal "queue: slices" "$(sed -n 1p "$work/out")" \
  "site     queue_item: Pool; tried on: slice"
predict --site queue_item --as context
equal "queue: nodes of a context" "$(sed -n 1p "$work/out")" \
  "site     queue_item: Pool; tried on: context"
predict --site list_item --site queue_item --as pool
equal "both: all their calls" "$(sed -n '2s/ frees;.*//p' "$work/out")" \
  "calls    40000 allocations, 39900"
# no more than the program takes, if it is predicted
equal "both: no more than all" "$(awk '$1 == "time" {
  print $2 == "inconclusive:" || $4 <= 100 }' "$work/out")" 1

# the beginning and the end of a name
predict --site '^list_item$'
equal "a whole name" "$(sed -n '1s/:.*//p' "$work/out")" "site     list_item"
for text in '^item' 'list$' '^list_ite$' '^ist_item$'; do
  predict --site "$text"
  equal "$text is no site" $? 3
done

# 48 bytes each with malloc, 32 in an arena
cat > "$work/many.c" << 'END'
#include <stdlib.h>
int main (void)
{
  void **last = NULL;
  for (int i = 0; i < 300000; i++)
    {
      void **block = malloc (25);
      *block = last;
      last = block;
    }
  return last == NULL;
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/many.c" -o "$work/many" || exit 1
record "$work/many.trace" "$work/many"
"$trace" predict -n 5 "$work/many.trace" "$work/many" > "$work/out" 2>&1
equal "memory is predicted" "$(awk '$1 == "memory" {
  print $3, ($2 <= 4687), ($4 >= 4687) }' "$work/out")" "to 1 1"

# The trace's counts are not those of a run of another size.
cat > "$work/sized.c" << 'END'
#include <stdlib.h>
int main (int argc, char **argv)
{
  int n = argc > 1 ? atoi (argv[1]) : 0;
  for (int i = 0; i < n; i++)
    {
      char *volatile block = malloc (40);
      free (block);
    }
  return 0;
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/sized.c" -o "$work/sized" || exit 1
record "$work/sized.trace" "$work/sized" 3000
for arena in linear stack pool slice context; do
  "$trace" predict -n 5 --site main --as $arena "$work/sized.trace" \
    "$work/sized 20000" > "$work/out" 2>&1
  equal "$arena: the run is larger" "$? $(grep -c \
    '20000 blocks were allocated, and 3000 in the trace.*no prediction$' \
    "$work/out")" "3 1"
done
"$trace" predict -n 5 --site main --as stack "$work/sized.trace" \
  "$work/sized 200" \
  > "$work/out" 2>&1
equal "the run is smaller" "$? $(grep -c '3000 .* 200 .*no prediction$' \
  "$work/out")" "3 1"

# The arena has its memory as in the changed program, which keeps the pages of
# a pool that is empty for a while: in as many page faults, not counting those
# of the libraries' start.
cat > "$work/rounds.c" << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#ifdef CHANGED
#include <slice/arena.h>
#endif
int main (void)
{
  static void *blocks[100000];
  struct rusage used;
#ifdef CHANGED
  SlicePool *pool = slice_pool_new_plain (56);
#define malloc(size) slice_pool_alloc (pool)
#define free(block) slice_pool_free (pool, block)
#endif
  for (int round = 0; round < 3; round++)
    {
      for (int i = 0; i < 100000; i++)
        *(int *) (blocks[i] = malloc (56)) = i;
      for (int i = 0; i < 100000; i++)
        free (blocks[i]);
    }
  getrusage (RUSAGE_SELF, &used);
  printf ("%ld\n", used.ru_minflt);
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/rounds.c" -o "$work/rounds" || exit 1
$CC -O2 -DCHANGED -I"$source" -I"$build" "$work/rounds.c" -o "$work/changed" \
  "$build/slice/.libs/libslice.a" -lpthread -ldl || exit 1
record "$work/rounds.trace" "$work/rounds"
"$trace" apply --all -o "$work/rounds.advice" "$work/rounds.trace" \
  2> /dev/null
faults=$(LD_PRELOAD="$build/slice/.libs/libslice.so.0:$trial" \
  SLICE_TRIAL="pool 56" SLICE_ADVICE=$work/rounds.advice "$work/rounds")
changed=$("$work/changed")
equal "page faults as in the changed program" \
  "$((faults < changed + changed / 4 + 400))" 1
echo "# $faults, and $changed in the changed program"
# a context goes with the last block of a burst, and its memory is used again
faults=$(LD_PRELOAD="$build/slice/.libs/libslice.so.0:$trial" \
  SLICE_TRIAL=context SLICE_ADVICE=$work/rounds.advice "$work/rounds")
equal "contexts are freed" "$((faults < 2 * changed))" 1
echo "# $faults with contexts"

# free (NULL) frees no other block: a loop with it only frees
cat > "$work/nulls.c" << 'END'
#include <stdlib.h>
typedef struct { void *next, *volatile text, *volatile name; } Item;
int main (void)
{
  Item *last = NULL;
  for (int i = 0; i < 5000; i++)
    {
      Item *item = calloc (1, sizeof *item);
      item->next = last;
      last = item;
    }
  while (last != NULL)
    {
      Item *next = last->next;
      free (last->text);
      free (last->name);
      free (last);
      last = next;
    }
  return 0;
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/nulls.c" -o "$work/nulls" || exit 1
record "$work/nulls.trace" "$work/nulls"
"$trace" predict -n 5 --as linear "$work/nulls.trace" "$work/nulls" \
  > "$work/out" 2>&1
equal "a loop that frees no block besides only frees" \
  "$(awk '$1 == "frees" { print $2 }' "$work/out")" 4999

# A context is that of the blocks which are freed together, also before the first
# is freed, and where two are filled in turn.
cat > "$work/owners.c" << 'END'
#include <stdlib.h>
typedef struct { void *blocks[50]; } Owner;
static Owner owners[40];
static void __attribute__ ((noinline)) fill (Owner *one, Owner *other)
{
  for (int k = 0; k < 50; k++)
    {
      one->blocks[k] = malloc (24);
      other->blocks[k] = malloc (40);
    }
}
int main (void)
{
  for (int i = 0; i < 400; i += 2)
    {
      for (int o = 0; o < 2 && i >= 40; o++)
        for (int k = 0; k < 50; k++)
          free (owners[(i + o) % 40].blocks[k]);
      fill (&owners[i % 40], &owners[(i + 1) % 40]);
    }
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/owners.c" -o "$work/owners" || exit 1
record "$work/owners.trace" "$work/owners"
"$trace" predict -n 5 --site fill --as context "$work/owners.trace" \
  "$work/owners" > "$work/out" 2>&1
equal "owners: each is freed with its last block" "$(sed -n '2s/;.*//p
  3s/ in .*//p' "$work/out" | tr '\n' ' ')" \
  "calls    20000 allocations, 18000 frees frees    18000 "

# the sites of one function, which has two calls of malloc, go together
cat > "$work/twice.c" << 'END'
#include <stdlib.h>
int main (void)
{
  for (int i = 0; i < 500; i++)
    {
      void *volatile a[9], *volatile b[9];
      for (int k = 0; k < 9; k++)
        { a[k] = malloc (24); b[k] = malloc (40); }
      for (int k = 0; k < 9; k++)
        { free (a[k]); free (b[k]); }
    }
}
END
$CC -O2 -g -Wl,--build-id=sha1 "$work/twice.c" -o "$work/twice" || exit 1
record "$work/twice.trace" "$work/twice"
"$trace" predict -n 5 "$work/twice.trace" "$work/twice" > "$work/out" 2>&1
equal "sites of one name go together" "$(sed -n '1s/:.*//p; 2s/;.*//p' \
  "$work/out" | tr '\n' ' ')" \
  "site     main, and others calls    9000 allocations, 9000 frees "

# --- a trace that lost its last bytes: what is left is tried ---
head -c $(($(wc -c < "$work/tried.trace") - 10)) "$work/tried.trace" \
  > "$work/cut.trace"
"$trace" predict -n 5 --site list_item "$work/cut.trace" "$work/tried" \
  > "$work/out" 2> "$work/err"
equal "a damaged trace" "$? $(grep -c damaged "$work/err") $(sed -n \
  '2s/;.*//p' "$work/out")" "4 1 calls    20000 allocations, 20000 frees"

# --- what it refuses ---

predict --site nothing_of_that_name
equal "no such site" "$? $(cat "$work/err")" \
  "3 slice-trace: no site has that name"
predict --site "main ("
equal "too few calls" "$? $(cat "$work/err")" \
  "3 slice-trace: the sites of that name allocate too rarely"
"$trace" predict -n 5 --site list_item "$work/threads.trace" \
  "$work/tried threads" > "$work/out" 2> "$work/err"
equal "threads" "$? $(cat "$work/err")" \
  "3 slice-trace: several threads have the blocks of the site, and a trial is for one thread"
# last allocated, first freed
cat > "$work/last.c" << 'END'
#include <stdlib.h>
int main (void)
{
  static void *blocks[4000];
  unsigned random = 1;
  int n = 0;
  for (int i = 0; i < 200000; i++)
    {
      random = random * 1103515245u + 12345u;
      if ((random >> 16) % 2 && n < 4000)
        blocks[n++] = malloc (16 + (random >> 20) % 48);
      else if (n > 0)
        free (blocks[--n]);
    }
  while (n > 0)
    free (blocks[--n]);
  return 0;
}
END
$CC -O1 -g -o "$work/last" "$work/last.c"
record "$work/last.trace" "$work/last"
"$trace" predict -n 5 --site main "$work/last.trace" "$work/last" \
  > "$work/out" 2> "$work/err"
equal "a stack" "$? $(sed -n 1p "$work/out")" \
  "0 site     main: Stack; tried on: stack"
# freed in any order, and in any size: no arena of this class can be tried
sed 's/free (blocks\[--n\]);/{ int k = (random >> 9) % n; free (blocks[k]);\
          blocks[k] = blocks[--n]; }/; s/% 48/% 3000/' "$work/last.c" \
  > "$work/any.c"
$CC -O1 -g -o "$work/any" "$work/any.c"
record "$work/any.trace" "$work/any"
"$trace" predict -n 5 --site main "$work/any.trace" "$work/any" \
  > "$work/out" 2> "$work/err"
equal "any order: which classes have an arena" "$? $(sed 's/(Linear bad.*c)/()/
  s/(General)/()/' "$work/err")" \
  "3 slice-trace: main: its class () has no arena that can be tried, \
only immortal, linear, linear-fair, stack, stack-lazy, owner, pool and slice \
have: choose one (--as)"
"$trace" predict -n 5 "$work/any.trace" "$work/any" \
  > "$work/out" 2> "$work/err"
equal "any order: no other site" "$? $(cat "$work/err")" \
  "3 slice-trace: no site has a class that has an arena: choose a site (--site) \
and one (--as)"
# 3000 bytes are too many for a slice
sed 's/16 + (random >> 20) % 48/3000/' "$work/last.c" > "$work/large.c"
$CC -O1 -g -o "$work/large" "$work/large.c"
record "$work/large.trace" "$work/large"
"$trace" predict -n 5 --as slice --site main "$work/large.trace" \
  "$work/large" > "$work/out" 2> "$work/err"
equal "blocks that are no slices" "$? $(cat "$work/err")" \
  "3 slice-trace: main: a block has 3000 bytes, and a slice at most 2064"
predict --as tree
equal "no such arena" "$? $(cat "$work/err")" \
  '2 slice-trace: --as: "linear", "stack", "pool", "slice" or "context"'
"$trace" predict -n 5 --site list_item "$work/tried.trace" "exit 3" \
  > "$work/out" 2> "$work/err"
equal "a command that fails" "$? $(cat "$work/err")" \
  '126 slice-trace: "exit 3" did not succeed (status 3)'
"$trace" compare -n 3 /no-such-program true > "$work/out" 2> "$work/err"
equal "a command that is not found" "$? $(tail -n 1 "$work/err")" \
  '127 slice-trace: "/no-such-program" did not succeed (status 127)'
"$trace" predict -n 5 --site list_item "$work/tried.trace" /bin/true \
  > "$work/out" 2> "$work/err"
equal "another program" "$? $(cat "$work/err")" \
  "3 slice-trace: of 20000 blocks only 0 can be found in the unchanged program: no prediction"

# the libraries lie where LD_PRELOAD can't name them
real=$build/slice/tools/.libs/slice-trace
test -f "$real" || real=$trace
for folder in "a space" a:colon
do
  mkdir -p "$work/$folder/tools" "$work/$folder/dropin/.libs" \
    "$work/$folder/.libs"
  cp "$real" "$work/$folder/tools"
  cp "$trial" "$work/$folder/dropin/.libs"
  cp "$build/slice/.libs/libslice.so.0" "$work/$folder/.libs"
  LD_LIBRARY_PATH=$build/slice/.libs \
    "$work/$folder/tools/slice-trace" predict -n 5 --site list_item \
    "$work/tried.trace" "$work/tried" > "$work/out" 2> "$work/err"
  equal "libraries in '$folder'" "$? $(grep -c "/$folder/.*: LD_PRELOAD can \
not hold a path" "$work/err") $(wc -l < "$work/err")" "124 1 1"
done

# --- the program works as before ---

"$trace" apply --all -o "$work/all.advice" "$work/tried.trace"

served () # arena: the output, and the blocks that it has had
{
  : > "$work/count"
  LD_PRELOAD="$build/slice/.libs/libslice.so.0:$trial" SLICE_TRIAL=$1 \
    SLICE_ADVICE=$work/all.advice SLICE_TRIAL_COUNT=$work/count \
    "$work/tried" 2>&1
  sed 's/ .*//' "$work/count"
}

equal "on malloc" "$(served malloc | tr '\n' ' ')" "0 wrong 0 "
# all sites in one arena: a list, a queue, texts that realloc() moves, and the
# buffer of standard output
equal "on a linear arena" "$(served linear | tr '\n' ' ')" "0 wrong 40201 "
# (the queue's items are freed from below, and released when the rest is)
equal "on a stack" "$(served stack | tr '\n' ' ')" "0 wrong 40201 "
equal "on a pool" "$(served "pool 24" | tr '\n' ' ')" "0 wrong 40200 "
equal "on slices" "$(served slice | tr '\n' ' ')" "0 wrong 40200 "
equal "on a context" "$(served context | tr '\n' ' ')" "0 wrong 40200 "
equal "on a pool that is too small" "$(served "pool 16" | tr '\n' ' ')" \
  "0 wrong 200 "

# Each slice has its own class: 16 bytes, and 500 in 512, at one site.
cat > "$work/sizes.c" << 'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 20000
static unsigned char *blocks[N];
static size_t size_of (int i) { return i % 50 == 0 ? 500 : 16; }
int main (void)
{
  size_t usable = 0;
  int n_wrong = 0;
  for (int round = 0; round < 5; round++)
    {
      for (int i = 0; i < N; i++)
        {
          blocks[i] = malloc (size_of (i));
          memset (blocks[i], i, size_of (i));
          usable += malloc_usable_size (blocks[i]);
        }
      for (int i = 0; i < N; i++)
        {
          for (size_t k = 0; k < size_of (i); k++)
            n_wrong += blocks[i][k] != (unsigned char) i;
          free (blocks[i]);
        }
    }
  printf ("%zu %d\n", usable, n_wrong);
}
END
$CC -O2 -g -fno-builtin -Wl,--build-id=sha1 "$work/sizes.c" -o "$work/sizes" \
  || exit 1
record "$work/sizes.trace" "$work/sizes"
"$trace" apply --all -o "$work/sizes.advice" "$work/sizes.trace" 2> /dev/null
equal "slices of two sizes" "$(LD_PRELOAD="$build/slice/.libs/libslice.so.0:\
$trial" SLICE_TRIAL=slice SLICE_ADVICE=$work/sizes.advice "$work/sizes")" \
  "$((5 * (19600 * 16 + 400 * 512))) 0"
"$trace" predict -n 5 --site main --as slice "$work/sizes.trace" \
  "$work/sizes" > "$work/out" 2>&1
equal "slices of two sizes are tried" "$(sed -n '1s/.*tried/tried/p; 2s/;.*//p' \
  "$work/out" | tr '\n' ' ')" \
  "tried on: slice calls    100000 allocations, 100000 frees "

# --- compare counts as predict does ---

"$trace" compare -n 3 --medians true true > "$work/out"
equal "compare --medians" "$? $(sed -n 's/ .*//p' "$work/out" | tr '\n' ' ')" \
  "0 time memory "

finish
