// SPDX-License-Identifier: MIT
#include "results/profiles/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/json.h"
#include "base/text.h"
#include "report/or_null.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "results/profiles/words.h"
#include "results/trials.h"
#include "stats/tests/estimate.h"
#include "stats/tests/student.h"
#include "stats/verdicts/decide.h"

namespace stab::results {
namespace {

// This key holds the sum over all functions of a trial.
const std::pair<std::string, std::string> everything{"", ""};
constexpr std::size_t most_rows = 40;  // in the text; JSON has all rows

struct Cells {
  CellDifference difference;
  std::set<std::string> known;
  std::uint64_t without = 0;  // trials of the two cells that have no profile
  std::string why{};          // why the first of them has none
  std::string unit{};
  bool found = false;  // some trial of the two cells has a profile
};

Result<Cells> read_cells(store::Reader& store, const store::Experiment& experiment,
                         const plan::Plan& plan, const protocol::ProfileRequest& request) {
  Cells cells;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!trial.last || trial.warmup || trial.status != store::TrialStatus::ok) return true;
    const std::string cell = cell_text(plan, trial);
    cells.known.insert(cell);
    if (std::ranges::find(request.cells, cell) == request.cells.end()) return true;
    if (!trial.profile.is_wanted() || !trial.profile.reason.empty()) {
      if (cells.without++ == 0) cells.why = trial.profile.reason;
      return true;
    }
    cells.found = true;
    cells.unit = trial.profile.unit;
    cells.difference.add(trial, cell == request.cells.front());
    return true;
  });
  if (!read) return fail(read.error().message);
  return cells;
}

Result<void> check_cells(const Cells& cells, const plan::Plan& plan,
                         const protocol::ProfileRequest& request) {
  if (request.cells.front() == request.cells.back())
    return fail("a cell cannot be compared with itself: name two different cells");
  for (const plan::Factor& factor : plan.factors)
    if (std::holds_alternative<plan::RandomSeeds>(factor.levels))
      return fail(
          "profiles of cells are compared block by block, but in a nested design the trials of a "
          "seed share its layout: use a design with blocks, or profiles of single trials");
  for (const std::string& cell : request.cells)
    if (!cells.known.contains(cell))
      return fail(fmt::format(
          "no trial of the cell '{}' succeeded; the cells with successful trials are '{}'",
          one_line(cell, 100), fmt::join(cells.known, "', '")));
  if (!cells.found)
    return fail(fmt::format("no trial of these cells has a profile: {}", cells.why));
  return {};
}

std::string cell_of(const std::optional<double>& value, const std::string& unit) {
  return value ? amount(*value, unit) : "-";
}

std::vector<report::Cell> row_of(const FunctionChange& each, const std::string& name,
                                 const std::string& unit) {
  return {{.text = cell_of(each.first, unit)},
          {.text = cell_of(each.second, unit)},
          {.text = change(each.difference, unit)},
          {.text = each.interval ? fmt::format("{} to {}", change(each.interval->low, unit),
                                               change(each.interval->high, unit))
                                 : "-"},
          {.text = each.p_adjusted ? report::p_text(*each.p_adjusted)
                   : each.p        ? report::p_text(*each.p)
                                   : "-"},
          {.text = one_line(name, 200)},
          {.text = one_line(each.object, 100)}};
}

std::string text_of(const Cells& cells, const plan::Plan& plan,
                    const protocol::ProfileRequest& request) {
  const double alpha = plan.analysis.alpha;
  const auto functions = cells.difference.functions(alpha);
  std::string text = fmt::format("'{}' against '{}', {} in a trial, over {} blocks with both\n",
                                 request.cells.back(), request.cells.front(), plan.profile,
                                 cells.difference.blocks());
  if (cells.without > 0)
    text += fmt::format("{} trials of these cells have no profile and are left out: {}\n",
                        cells.without, cells.why);
  report::Grid grid;
  for (const char* header : {"first", "second", "difference"})
    grid.column(header, report::Align::right);
  grid.column(report::level_text(alpha) + " interval", report::Align::left);
  grid.column("p", report::Align::left);
  grid.column("function", report::Align::left);
  grid.column("in", report::Align::left);
  grid.row(row_of(cells.difference.all(alpha), "all together", cells.unit));
  for (std::size_t i = 0; i < std::min(functions.size(), most_rows); ++i)
    grid.row(row_of(functions[i], readable(functions[i].function), cells.unit));
  text += "\n" + grid.render(request.colour) + "\n";
  if (functions.size() > most_rows)
    text += fmt::format("{} more functions differ less: --json has all of them.\n",
                        functions.size() - most_rows);
  return text +
         "Each interval is valid for its function alone; p is corrected for all functions (Holm). "
         "'-': the cell has no sample there.\n";
}

