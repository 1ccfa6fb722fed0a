#!/bin/sh
# check-fortify.sh - the bytes that may be used of a block may be used in a
# program that is compiled with _FORTIFY_SOURCE, too
#
# The compiler knows by alloc_size what was asked for, and glibc's memset ends
# the program where it passes that.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../check-lib.sh"

lib=$(cd "$top_builddir" && pwd)/slice/.libs
library=$lib/libslice.so
test -f "$library" || library=$lib/libslice.a # --disable-shared
export LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
case $CC in
*-fsanitize*) skip_all "the compiler's flags are special: $CC" ;;
esac
compilers=
for compiler in "$CC" gcc clang; do
  command -v "${compiler##* }" > /dev/null \
    && case " $compilers " in
       *" ${compiler##* } "*) ;;
       *) compilers="$compilers ${compiler##* }" ;;
       esac
done

cat > "$temporary/use.c" <<'EOF'
#include <stdlib.h>
#include <slice/libslice.h>

#ifdef UNKNOWING
# define slice_block_size slice_block_size_v1
# define ralloc_usable_size ralloc_usable_size_v1
# define slice_tlsf_object_bytes slice_tlsf_object_bytes_v1
#endif

static int
use_slices (size_t size)
{
  char *block = slice_alloc (size), *wide = slice_alloc_aligned (64, size);
  char *constant = slice_alloc (13);

  memset (block, 1, slice_block_size (block));
  memset (wide, 1, slice_block_size (wide));
  memset (constant, 1, slice_block_size (constant));
  if (slice_block_size (block) < size || slice_block_size (constant) < 13)
    return 1;
  slice_free1 (13, constant);
  slice_free_aligned (64, size, wide);
  slice_free1 (size, block);
  return 0;
}

static int
use_nodes (size_t size)
{
  void *root = ralloc_context (NULL);
  char *node = ralloc_size (root, size);
  char *array = ralloc_array_size (root, size, 1); /* is not inline */

  memset (node, 1, ralloc_usable_size (node));
  memset (array, 1, ralloc_usable_size (array));
  if (ralloc_usable_size (node) < size || ralloc_usable_size (NULL) != 0)
    return 2;
  ralloc_free (root);
  return 0;
}

static int
use_tlsf (size_t size)
{
  SliceTlsf *tlsf = slice_tlsf_new (NULL);
  char *object = slice_tlsf_alloc (tlsf, size);

  memset (object, 1, slice_tlsf_object_bytes (tlsf, object));
  if (slice_tlsf_object_bytes (tlsf, object) < size)
    return 3;
  slice_tlsf_destroy (tlsf);
  return 0;
}

int
main (int argc, char **argv)
{
  size_t size = (size_t) atoi (argv[argc - 1]);

  switch (argv[1][0])
    {
    case 's':
      return use_slices (size);
    case 'n':
      return use_nodes (size);
    default:
      return use_tlsf (size);
    }
}
EOF

# build COMPILER FLAG...
build ()
{
  compiler=$1
  shift
  $compiler "$@" -I"$top_builddir" -I"$top_srcdir" "$temporary/use.c" \
    -o "$temporary/use" "$library" -lpthread -lm > "$temporary/log" 2>&1
}

for compiler in $compilers; do
  for optimization in -O0 -O1 -O2 -O3; do
    for level in 2 3; do
      name="$compiler $optimization, level $level"
      if ! build $compiler $optimization -D_FORTIFY_SOURCE=$level; then
        fail "$name: builds" "$(head -n 5 "$temporary/log")"
        continue
      fi
      said=$(for what in slices nodes tlsf; do
               for size in 1 13 100 1001 3000; do
                 "$temporary/use" $what $size 2>&1 \
                   || echo "$what of $size: status $?"
               done
             done)
      expect_none "$name: what may be used is used" "$said"
    done
  done
done

# Can it fail?  With what the library alone knows the program ends.
if echo '#include <features.h>
#if __USE_FORTIFY_LEVEL < 3
# error no level 3
#endif' | $CC -x c -O2 -D_FORTIFY_SOURCE=3 -c -o "$temporary/level.o" - \
  2> /dev/null; then
  for what in slices nodes tlsf; do
    build "$CC" -O2 -D_FORTIFY_SOURCE=3 -DUNKNOWING
    expect_found "$what: more than was asked for is seen" "buffer overflow" \
      "$("$temporary/use" $what 13 2>&1)"
  done
else
  skip "more than was asked for is seen" "no level 3 here"
fi
finish
