#!/bin/sh
# test-report.sh - the report in a browser, and names that would break it
#
# The browser is Chromium, where there is one: at two widths, in light and
# dark, as drawn (pictures are read by python3) and as parsed.  Speaks TAP.
#
# SPDX-License-Identifier: MIT

. "$(dirname "$0")/../trace-lib.sh"

# --- a program with a name that no page expects, and one 64 KiB long ---
cp "$source/tests/trace/clients/classes.c" "$work/classes.c"
$CC -g -O1 -I"$source" -I"$build" "$work/classes.c" -o "$work/classes" \
  -lpthread || exit 1
odd=$work/$(printf 'b\377d<script>alert(1)<\\script>&amp;"')
cp "$work/classes" "$odd"
{
  echo '#include <stdlib.h>'
  echo 'template <int...> struct list {};'
  echo 'template <class T> __attribute__ ((noinline)) void *take (int n)'
  echo '{ return malloc (n); }'
  printf 'typedef list<1'
  awk 'BEGIN { for (i = 0; i < 12000; i++) printf ",%d", 10000 + i }'
  echo '> many;'
  echo 'int main () { for (int i = 0; i < 500; i++)'
  echo '  free (take<many> (i + 1)); }'
} > "$work/long.cc"
page=$work/odd.html
"$trace" record -q -o "$work/odd.trace" -- "$odd" linear
equal odd-recorded $? 0
"$trace" report "$work/odd.trace" -o "$page"
equal odd-status $? 0
# (The page's own is the only one.)
equal odd-escaped "$(grep -c '<script' "$page")" 1
equal odd-shown "$(grep -c 'b&*.*d&lt;script&gt;alert(1)' "$page" \
  | sed 's/[1-9][0-9]*/some/')" some
if iconv -f utf-8 -t utf-8 "$page" > "$work/again" 2> "$work/err"; then
  equal odd-utf8 0 0
else
  equal odd-utf8 "$(head -n 1 "$work/err")" ""
fi
if $CXX -g -O0 "$work/long.cc" -o "$work/long" 2> "$work/err"; then
  "$trace" record -q -o "$work/long.trace" -- "$work/long"
  "$trace" report "$work/long.trace" -o "$work/long.html"
  equal long-status $? 0
  equal long-name "$(nm "$work/long" \
    | awk 'length ($0) > 60000 { n++ } END { print n + 0 }')" 1
  equal long-shown "$(grep -c 'take' "$work/long.html" \
    | sed 's/[1-9][0-9]*/some/')" some
  "$trace" report --text "$work/long.trace" -o "$work/long.txt"
  equal long-text "$(awk 'length ($0) > 100' "$work/long.txt" | wc -l)" 0
  bytes=$(wc -c < "$work/long.html")
  equal long-page "$([ "$bytes" -lt 2000000 ] && echo small)" small
else
  skip long "no C++ compiler, or one that knows no such names"
fi

# --- what a reader sees first ---

(cd "$work" && "$trace" run -o out -- ./classes pool) 2> "$work/err"
equal run $? 0
page=$work/out/report.html
equal "first: in this order" "$(grep -o 'class="heap"\|<h2>[^<]*' "$page" \
  | head -n 4 | tr '\n' ' ')" \
  'class="heap" <h2>What pays most <h2>Memory over time, by site <h2>In numbers '
# three pictures, by time, operations and bytes, each with two to five names
equal "first: lines that mark bytes" "$(grep -o '<svg class="wide.*' "$page" \
  | sed 's/<path class="tick"/\n-/g; s/<span class="tick"/\n+/g' \
  | cut -c 1 | awk '/-/ { lines++ } /[+]/ { names++ }
      END { print (lines == names && names >= 6 && names <= 15) }')" 1
equal "first: the heap in a sentence" "$(sed -n 's/^<p class="heap">//p' \
  "$page" | sed 's/<.*//')" \
  "$("$trace" report --text "$work/out/patterns.json" | sed -n '2,3p' \
    | tr '\n' ' ' | sed 's/ $//')"
# the times decide; both cases
for verdict in do cache; do
  sed "s/\\(\"verdict\": *\"\\)[^\"]*/\\1$verdict/
    s/\\(\"summary\": *\"\\)[^\"]*/\\1Said: $verdict/" "$work/out/advice.json" \
    > "$work/$verdict.json"
  "$trace" report --advice="$work/$verdict.json" -o "$work/$verdict.html" \
    "$work/out/patterns.json"
done
expect_found "first: a change, and how sure it is" \
  'A pool would save .* to .* estimate, [0-9]* % either way).* now, .* then' \
  "$(sed -n '/class="change"/,/^<.div>/p' "$work/do.html" | tr '\n' ' ')"
link=$(sed -n 's/.*href="#\(k[0-9a-f]*\)".*/\1/p' "$work/do.html" | head -n 1)
equal "first: where it is explained" \
  "$(grep -c "<summary id=\"$link\"" "$work/do.html")" 1
