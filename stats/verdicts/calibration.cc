// SPDX-License-Identifier: MIT
#include "stats/verdicts/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "stats/numbers/distribution.h"
#include "stats/planning/noise_floor.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/dependence.h"

namespace stab::stats {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr double far = 1e200;  // farther than any bound, but a number that can be sorted

// The logarithms of one arm's trials in one block, with the limits of its lost trials.
struct Arm {
  Moments there{};
  std::vector<Interval> lost{};

  [[nodiscard]] std::size_t trials() const { return there.n + lost.size(); }
  // The mean if each lost trial is at its limit.
  [[nodiscard]] double mean(double Interval::* limit) const {
    double sum = there.mean * static_cast<double>(there.n);
    for (const Interval& each : lost) sum += each.*limit;
    return sum / static_cast<double>(trials());
  }
};
using Arms = std::array<Arm, 2>;

struct Place {
  std::uint32_t subject = 0;
  std::uint32_t comparison = 0;
  std::uint32_t block = 0;
  auto operator<=>(const Place&) const = default;
};
using Blocks = std::map<Place, Arms>;

// One comparison of one benchmark: the mean logarithms of both arms in each complete block.
struct Comparison {
  std::vector<double> a{};
  std::vector<double> b{};
  // With the blocks that lost trials: their number, whether there are any, and the mean of b - a
  // with the lost trials at their limits.
  std::size_t blocks = 0;
  bool lost = false;
  Interval change{};

  [[nodiscard]] double mean_a() const { return moments(a).mean; }
  [[nodiscard]] double mean_b() const { return moments(b).mean; }
};
using Comparisons = std::map<std::uint32_t, Comparison>;  // by number
using Benchmarks = std::map<std::uint32_t, Comparisons>;  // by the code of their names

// The logarithms between which a lost trial's number lies. Numbers are above 0.
Interval limits_of(double at_least, double at_most) {
  Interval limits{.low = -unbounded, .high = unbounded};
  if (at_least > 0 && at_least < unbounded) limits.low = std::log(at_least);
  if (at_most > 0 && at_most < unbounded) limits.high = std::max(limits.low, std::log(at_most));
  return limits;
}

// Puts the trials into their blocks.
class Collector {
 public:
  Collector(const Dataset& data, const Spec& spec)
      : data_(data),
        spec_(spec),
        subject_(data.find(spec.subject)),
        block_(data.find(spec.block)),
        comparison_(data.find(spec.comparison)),
        arm_(spec.treatments.empty() ? nullptr : data.find(spec.treatments.front())) {}

  Blocks collect() && {
    if (block_ == nullptr || comparison_ == nullptr || arm_ == nullptr) return {};
    const Interval unknown =
        limits_of(spec_.lost_at_least.value_or(0), spec_.lost_at_most.value_or(unbounded));
    for (std::size_t row = 0; row < data_.response.size(); ++row) {
      const auto code = [&](const Column& column) { return column.codes[row]; };
      const double value = data_.response[row] + data_.centre;
      if (std::isfinite(value) && value > 0)
        add_number(code, std::log(value));
      else if (!std::isfinite(value))
        add_lost(code, unknown);
    }
    for (const Lost& each : data_.lost) add_listed(each);
    if (!data_.lists_lost) add_absent(unknown);
    return std::move(blocks_);
  }

