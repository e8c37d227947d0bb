// SPDX-License-Identifier: MIT

#include "results/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "plan/measures/names.h"
#include "stats/series/change_points.h"
#include "stats/verdicts/analysis.h"

namespace stab::results::history {
namespace {

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// "" if they are comparable.
std::string why_not_comparable(const Experiment& each, const Experiment& latest,
                               const Options& options) {
  if (each.simulated != latest.simulated)
    return each.simulated ? "the trials ran under a simulator"
                          : "the trials ran without a simulator";
  if (each.response != latest.response || each.unit != latest.unit)
    return fmt::format("its response is {}{}", each.response,
                       each.response == latest.response ? " in another unit" : "");
  if (each.log_scale != latest.log_scale)
    return each.log_scale ? "its means are geometric" : "its means are arithmetic";
  if (!each.machine.empty() && each.hardware == latest.hardware) return "";
  const bool is_of_pool = !each.pool.empty() && each.pool == latest.pool;
  if (is_of_pool && options.pool) return "";
  if (is_of_pool)
    return fmt::format("other nodes with the same hardware: {} ('--pool' includes them)",
                       fmt::join(each.nodes, ", "));
  return "another machine: " + (each.machine.empty() ? "not known" : each.machine);
}

// The rest of the machine's line, behind its hardware.
std::string_view system_of(const Experiment& each) {
  return std::string_view(each.machine).substr(std::min(each.hardware.size(), each.machine.size()));
}

// Settings include the compiler if the plan names it.
std::string new_setting(const Experiment& each, const Experiment& before) {
  for (const std::string& setting : each.settings)
    if (std::ranges::find(before.settings, setting) == before.settings.end())
      return "different settings than before: " + one_line(setting, 60);
  return "fewer settings than before";
}

std::vector<std::string> remarks_on(const Experiment& each, const Experiment& before) {
  std::vector<std::string> remarks;
  if (each.nodes != before.nodes)
    remarks.push_back(fmt::format("different nodes than before: {}", fmt::join(each.nodes, ", ")));
  if (system_of(each) != system_of(before))
    remarks.push_back("different kernel or system than before");
  if (each.settings != before.settings) remarks.push_back(new_setting(each, before));
  if (!each.versions.empty() && !before.versions.empty() && each.versions != before.versions)
    remarks.push_back("different versions of stabd or of compilers than before");
  return remarks;
}

std::vector<Series> series_of(std::vector<Experiment>& experiments) {
  std::vector<Series> all;
  std::map<Levels, std::size_t> places;
  for (std::size_t i = 0; i < experiments.size(); ++i)
    for (const Mean& mean : experiments[i].means) {
      const auto [place, fresh] = places.try_emplace(mean.levels, all.size());
      if (fresh) all.push_back({.levels = mean.levels});
      all[place->second].points.push_back({.experiment = i, .mean = mean});
    }
  return all;
}

// Takes logarithms if all means are positive: a relative change then has the same size at every
// level of the series.
std::vector<double> numbers_of(const Series& series, bool& logarithms) {
  const auto is_positive = [](const Point& each) { return each.mean.mean > 0; };
  logarithms = std::ranges::all_of(series.points, is_positive);
  std::vector<double> numbers;
  for (const Point& each : series.points)
    numbers.push_back(logarithms ? std::log(each.mean.mean) : each.mean.mean);
  return numbers;
}

// The limits that missing trials leave of each number; infinite without a bound.
std::vector<stats::Limits> limits_of(const Series& series) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  bool logarithms = false;
  const std::vector<double> numbers = numbers_of(series, logarithms);
  std::vector<stats::Limits> limits;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Mean& mean = series.points[i].mean;
    stats::Limits each{.low = numbers[i], .high = numbers[i]};
    if (mean.missing > 0) {
      each = {.low = mean.loss_low.value_or(-endless), .high = mean.loss_high.value_or(endless)};
      if (logarithms)
        each = {.low = std::log(std::max(0.0, each.low)), .high = std::log(each.high)};
    }
    limits.push_back(each);
  }
  return limits;
}

bool is_complete(const Point& point) {
  return point.mean.missing == 0;
}

