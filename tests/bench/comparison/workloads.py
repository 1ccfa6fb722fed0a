# workloads.py - programs of other people, and inputs for malloc-programs.py
#
# SPDX-License-Identifier: MIT
import os
import random
import shutil
import subprocess

PYTHON = """
import json, re
table = {str(i): [i, i * 1.5, 'x' * (i %% 60)] for i in range(%d)}
text = json.dumps(table)
for _ in range(3):
    back = json.loads(text)
words = re.findall('[0-9]+', text)
objects = [dict(a=w, b=[w] * 3) for w in words[:%d]]
print(len(back), len(objects))
"""
PERL = r"""
my %%h; for my $i (1 .. %d) { push @{$h{$i %% %d}}, "v$i" }
my $n = 0; $n += length join ',', @{$h{$_}} for sort keys %%h;
print "$n\n";
"""
SQL = """
create table t (a integer primary key, b text, c real);
with recursive n (i) as (select 1 union all select i + 1 from n
  where i < %d)
insert into t select i, hex(i * 7919), i * 0.5 from n;
create index u on t (b);
select count (*), sum (length (x.b)) from t x join t y on x.b = y.b
  where y.a %% 3 = 0;
select substr (b, 1, 3) k, group_concat (a) from t group by k limit 3;
"""
LUA = """
local t = {}
for i = 1, %d do
  t[#t + 1] = { name = "n" .. i, tags = { i %% 7, "t" .. (i %% 99) } }
end
table.sort (t, function (a, b) return a.name < b.name end)
local parts = {}
for i, v in ipairs (t) do parts[i] = v.name .. v.tags[2]:upper () end
print (#table.concat (parts, ","))
"""
STYLE = """<xsl:stylesheet version="1.0"
 xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:key name="k" match="row" use="@k"/>
<xsl:template match="/"><out><xsl:apply-templates select="//row">
<xsl:sort select="@v"/></xsl:apply-templates></out></xsl:template>
<xsl:template match="row"><r n="{count(key('k', @k))}">
<xsl:value-of select="concat(name, '-', @v)"/></r></xsl:template>
</xsl:stylesheet>
"""


def c_file(n):
    """A C file of many functions."""
    lines = ["#include <stdio.h>", "#include <string.h>",
             "#include <stdlib.h>"]
    for i in range(n):
        lines.append(f"""
struct s{i} {{ struct s{i} *next; int n[{i % 7 + 1}]; char text[{i % 50 + 8}]; }};
static int work{i} (struct s{i} *s, int n)
{{
  int sum = n;
  for (int i = 0; s != NULL && i < n; s = s->next, i++)
    {{
      switch ((s->n[0] + i) % 5)
        {{
        case 0: sum += (int) strlen (s->text) * {i}; break;
        case 1: sum ^= s->n[i % {i % 7 + 1}]; break;
        case 2: memset (s->text, i, sizeof s->text); break;
        default: sum -= printf ("%d %s", sum, s->text);
        }}
    }}
  return sum;
}}
int call{i} (void *p, int n) {{ return work{i} (p, n) + work{i} (p, {i}); }}
""")
    return "\n".join(lines)


def cxx_file(n):
    """A C++ file with many instances of the library's templates."""
    lines = ["#include <map>", "#include <string>", "#include <vector>",
             "#include <algorithm>"]
    for i in range(n):
        lines.append(f"""
struct S{i} {{ int n[{i + 1}]; std::string name; }};
int call{i} (const std::vector<std::string> &names)
{{
  std::map<std::string, S{i}> found;
  std::vector<S{i}> sorted;
  for (const auto &name : names)
    found[name].name += name;
  for (const auto &entry : found)
    sorted.push_back (entry.second);
  std::sort (sorted.begin (), sorted.end (), [] (const S{i} &a, const S{i} &b)
             {{ return a.name < b.name; }});
  return (int) sorted.size ();
}}
""")
    return "\n".join(lines)


def graph(n):
    """A graph for dot, always the same."""
    drawn = random.Random(1)
    return "digraph g {\n" + "".join(
        f"n{i} [label=\"node {i}\"]; n{drawn.randrange(max(i, 1))} -> n{i};\n"
        for i in range(n)) + "}\n"