nlohmann::ordered_json json_of(const FunctionChange& each) {
  using Json = nlohmann::ordered_json;
  using report::or_null;
  return {{"first", or_null(each.first)},
          {"second", or_null(each.second)},
          {"difference", each.difference},
          {"low", each.interval ? Json(each.interval->low) : Json(nullptr)},
          {"high", each.interval ? Json(each.interval->high) : Json(nullptr)},
          {"p", or_null(each.p)},
          {"p_adjusted", or_null(each.p_adjusted)}};
}

std::string json_of(const Cells& cells, const plan::Plan& plan,
                    const protocol::ProfileRequest& request) {
  using Json = nlohmann::ordered_json;
  const double alpha = plan.analysis.alpha;
  Json functions = Json::array();
  for (const FunctionChange& each : cells.difference.functions(alpha)) {
    Json one{
        {"function", readable(each.function)}, {"symbol", each.function}, {"object", each.object}};
    one.update(json_of(each));
    functions.push_back(std::move(one));
  }
  const Json whole{{"experiment", request.id},
                   {"first", request.cells.front()},
                   {"second", request.cells.back()},
                   {"event", plan.profile},
                   {"unit", cells.unit},
                   {"alpha", alpha},
                   {"blocks", cells.difference.blocks()},
                   {"trials_without", cells.without},
                   {"all", json_of(cells.difference.all(alpha))},
                   {"functions", functions}};
  return json_text(whole, 2) + "\n";
}

}  // namespace

void CellDifference::add(const store::Trial& trial, bool is_first) {
  Block& block = blocks_[trial.block];
  Trials& trials = is_first ? block.first : block.second;
  ++trials.count;
  for (const counters::ProfiledFunction& each : trial.profile.functions) {
    const auto weight = static_cast<double>(each.weight);
    trials.sums[{one_symbol(each.name), each.object}] += weight;
    trials.sums[everything] += weight;
  }
}

std::vector<const CellDifference::Block*> CellDifference::complete() const {
  std::vector<const Block*> found;
  for (const auto& [number, block] : blocks_)
    if (block.first.count > 0 && block.second.count > 0) found.push_back(&block);
  return found;
}

std::size_t CellDifference::blocks() const {
  return complete().size();
}

FunctionChange CellDifference::change_of(const std::vector<const Block*>& blocks,
                                         const Function& function, double alpha) const {
  FunctionChange change{.function = function.first, .object = function.second};
  std::vector<double> first;
  std::vector<double> second;
  const auto add = [&](const Trials& trials, std::vector<double>& means,
                       std::optional<double>& mean) {
    const auto found = trials.sums.find(function);
    const bool has = found != trials.sums.end();
    means.push_back(has ? found->second / static_cast<double>(trials.count) : 0);
    if (has) mean = 0;
  };
  for (const Block* block : blocks) {
    add(block->first, first, change.first);
    add(block->second, second, change.second);
  }
  const double before = stats::moments(first).mean;
  const double after = stats::moments(second).mean;
  if (change.first) change.first = before;
  if (change.second) change.second = after;
  change.difference = after - before;
  if (const auto estimate = stats::paired(first, second)) {
    change.interval = stats::difference_interval(*estimate, alpha);
    change.p = stats::p_value(*estimate);
  }
  return change;
}

std::vector<FunctionChange> CellDifference::functions(double alpha) const {
  const auto blocks = complete();
  std::set<Function> names;
  for (const Block* block : blocks)
    for (const Trials* trials : {&block->first, &block->second})
      for (const auto& [function, weight] : trials->sums) names.insert(function);
  names.erase(everything);
  std::vector<FunctionChange> all;
  stats::Analysis family;
  for (const Function& function : names) {
    all.push_back(change_of(blocks, function, alpha));
    stats::Effect effect;
    effect.difference = all.back().difference;
    effect.p = all.back().p;
    family.effects.push_back(std::move(effect));
  }
  stats::decide(family);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].p_adjusted = family.effects[i].p_adjusted;
  std::ranges::sort(all, std::ranges::greater{}, [](const FunctionChange& each) {
    return std::tuple(std::abs(each.difference), each.function, each.object);
  });
  return all;
}

FunctionChange CellDifference::all(double alpha) const {
  return change_of(complete(), everything, alpha);
}

Result<std::string> difference_of_cells(store::Reader& store, const store::Experiment& experiment,
                                        const plan::Plan& plan,
                                        const protocol::ProfileRequest& request) {
  const auto cells = read_cells(store, experiment, plan, request);
  if (!cells) return std::unexpected(cells.error());
  if (auto good = check_cells(*cells, plan, request); !good) return std::unexpected(good.error());
  return request.format == "json" ? json_of(*cells, plan, request) : text_of(*cells, plan, request);
}

}  // namespace stab::results