double mean_between(const std::vector<double>& numbers, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += numbers[i];
  return sum / static_cast<double>(to - from);
}

// Whether a change is found between the parts [from, at) and [at, to) of these numbers.
bool is_found(const std::vector<double>& numbers, std::size_t from, std::size_t at, std::size_t to,
              bool more, const stats::ChangePointOptions& options) {
  if (from == at || at == to) return false;
  const double before = mean_between(numbers, from, at);
  const double after = mean_between(numbers, at, to);
  if (before == after || (after > before) != more) return false;
  return std::ranges::any_of(stats::change_points(numbers, options).found,
                             [&](const auto& each) { return each.at > from && each.at < to; });
}

// Whether the change between the parts [from, at) and [at, to) is still found if missing trials
// make the parts as alike as possible, or without the points that lack a bound if there are only a
// few.
bool stands(const Series& series, const std::vector<double>& numbers, std::size_t from,
            const Change& change, std::size_t to, const stats::ChangePointOptions& options) {
  if (std::all_of(series.points.begin() + static_cast<std::ptrdiff_t>(from),
                  series.points.begin() + static_cast<std::ptrdiff_t>(to), is_complete))
    return true;
  const std::vector<stats::Limits> limits = limits_of(series);
  const std::span<const stats::Limits> part = std::span(limits).subspan(from, to - from);
  const bool more = change.difference > 0;
  const std::vector<double> own = stats::least_favourable(part, change.at - from, more);
  if (!own.empty()) {
    std::vector<double> with_all = numbers;
    std::ranges::copy(own, with_all.begin() + static_cast<std::ptrdiff_t>(from));
    if (is_found(with_all, from, change.at, to, more, options)) return true;
  }
  const auto lacks = [](const stats::Limits& each) { return !each.has_both(); };
  const auto without = static_cast<std::size_t>(std::ranges::count_if(part, lacks));
  if (without == 0 || without > stats::few_without_limit) return false;
  // On a short side, leaving out a point or two may make the change.
  constexpr std::ptrdiff_t least_left = 5;
  const auto is_too_short = [&](auto begin, auto end) {
    const auto left_out = std::count_if(begin, end, lacks);
    return left_out > 0 && end - begin - left_out < least_left;
  };
  const auto at = part.begin() + static_cast<std::ptrdiff_t>(change.at - from);
  if (is_too_short(part.begin(), at) || is_too_short(at, part.end())) return false;
  std::vector<double> others;
  std::vector<std::size_t> starts;  // in `others`, of the two parts, and the end of the second
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i == from || i == change.at || i == to) starts.push_back(others.size());
    const bool is_in = i >= from && i < to;
    if (is_in && lacks(limits[i])) continue;
    const double at_limit = (i < change.at) == more ? limits[i].high : limits[i].low;
    others.push_back(is_in ? at_limit : numbers[i]);
  }
  starts.resize(3, others.size());
  return is_found(others, starts[0], starts[1], starts[2], more, options);
}

void find_changes(const std::vector<Experiment>& experiments, Series& series,
                  const stats::ChangePointOptions& options) {
  bool logarithms = false;
  const std::vector<double> numbers = numbers_of(series, logarithms);
  const stats::ChangePoints result = stats::change_points(numbers, options);
  std::vector<std::size_t> cuts{0};
  for (const stats::ChangePoint& each : result.found) cuts.push_back(each.at);
  cuts.push_back(numbers.size());
  for (std::size_t i = 0; i < result.found.size(); ++i) {
    const double before = mean_between(numbers, cuts[i], cuts[i + 1]);
    const double after = mean_between(numbers, cuts[i + 1], cuts[i + 2]);
    Change change{.at = cuts[i + 1], .p = result.found[i].p};
    change.difference = logarithms ? std::exp(after) - std::exp(before) : after - before;
    if (logarithms) change.ratio = std::exp(after - before);
    change.stands = stands(series, numbers, cuts[i], change, cuts[i + 2], options);
    change.other_nodes = may_be_nodes(experiments, series, cuts[i], cuts[i + 1], cuts[i + 2]);
    series.changes.push_back(change);
  }
}

