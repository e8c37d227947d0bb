// SPDX-License-Identifier: MIT
#include "client/ab/layer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "stats/tests/estimate.h"
#include "stats/tests/student.h"

namespace stab::client::ab {
namespace {

double median_of(const std::vector<Run>& runs, double Run::* what) {
  std::vector<double> numbers;
  for (const Run& run : runs) numbers.push_back(run.*what);
  std::ranges::sort(numbers);
  return numbers.empty() ? 0 : numbers[numbers.size() / 2];
}

// The highest peak of all runs.
std::optional<double> peak_of(const std::vector<Run>& runs) {
  std::optional<double> peak;
  for (const Run& run : runs)
    if (run.peak) peak = std::max(peak.value_or(0), *run.peak);
  return peak;
}

double fastest_of(const std::vector<Run>& runs) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const Run& run : runs) fastest = std::min(fastest, run.cpu_ns);
  return fastest;
}

// Loading the library and filling bags may cost any program the own_* amounts. The most_* shares
// are allowed in addition.
constexpr double own_faults = 100;
constexpr double own_peak = 1 << 20;
constexpr double own_cpu_ns = 2e6;
constexpr double most_counts = 0.05;
constexpr double most_time = 0.1;
constexpr double most_time_of_few_pairs = 0.25;
constexpr std::size_t enough_pairs = 3;
constexpr std::size_t enough_for_interval = 4;  // with fewer, an interval says nothing

constexpr double loading_ns = 4e5;
constexpr double least_difference = 0.01;
constexpr double least_difference_ns = 1e6;

// The logarithm of each pair's ratio, without the cost of loading the library.
std::vector<double> costs_of(const Pairs& pairs) {
  std::vector<double> costs;
  for (std::size_t i = 0; i < pairs.with.size(); ++i)
    costs.push_back(
        std::log(std::max(pairs.with[i].cpu_ns, 1.0) / (pairs.without[i].cpu_ns + loading_ns)));
  return costs;
}

bool differs(double without, double with, double share, double own) {
  return std::abs(with - without) > share * std::max(without, 0.0) + own;
}

}  // namespace

std::string what_changes(const std::string& version, const Pairs& pairs) {
  const double faults = median_of(pairs.without, &Run::faults);
  const double more_faults = median_of(pairs.with, &Run::faults);
  if (differs(faults, more_faults, most_counts, own_faults))
    return fmt::format("{} has {:.0f} page faults with libstabheap.so, {:.0f} without", version,
                       more_faults, faults);
  const auto peak = peak_of(pairs.without);
  const auto higher = peak_of(pairs.with);
  if (peak && higher && differs(*peak, *higher, most_counts, own_peak))
    return fmt::format("{} takes {:.1f} MB of memory with libstabheap.so, {:.1f} MB without",
                       version, *higher / 1e6, *peak / 1e6);
  const double time = fastest_of(pairs.without);
  const double longer = fastest_of(pairs.with);
  const double most = pairs.with.size() < enough_pairs ? most_time_of_few_pairs : most_time;
  if (differs(time, longer, most, own_cpu_ns))
    return fmt::format("{} takes {:.3g} times as much CPU time with libstabheap.so", version,
                       longer / time);
  return "";
}

std::string what_costs_more(const std::string& first, const Pairs& of_first,
                            const std::string& second, const Pairs& of_second) {
  const std::vector<double> a = costs_of(of_first);
  const std::vector<double> b = costs_of(of_second);
  if (a.size() != b.size() || a.size() < enough_pairs) return "";
  const auto estimate = stats::paired(a, b);
  if (!estimate || std::abs(estimate->difference) < least_difference) return "";
  const double shorter = std::min(fastest_of(of_first.without), fastest_of(of_second.without));
  if (std::abs(estimate->difference) * shorter < least_difference_ns) return "";
  const auto p = stats::p_value(*estimate);
  if (!p || *p >= 0.05) return "";
  return fmt::format("libstabheap.so costs {} {} % {} of its time than {}", second,
                     rounded(100 * std::abs(estimate->difference), 2),
                     estimate->difference > 0 ? "more" : "less", first);
}

std::optional<HeapCost> cost_of(const std::vector<Pairs>& all) {
  std::vector<double> without;
  std::vector<double> with;
  for (const Pairs& pairs : all)
    for (std::size_t i = 0; i < pairs.with.size(); ++i) {
      if (pairs.without[i].cpu_ns <= 0 || pairs.with[i].cpu_ns <= 0) continue;
      without.push_back(std::log(pairs.without[i].cpu_ns));
      with.push_back(std::log(pairs.with[i].cpu_ns));
    }
  if (with.empty()) return std::nullopt;
  HeapCost cost{.pairs = with.size()};
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

}  // namespace stab::client::ab
