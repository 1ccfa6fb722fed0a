/* report-html.c - the report as one page that needs nothing else
 *
 * Tools.  No script, no network, no font: the page says so itself in its
 * content policy.  Choices (the time axis, a site's details) are made with
 * radio buttons and <details>, by mouse or keyboard.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report.h"
#include "tools/trace/common/stage.h"
#include "tools/trace/common/tool.h"
#include <stdlib.h>
#include <string.h>

#define N_DETAILS 40
#define N_ROWS 60

static const char style[]
    = ":root{--bg:#fdfdfb;--fg:#1c1c1a;--dim:#66665f;--line:#d9d9d2;"
      "--card:#f4f4ef;--c0:#2f6db3;--c1:#d9822b;--c2:#3b9b6d;--c3:#b34a6b;"
      "--c4:#7a5cb0;--c5:#8c8c3a;--c6:#2d98a8;--c7:#a65e3a;--c8:#9a9a94;"
      "--f0:#e9b872;--f1:#e3a05e;--f2:#edc98a;--f3:#dd9252;--ft:#221a10}"
      "@media(prefers-color-scheme:dark){:root{--bg:#161714;--fg:#e6e6df;"
      "--dim:#9d9d94;--line:#383934;--card:#1f211d;--c0:#6ea8e6;"
      "--c1:#f0a35a;--c2:#69c796;--c3:#e07f9f;--c4:#b195e6;--c5:#c2c268;"
      "--c6:#62c7d6;--c7:#d68f68;--c8:#77776f;--f0:#8a5a22;--f1:#7d4a1a;"
      "--f2:#976a2e;--f3:#703f16;--ft:#f5e9d8}}"
      "*{box-sizing:border-box}body{margin:0;background:var(--bg);"
      "color:var(--fg);font:15px/1.45 system-ui,sans-serif}"
      "main{max-width:1080px;margin:0 auto;padding:12px 16px 60px}"
      "h1{font-size:1.5rem;margin:.6em 0 .2em}h2{font-size:1.15rem;"
      "margin:2em 0 .5em;border-bottom:1px solid var(--line)}"
      "h3{font-size:1rem;margin:1em 0 .3em;overflow-wrap:anywhere}"
      "p{margin:.4em 0}code,td.n,.mono{font-family:ui-monospace,monospace;"
      "font-size:.86em}code{overflow-wrap:anywhere}"
      ".dim,.scale,figcaption{color:var(--dim);font-size:.85em}"
      ".cards{display:grid;grid-template-columns:repeat(auto-fit,"
      "minmax(140px,1fr));gap:8px}.cards div{background:var(--card);"
      "padding:8px 10px;border-radius:6px}.cards b{display:block;"
      "font-size:1.15rem}"
      ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;"
      "font-size:.9em}th,td{text-align:left;padding:3px 8px;"
      "border-bottom:1px solid var(--line);vertical-align:top}"
      "td.n,th.n{text-align:right;white-space:nowrap}"
      "td.site{overflow-wrap:anywhere;min-width:180px}"
      "details{border:1px solid var(--line);border-radius:6px;margin:6px 0;"
      "padding:4px 10px}summary{cursor:pointer;overflow-wrap:anywhere}"
      "svg{display:block;width:100%}svg.wide{height:220px;"
      "background:var(--card)}svg.bars{max-width:760px}"
      "svg.pic{height:90px;background:var(--card);min-width:0}"
      "svg.flame{min-width:760px}svg.shape{width:110px;"
      "background:var(--card)}.pair{display:grid;grid-template-columns:"
      "repeat(auto-fit,minmax(260px,1fr));gap:8px}.sheet{display:flex;"
      "flex-wrap:wrap;gap:8px}figure{margin:0;width:150px}"
      ".nb{white-space:nowrap}"
      ".ends{display:flex;justify-content:space-between}"
      "@media(max-width:600px){svg.bars text{font-size:15px}"
      "svg.bars .odd{display:none}}"
      "svg text{font:9px ui-monospace,monospace;fill:var(--dim)}"
      "svg.flame text{font:10.5px ui-monospace,monospace;fill:var(--ft)}"
      ".b0{fill:var(--c0)}.b1{fill:var(--c1)}.b2{fill:var(--c2)}"
      ".b3{fill:var(--c3)}.b4{fill:var(--c4)}.b5{fill:var(--c5)}"
      ".b6{fill:var(--c6)}.b7{fill:var(--c7)}.b8{fill:var(--c8)}"
      ".f0{fill:var(--f0)}.f1{fill:var(--f1)}.f2{fill:var(--f2)}"
      ".f3{fill:var(--f3)}.fill{fill:var(--c0)}"
      ".line,.cursor,.rss,.c0,.c1,.c2,.c3,.c4,.c5,.c6,.c7,.c8{fill:none;"
      "vector-effect:non-scaling-stroke;stroke-width:1.5}"
      ".line{stroke:var(--fg)}.cursor{stroke:var(--c3);"
      "stroke-dasharray:2 3}.rss{stroke:var(--dim);stroke-dasharray:6 3}"
      ".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}"
      ".c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}"
      ".c6{stroke:var(--c6)}.c7{stroke:var(--c7)}.c8{stroke:var(--c8)}"
      ".d1,.d2,.d3{stroke:var(--c0);stroke-width:1}.d1{opacity:.45}"
      ".d2{opacity:.75}.key{display:inline-block;width:.8em;height:.8em;"
      "margin-right:.4em;border-radius:2px;background:currentColor}"
      ".k0{color:var(--c0)}.k1{color:var(--c1)}.k2{color:var(--c2)}"
      ".k3{color:var(--c3)}.k4{color:var(--c4)}.k5{color:var(--c5)}"
      ".k6{color:var(--c6)}.k7{color:var(--c7)}.k8{color:var(--c8)}"
      "ul.keys{list-style:none;padding:0;display:grid;gap:0 14px;"
      "grid-template-columns:repeat(auto-fit,minmax(240px,1fr));"
      "font-size:.85em;overflow-wrap:anywhere}"
      "ul.keys li{display:flex;align-items:baseline}"
      "ul.keys span.key{flex:none}"
      "ul.keys span.t{color:var(--fg);min-width:0}.axis{display:none}"
      "#a0:checked~.x0,#a1:checked~.x1,#a2:checked~.x2{display:block}"
      ".tag{border:1px solid var(--line);border-radius:9px;padding:0 7px;"
      "white-space:nowrap;font-size:.85em}";

static const char *
text_of (const JsonValue *object, const char *key)
{
  return sli_json_string (object, key);
}

static void
put (FILE *file, const char *text)
{
  sli_html_text (file, text, 400);
}

static void
card (FILE *file, const char *label, const char *value)
{
  fputs ("<div><b>", file);
  put (file, value);
  fputs ("</b>", file);
  put (file, label);
  fputs ("</div>", file);
}

static void
summary_write (const Report *report, FILE *file)
{
  const JsonValue *totals = sli_json_get (report->patterns, "totals");
  const JsonValue *saved = sli_json_get (report->advice, "totals");
  const char *warning = sli_report_unwinder (report);
  if (warning != NULL)
    fprintf (file, "<p><strong>%s</strong></p>", warning);
  fputs ("<div class=\"cards\">", file);
  card (file, "allocations",
        sli_human_count (sli_json_number (totals, "calls")));
  card (file, "asked for",
        sli_human_bytes (sli_json_number (totals, "bytes")));
  card (file, "peak alive",
        sli_human_bytes (sli_json_number (totals, "peak")));
  card (file, "from first to last",
        sli_human_nsec (1e9 * sli_json_number (totals, "seconds")));
  if (sli_json_number (saved, "allocator_nsec") > 0)
    card (file, "in the allocator",
          sli_human_nsec (sli_json_number (saved, "allocator_nsec")));
  if (saved != NULL)
    {
      char *range = sli_tool_text (
          "%s to %s",
          sli_human_nsec (sli_json_number (saved, "saved_nsec_low")),
          sli_human_nsec (sli_json_number (saved, "saved_nsec_high")));
      card (file, "to be saved, by estimate", range);
      free (range);
    }
  card (file, "alive at the end",
        sli_human_bytes (sli_json_number (totals, "end_bytes")));
  double dropped = sli_json_number (totals, "dropped_nested")
                   + sli_json_number (totals, "dropped_full");
  card (file, "events dropped", sli_human_count (dropped));
  fputs ("</div>", file);
  if (sli_json_number (totals, "cut") != 0)
    fputs ("<p><b>The trace is cut</b>: the process ended without its exit "
           "handlers, or the file lost its end. What was recorded until then "
           "is here.</p>",
           file);
  if (sli_json_number (totals, "damaged_blocks") > 0)
    fputs ("<p><b>Parts of the trace are damaged</b> and left out.</p>", file);
}

static void
timeline_write (const Report *report, FILE *file)
{
  static const char *const axes[] = { "time", "events", "bytes" };
  static const char *const labels[]
      = { "by time", "by operations", "by bytes asked for" };
  const JsonValue *series = sli_json_get (report->patterns, "series");
  const JsonValue *bands = sli_json_get (report->patterns, "bands");
  const JsonValue *totals = sli_json_get (report->patterns, "totals");
  double peak = sli_json_number (totals, "peak");
  const char *ends[3]; /* what the axes end at */
  ends[0] = sli_human_nsec (1e9 * sli_json_number (totals, "seconds"));
  ends[1] = sli_human_count (sli_json_number (totals, "events"));
  ends[2] = sli_human_bytes (sli_json_number (totals, "bytes"));
  fputs ("<h2>Memory over time, by site</h2><div>", file);
  for (int i = 0; i < 3; i++)
    fprintf (file,
             "<input type=\"radio\" name=\"axis\" id=\"a%d\"%s><label "
             "for=\"a%d\">%s</label> ",
             i, i == 0 ? " checked" : "", i, labels[i]);
  for (int i = 0; i < 3; i++)
    {
      fprintf (file, "<div class=\"axis x%d\">", i);
      sli_svg_series (file, sli_json_get (series, axes[i]), axes[i],
                      sli_json_get (report->patterns, "rss"), peak, ends[i]);
      fputs ("</div>", file);
    }
  fputs ("</div><ul class=\"keys\">", file);
  for (size_t i = 0; bands != NULL && i < bands->n_items; i++)
    {
      fprintf (file,
               "<li><span class=\"key k%zu\"></span><span "
               "class=\"t\">",
               i);
      sli_html_text (file, sli_json_item_text (bands, i), 90);
      fputs ("</span></li>", file);
    }
  fputs ("<li><span class=\"key k8\"></span><span class=\"t\">all "
         "others</span></li></ul>",
         file);
}