bool is_exact(const History& history, const Series& series) {
  return std::ranges::all_of(series.points, [&](const Point& each) {
    return history.experiments[each.experiment].facts && !each.mean.low;
  });
}

// Rounds the means, because a size is a whole number of bytes.
void find_steps(Series& series) {
  for (std::size_t i = 1; i < series.points.size(); ++i) {
    const double before = std::round(series.points[i - 1].mean.mean);
    const double after = std::round(series.points[i].mean.mean);
    if (before == after) continue;
    series.changes.push_back({.at = i, .difference = after - before});
    if (before > 0 && after > 0) series.changes.back().ratio = after / before;
  }
}

// Enough permutations that 20 of them decide at `alpha`. The time of a permutation grows with the
// square of the series' length, so more than 19,999 are used only if all tests take some seconds.
std::size_t permutations_for(double alpha, std::size_t tested, std::size_t longest) {
  constexpr double deciding = 20;
  constexpr double least = 999;
  constexpr double always = 19'999;
  constexpr double work = 2e9;
  const double each = static_cast<double>(tested) * std::pow(static_cast<double>(longest), 2);
  return static_cast<std::size_t>(std::clamp(std::ceil(deciding / alpha) - 1, least,
                                             std::max(always, std::floor(work / each))));
}

// Unlike change points, alarms are valid for a user who looks after each experiment.
void watch_all(History& history) {
  stats::WatchOptions options;
  for (Series& each : history.series)
    each.watched = !each.exact && each.points.size() > options.start;
  // All series that may ever be watched share alpha, so that an earlier answer stays the same when
  // another series becomes long enough.
  const auto exact = std::ranges::count_if(history.series, &Series::exact);
  const std::size_t all = history.series.size() - static_cast<std::size_t>(exact);
  options.alpha = history.options.alpha / static_cast<double>(std::max<std::size_t>(1, all));
  for (Series& each : history.series)
    if (each.watched) each.alarms = alarms_of(each, options);
}

// The tested series share alpha. A series is too short to be tested if p can't reach its share.
void test_all(History& history) {
  for (Series& each : history.series) {
    each.exact = is_exact(history, each);
    if (each.exact) find_steps(each);
  }
  std::size_t longest = 0;
  const auto count_tested = [&](double alpha) {
    std::size_t tested = 0;
    for (Series& each : history.series) {
      if (each.exact) continue;
      longest = std::max(longest, each.points.size());
      each.tested = stats::least_p(each.points.size()) <= alpha;
      tested += each.tested ? 1 : 0;
    }
    return tested;
  };
  const std::size_t most = count_tested(history.options.alpha);
  history.alpha_of_each =
      history.options.alpha / static_cast<double>(std::max<std::size_t>(1, most));
  const std::size_t tested = count_tested(history.alpha_of_each);
  if (tested == 0) return;
  const std::size_t permutations = permutations_for(history.alpha_of_each, tested, longest);
  if (1 / static_cast<double>(permutations + 1) > history.alpha_of_each) {
    history.too_many = true;
    for (Series& each : history.series) each.tested = false;
    return;
  }
  history.permutations = permutations;
  for (std::size_t i = 0; i < history.series.size(); ++i)
    if (history.series[i].tested)
      find_changes(history.experiments, history.series[i],
                   {.alpha = history.alpha_of_each,
                    .permutations = history.permutations,
                    .seed = derive(history.options.seed, "history", {i})});
}

}  // namespace

