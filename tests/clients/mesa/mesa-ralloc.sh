#!/bin/sh
# mesa-ralloc.sh - Mesa's GLSL compiler on our contexts
#
# Fetches Debian's source package of Mesa 22.3, builds its stand-alone
# glsl_compiler as it is, links it once more with libslice-ralloc in place of
# Mesa's own ralloc.o and nothing else changed, and compares: the output on
# every shader of some Debian packages (byte by byte, but for the addresses
# that Mesa prints), instructions, CPU time, peak memory,
# what two threads get done, and what a heap full of others' blocks costs.
# Beside them stand two allocators that do nothing but hand memory out
# (mesa-limit.h).
#
# usage: mesa-ralloc.sh LIBDIR [WORKDIR [ROUNDS]]
#   LIBDIR   where libslice.so and libslice-ralloc.so are
#   WORKDIR  kept from run to run; default ./mesa
#   ROUNDS   timed runs of each, interleaved; default 15
#
# Needs the Debian packages meson ninja-build python3-mako bison flex
# pkg-config zlib1g-dev libexpat1-dev, valgrind for the instructions, and
# network for apt; no root, and apt's own lists are not touched.
#
# SPDX-License-Identifier: MIT

set -eu

lib=$(cd "$1" && pwd)
mkdir -p "${2:-mesa}"
work=$(cd "${2:-mesa}" && pwd)
rounds=${3:-15}
here=$(cd "$(dirname "$0")" && pwd)
PATH=/usr/bin:$PATH
export PATH

say () { printf '%s\n' "$*"; }

# --- sources and shaders, by apt with lists of its own -----------------------

. "$here/../apt-lists.sh"

fetch ()
{
  mkdir -p "$work/debs"
  apt_lists "$work/apt"
  (cd "$work" && apt-get -q source --download-only mesa)
  (cd "$work/debs" && apt-get -q download glmark2-data kodi-data \
     kodi-screensaver-shadertoy kodi-visualization-shadertoy piglit)
  unset APT_CONFIG
  (cd "$work" && tar xf mesa_22.3.*.orig.tar.*)
  for deb in "$work"/debs/*.deb; do
    case $deb in
      */piglit_*) # 2 GB: only the largest shaders
        mkdir -p "$work/piglit"
        dpkg --fsys-tarfile "$deb" | tar x -C "$work/piglit" --wildcards \
          "*/$selection" "*/$pack"
        ;;
      *) dpkg -x "$deb" "$work/shaders" ;;
    esac
  done
}

# The largest shaders of all these packages: of those that are files of their
# own, and of those in piglit's tests.
selection=glsl-1.20/compiler/built-in-functions/op-selection-bool-bvec4-bvec4.frag
pack=arb_shading_language_packing/execution/built-in-functions/const-packHalf2x16.shader_test

test -d "$work/piglit" || fetch

# --- stock ---------------------------------------------------------------------

source=$(ls -d "$work"/mesa-22.3.*/ | head -n 1)
build=$work/build
if ! test -f "$build/build.ninja"; then
  meson setup "$build" "$source" -Dplatforms= -Dglx=disabled -Degl=disabled \
    -Dgbm=disabled -Dopengl=true -Dgles1=disabled -Dgles2=disabled \
    -Dgallium-drivers=swrast -Dvulkan-drivers= -Dtools=glsl \
    -Dllvm=disabled -Dshared-glapi=enabled -Dvalgrind=disabled \
    -Dlibunwind=disabled -Dlmsensors=disabled -Dzstd=disabled \
    -Db_ndebug=true -Dbuildtype=release
fi
ninja -C "$build" src/compiler/glsl/glsl_compiler
cp "$build/src/compiler/glsl/glsl_compiler" "$work/glsl-stock"

# --- ours: the same objects without ralloc.c.o -----------------------------------

cd "$build"
rm -f "$work/libmesa_util.a"
ar rcs "$work/libmesa_util.a" \
  $(ar t src/util/libmesa_util.a | grep -v '/ralloc.c.o$')