static void
histograms_write (const Report *report, FILE *file)
{
  const JsonValue *totals = sli_json_get (report->patterns, "totals");
  fputs ("<h2>Sizes and lifetimes</h2>", file);
  fputs ("<h3>Sizes in bytes</h3>", file);
  sli_svg_bars (file, sli_json_get (totals, "size_log2"),
                sli_json_get (totals, "size_bytes_log2"),
                "Histogram of sizes, by count and by bytes");
  fprintf (file,
           "<p class=\"dim\"><span class=\"key k0\"></span>count "
           "<span class=\"key k1\"></span>bytes. Mean %.1f, standard "
           "deviation %.1f bytes.</p>",
           sli_json_number (totals, "size_mean"),
           sli_json_number (totals, "size_sd"));
  fputs ("<h3>Lifetimes in operations</h3>", file);
  sli_svg_bars (file, sli_json_get (totals, "life_log2"),
                sli_json_get (totals, "life_bytes_log2"),
                "Histogram of lifetimes, by count and by bytes");
  fprintf (file,
           "<p class=\"dim\">Mean %.0f, standard deviation %.0f operations; "
           "%s blocks were never freed.</p>",
           sli_json_number (totals, "life_mean"),
           sli_json_number (totals, "life_sd"),
           sli_human_count (sli_json_number (totals, "end_blocks")));
}

