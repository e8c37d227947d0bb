// SPDX-License-Identifier: MIT
#include "results/profiles.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/reading/read_plan.h"
#include "protocol/run.h"
#include "report/json.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "results/run_request.h"
#include "results/trials.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/decide.h"
#include "store/reader.h"
#include "toml/value.h"

namespace stab::results {

std::string readable(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : symbol;
}

std::string one_symbol(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  const std::string name = readable(symbol);
  std::string found = symbol;
  for (std::size_t at = 2; at + 1 < found.size(); ++at) {
    if ((found[at] != 'C' && found[at] != 'D') || found[at + 1] != '2') continue;
    std::string other = found;
    other[at + 1] = '1';
    // "C2" or "D2" may be part of an identifier instead; then changing it changes the readable
    // name.
    if (readable(other) == name) found = std::move(other);
  }
  return found;
}

std::string amount(double value, const std::string& unit) {
  const auto step = report::unit_step(
      std::abs(value), unit == "ns" ? stats::Unit::nanoseconds : stats::Unit::number);
  const double size = value / step.factor;
  const int decimals = std::abs(size) >= 100 ? 0 : std::abs(size) >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}{}{}", size, decimals, *step.name == '\0' ? "" : " ", step.name);
}

std::string change(double value, const std::string& unit) {
  return (value < 0 ? "" : "+") + amount(value, unit);
}

namespace {

// Finds the functions that take longer in one cell of the plan than in another. The units are
// blocks, never samples: each cell's mean in a block is one number, and the test is on their
// differences.

struct FunctionChange {
  std::string function{};
  std::string object{};
  std::optional<double> first{};  // mean per trial; absent if no trial of the cell has the function
  std::optional<double> second{};
  double difference = 0;  // second - first; a cell without the function counts as 0
  std::optional<stats::Interval> interval{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // corrected for all functions together
};

// Sums up the profiles of two cells.
class CellDifference {
 public:
  // `is_first`: whether the trial belongs to the first cell. The trial must have a profile.
  void add(const store::Trial& trial, bool is_first);

  // The number of blocks in which both cells have a profile; only these blocks count.
  [[nodiscard]] std::size_t blocks() const;
  // The functions, largest difference first. With fewer than two blocks there are no tests.
  [[nodiscard]] std::vector<FunctionChange> functions(double alpha) const;
  // The change in the sum over all functions.
  [[nodiscard]] FunctionChange all(double alpha) const;

 private:
  using Function = std::pair<std::string, std::string>;  // name, object
  struct Trials {
    std::size_t count = 0;
    std::map<Function, double> sums;
  };
  struct Block {
    Trials first;
    Trials second;
  };
  [[nodiscard]] std::vector<const Block*> complete() const;
  [[nodiscard]] FunctionChange change_of(const std::vector<const Block*>& blocks,
                                         const Function& function, double alpha) const;

