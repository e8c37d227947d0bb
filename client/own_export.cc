// SPDX-License-Identifier: MIT
#include "client/own_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stab::client {
namespace {

struct Rule {
  const char* column;
  const char* text;    // the column's text in rows that are data
  const char* others;  // describes the other rows
};

// A row is left out by the first rule that it breaks: a warm-up that failed counts as a warm-up,
// and a repeated attempt as repeated, although it failed or was disturbed.
constexpr std::array rules{
    Rule{.column = "warmup", .text = "false", .others = "of warm-up trials"},
    Rule{.column = "last", .text = "true", .others = "of attempts that were repeated"},
    Rule{.column = "status",
         .text = "ok",
         .others = "of trials that failed, were skipped or disturbed"},
};
constexpr const char* start = "started_ns";
constexpr std::array others{"position", "attempt", "block", "benchmark", "seed", "wall_ns", start};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool is_own_export(std::string_view text) {
  const auto header = stats::csv_header(text);
  if (!header) return false;
  const auto has = [&](const char* name) { return contains(*header, name); };
  return std::ranges::all_of(others, has) && std::ranges::all_of(rules, has, &Rule::column);
}

void ask_for_own_data(stats::CsvColumns& columns) {
  for (const Rule& rule : rules) {
    if (contains(columns.factors, rule.column) || columns.response == rule.column) continue;
    columns.only.push_back({.column = rule.column, .text = rule.text});
    if (rule.column != std::string_view("status")) continue;
    // A trial that timed out would have taken at least as long as it ran.
    columns.only.back().others_are_lost = true;
    columns.only.back().excluded = "disturbed";
    if (columns.response == "wall_ns") columns.only.back().at_least = "timeout";
  }
  if (columns.order.empty()) columns.order = start;
}

std::string own_rows_left_out(const stats::CsvColumns& columns,
                              std::span<const std::size_t> left_out) {
  std::size_t all = 0;
  std::string parts;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i] == 0) continue;
    all += left_out[i];
    const auto* const rule = std::ranges::find_if(
        rules, [&](const Rule& each) { return columns.only[i].column == each.column; });
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", left_out[i], rule->others);
  }
  if (all == 0) return "";
  return fmt::format("{} row{} of stabd's export left out: {}.", all, all == 1 ? "" : "s", parts);
}

}  // namespace stab::client