static void
number_cell (FILE *file, const JsonValue *numbers, const char *key)
{
  const JsonValue *value = sli_json_get (numbers, key);
  if (value == NULL)
    fputs ("<td class=\"n\"></td>", file);
  else
    fprintf (file,
             value->number < 1000 ? "<td class=\"n\">%.3g</td>"
                                  : "<td class=\"n\">%.0f</td>",
             value->number);
}

static void
hotlines_write (const Report *report, FILE *file)
{
  static const char *const numbers_shown[]
      = { "W", "L", "SW", "B", "R", "P2" };
  const JsonValue *sites = sli_json_items (report->patterns, "sites");
  fputs ("<h2>Hotlines</h2><div class=\"scroll\"><table><thead><tr>"
         "<th>site</th><th>class</th><th class=\"n\">calls</th>"
         "<th class=\"n\">bytes</th><th class=\"n\">peak</th>"
         "<th class=\"n\">time</th>",
         file);
  for (int i = 0; i < 6; i++)
    fprintf (file, "<th class=\"n\">%s</th>", numbers_shown[i]);
  fputs ("</tr></thead><tbody>", file);
  for (size_t i = 0; i < sites->n_items && i < N_ROWS; i++)
    {
      const JsonValue *site = &sites->items[i];
      const JsonValue *numbers = sli_json_get (site, "numbers");
      const JsonValue *timed
          = report->times == NULL
                ? site
                : sli_stage_site (report->times, text_of (site, "key"));
      fputs ("<tr><td class=\"site\">", file);
      if (i < N_DETAILS)
        fprintf (file, "<a href=\"#s%zu\">", i);
      sli_html_text (file, text_of (site, "name"), 90);
      if (i < N_DETAILS)
        fputs ("</a>", file);
      fputs ("</td><td><span class=\"tag\">", file);
      put (file, text_of (site, "class"));
      fputs ("</span></td>", file);
      fprintf (file, "<td class=\"n\">%s</td><td class=\"n\">%s</td>",
               sli_human_count (sli_json_number (site, "calls")),
               sli_human_bytes (sli_json_number (site, "bytes")));
      fprintf (file, "<td class=\"n\">%s</td><td class=\"n\">%s</td>",
               sli_human_bytes (sli_json_number (site, "peak")),
               sli_stage_site_nsec (timed) > 0
                   ? sli_human_nsec (sli_stage_site_nsec (timed))
                   : "");
      for (int n = 0; n < 6; n++)
        number_cell (file, numbers, numbers_shown[n]);
      fputs ("</tr>", file);
    }
  fputs ("</tbody></table></div>", file);
  if (sites->n_items > N_ROWS)
    fprintf (file, "<p class=\"dim\">and %zu more sites.</p>",
             sites->n_items - N_ROWS);
}

