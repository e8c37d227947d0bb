// SPDX-License-Identifier: MIT
#include "results/heap_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "counters/readings.h"
#include "plan/texts.h"
#include "protocol/codec.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"

namespace stab::results {
namespace {

double median_of(const std::vector<HeapRun>& runs, double HeapRun::* what) {
  std::vector<double> numbers;
  for (const HeapRun& run : runs) numbers.push_back(run.*what);
  std::ranges::sort(numbers);
  return numbers.empty() ? 0 : numbers[numbers.size() / 2];
}

// The highest peak of all runs.
std::optional<double> peak_of(const std::vector<HeapRun>& runs) {
  std::optional<double> peak;
  for (const HeapRun& run : runs)
    if (run.peak) peak = std::max(peak.value_or(0), *run.peak);
  return peak;
}

double fastest_of(const std::vector<HeapRun>& runs) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const HeapRun& run : runs) fastest = std::min(fastest, run.cpu_ns);
  return fastest;
}

// Loading the library and filling bags may cost any program the own_* amounts. The most_* shares
// are allowed in addition. A change of CPU time that may be noise must be larger than others.
constexpr double own_faults = 100;
constexpr double own_peak = 1 << 20;
constexpr double own_cpu_ns = 2e6;
constexpr double most_counts = 0.05;
constexpr double most_time = 0.1;
constexpr double most_unsure_time = 0.25;
constexpr std::size_t enough_pairs = 3;
constexpr std::size_t enough_for_interval = 4;  // with fewer, an interval says nothing

constexpr double loading_ns = 4e5;
constexpr double least_difference = 0.01;
constexpr double least_difference_ns = 1e6;

// The logarithm of each pair's ratio, without the cost of loading the library.
std::vector<double> costs_of(const HeapPairs& pairs) {
  std::vector<double> costs;
  for (std::size_t i = 0; i < pairs.with.size(); ++i)
    costs.push_back(
        std::log(std::max(pairs.with[i].cpu_ns, 1.0) / (pairs.without[i].cpu_ns + loading_ns)));
  return costs;
}

bool differs(double without, double with, double share, double own) {
  return std::abs(with - without) > share * std::max(without, 0.0) + own;
}

// How many times as much CPU time a version takes with the layer, beside the cost of loading it.
struct TimeChange {
  double mean = 0;                            // of the logarithms
  double median = 0;                          // of the logarithms
  std::optional<stats::Interval> interval{};  // 95 %, of the mean; absent with too few pairs
  std::size_t pairs = 0;
};

TimeChange time_change_of(const HeapPairs& pairs) {
  std::vector<double> costs = costs_of(pairs);
  TimeChange change{.pairs = costs.size()};
  if (costs.empty()) return change;
  for (const double cost : costs) change.mean += cost / static_cast<double>(costs.size());
  if (const auto estimate = stats::paired(std::vector<double>(costs.size()), costs);
      estimate && costs.size() >= enough_for_interval)
    change.interval = stats::difference_interval(*estimate, 0.05);
  std::ranges::sort(costs);
  change.median = (costs[(costs.size() - 1) / 2] + costs[costs.size() / 2]) / 2;
  return change;
}

// Whether a logarithm is a change of more than this share, to more or to less time.
bool is_beyond(double logarithm, double share) {
  return std::abs(std::expm1(logarithm)) > share;
}

// Decision 29 explains this rule. `time` is the CPU time without the layer.
bool is_too_much(const TimeChange& change, double time) {
  if (std::abs(std::expm1(change.mean)) * time <= own_cpu_ns) return false;
  if (change.interval && (change.interval->low > 0 || change.interval->high < 0))
    return is_beyond(change.mean, most_time);
  return is_beyond(change.mean, most_unsure_time) && is_beyond(change.median, most_unsure_time);
}

std::string said(const TimeChange& change) {
  return fmt::format(
      "{:.3g} times as much CPU time with the heap layer ({}{} of runs)", std::exp(change.mean),
      change.interval ? fmt::format("95 % interval {:.3g} to {:.3g}, ",
                                    std::exp(change.interval->low), std::exp(change.interval->high))
                      : "",
      change.pairs == 1 ? "1 pair" : fmt::format("{} pairs", change.pairs));
}

}  // namespace

HeapRun heap_run(const store::Trial& run) {
  HeapRun made{.cpu_ns = static_cast<double>(run.user_ns.value_or(0) + run.system_ns.value_or(0))};
  if (const auto faults = store::number_of(run, "page-faults-minor"))
    made.faults = counters::to_double(faults->value);
  if (run.max_rss_bytes) made.peak = static_cast<double>(*run.max_rss_bytes);
  return made;
}

HeapChange what_changes(const std::string& version, const HeapPairs& pairs) {
  const double faults = median_of(pairs.without, &HeapRun::faults);
  const double more_faults = median_of(pairs.with, &HeapRun::faults);
  if (differs(faults, more_faults, most_counts, own_faults))
    return {.clause = fmt::format("{} has {:.0f} page faults with the heap layer, {:.0f} without",
                                  version, more_faults, faults)};
  const auto peak = peak_of(pairs.without);
  const auto higher = peak_of(pairs.with);
  if (peak && higher && differs(*peak, *higher, most_counts, own_peak))
    return {.clause =
                fmt::format("{} takes {:.1f} MB of memory with the heap layer, {:.1f} MB without",
                            version, *higher / 1e6, *peak / 1e6)};
  const TimeChange change = time_change_of(pairs);
  if (is_too_much(change, median_of(pairs.without, &HeapRun::cpu_ns)))
    return {.clause = fmt::format("{} takes {}", version, said(change)), .is_time = true};
  return {};
}

