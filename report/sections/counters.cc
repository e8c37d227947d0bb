// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
std::string median_text(const Counter& counter) {
  if (!counter.median) return "-";
  if (counter.unit != "ns" && counter.unit != "bytes")
    return short_number(*counter.median) +
           (counter.unit.empty() ? "" : " " + one_line(counter.unit, longest));
  const UnitStep step = unit_step(
      *counter.median, counter.unit == "ns" ? stats::Unit::nanoseconds : stats::Unit::bytes);
  return fmt::format("{} {}", short_number(*counter.median / step.factor), step.name);
}

std::string counter_remark(const Counter& counter) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (counter.of_blocks > 0)
    add(fmt::format("counted in {} of {} blocks, in turn with other events", counter.blocks,
                    counter.of_blocks));
  if (counter.scaled > 0)
    add(fmt::format("scaled in {} of the trials, counted at least {:.0f} % of the time",
                    counter.scaled, 100 * counter.least_coverage));
  if (counter.left_out > 0)
    add(fmt::format("{} of these counted for less than half the time and were left out",
                    counter.left_out));
  if (counter.absent > 0)
    add(fmt::format("absent in {} of the trials: {}", counter.absent, counter.reason));
  return one_line(text, longest);
}

namespace {

// What they are and where they are from.
struct Words {
  const char* title;
  const char* sentence;
  const char* column;
};

std::string section(const std::vector<Counter>& counters, const Words& words,
                    const TextOptions& options) {
  if (counters.empty()) return "";
  Grid grid;
  grid.column(words.column, Align::left);
  grid.column("trials", Align::right);
  grid.column("median", Align::right);
  std::string remarks;
  for (const Counter& each : counters) {
    grid.row(
        {{name(each.name)}, {fmt::format("{}", each.counted + each.scaled)}, {median_text(each)}});
    if (const std::string text = counter_remark(each); !text.empty())
      remarks += paragraph("  ", fmt::format("{}: {}", name(each.name), text), page_width);
  }
  std::string text = table_section(words.title, words.sentence, grid, options);
  return remarks.empty() ? text : text + remarks + "\n";
}

}  // namespace

std::string counters_section(const std::vector<Counter>& counters, const TextOptions& options) {
  return section(counters,
                 {"Counters", "Event counts in the successful trials of all cells.", "event"},
                 options);
}

std::string measures_section(const std::vector<Counter>& measures, const TextOptions& options) {
  return section(measures,
                 {"Measures",
                  "Values that programs print, derived measures, region times and simulated "
                  "counts, in the successful trials of all cells.",
                  "measure"},
                 options);
}

}  // namespace stab::report