equal "first: that nothing pays" "$(grep -c 'class="change"' \
  "$work/cache.html") $(grep -c 'Said: cache' "$work/cache.html")" "0 1"

# --- two runs ---

"$trace" record -q -o "$work/other.trace" -- "$work/classes" owner
"$trace" patterns "$work/other.trace" -o "$work/other.json"
"$trace" diff "$work/out/patterns.json" "$work/other.json" > "$work/diff"
diff_page=$work/diff.html
"$trace" diff "$work/out/patterns.json" "$work/other.json" -o "$diff_page" \
  > "$work/said"
equal "diff: status, and no text" "$? $(wc -c < "$work/said")" "1 0"
equal "diff: in this order" "$(grep -o 'class="heap"\|<h2>[^<]*' "$diff_page" \
  | tr '\n' ' ')" \
  "class=\"heap\" <h2>Memory over time <h2>In numbers <h2>The sites that \
changed most <h2>How this was compared "
equal "diff: both heaps in a sentence" \
  "$(grep -A1 -cE '^<p><b>(Before|After):</b> The heap grows' "$diff_page")" 2
# by time, operations and bytes: a line for each run, names on both axes
equal "diff: both runs in one picture" "$(awk '/<svg class="wide/ &&
    /class="c0"/ && /class="c1"/ && /span class="tick"/ &&
    /class="scale places"/ { n++ }
    END { print n }' "$diff_page")" 3
# the same sites in the same order as in the text, with the bytes there: the
# second and third of the numbers
equal "diff: the sites and what changed" "$(awk '
    /<td class="site">/ { n = 0 }
    match ($0, /data-v="[-0-9]*"/) {
      value[++n] = substr ($0, RSTART + 8, RLENGTH - 9)
      if (n == 3)
        print value[2], value[3]
    }' "$diff_page")" \
  "$(awk 'at { print $3, $4 } $1 == "calls" && $2 == "after" { at = 1 }' \
    "$work/diff")"
equal "diff: a bar for each change" "$(grep -c '<svg class="delta"' \
  "$diff_page")" "$(($(grep -c '<td class="site">' "$diff_page") * 2))"
"$trace" diff "$work/other.json" "$work/other.json" -o "$work/same.html"
equal "diff: a run and itself" \
  "$? $(grep -c 'class="more"' "$work/same.html")" \
  "0 0"
"$trace" diff -n 1 "$work/out/patterns.json" "$work/other.json" \
  -o "$work/one.html"
equal "diff: as many sites as are asked for" \
  "$(grep -c '<td class="site">' "$work/one.html")" 1
expect_found "diff: how many more there are" 'and 1 more site' \
  "$(cat "$work/one.html")"

# --- the script ---

# A browser runs the page's script only if the policy in the head has its hash.
script_hash () # page: of all that is between the tags
{
  { echo; sed -n '/^<script>$/,/^<\/script>$/p' "$1" | sed '1d;$d'; } \
    | openssl dgst -sha256 -binary | openssl base64
}
if openssl version > "$work/null" 2>&1; then
  for page in "$work/out/report.html" "$diff_page"
  do
    equal "script-hash $(basename "$page")" "$(script_hash "$page")" \
      "$(sed -n "s/.*'sha256-\(.*\)'.*/\1/p" "$page")"
  done
else
  skip script-hash "no openssl"
fi

# --- in a browser ---
browser=
for name in chromium chromium-browser google-chrome
do
  command -v $name > "$work/null" && browser=$name && break
done
if [ -z "$browser" ]; then
  skip browser "no Chromium"
  finish
fi

browse () # arguments: its DOM to stdout, what it logs to $work/log
{
  HOME=$work timeout 120 $browser --headless=new --no-sandbox --disable-gpu \
    --hide-scrollbars --force-color-profile=srgb --enable-logging=stderr \
    --virtual-time-budget=3000 --user-data-dir="$work/profile" "$@" \
    "file://$page" 2> "$work/log"
}

browse --dump-dom > "$work/dom"
equal browser-status $? 0
equal browser-pictures "$(grep -o '<svg' "$work/dom" | wc -l)" \
  "$(grep -o '<svg' "$page" | wc -l)"
equal browser-closed "$(grep -o '</svg>' "$work/dom" | wc -l)" \
  "$(grep -o '</svg>' "$page" | wc -l)"