 private:
  // `code` returns the code of a column. Returns null for an arm that is not compared.
  Arm* arm_at(auto&& code) {
    const std::uint32_t arm = code(*arm_);
    const Place place{.subject = subject_ == nullptr ? 0 : code(*subject_),
                      .comparison = code(*comparison_),
                      .block = code(*block_)};
    return arm > 1 ? nullptr : &blocks_[place][arm];
  }
  void add_number(auto&& code, double logarithm) {
    Arm* arm = arm_at(code);
    if (arm == nullptr) return;
    arm->there.add(logarithm);
    const std::uint32_t subject = subject_ == nullptr ? 0 : code(*subject_);
    const auto [at, fresh] =
        ranges_.try_emplace(subject, Interval{.low = logarithm, .high = logarithm});
    at->second.low = std::min(at->second.low, logarithm);
    at->second.high = std::max(at->second.high, logarithm);
  }
  void add_lost(auto&& code, const Interval& limits) {
    if (Arm* arm = arm_at(code); arm != nullptr) arm->lost.push_back(limits);
  }
  void add_listed(const Lost& lost) {
    const auto code = [&](const Column& column) {
      return lost.codes[static_cast<std::size_t>(&column - data_.columns.data())];
    };
    Interval limits = limits_of(lost.at_least, lost.at_most);
    // Without the disturbance, an excluded trial may have had any number that its benchmark has.
    const auto range = ranges_.find(subject_ == nullptr ? 0 : code(*subject_));
    if (lost.excluded && range != ranges_.end()) {
      limits.low =
          std::isinf(limits.low) ? range->second.low : std::min(limits.low, range->second.low);
      limits.high =
          std::isinf(limits.high) ? range->second.high : std::max(limits.high, range->second.high);
    }
    add_lost(code, limits);
  }
  // A block with one arm has lost the other.
  void add_absent(const Interval& limits) {
    for (auto& [place, arms] : blocks_)
      for (Arm& arm : arms)
        if (arm.trials() == 0) arm.lost.push_back(limits);
  }