def repository(folder, n):
    """A repository of n commits, each of which changes one of 200 files."""
    commits = []
    for i in range(n):
        text = "".join(f"line {j} {j * (i + 3) % (i + 17)}\n"
                       for j in range(200 + i % 90))
        commits.append(
            f"commit refs/heads/main\ncommitter A <a@b> {i + 10 ** 9} +0000\n"
            f"data 9\ncommit {i % 90 + 10}\n"
            f"M 644 inline d{i % 13}/f{i % 200}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], check=True,
                   input="".join(commits).encode())
    return folder


def program(name):
    """The distribution's own, rather than one in a user's folders."""
    return shutil.which(name, path="/usr/bin:" + os.environ["PATH"])


def put_inputs(folder, part):
    """Writes the files that the programs read; returns how to name one."""
    def put(name, text):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)

    put("numbers", "".join(f"{i * 7919 % 1000003}\n"
                           for i in range(1000000 // part)))
    put("many.c", c_file(60 // min(part, 20)))
    put("many.cc", cxx_file(6 // min(part, 3)))
    put("doc.json", "[" + ",".join(
        '{"id":%d,"name":"n%d","tags":["a","b%d"],"v":%f}'
        % (i, i, i % 99, i / 7) for i in range(60000 // part)) + "]")
    put("script.sql", SQL % (200000 // part))
    put("lines", "".join(f"w{i % 7001} {i} x{i % 13}\n"
                         for i in range(600000 // part)))
    put("doc.xml", "<doc>" + "".join(
        f'<row k="{i % 999}" v="{i * 7919 % 1003}"><name>n{i}</name>'
        f"<p>text &amp; <b>more</b> {i}</p></row>\n"
        for i in range(60000 // part)) + "</doc>")
    put("style.xsl", STYLE)
    put("graph.dot", graph(1200 // part))
    repository(os.path.join(folder, "git"), 1200 // part)


def programs(folder, part):
    """Names and commands, of those that are installed.  The inputs are a
    part of the usual ones."""
    def at(name):
        return os.path.join(folder, name)

    put_inputs(folder, part)
    python = [program("python3"), "-c",
              PYTHON % (60000 // part, 150000 // part)]
    git = [program("git"), "-C", at("git"), "-c", "pack.threads=1"]
    everyone = [
        ("python3", python),
        ("python3-m", python),
        ("perl", [program("perl"), "-e",
                  PERL % (400000 // part, 50000 // part)]),
        ("cc1 -O2", [program("gcc"), "-O2", "-S", "-o", os.devnull,
                     at("many.c")]),
        ("cc1plus", [program("g++"), "-O2", "-S", "-o", os.devnull,
                     at("many.cc")]),
        ("clang -O2", [program("clang"), "-O2", "-S", "-o", os.devnull,
                       at("many.c")]),
        ("sort", [program("sort"), "--parallel=1", "-n", "-o", os.devnull,
                  at("numbers")]),
        ("sqlite3", [program("sqlite3"), "-init", at("script.sql"), ":memory:",
                     ".quit"]),
        ("jq", [program("jq"), "-c", "group_by(.tags[1]) | map(length)",
                at("doc.json")]),
        ("gawk", [program("gawk"), '{ n[$1] = n[$1] " " $2 } END { for (k in '
                  "n) m += length(n[k]); print m }", at("lines")]),
        ("git diff", [program("git"), "diff", "--no-index", "--stat",
                      "--patience", at("numbers"), at("lines")]),
        ("git log", git + ["log", "-p", "--stat"]),
        ("git gc", git + ["pack-objects", "--all", "--no-reuse-delta",
                          "--stdout", "-q", "--revs"]),
        ("sed", [program("sed"), "-n", r"H;${x;s/\n/,/g;p}", at("numbers")]),
        ("xmllint", [program("xmllint"), "--format", at("doc.xml")]),
        ("xsltproc", [program("xsltproc"), at("style.xsl"), at("doc.xml")]),
        ("lua", [program("lua5.4") or program("lua"), "-e",
                 LUA % (100000 // part)]),
        ("dot", [program("dot"), "-Tplain", at("graph.dot")]),
    ]
    return [(name, command) for name, command in everyone if command[0]]