equal browser-complains "$(grep -c 'CONSOLE' "$work/log")" 0
# A page that may load nothing complains of what it would have.
sed 's/<h2>/<img src="http:\/\/localhost\/x.png"><h2>/' "$page" \
  > "$work/asks.html"
page=$work/asks.html
browse --dump-dom > "$work/dom"
equal browser-would-complain "$(grep -c 'CONSOLE' "$work/log" \
  | sed 's/[1-9][0-9]*/some/')" some
page=$work/out/report.html
equal browser-one-script "$(grep -cE '<script| on[a-z]+=' "$page")" 1

# --- tables that sort ---

# sorted BUTTON...: the order and the calls in the table of sites, after clicks
# on these of its heads, from 0 on; the page with one more script
sorted ()
{
  clicks=
  for button
  do
    clicks="$clicks heads[$button].click();"
  done
  sed '/Content-Security-Policy/,/>$/d
    /^<meta$/d' "$work/out/report.html" > "$work/clicked.html"
  cat >> "$work/clicked.html" << END
<script>
var heads = document.querySelectorAll ("table.sorts th button");
$clicks
var text = "sorted:", table = document.querySelector ("table.sorts");
for (var head of table.tHead.rows[0].cells)
  if (head.getAttribute ("aria-sort") != "none")
    text += " " + head.textContent + " " + head.getAttribute ("aria-sort");
for (var row of table.tBodies[0].rows)
  text += " " + row.cells[2].dataset.v;
document.title = text;
</script>
END
  page=$work/clicked.html
  browse --dump-dom | sed -n 's/.*<title>sorted: \([^<]*\).*/\1/p'
}

calls=$(json "$work/out/patterns.json" 'sites.*.calls' | tr '\n' ' ')
up=$(echo $calls | tr ' ' '\n' | sort -n | tr '\n' ' ')
down=$(echo $calls | tr ' ' '\n' | sort -rn | tr '\n' ' ')
equal sort-once "$(sorted 2)" "calls descending ${down% }"
equal sort-twice "$(sorted 2 2)" "calls ascending ${up% }"
equal sort-other "$(sorted 2 0 2 | sed 's/ing .*/ing/')" "calls descending"
for page in "$work/out/report.html" "$diff_page"
do
  browse --dump-dom > "$work/dom"
  equal "sort-allowed-$(basename "$page" .html)" \
    "$(grep -c 'aria-sort="none"' "$work/dom" \
      | sed 's/[1-9][0-9]*/some/') $(grep -c CONSOLE "$work/log")" "some 0"
done

# The corner's brightness (0 to 255), and whether there are many colours.
picture_read ()
{
  python3 - "$1" <<'EOF'
import struct, sys, zlib
data = open (sys.argv[1], "rb").read ()
at, packed = 8, b""
while at < len (data):
    size, kind = struct.unpack (">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack (">IIBB", body[:10])
    if kind == b"IDAT":
        packed += body
    at += size + 12
step = {2: 3, 6: 4}[colour]
raw, before = zlib.decompress (packed), bytearray (width * step)
colours = set ()
for y in range (height):
    start = y * (width * step + 1)
    how, line = raw[start], bytearray (raw[start + 1:start + 1 + width * step])
    for i in range (len (line)):
        a = line[i - step] if i >= step else 0
        b, c = before[i], before[i - step] if i >= step else 0
        if how == 4:
            pa, pb, pc = abs (b - c), abs (a - c), abs (a + b - 2 * c)
            add = a if pa <= pb and pa <= pc else b if pb <= pc else c
        else:
            add = (0, a, b, (a + b) // 2)[how]
        line[i] = (line[i] + add) & 255
    before = line
    if y == 0:
        corner = sum (line[:3]) // 3
    if y % 5 == 0:
        colours.update (bytes (line[i:i + 3])
                        for i in range (0, len (line), step * 5))
print ("dark" if corner < 64 else "light" if corner > 192 else "grey",
       "many" if len (colours) > 12 else len (colours))
EOF
}

for page in "$work/out/report.html" "$diff_page"
do
  for width in 1040 390
  do
    for scheme in light dark
    do
      name=picture-$(basename "$page" .html)-$width-$scheme
      if ! python3 -c '' 2> "$work/null"; then
        skip "$name" "no python3"
        continue
      fi
      force=$([ $scheme = dark ] && echo --force-dark-mode)
      browse $force --window-size=$width,1200 --screenshot="$work/shot.png" \
        > "$work/null"
      equal "$name" "$(picture_read "$work/shot.png")" "$scheme many"
    done
  done
done

finish
