/* arena-table.h - results of the arenas' benchmark, and their ratios
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ARENA_TABLE_H
#define ARENA_TABLE_H

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

inline double
median (std::vector<double> values)
{
  std::sort (values.begin (), values.end ());
  return values.empty () ? 0 : values[values.size () / 2];
}

/* Results by scenario and contestant, in the order of their first coming. */
struct Table
{
  struct Row
  {
    std::string scenario;
    std::string contestant;
    std::vector<double> ns;
  };
  std::vector<Row> rows;

  void
  add (const std::string &scenario, const std::string &contestant, double ns)
  {
    for (Row &row : rows)
      if (row.scenario == scenario && row.contestant == contestant)
        {
          row.ns.push_back (ns);
          return;
        }
    rows.push_back ({ scenario, contestant, { ns } });
  }

  const Row *
  find (const std::string &scenario, const std::string &contestant) const
  {
    for (const Row &row : rows)
      if (row.scenario == scenario && row.contestant == contestant)
        return &row;
    return nullptr;
  }

  void
  print () const
  {
    std::map<std::string, bool> seen;
    for (const Row &first : rows)
      {
        if (seen[first.scenario])
          continue;
        seen[first.scenario] = true;
        std::printf ("%s\n", first.scenario.c_str ());
        const Row *reference = find (first.scenario, "malloc");
        for (const Row &row : rows)
          if (row.scenario == first.scenario)
            std::printf ("  %-22s %9.3f ns  %6.3f of malloc\n",
                         row.contestant.c_str (), median (row.ns),
                         reference == nullptr
                             ? 0
                             : median (row.ns) / median (reference->ns));
      }
  }
};

/* --- ratios --------------------------------------------------------------- */

inline void
ratio_head ()
{
  std::printf ("%-62s %9s  %-15s\n", "", "measured", "spread");
}

inline void
ratio_line (const std::string &what, double measured,
            const std::string &spread)
{
  std::printf ("%-62s %9.4g  %-15s\n", what.c_str (), measured,
               spread.c_str ());
}

/* The ratio of two contestants, round by round: the median, and from the
 * first quartile to the third. */
inline void
ratio_of (const Table &table, const std::string &scenario,
          const char *contestant, const char *reference)
{
  const Table::Row *row = table.find (scenario, contestant);
  const Table::Row *other = table.find (scenario, reference);
  if (row == nullptr || other == nullptr)
    return;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row->ns.size (); i++)
    ratios.push_back (row->ns[i] / other->ns[i]);
  std::sort (ratios.begin (), ratios.end ());
  char spread[64];
  std::snprintf (spread, sizeof spread, "%.3f .. %.3f",
                 ratios[ratios.size () / 4], ratios[ratios.size () * 3 / 4]);
  bool is_none = std::string (contestant).find ("none") != std::string::npos;
  ratio_line (scenario + (is_none ? ", none kept, of " : ", of ") + reference,
              median (ratios), spread);
}

#endif