names=$(find src/util -name ralloc.c.o -exec nm --defined-only {} \; \
  | sed -n 's/.* T //p' | sort -u)
exported=$(nm -D --defined-only "$lib/libslice-ralloc.so" \
  | sed -n 's/.* T \([a-z_]*\).*/\1/p' | sort -u)
missing=$(for name in $names; do
            say "$exported" | grep -qx "$name" || say "$name"
          done)
say "$(say "$names" | wc -l) functions in Mesa's ralloc.o, missing in ours:" \
    "${missing:-none}"
link=$(ninja -t commands src/compiler/glsl/glsl_compiler | tail -n 1)
main=src/compiler/glsl/glsl_compiler.p/main.cpp.o
compile=$(ninja -t commands "$main" | tail -n 1)

# relink NAME OBJECT stock|ours|bare|bump
relink ()
{
  command=$(printf "%s\n" "$link" | sed \
    -e "s#-o src/compiler/glsl/glsl_compiler #-o $work/$1 #" \
    -e "s#$main#$2#")
  case $3 in
    stock) without= ;;
    ours) without="-L$lib -lslice-ralloc -lslice -Wl,-rpath,$lib" ;;
    *) without=$work/$3.o ;;
  esac
  test -z "$without" || command=$(say "$command" | sed \
    -e "s#src/util/libmesa_util.a#$work/libmesa_util.a#" \
    -e "s#-pthread#$without -pthread#")
  sh -c "$command"
}

relink glsl-ours "$main" ours
sh -c "$(say "$compile" | sed -e "s#-o $main#-o $work/many.o#" \
  -e "s#-c [^ ]*main.cpp#-I$source/src/compiler/glsl -c $here/mesa-many.cpp#" \
  -e 's#-M[DQF] [^ ]*main.cpp[^ ]*##g' -e 's#-MD##')"
relink many-stock "$work/many.o" stock
relink many-ours "$work/many.o" ours
cc -O2 -o "$work/measure" "$here/../measure.c"

# --- a scale to hold ours against --------------------------------------------

# Mesa's own ralloc.c with a header of 32 bytes, on an allocator that does
# nothing for anybody (bare), and on one that never frees (bump).
ralloc_c=$source/src/util/ralloc.c
object=$(ninja -t targets all \
  | sed -n 's#^\(src/util/[^:]*/ralloc\.c\.o\):.*#\1#p')
sed -e '/^   void (\*destructor)(void \*);$/d' -e '/info->destructor = NULL;/d' \
  -e 's/^   if (info->destructor != NULL)$/   if (limit_n_destructors != 0)/' \
  -e 's/info->destructor(\(.*\));$/limit_destroy (\1);/' \
  -e 's/info->destructor = destructor;/limit_set_destructor (ptr, destructor);/' \
  "$ralloc_c" > "$work/ralloc-limit.c"
if grep -q -e 'info->destructor' -e '^   void (\*destructor)(void \*);$' \
     "$work/ralloc-limit.c"; then
  say "Mesa's ralloc.c is not as it was: no 32-byte header" >&2
  exit 1
fi
for limit in bare bump; do
  flags="-I$source/src/util -include $here/mesa-limit.h"
  test $limit = bare || flags="$flags -DLIMIT_BUMP"
  sh -c "$(ninja -t commands "$object" | tail -n 1 | sed \
    -e "s#-o $object#-o $work/$limit.o#" -e 's#-M[DQF] [^ ]*ralloc.c[^ ]*##g' \
    -e "s#-c [^ ]*ralloc.c#$flags -c $work/ralloc-limit.c#" -e 's#-MD##')"
  relink glsl-$limit "$main" $limit
  relink many-$limit "$work/many.o" $limit
done

# --- the shaders --------------------------------------------------------------------