Experiment experiment_in(const report::Document& document, const std::string& benchmark) {
  const stats::Analysis& analysis = document.analysis;
  const report::Layouts& layouts = document.layouts;
  const report::TrialCounts& trials = document.trials;
  Experiment experiment{.id = document.id,
                        .name = document.experiment,
                        .at_ns = document.from_ns,
                        .machine = document.machine,
                        .hardware = document.hardware,
                        .nodes = document.nodes,
                        .pool = document.pool,
                        .settings = document.settings,
                        .versions = document.versions,
                        .source = document.source,
                        .response = analysis.spec.response,
                        .unit = analysis.spec.unit,
                        .log_scale = analysis.spec.log_scale,
                        .higher_is_better = analysis.spec.higher_is_better,
                        .simulated = document.simulated,
                        .trials = trials.ok + trials.failed + trials.skipped + trials.disturbed,
                        .missing = trials.failed + trials.skipped + trials.disturbed,
                        .all_moved = layouts.random_code > 0 &&
                                     layouts.random_code == layouts.randomized &&
                                     layouts.unrandomized == 0 && layouts.without_runtime == 0};
  // If a verdict on the size is unsure, the trials may have used only a few of many builds.
  experiment.facts = experiment.response == plan::code_size &&
                     std::ranges::none_of(analysis.effects, [](const stats::Effect& each) {
                       return each.verdict == stats::Verdict::unsure;
                     });
  for (const stats::CellMean& each : analysis.means) {
    if (each.subject != benchmark) {
      if (std::ranges::find(experiment.others, each.subject) == experiment.others.end())
        experiment.others.push_back(each.subject);
    } else if (std::isfinite(each.mean)) {
      experiment.means.push_back({.n = each.n,
                                  .mean = each.mean,
                                  .low = finite(each.low),
                                  .high = finite(each.high),
                                  .missing = each.lost,
                                  .loss_low = finite(each.loss_low),
                                  .loss_high = finite(each.loss_high),
                                  .loss_interval_low = finite(each.loss_interval_low),
                                  .loss_interval_high = finite(each.loss_interval_high)});
      Levels& levels = experiment.means.back().levels;
      const std::vector<std::string>& names = analysis.spec.treatments;
      for (std::size_t i = 0; i < std::min(names.size(), each.levels.size()); ++i)
        levels[names[i]] = each.levels[i];
    }
  }
  return experiment;
}

std::vector<stats::Alarm> alarms_of(const Series& series, const stats::WatchOptions& options) {
  bool logarithms = false;
  return std::ranges::all_of(series.points, is_complete)
             ? stats::watch(numbers_of(series, logarithms), options)
             : stats::watch_limits(limits_of(series), options);
}

bool may_be_nodes(const std::vector<Experiment>& experiments, const Series& series,
                  std::size_t from, std::size_t at, std::size_t to) {
  constexpr double most_apart = 0.5 + 1e-9;
  const auto shares_of = [&](std::size_t begin, std::size_t end) {
    std::map<std::string, double> shares;
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<std::string>& own = experiments[series.points[i].experiment].nodes;
      for (const std::string& node : own)
        shares[node] += 1 / static_cast<double>(own.size() * (end - begin));
    }
    return shares;
  };
  const std::map<std::string, double> before = shares_of(from, at);
  const std::map<std::string, double> after = shares_of(at, to);
  bool goes = false;
  bool comes = false;
  double apart = 0;
  for (const auto& [node, share] : before) {
    const auto later = after.find(node);
    goes = goes || later == after.end();
    apart += later == after.end() ? share : std::max(0.0, share - later->second);
  }
  for (const auto& [node, share] : after) comes = comes || !before.contains(node);
  return (goes && comes) || apart > most_apart;
}

History make_history(const std::string& benchmark, std::vector<Experiment> experiments,
                     const Options& options) {
  History history{.benchmark = benchmark, .options = options};
  std::ranges::sort(experiments, [](const Experiment& a, const Experiment& b) {
    return std::pair(a.at_ns, a.id) < std::pair(b.at_ns, b.id);
  });
  const Experiment latest = experiments.back();
  for (Experiment& each : experiments) {
    std::string reason = why_not_comparable(each, latest, options);
    if (each.id != latest.id && !reason.empty()) {
      history.left_out.push_back({.id = each.id, .name = each.name, .reason = std::move(reason)});
      continue;
    }
    history.remarks.push_back(history.experiments.empty()
                                  ? std::vector<std::string>()
                                  : remarks_on(each, history.experiments.back()));
    // If the slowest trials are missing, the mean is too low, whatever the experiment before it.
    if (each.missing > 0)
      history.remarks.back().push_back(
          fmt::format("{} of {} trials are missing", each.missing, each.trials));
    history.experiments.push_back(std::move(each));
  }
  history.series = series_of(history.experiments);
  test_all(history);
  watch_all(history);
  return history;
}

}  // namespace stab::results::history