  const Dataset& data_;
  const Spec& spec_;
  const Column* subject_;
  const Column* block_;
  const Column* comparison_;
  const Column* arm_;
  Blocks blocks_{};
  std::map<std::uint32_t, Interval> ranges_{};  // of all numbers of a benchmark
};

Benchmarks compare(const Blocks& blocks) {
  Benchmarks result;
  for (const auto& [place, arms] : blocks) {
    const auto& [a, b] = arms;
    if (a.trials() == 0 || b.trials() == 0) continue;
    Comparison& found = result[place.subject][place.comparison];
    found.lost = found.lost || !a.lost.empty() || !b.lost.empty();
    ++found.blocks;
    found.change.low += b.mean(&Interval::low) - a.mean(&Interval::high);
    found.change.high += b.mean(&Interval::high) - a.mean(&Interval::low);
    if (a.there.n == 0 || b.there.n == 0) continue;
    found.a.push_back(a.there.mean);
    found.b.push_back(b.there.mean);
  }
  for (auto& [code, comparisons] : result)
    for (auto& [number, comparison] : comparisons) {
      comparison.change.low /= static_cast<double>(comparison.blocks);
      comparison.change.high /= static_cast<double>(comparison.blocks);
    }
  return result;
}

// Drops the comparisons that have fewer blocks, because their means are noisier than the others.
// `size` returns the number of a comparison's blocks.
std::size_t drop_short_ones(Benchmarks& benchmarks, std::size_t blocks, auto&& size) {
  std::size_t dropped = 0;
  for (auto& [code, comparisons] : benchmarks)
    dropped +=
        std::erase_if(comparisons, [&](const auto& each) { return size(each.second) < blocks; });
  std::erase_if(benchmarks, [](const auto& each) { return each.second.empty(); });
  return dropped;
}

bool is_significant(const std::vector<double>& a, const std::vector<double>& b, double alpha) {
  const auto estimate = paired(a, b);
  if (!estimate) return false;
  const auto p = p_value(*estimate);
  return p && *p < alpha;
}

AaProgram groups_of(const Comparisons& comparisons) {
  AaProgram program;
  for (const auto& [number, comparison] : comparisons) {
    program.groups.push_back(comparison.mean_a());
    program.groups.push_back(comparison.mean_b());
  }
  return program;
}

// The pairs of a margin at one end of what lost trials permit: each comparison at the smallest or
// at the largest distance that it may have.
enum class End { low, high };

double distance_at(const Interval& change, End end) {
  const bool may_be_none = change.low <= 0 && change.high >= 0;
  const double smaller = std::min(std::abs(change.low), std::abs(change.high));
  const double larger = std::max(std::abs(change.low), std::abs(change.high));
  return std::min(far, end == End::high ? larger : may_be_none ? 0 : smaller);
}

AaProgram groups_at(const Comparisons& comparisons, End end) {
  AaProgram program;
  for (const auto& [number, comparison] : comparisons) {
    program.groups.push_back(0);
    program.groups.push_back(distance_at(comparison.change, end));
  }
  return program;
}

void set_margin(Floor& floor, const Result<NoiseFloor>& found) {
  floor.margin.reset();
  floor.interval.reset();
  if (!found || !std::isfinite(found->margin)) return;
  floor.margin = found->margin;
  if (found->interval && std::isfinite(found->interval->high)) floor.interval = found->interval;
}

// Sets what the lost trials of `lost` comparisons leave possible, and takes the largest margin.
void set_bounds(Floor& floor, std::size_t lost, const Result<NoiseFloor>& low,
                const Result<NoiseFloor>& high, const Spec& spec) {
  floor.lost = lost;
  if (lost == 0) return;
  if (low && std::isfinite(low->margin)) floor.loss_low = low->margin;
  if (high && std::isfinite(high->margin)) floor.loss_high = high->margin;
  if (spec.losses != Losses::random) set_margin(floor, high);
}

bool has_numbers(const Blocks& blocks, std::uint32_t subject) {
  return std::ranges::any_of(blocks, [&](const auto& block) {
    return block.first.subject == subject &&
           std::ranges::any_of(block.second, [](const auto& arm) { return arm.there.n > 0; });
  });
}

std::size_t lost_in(const Comparisons& comparisons) {
  return static_cast<std::size_t>(
      std::ranges::count_if(comparisons, [](const auto& each) { return each.second.lost; }));
}

// The p of "losses do not depend on the arm", for one benchmark or for all.
std::optional<double> loss_p(const Blocks& blocks, std::optional<std::uint32_t> subject,
                             const Spec& spec) {
  std::vector<Marked> marks;
  std::uint32_t stratum = 0;
  for (const auto& [place, arms] : blocks) {
    if (subject && place.subject != *subject) continue;
    for (std::uint32_t arm = 0; arm < arms.size(); ++arm) {
      const auto add = [&](std::size_t trials, bool marked) {
        marks.insert(marks.end(), trials, {.stratum = stratum, .cell = arm, .marked = marked});
      };
      add(arms[arm].there.n, false);
      add(arms[arm].lost.size(), true);
    }
    ++stratum;
  }
  return dependence_on_cell(marks, spec.random_seed, spec.alpha).p;
}

// `all` also has the comparisons that lost blocks.
Floor floor_of(std::string subject, const Comparisons& comparisons, const Comparisons& all,
               const Spec& spec) {
  Floor floor{.subject = std::move(subject), .comparisons = comparisons.size()};
  for (const auto& [number, comparison] : comparisons)
    floor.significant += is_significant(comparison.a, comparison.b, spec.alpha) ? 1 : 0;
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  set_margin(floor, noise_floor_disjoint(std::array{groups_of(comparisons)}, spec.alpha));
  const auto margin_at = [&](End end) {
    return noise_floor_disjoint(std::array{groups_at(all, end)}, spec.alpha);
  };
  set_bounds(floor, lost_in(all), margin_at(End::low), margin_at(End::high), spec);
  return floor;
}

struct AnyFloor {
  Result<NoiseFloor> margin;
  bool clustered = false;
};

AnyFloor any_of(const std::vector<AaProgram>& programs, const Spec& spec) {
  auto pooled = noise_floor_disjoint(programs, spec.alpha);
  if (!pooled) return {.margin = std::move(pooled)};
  auto clustered = noise_floor_clustered(programs, spec.alpha, spec.random_seed, Pairs::disjoint);
  if (clustered) return {.margin = std::move(clustered), .clustered = true};
  return {.margin = std::move(pooled)};
}

Floor floor_of_any(const Benchmarks& benchmarks, const Benchmarks& all,
                   const std::vector<Floor>& floors, const Spec& spec, Notes& notes) {
  Floor floor;
  for (const Floor& each : floors) {
    floor.comparisons += each.comparisons;
    floor.significant += each.significant;
  }
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  std::vector<AaProgram> programs;
  for (const auto& [code, comparisons] : benchmarks) programs.push_back(groups_of(comparisons));
  AnyFloor found = any_of(programs, spec);
  set_margin(floor, found.margin);
  std::size_t lost = 0;
  for (const auto& [code, comparisons] : all) lost += lost_in(comparisons);
  if (lost > 0) {
    const auto margin_at = [&](End end) {
      std::vector<AaProgram> at;
      for (const auto& [code, comparisons] : all) at.push_back(groups_at(comparisons, end));
      return any_of(at, spec);
    };
    AnyFloor most = margin_at(End::high);
    set_bounds(floor, lost, margin_at(End::low).margin, most.margin, spec);
    if (spec.losses != Losses::random) found = std::move(most);
  }
  if (!found.margin)
    notes.add(found.margin.error().message + ": raise design.comparisons.");
  else if (!found.clustered)
    notes.add(
        "With fewer than five benchmarks, all are assumed to be equally noisy, and the machine's "
        "noise floor has no interval.");
  return floor;
}

// Calls `use` with the comparisons of the same number, if all benchmarks have it.
void for_each_of_suite(const Benchmarks& benchmarks, auto&& use) {
  for (const auto& [number, first] : benchmarks.begin()->second) {
    std::vector<const Comparison*> comparisons;
    for (const auto& [code, each] : benchmarks)
      if (const auto same = each.find(number); same != each.end())
        comparisons.push_back(&same->second);
    if (comparisons.size() == benchmarks.size()) use(number, comparisons);
  }
}

// The noise floor of the suite, from the comparisons that all benchmarks have.
Floor floor_of_suite(const Benchmarks& benchmarks, const Benchmarks& all, const Spec& spec) {
  Floor floor;
  AaProgram means;
  for_each_of_suite(benchmarks, [&](std::uint32_t, const auto& comparisons) {
    std::vector<double> a;
    std::vector<double> b;
    for (const Comparison* each : comparisons) {
      a.push_back(each->mean_a());
      b.push_back(each->mean_b());
    }
    ++floor.comparisons;
    floor.significant += is_significant(a, b, spec.alpha) ? 1 : 0;
    means.groups.push_back(moments(a).mean);
    means.groups.push_back(moments(b).mean);
  });
  floor.share = binomial_interval(floor.significant, floor.comparisons, spec.alpha);
  set_margin(floor, noise_floor_disjoint(std::array{means}, spec.alpha));
  Comparisons suite;
  for_each_of_suite(all, [&](std::uint32_t number, const auto& comparisons) {
    Comparison& mean = suite[number];
    for (const Comparison* each : comparisons) {
      mean.lost = mean.lost || each->lost;
      mean.change.low += each->change.low / static_cast<double>(comparisons.size());
      mean.change.high += each->change.high / static_cast<double>(comparisons.size());
    }
  });
  const auto margin_at = [&](End end) {
    return noise_floor_disjoint(std::array{groups_at(suite, end)}, spec.alpha);
  };
  set_bounds(floor, lost_in(suite), margin_at(End::low), margin_at(End::high), spec);
  return floor;
}

std::string percent_words(double margin) {
  return fmt::format("{:.2g} %", 100 * margin);
}

// "between 0.5 % and 0.7 %".
std::string range_words(const Floor& floor) {
  const std::string low = percent_words(floor.loss_low.value_or(0));
  return floor.loss_high ? fmt::format("between {} and {}", low, percent_words(*floor.loss_high))
                         : fmt::format("{} or more", low);
}

void note_losses(const Floor& any, const Benchmarks& all, const Spec& spec, Notes& notes) {
  if (any.lost == 0) return;
  std::size_t comparisons = 0;
  for (const auto& [code, each] : all) comparisons += each.size();
  std::string text = fmt::format(
      "Trials are missing in {} of {} comparisons{}. ", any.lost, comparisons,
      any.loss_p ? fmt::format(" (whether this depends on the arm: {})", p_words(*any.loss_p))
                 : "");
  if (any.loss_low || any.loss_high)
    text += fmt::format(
        "The missing trials may have any values within their limits, so the machine's noise floor "
        "is {}. ",
        range_words(any));
  if (spec.losses == Losses::random)
    text +=
        "As requested, the missing trials are assumed to be missing at random, so they do not "
        "affect the noise floor.";
  else if (any.loss_high)
    text += "The report uses the largest noise floor that the missing trials permit.";
  else if (any.loss_low)
    text +=
        "In too many comparisons, the missing trials could have made the difference arbitrarily "
        "large, so there is no noise floor. Find out why the trials failed, and calibrate again, "
        "or assume that trials are missing at random ('analysis.losses = \"random\"').";
  notes.add(text);
}

}  // namespace