  std::map<std::uint32_t, Block> blocks_;
};

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
    if (!trial.last || trial.warmup || is_plain(trial) || trial.status != store::TrialStatus::ok)
      return true;
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
          "profiles of cells are compared within blocks, but the cells of a nested design share no "
          "blocks: use a design with blocks, or show the profiles of single trials");
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
  std::string text = fmt::format(
      "the cell '{}' compared with the cell '{}': {} per trial, in {} blocks that have both "
      "cells\n",
      request.cells.back(), request.cells.front(), plan.profile, cells.difference.blocks());
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
    text += fmt::format("{} more functions have smaller differences; --json lists all functions.\n",
                        functions.size() - most_rows);
  return text +
         "Each interval is valid for its function alone; p is corrected for all functions (Holm). "
         "'-': the cell has no sample in the function.\n";
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

// Answers a request as text or JSON. If a cell has no successful trial, the error lists the cells
// that do.
Result<std::string> difference_of_cells(store::Reader& store, const store::Experiment& experiment,
                                        const plan::Plan& plan,
                                        const protocol::ProfileRequest& request) {
  const auto cells = read_cells(store, experiment, plan, request);
  if (!cells) return std::unexpected(cells.error());
  if (auto good = check_cells(*cells, plan, request); !good) return std::unexpected(good.error());
  return request.format == "json" ? json_of(*cells, plan, request) : text_of(*cells, plan, request);
}

using counters::Profile;
using counters::ProfiledFunction;

std::uint64_t samples_in(const Profile& profile) {
  std::uint64_t samples = 0;
  for (const ProfiledFunction& each : profile.functions) samples += each.samples;
  return samples;
}

double weight_in(const Profile& profile) {
  double weight = 0;
  for (const ProfiledFunction& each : profile.functions) weight += static_cast<double>(each.weight);
  return weight;
}

double share_of(const ProfiledFunction& function, double all) {
  return all > 0 ? static_cast<double>(function.weight) / all : 0;
}

// Why the trial has no profile; "" if it has one.
std::string reason_of(const Profile& profile) {
  return profile.is_wanted() ? profile.reason : "its program did not run";
}

std::string text_of(const store::Trial& trial, const std::string& cell, bool colour) {
  const Profile& profile = trial.profile;
  const double all = weight_in(profile);
  const std::string reason = reason_of(profile);
  std::string text =
      fmt::format("Trial {} of experiment {}: {}, block {}, {}\n", trial.position, trial.experiment,
                  cell, trial.block, store::to_string(trial.status));
  if (!reason.empty()) return text + fmt::format("It has no profile: {}\n", one_line(reason, 500));
  text +=
      fmt::format("The profile has {} samples of {} (requested: {} per second). Their sum is {}.\n",
                  samples_in(profile), profile.event, profile.hz, amount(all, profile.unit));
  if (profile.lost > 0)
    text += fmt::format(
        "The kernel lost {} records, because its buffer was full. Samples after the first lost "
        "record are "
        "shown as {}.\n",
        profile.lost, counters::unknown_function);
  report::Grid grid;
  grid.column("share", report::Align::right);
  grid.column("samples", report::Align::right);
  grid.column(profile.unit == "ns" ? "time" : profile.event, report::Align::right);
  grid.column("function", report::Align::left);
  grid.column("in", report::Align::left);
  for (const ProfiledFunction& each : profile.functions)
    grid.row({{.text = fmt::format("{:.1f} %", 100 * share_of(each, all))},
              {.text = fmt::format("{}", each.samples)},
              {.text = amount(static_cast<double>(each.weight), profile.unit)},
              {.text = one_line(readable(each.name), 200)},
              {.text = one_line(each.object, 100)}});
  return text + "\n" + grid.render(colour);
}

std::string json_of(const store::Trial& trial, const std::string& cell) {
  using Json = nlohmann::ordered_json;
  const Profile& profile = trial.profile;
  const double all = weight_in(profile);
  Json functions = Json::array();
  for (const ProfiledFunction& each : profile.functions)
    functions.push_back({{"function", readable(each.name)},
                         {"symbol", each.name},
                         {"object", each.object},
                         {"samples", each.samples},
                         {"weight", each.weight},
                         {"share", share_of(each, all)}});
  const Json whole{{"experiment", trial.experiment},
                   {"position", trial.position},
                   {"attempt", trial.attempt},
                   {"block", trial.block},
                   {"cell", cell},
                   {"status", store::to_string(trial.status)},
                   {"event", profile.event},
                   {"unit", profile.unit},
                   {"hz", profile.hz},
                   {"reason", reason_of(profile)},
                   {"lost", profile.lost},
                   {"samples", samples_in(profile)},
                   {"functions", functions}};
  return json_text(whole, 2) + "\n";
}

Result<std::string> of_trial(store::Reader& store, const store::Experiment& experiment,
                             const plan::Plan& plan, const protocol::ProfileRequest& request) {
  const auto trial = find_trial(
      store, experiment, {.position = request.position.value_or(0), .attempt = request.attempt});
  if (!trial) return std::unexpected(trial.error());
  const std::string cell = cell_text(plan, *trial);
  return request.format == "json" ? json_of(*trial, cell) : text_of(*trial, cell, request.colour);
}

}  // namespace

Result<protocol::ProfileReply> answer_profile(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const protocol::ProfileRequest& request) {
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan) return fail(toml::describe(plan.error(), experiment.name));
  if (plan->profile.empty())
    return fail(fmt::format(
        "experiment {} has no profiles: set 'measure.profile' in its plan, for example to "
        "\"task-clock:u\"",
        experiment.id));
  if (request.position.has_value() != request.cells.empty() ||
      (!request.cells.empty() && request.cells.size() != 2))
    return fail("which profile? Give the position of a trial, or two cells (--cells A B)");
  auto text = request.cells.empty() ? of_trial(store, experiment, *plan, request)
                                    : difference_of_cells(store, experiment, *plan, request);
  if (!text) return std::unexpected(text.error());
  return protocol::ProfileReply{.text = std::move(*text)};
}

}  // namespace stab::results