static void
shares_write (FILE *file, const JsonValue *shares, const char *title)
{
  if (shares == NULL || shares->n_items == 0)
    return;
  fputs ("<h3>", file);
  put (file, title);
  fputs ("</h3><table>", file);
  for (size_t i = 0; i < shares->n_items; i++)
    {
      fprintf (file,
               "<tr><td class=\"n\">%.2f %%</td><td class=\"n\">%s"
               "</td><td class=\"site\">",
               sli_json_number (&shares->items[i], "percent"),
               sli_human_count (sli_json_number (&shares->items[i], "calls")));
      sli_html_text (file, text_of (&shares->items[i], "function"), 160);
      fputs ("</td></tr>", file);
    }
  fputs ("</table>", file);
}

static void
frames_write (FILE *file, const JsonValue *frames)
{
  fputs ("<p class=\"dim\">", file);
  for (size_t i = 0; frames != NULL && i < frames->n_items; i++)
    {
      const JsonValue *frame = &frames->items[i];
      if (i > 0)
        fputs ("<br>called from ", file);
      fputs ("<code>", file);
      sli_html_text (file, text_of (frame, "function"), 200);
      fputs ("</code> ", file);
      if (sli_json_get (frame, "file") != NULL)
        {
          put (file, text_of (frame, "file"));
          fprintf (file, ":%.0f", sli_json_number (frame, "line"));
        }
      else
        {
          put (file, text_of (frame, "module"));
          fprintf (file, "+0x%llx",
                   (unsigned long long)sli_json_number (frame, "offset"));
        }
      if (sli_json_get (frame, "inlined") != NULL)
        {
          fputs (", inlined: ", file);
          sli_html_text (file, text_of (frame, "inlined"), 200);
        }
    }
  fputs ("</p>", file);
}

static void
advice_write (FILE *file, const JsonValue *advice)
{
  if (advice == NULL)
    return;
  fputs ("<p><b>", file);
  put (file, text_of (advice, "verdict"));
  fputs ("</b>", file);
  if (strcmp (text_of (advice, "verdict"), "do") == 0)
    {
      fprintf (file,
               ": saves %s to %s (malloc: %s in the program, %s in the "
               "replay)",
               sli_human_nsec (sli_json_number (advice, "saved_nsec_low")),
               sli_human_nsec (sli_json_number (advice, "saved_nsec_high")),
               sli_human_nsec (sli_json_number (advice, "nsec")),
               sli_human_nsec (sli_json_number (advice, "replayed_nsec")));
      fprintf (file, ", memory %s to %s",
               sli_human_bytes (sli_json_number (advice, "memory_before")),
               sli_human_bytes (sli_json_number (advice, "memory_after")));
      if (sli_json_number (advice, "best_block") > 0)
        fprintf (file, ", blocks of %.0f KiB",
                 sli_json_number (advice, "best_block") / 1024);
    }
  fputs (".</p>", file);
  if (strncmp (text_of (advice, "verdict"), "no gain", 7) != 0
      && text_of (advice, "hint")[0] != '\0')
    {
      fputs ("<p>Create it ", file);
      put (file, text_of (advice, "where"));
      fputs (". <br><code>", file);
      put (file, text_of (advice, "hint"));
      fputs ("</code></p>", file);
    }
}