std::string what_costs_more(const std::string& first, const HeapPairs& of_first,
                            const std::string& second, const HeapPairs& of_second) {
  const std::vector<double> a = costs_of(of_first);
  const std::vector<double> b = costs_of(of_second);
  if (a.size() != b.size() || a.size() < enough_pairs) return "";
  const auto estimate = stats::paired(a, b);
  if (!estimate || std::abs(estimate->difference) < least_difference) return "";
  const double shorter = std::min(fastest_of(of_first.without), fastest_of(of_second.without));
  if (std::abs(estimate->difference) * shorter < least_difference_ns) return "";
  const auto p = stats::p_value(*estimate);
  if (!p || *p >= 0.05) return "";
  return fmt::format(
      "the heap layer increases the CPU time by {} percentage points {} in {} than in {}",
      rounded(100 * std::abs(estimate->difference), 2), estimate->difference > 0 ? "more" : "less",
      second, first);
}

HeapChange first_change(const std::vector<std::string>& versions,
                        const std::vector<HeapPairs>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (HeapChange change = what_changes(versions[i], pairs[i]); !change.clause.empty())
      return change;
  for (std::size_t i = 1; i < pairs.size(); ++i)
    if (std::string clause = what_costs_more(versions[0], pairs[0], versions[i], pairs[i]);
        !clause.empty())
      return {.clause = std::move(clause)};
  return {};
}

std::optional<report::HeapCost> heap_cost(const std::vector<HeapPairs>& all) {
  std::vector<double> without;
  std::vector<double> with;
  for (const HeapPairs& pairs : all)
    for (std::size_t i = 0; i < pairs.with.size(); ++i) {
      if (pairs.without[i].cpu_ns <= 0 || pairs.with[i].cpu_ns <= 0) continue;
      without.push_back(std::log(pairs.without[i].cpu_ns));
      with.push_back(std::log(pairs.with[i].cpu_ns));
    }
  if (with.empty()) return std::nullopt;
  report::HeapCost cost{.pairs = with.size()};
  auto estimate = stats::paired(without, with);
  if (!estimate) {
    cost.change = std::exp(with.front() - without.front()) - 1;
    return cost;
  }
  estimate->log = true;
  cost.change = std::exp(estimate->difference) - 1;
  const auto interval = stats::ratio_interval(*estimate, 0.05);
  if (interval && cost.pairs >= enough_for_interval) {
    cost.low = interval->low - 1;
    cost.high = interval->high - 1;
  }
  return cost;
}

std::string said(const report::HeapCost& cost) {
  std::string text = fmt::format("{:+.1f} % of CPU time", 100 * cost.change);
  if (cost.low && cost.high)
    return text + fmt::format("; 95 % interval {:+.1f} to {:+.1f} %, {} pairs of runs",
                              100 * *cost.low, 100 * *cost.high, cost.pairs);
  return text + fmt::format("; {} of runs",
                            cost.pairs == 1 ? "1 pair" : fmt::format("{} pairs", cost.pairs));
}

std::string why_no_layer(const std::string& version, const store::Trial& run, bool with_layer) {
  const bool has_run = run.status == store::TrialStatus::ok ||
                       (with_layer && run.status == store::TrialStatus::not_randomized);
  if (!has_run)
    return fmt::format("{} does not run{}: {}", version, with_layer ? " with the heap layer" : "",
                       one_line(run.reason, 200));
  if (!run.layout.note.empty())
    return fmt::format("{} has no random heap: {}", version, one_line(run.layout.note, 200));
  return fmt::format(
      "{} does not load the heap layer: it may be a script, a shell builtin, a statically linked "
      "program, or a program with more rights than its caller",
      version);
}

std::string heap_words(const report::HeapLayer& layer) {
  return fmt::format("{}: heap blocks are {}random{}", layer.benchmark, layer.drawn ? "" : "not ",
                     !layer.drawn ? ": " + layer.why_not
                     : layer.cost ? fmt::format(" (costs {})", said(*layer.cost))
                                  : "");
}

std::string heap_column(std::vector<report::HeapLayer> layers) {
  constexpr std::size_t most = 500;
  for (report::HeapLayer& layer : layers)
    for (std::string* text : {&layer.why_not, &layer.changes}) *text = one_line(*text, most);
  return layers.empty() ? "" : protocol::to_text(layers, -1);
}

Result<std::vector<report::HeapLayer>> heap_layers(const std::string& column) {
  if (column.empty()) return std::vector<report::HeapLayer>();
  const auto is_line = [](const std::string& text) { return one_line(text, text.size()) == text; };
  auto layers = protocol::from_text<std::vector<report::HeapLayer>>(column);
  if (!layers || !std::ranges::all_of(*layers, [&](const report::HeapLayer& each) {
        return plan::is_name(each.benchmark) && is_line(each.why_not) && is_line(each.changes);
      }))
    return fail("the column 'heap_layer' of table experiment has no decisions of test runs");
  return layers;
}

Result<std::vector<report::HeapLayer>> recall_heap(const store::Experiment& experiment,
                                                   plan::Plan& plan) {
  std::vector<report::HeapLayer> known;
  for (plan::Benchmark& benchmark : plan.benchmarks) benchmark.has_layer = false;
  if (!plan.layer_by_default) return known;
  const auto layers = heap_layers(experiment.heap_layer);
  if (!layers) return layers;
  for (plan::Benchmark& benchmark : plan.benchmarks) {
    const auto decided = std::ranges::find(*layers, benchmark.name, &report::HeapLayer::benchmark);
    if (decided == layers->end()) continue;
    benchmark.has_layer = decided->drawn;
    known.push_back(*decided);
  }
  return known;
}

}  // namespace stab::results
