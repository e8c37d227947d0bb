// SPDX-License-Identifier: MIT
// The cost of random layouts themselves, by plain trials.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

std::string response_of_cost(const Cost& cost) {
  stats::Spec spec;
  spec.response = cost.response;
  return response_words(spec);
}

std::string blocks_text(std::uint64_t blocks) {
  return fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
}

}  // namespace

std::string cost_text(const Document& document) {
  if (!document.cost || document.trials.ok == 0) return "";
  const Cost& cost = *document.cost;
  const Cost::Of& all = cost.all;
  const auto has_ratio = [](const Cost::Of& each) { return each.ratio.has_value(); };
  if (!all.ratio && std::ranges::none_of(cost.benchmarks, has_ratio))
    return "not known: no block has run the first level both with and without random layouts";
  if (!all.ratio) return "measured for each benchmark: see the table with --full";
  const bool has_interval = all.low && all.high;
  std::string text =
      fmt::format("random layouts themselves cost {}{} of {} ({}; {}{})",
                  percent_change(*all.ratio, all.low, all.high),
                  has_interval ? fmt::format(" ({})", percent_interval(*all.low, *all.high)) : "",
                  response_of_cost(cost), fmt::join(cost.off, ", "), blocks_text(all.blocks),
                  has_interval ? "" : ", too few for an interval");
  if (cost.is_large())
    text +=
        "; warning: users run programs without random layouts, so the verdicts may not hold for "
        "them: compare again without the random part that costs most";
  return text;
}

Row cost_row(const Cost& cost, const Cost::Of& of) {
  return {column("benchmark", known(of.benchmark), "benchmark",
                 of.benchmark.empty() ? "all of these" : of.benchmark)
              .named(longest_name),
          column("ratio", known(of.ratio), "cost", change_text(of.ratio, of.low, of.high)),
          json_only("low", known(of.low)),
          json_only("high", known(of.high)),
          shown_only(level_text(cost.alpha) + " interval", interval_text(of.low, of.high)),
          column("n", of.blocks, "blocks", fmt::format("{}", of.blocks))};
}

Section cost_section(const Document& document) {
  if (!document.cost || document.cost->benchmarks.empty()) return {};
  const Cost& cost = *document.cost;
  Part part;
  for (const Cost::Of& each : cost.benchmarks) part.rows.push_back(cost_row(cost, each));
  if (cost.benchmarks.size() > 1 && cost.all.ratio) part.rows.push_back(cost_row(cost, cost.all));
  return {.title = "Cost of random layouts",
          .words = fmt::format(
              "In one of five blocks, the first cell also runs without random layouts, as users "
              "run the program. The cost is the change of the {} from this trial to the cell's own "
              "trial in the same block, which has random {}. It is no part of any comparison.",
              response_of_cost(cost), fmt::join(cost.off, ", ")),
          .parts = {std::move(part)}};
}

}  // namespace stab::report