/* The line that is seen while the details are closed. */
static void
detail_summary (const JsonValue *site, FILE *file, size_t index)
{
  fprintf (file,
           "<details id=\"s%zu\"%s><summary>%s calls <span "
           "class=\"tag\">",
           index, index < 3 ? " open" : "",
           sli_human_count (sli_json_number (site, "calls")));
  put (file, text_of (site, "class"));
  fputs ("</span> ", file);
  sli_html_text (file, text_of (site, "name"), 160);
  fputs ("</summary>", file);
}

/* What the class asks for, why it is this class, and whose the blocks are. */
static void
detail_advice (const JsonValue *site, FILE *file)
{
  fputs ("<p>", file);
  put (file, text_of (site, "advice"));
  fputs (" (", file);
  put (file, text_of (site, "holds"));
  if (text_of (site, "missed")[0] != '\0')
    {
      fputs ("; nearest miss: ", file);
      put (file, text_of (site, "missed"));
    }
  fputs (")", file);
  if (text_of (site, "owner")[0] != '\0')
    {
      fputs ("<br>owner: ", file);
      put (file, text_of (site, "owner"));
    }
  fputs ("</p>", file);
}

static void
detail_pictures (const JsonValue *site, FILE *file)
{
  const JsonValue *picture = sli_json_get (site, "picture");
  const char *name = text_of (site, "name");
  fputs ("<div class=\"pair\"><figure style=\"width:auto\">", file);
  sli_svg_deaths (file, picture, name);
  fputs ("<figcaption>death (upwards) against birth</figcaption></figure>"
         "<figure style=\"width:auto\">",
         file);
  sli_svg_offset (file, picture, name);
  fputs ("<figcaption>offset of an arena that is reset when empty"
         "</figcaption></figure></div>",
         file);
}

static void
detail_sizes (const JsonValue *site, FILE *file)
{
  fputs ("<h3>Sizes</h3><p class=\"mono\">", file);
  const JsonValue *sizes = sli_json_get (site, "sizes");
  for (size_t i = 0; sizes != NULL && i < sizes->n_items; i++)
    fprintf (file, "%s%.0f&times;%s", i > 0 ? ", " : "",
             sli_json_item_number (&sizes->items[i], 0),
             sli_human_count (sli_json_item_number (&sizes->items[i], 1)));
  fprintf (
      file,
      "</p><p class=\"dim\">%.0f sizes; mean %.1f, deviation "
      "%.1f; lives %.0f operations, deviation %.0f</p>",
      sli_json_number (site, "n_sizes"), sli_json_number (site, "size_mean"),
      sli_json_number (site, "size_sd"), sli_json_number (site, "life_mean"),
      sli_json_number (site, "life_sd"));
}

static void
detail_write (const Report *report, FILE *file, size_t index)
{
  const JsonValue *sites = sli_json_items (report->patterns, "sites");
  const JsonValue *site = &sites->items[index];
  detail_summary (site, file, index);
  frames_write (file, sli_json_get (site, "frames"));
  detail_advice (site, file);
  advice_write (file, sli_stage_site (report->advice, text_of (site, "key")));
  detail_pictures (site, file);
  fputs ("<div class=\"pair\"><div>", file);
  shares_write (file, sli_json_get (site, "callers"), "Called by");
  shares_write (file, sli_json_get (site, "passes"), "By pass");
  fputs ("</div><div>", file);
  shares_write (file, sli_json_get (site, "free_sites"), "Freed by");
  detail_sizes (site, file);
  fputs ("</div></div></details>", file);
}