mkdir -p "$work/in"
rm -f "$work/in"/*
toys=$work/shaders/usr/share/kodi/addons/screensaver.shadertoy/resources/shaders
# What the screen saver puts around a shader of shadertoy.com.
toy ()
{
  cat <<TOY
#version 130
uniform vec3 iResolution; uniform float iGlobalTime; uniform float iTime;
uniform float iChannelTime[4]; uniform vec4 iMouse; uniform vec4 iDate;
uniform float iSampleRate; uniform vec3 iChannelResolution[4];
uniform sampler2D iChannel0; uniform sampler2D iChannel1;
uniform sampler2D iChannel2; uniform sampler2D iChannel3;
TOY
  cat "$1"
  say 'void main (void) { mainImage (gl_FragColor, gl_FragCoord.xy); }'
}
for file in "$toys"/*.frag.glsl; do
  case $file in
    */main_*) ;;
    *) toy "$file" > "$work/in/$(basename "$file" .frag.glsl).frag" ;;
  esac
done
for file in "$work"/shaders/usr/share/glmark2/shaders/*.frag \
            "$work"/shaders/usr/share/glmark2/shaders/*.vert; do
  cp "$file" "$work/in/glmark2-$(basename "$file")"
done
# The two largest, kept out of what many programs compile.
mkdir -p "$work/large"
find "$work/piglit" -name '*.frag' -exec cp {} "$work/large" \;
pack_vert=$work/large/const-packHalf2x16.vert
{
  say '#version 130'
  find "$work/piglit" -name '*.shader_test' -exec cat {} \; \
    | sed -n '/^\[vertex shader\]/,/^\[fragment shader\]/{/^\[/!p}'
} > "$pack_vert"
largest=$work/large/$(basename "$selection")
large=$work/in/realityplasma.frag   # the longest that somebody wrote
small=$work/in/glmark2-ideas-under-table.frag # the shortest
fp64=$work/in/float64.frag          # Mesa's own, longer still
cp "$source/src/compiler/glsl/float64.glsl" "$fp64"

# --- identical? ------------------------------------------------------------------------

plain () { sed 's/@0x[0-9a-f]*/@/g'; }
n=0
differ=0
failed=0
for file in "$work"/in/* "$work"/large/*; do
  for version in 130 330 460; do
    n=$((n + 1))
    "$work/glsl-stock" --version $version --link --dump-lir "$file" \
      > "$work/out" 2>&1 || failed=$((failed + 1))
    plain < "$work/out" > "$work/out-stock"
    "$work/glsl-ours" --version $version --link --dump-lir "$file" \
      > "$work/out" 2>&1 || :
    plain < "$work/out" > "$work/out-ours"
    cmp -s "$work/out-stock" "$work/out-ours" || {
      differ=$((differ + 1))
      say "differs: $file, version $version"
    }
  done
done
say "$n outputs compared, $differ differ ($failed are error messages)"

# --- instructions --------------------------------------------------------------------------

# (Valgrind counts `rep stosb` as an instruction a byte: the 270 KB that the
# compiler clears for each program were 5 % of all.  So memset() has to
# use plain stores.)
count ()
{
  GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000 \
  SLICE_OPTIONS=force-pool valgrind --tool=callgrind \
    --callgrind-out-file=/dev/null "$@" 2>&1 > /dev/null \
    | sed -n 's/.*Collected : //p'
}
ratio ()
{
  awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b / a }'
}
# count_all TITLE glsl|many ARGUMENT...: of each build
count_all ()
{
  title=$1 program=$2
  shift 2
  a=$(count "$work/$program-stock" "$@")
  said="$a stock"
  for b in ours bare bump; do
    n=$(count "$work/$program-$b" "$@")
    said="$said, $n $b ($(ratio "$a" "$n"))"
  done
  say "instructions, $title: $said"
}
if command -v valgrind > /dev/null; then
  for file in "$pack_vert" "$largest" "$large" "$fp64" "$small"; do
    version=130
    test "$file" = "$fp64" && version=460
    count_all "$(basename "$file")" glsl --version $version --link \
      --dump-lir "$file"
  done
  count_all 'many programs' many 1 130 "$work"/in/[a-z]*.frag
fi

# --- time and memory, interleaved -------------------------------------------------------------

python3 - "$work" "$rounds" "$pack_vert" "$largest" "$large" "$fp64" "$small" <<'PYTHON'
import glob, os, statistics, subprocess, sys

work, rounds = sys.argv[1], int(sys.argv[2])
preloads = {"": {}}
for name in ("jemalloc.so.2", "mimalloc.so.2.0"):
    found = glob.glob("/usr/lib/*/lib" + name)
    if found:
        preloads["+" + name.split(".")[0]] = {"LD_PRELOAD": found[0]}