std::optional<Calibration> calibrate(const Dataset& data, const Spec& spec, Notes& notes) {
  if (!data.is_valid()) return std::nullopt;
  const Blocks blocks = Collector(data, spec).collect();
  Benchmarks benchmarks = compare(blocks);
  Calibration result;
  for (const auto& [code, comparisons] : benchmarks)
    for (const auto& [number, comparison] : comparisons)
      result.blocks = std::max(result.blocks, comparison.a.size());
  if (result.blocks < 2) {
    notes.add("No comparison has at least two complete blocks.");
    return std::nullopt;
  }
  Benchmarks all = benchmarks;
  // A benchmark without any number has no noise that its missing trials could hide.
  std::erase_if(all, [&](const auto& each) { return !has_numbers(blocks, each.first); });
  drop_short_ones(all, result.blocks, [](const Comparison& each) { return each.blocks; });
  const std::size_t dropped = drop_short_ones(benchmarks, result.blocks,
                                              [](const Comparison& each) { return each.a.size(); });
  if (dropped > 0)
    notes.add(fmt::format("Comparisons with fewer than {} complete blocks are left out: {}.",
                          result.blocks, dropped));
  const double needed = std::ceil((1 / spec.alpha - 1) * (1 - 1e-12));
  const Column* subject = data.find(spec.subject);
  for (const auto& [code, comparisons] : benchmarks) {
    Floor floor =
        floor_of(subject == nullptr ? "" : subject->levels[code], comparisons, all[code], spec);
    if (floor.lost > 0) floor.loss_p = loss_p(blocks, code, spec);
    const std::size_t counted =
        spec.losses == Losses::random ? comparisons.size() : all[code].size();
    if (!floor.margin && static_cast<double>(counted) < needed)
      notes.add(
          floor.subject,
          fmt::format("a noise floor for a single benchmark needs {:.0f} comparisons.", needed));
    else if (!floor.margin)
      notes.add(floor.subject,
                "the missing trials could have made the differences arbitrarily large, so there is "
                "no noise floor.");
    result.benchmarks.push_back(std::move(floor));
  }
  result.any = floor_of_any(benchmarks, all, result.benchmarks, spec, notes);
  if (benchmarks.size() > 1) result.suite = floor_of_suite(benchmarks, all, spec);
  if (result.any.lost > 0) result.any.loss_p = loss_p(blocks, std::nullopt, spec);
  if (result.suite.lost > 0) result.suite.loss_p = result.any.loss_p;
  note_losses(result.any, all, spec, notes);
  return result;
}

std::optional<Interval> binomial_interval(std::size_t successes, std::size_t trials, double alpha) {
  if (trials == 0 || successes > trials || !(alpha > 0 && alpha < 1)) return std::nullopt;
  const double k = static_cast<double>(successes);
  const double n = static_cast<double>(trials);
  Interval interval{.low = 0, .high = 1};
  // Clopper and Pearson's limits are quantiles of F.
  if (k > 0) {
    const auto f = f_quantile(alpha / 2, 2 * k, 2 * (n - k + 1));
    if (!f) return std::nullopt;
    interval.low = k * *f / (n - k + 1 + k * *f);
  }
  if (k < n) {
    const auto f = f_quantile(1 - alpha / 2, 2 * (k + 1), 2 * (n - k));
    if (!f) return std::nullopt;
    interval.high = (k + 1) * *f / (n - k + (k + 1) * *f);
  }
  return interval;
}

}  // namespace stab::stats