static void
replay_write (const Report *report, FILE *file)
{
  const JsonValue *whole = sli_json_items (report->replay, "whole");
  if (whole->n_items == 0)
    return;
  fputs ("<h2>The same operations on other allocators</h2><div "
         "class=\"scroll\"><table><tr><th>allocator</th><th class=\"n\">"
         "an operation</th><th class=\"n\">median above best</th><th "
         "class=\"n\">peak memory</th></tr>",
         file);
  for (size_t i = 0; i < whole->n_items; i++)
    {
      const JsonValue *row = &whole->items[i];
      fprintf (file, "<tr><td class=\"nb\"><span class=\"key k%zu\"></span>",
               i % 9);
      put (file, text_of (row, "backend"));
      if (sli_json_number (row, "done") != 0)
        fprintf (file,
                 "</td><td class=\"n\">%.1f ns</td><td class=\"n\">%.1f "
                 "%%</td><td class=\"n\">%s</td></tr>",
                 sli_json_number (row, "nsec_per_op"),
                 100 * sli_json_number (row, "spread"),
                 sli_human_bytes (sli_json_number (row, "rss_peak")));
      else
        fputs ("</td><td colspan=\"3\">did not run through</td></tr>", file);
    }
  fputs ("</table></div>", file);
  sli_svg_curves (file, whole);
  fputs ("<p class=\"scale\">resident memory over the replayed "
         "operations</p>",
         file);
}

static void
measured_write (const Report *report, FILE *file)
{
  const JsonValue *totals = sli_json_get (report->patterns, "totals");
  const JsonValue *wrappers = sli_json_get (report->patterns, "wrappers");
  fputs ("<h2>How this was measured</h2><p>Every call of the malloc family, "
         "of operator new and delete was recorded with its stack. A site is "
         "the stack cut at the depth where its blocks behave alike, "
         "allocators and wrappers left out. W: what a bump arena would grow "
         "to, over the peak alive. L: frees that take the youngest. SW: the "
         "same for a stack that tolerates disorder. B: bytes freed in runs. "
         "R: allocations over the most alive. P2: share of the two commonest "
         "sizes. slice-trace(1) has the list of decisions.</p>",
         file);
  if (wrappers != NULL && wrappers->n_items > 0)
    {
      fputs ("<p>Taken for wrappers by themselves: ", file);
      for (size_t i = 0; i < wrappers->n_items; i++)
        {
          fputs (i > 0 ? ", " : "", file);
          put (file, sli_json_item_text (wrappers, i));
        }
      fputs (".</p>", file);
    }
  fprintf (file,
           "<p>Frees of unknown blocks: %.0f; frees that were not seen: "
           "%.0f. Replay: each measurement a process of its own, the least "
           "of its repeats, less the same loop without an allocator.</p>",
           sli_json_number (totals, "unknown_frees"),
           sli_json_number (totals, "lost_frees"));
}

void
sli_report_html (const Report *report, FILE *file)
{
  const JsonValue *sites = sli_json_items (report->patterns, "sites");
  const JsonValue *flames = sli_json_get (report->patterns, "flames");
  fputs ("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
         "'none'; style-src 'unsafe-inline'; img-src data:\"><meta "
         "name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\"><link "
         "rel=\"icon\" href=\"data:,\"><title>slice-trace: ",
         file);
  sli_html_text (file, text_of (report->patterns, "command"), 80);
  fprintf (file, "</title><style>%s</style></head><body><main><h1>", style);
  fputs ("Memory of a program</h1><p><code>", file);
  sli_html_text (file, text_of (report->patterns, "command"), 300);
  fputs ("</code></p>", file);
  summary_write (report, file);
  timeline_write (report, file);
  histograms_write (report, file);
  hotlines_write (report, file);
  fputs ("<h2>The hotlines one by one</h2><p class=\"dim\">The shapes to "
         "look for:</p>",
         file);
  sli_svg_legend (file);
  for (size_t i = 0; i < sites->n_items && i < N_DETAILS; i++)
    if (sli_json_get (&sites->items[i], "picture") != NULL)
      detail_write (report, file, i);
  replay_write (report, file);
  fputs ("<h2>Flame graphs</h2><h3>Bytes asked for</h3>", file);
  sli_svg_flame (file, sli_json_items (flames, "allocated")->items,
                 "Flame graph of bytes asked for");
  const JsonValue *peak = sli_json_get (flames, "peak");
  if (peak != NULL && peak->n_items > 0)
    {
      fputs ("<h3>Alive at the peak</h3>", file);
      sli_svg_flame (file, peak->items, "Flame graph of the peak");
    }
  const JsonValue *chosen = sli_json_get (flames, "chosen");
  if (chosen != NULL && chosen->n_items > 0)
    {
      fputs ("<h3>Alive at the chosen time</h3>", file);
      sli_svg_flame (file, chosen->items, "Flame graph of the chosen time");
    }
  measured_write (report, file);
  fputs ("</main></body></html>\n", file);
}