builds = ("stock", "ours", "bare", "bump")
settings = dict(preloads)
settings["+huge-pages"] = {"SLICE_OPTIONS": "huge-pages=2"}


# CPU seconds, peak KiB and seconds of one run.  By way of a small program:
# a process's peak counts what it was before its exec, and that is Python.
def run(command, extra):
    env = dict(os.environ, **extra)
    subprocess.run([work + "/measure", work + "/figures"] + command, env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(work + "/figures") as figures:
        user, system, wall, peak = figures.read().split()
    return float(user) + float(system), int(peak), float(wall)


def compare(title, commands):
    cases = [(b, p) for b in ("stock", "ours") for p in preloads]
    cases.append(("ours", "+huge-pages"))
    cases += [("bare", p) for p in preloads] + [("bump", "")]
    seen = {case: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            seen[case].append(run(commands[case[0]], settings[case[1]]))
    base = seen["stock", ""]
    cpu = statistics.median(c for c, _, _ in base)
    rss = statistics.median(r for _, r, _ in base)
    for case in cases:
        c = statistics.median(c for c, _, _ in seen[case])
        r = statistics.median(r for _, r, _ in seen[case])
        print("%-24s %-16s cpu %7.1f ms %.2f  best %.2f  rss %6.1f MB %.2f"
              % (title, case[0] + case[1], c * 1e3, c / cpu,
                 min(c for c, _, _ in seen[case])
                 / min(c for c, _, _ in base),
                 r / 1024, r / rss))


for path in sys.argv[3:]:
    version = "460" if "float64" in path else "130"
    compare(os.path.basename(path),
            {b: [work + "/glsl-" + b, "--version", version, "--link",
                 "--dump-lir", path] for b in builds})
files = sorted(glob.glob(work + "/in/[a-z]*.frag"))
compare("many programs",
        {b: [work + "/many-" + b, "3", "130"] + files for b in builds})


# Two threads do twice the work of one.  The wall clock needs two idle
# processors to say anything; CPU time says whether they hinder each other.
def scaling():
    seen = {b: [] for b in ("stock", "ours")}
    for _ in range(rounds):
        for b in seen:
            one, two = ([work + "/many-" + b, "-t", t, "3", "130"] + files
                        for t in ("1", "2"))
            seen[b].append((run(one, {}), run(two, {})))
    for b in seen:
        wall = [2 * one[2] / two[2] for one, two in seen[b]]
        cpu = [2 * one[0] / two[0] for one, two in seen[b]]
        print("two threads, %-5s  work in the time of one: median %.2f, best"
              " %.2f; in its CPU time: %.2f of one's a second"
              % (b, statistics.median(wall), max(wall),
                 statistics.median(cpu)))


scaling()


# A million blocks of others in the heap, and a million holes among them.
def full_heap():
    heaps = ("0", "1000000", "1000000,1000000")
    seen = {(b, h): [] for b in ("stock", "ours") for h in heaps}
    for _ in range(rounds):
        for b, h in seen:
            said = subprocess.run([work + "/many-" + b, "-l", h, "3", "130"]
                                  + files, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, check=True).stderr
            seen[b, h].append(float(said.split()[-1]))
    for b, h in seen:
        m = statistics.median(seen[b, h])
        print("heap of %-16s %-5s %7.1f ms, %.2f of an empty one's"
              % (h, b, m, m / statistics.median(seen[b, "0"])))


full_heap()
PYTHON

test "$differ" = 0
