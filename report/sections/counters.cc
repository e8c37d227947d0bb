// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/shared_words.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

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
    add(fmt::format("{} of the scaled values cover less than half the time and were left out",
                    counter.left_out));
  if (counter.absent > 0)
    add(fmt::format("absent in {} of the trials: {}", counter.absent, counter.reason));
  return one_line(text, longest);
}

Row counter_row(const Counter& each, const char* heading) {
  const auto blocks = [&](std::uint64_t n) { return each.of_blocks > 0 ? Value(n) : Value(); };
  return {
      column("name", each.name, heading, each.name).named(longest_name),
      json_only("unit", each.unit),
      json_only("counted", each.counted),
      json_only("scaled", each.scaled),
      shown_only("trials", fmt::format("{}", each.counted + each.scaled)),
      json_only("absent", each.absent),
      json_only("left_out", each.left_out),
      json_only("least_coverage", each.scaled > 0 ? Value(each.least_coverage) : Value()),
      column("median", known(each.median), "median", median_text(each)),
      shown_only("absent", fmt::format("{}", each.absent)).on_page(),
      json_only("reason", known(each.reason)),
      json_only("blocks", blocks(each.blocks)),
      json_only("of_blocks", blocks(each.of_blocks)),
      shown_only("remark", counter_remark(each)).left().on_page(),
  };
}

Section section_of(const std::vector<Counter>& counters, const char* title, const char* words,
                   const char* heading) {
  if (counters.empty()) return {};
  Part part;
  Part remarks{.is_for_text = true};
  for (const Counter& each : counters) {
    part.rows.push_back(counter_row(each, heading));
    if (const std::string text = counter_remark(each); !text.empty())
      remarks.below.push_back(fmt::format("{}: {}", name(each.name), text));
  }
  Section section{.title = title, .words = words, .parts = {std::move(part)}};
  if (!remarks.below.empty()) section.parts.push_back(std::move(remarks));
  return section;
}

}  // namespace

Section counters_section(const std::vector<Counter>& counters) {
  return section_of(counters, "Counters", "Event counts in the successful trials of all cells.",
                    "event");
}

Section measures_section(const std::vector<Counter>& measures) {
  return section_of(measures, "Measures",
                    "Values that programs print, derived measures, region times and simulated "
                    "counts, in the successful trials of all cells.",
                    "measure");
}

}  // namespace stab::report
