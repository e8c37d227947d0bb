// SPDX-License-Identifier: MIT
#include "stats/causal/arrival_loads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "stats/numbers/distribution.h"

namespace stab::stats::causal {
namespace {

constexpr double ns_of_second = 1e9;

// The sums of a run.
struct Sums {
  double ns = 0;
  double arrivals = 0;
  double visits = 0;
  double departures = 0;
  double inside_ns = 0;
};

Measured measured(const std::vector<double>& of_runs, double alpha) {
  const Moments all = moments(of_runs);
  return {.value = all.mean, .interval = mean_interval(all, alpha)};
}

bool has_arrivals(const Experiment& each) {
  return each.speedup == 0 && each.arrivals > 0 && each.effective_ns > 0;
}

// The runs in which something arrived.
std::vector<Sums> sums_of(const Profile& profile, std::size_t point) {
  std::vector<Sums> made;
  for (const Run& run : profile.runs) {
    Sums sums;
    for (const Experiment& each : run.experiments) {
      if (!has_arrivals(each)) continue;
      const double ns = static_cast<double>(each.effective_ns);
      sums.ns += ns;
      sums.arrivals += static_cast<double>(each.arrivals);
      for (const Visits& visits : each.visits) {
        if (visits.point != point) continue;
        sums.visits += static_cast<double>(visits.count);
        sums.departures += static_cast<double>(visits.departures);
        sums.inside_ns += visits.inside * ns;
      }
    }
    if (sums.arrivals > 0) made.push_back(sums);
  }
  return made;
}

template <class F>
std::vector<double> each_of(const std::vector<Sums>& runs, F f) {
  std::vector<double> made;
  for (const Sums& each : runs) made.push_back(f(each));
  return made;
}

std::vector<double> per_arrival(const std::vector<Sums>& runs) {
  return each_of(runs, [](const Sums& run) { return run.visits / run.arrivals; });
}

// Little's law holds for systems that are as full at the end as at the beginning.
bool is_steady(const std::vector<Sums>& runs) {
  double in = 0;
  double out = 0;
  for (const Sums& each : runs) {
    in += each.visits;
    out += each.departures;
  }
  return std::fabs(in - out) <= std::max(0.02 * std::max(in, out), 3 * std::sqrt(in + out));
}

// The p-value of "`high` has at least the share of `low`".
double p_of_fewer(const std::vector<double>& low, const std::vector<double>& high) {
  const Moments a = moments(low);
  const Moments b = moments(high);
  const auto a_variance = a.variance();
  const auto b_variance = b.variance();
  if (!a_variance || !b_variance) return 1;
  const double fewer = saturated_share * a.mean - b.mean;
  if (!(fewer > 0)) return 1;
  const double of_a = saturated_share * saturated_share * *a_variance / static_cast<double>(a.n);
  const double of_b = *b_variance / static_cast<double>(b.n);
  const double variance = of_a + of_b;
  if (variance <= 0) return 0;
  const double df =
      variance * variance /
      (of_a * of_a / static_cast<double>(a.n - 1) + of_b * of_b / static_cast<double>(b.n - 1));
  return t_two_sided(fewer / std::sqrt(variance), df).value_or(1) / 2;
}

struct Slope {
  std::size_t load = 0;
  Gain gain{};
  double error = 0;
  double df = 0;
};

double p_of_equal(std::span<const Slope> slopes) {
  const double k = static_cast<double>(slopes.size());
  double weights = 0;
  double mean = 0;
  for (const Slope& each : slopes) {
    if (!(each.error > 0)) return 1;
    weights += 1 / (each.error * each.error);
    mean += each.gain.value / (each.error * each.error);
  }
  mean /= weights;
  double between = 0;
  double uneven = 0;
  for (const Slope& each : slopes) {
    const double weight = 1 / (each.error * each.error);
    between += weight * (each.gain.value - mean) * (each.gain.value - mean);
    uneven += (1 - weight / weights) * (1 - weight / weights) / each.df;
  }
  const double f = between / (k - 1) / (1 + 2 * (k - 2) / (k * k - 1) * uneven);
  return f_tail(f, k - 1, (k * k - 1) / (3 * uneven)).value_or(1);
}

class LoadAnalyser {
 public:
  LoadAnalyser(const Profile& profile, const Options& options)
      : profile_(profile), options_(options) {}

  Result<Loads> analyse() {
    Error first;
    for (std::size_t load = 0; load < profile_.loads.size(); ++load) {
      Profile part{.lines = profile_.lines, .points = profile_.points};
      for (const Run& run : profile_.runs)
        if (run.load == load) part.runs.push_back(run);
      auto analysis = causal::analyse(part, options_);
      if (!analysis) {
        if (first.message.empty()) first = analysis.error();
        continue;
      }
      made_.loads.push_back(look_at(load, part, std::move(*analysis)));
      parts_.push_back(std::move(part));
    }
    if (made_.loads.empty()) return std::unexpected(first);
    for (std::size_t point = 0; point < profile_.points.size(); ++point) saturate(point);
    compare();
    return std::move(made_);
  }

 private:
  [[nodiscard]] AtLoad look_at(std::size_t load, const Profile& part, Analysis analysis) const {
    AtLoad made{.load = load,
                .had = had_of(profile_, load, options_.alpha),
                .analysis = std::move(analysis)};
    for (std::size_t point = 0; point < part.points.size(); ++point) {
      const std::vector<Sums> runs = sums_of(part, point);
      if (runs.empty()) break;
      if (!made.arrivals)
        made.arrivals = measured(
            each_of(runs, [](const Sums& run) { return run.arrivals / run.ns * ns_of_second; }),
            options_.alpha);
      if (!part.points[point].is_arrival) add(point, runs, made);
    }
    return made;
  }

  void add(std::size_t point, const std::vector<Sums>& runs, AtLoad& to) const {
    PointAtLoad made{.point = point};
    if (profile_.points[point].kind == PointKind::latency) {
      std::vector<double> latencies;
      for (const Sums& run : runs)
        if (run.visits > 0) latencies.push_back(run.inside_ns / run.visits);
      if (latencies.empty()) return;
      made.measured = measured(latencies, options_.alpha);
      made.is_steady = is_steady(runs);
    } else {
      made.measured = measured(
          each_of(runs, [](const Sums& run) { return run.visits / run.ns * ns_of_second; }),
          options_.alpha);
      made.per_arrival = moments(per_arrival(runs)).mean;
    }
    to.points.push_back(made);
  }

  void saturate(std::size_t point) {
    const Point& of = profile_.points[point];
    if (of.kind != PointKind::throughput || of.is_arrival) return;
    const auto points = std::ranges::count_if(profile_.points, [](const Point& each) {
      return each.kind == PointKind::throughput && !each.is_arrival;
    });
    const std::vector<double> lowest = per_arrival(sums_of(parts_.front(), point));
    for (std::size_t i = made_.loads.size(); i-- > 1;) {
      const double p = p_of_fewer(lowest, per_arrival(sums_of(parts_[i], point)));
      if (!(p < options_.alpha / static_cast<double>(points))) return;
      for (PointAtLoad& each : made_.loads[i].points)
        if (each.point == point) each.is_saturated = true;
    }
  }

  void compare() {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<Slope>> all;
    for (const AtLoad& at : made_.loads)
      for (const PointResult& point : at.analysis.points)
        for (const Line& line : point.lines)
          if (line.finding != Finding::too_few)
            all[{point.point, line.line}].push_back({.load = at.load,
                                                     .gain = line.slope,
                                                     .error = line.slope_error,
                                                     .df = line.slope_df});
    for (const auto& [where, slopes] : all) {
      if (slopes.size() < 2) continue;
      Change made{.point = where.first, .line = where.second, .p = p_of_equal(slopes)};
      for (const Slope& each : slopes) {
        made.loads.push_back(each.load);
        made.slopes.push_back(each.gain);
      }
      made_.changes.push_back(std::move(made));
    }
    adjust();
  }

  // Holm, Scandinavian Journal of Statistics 1979.
  void adjust() {
    std::ranges::sort(made_.changes, {},
                      [](const Change& each) { return std::tuple(each.p, each.point, each.line); });
    double largest = 0;
    for (std::size_t i = 0; i < made_.changes.size(); ++i) {
      Change& each = made_.changes[i];
      largest = std::max(largest, each.p * static_cast<double>(made_.changes.size() - i));
      each.adjusted_p = std::min(1.0, largest);
      each.differs = each.adjusted_p < options_.alpha;
    }
  }

  const Profile& profile_;
  const Options& options_;
  std::vector<Profile> parts_;  // the profile of each of made_.loads
  Loads made_;
};

}  // namespace

double arrival_rate(const Run& run) {
  double arrivals = 0;
  double ns = 0;
  for (const Experiment& each : run.experiments) {
    if (!has_arrivals(each)) continue;
    arrivals += static_cast<double>(each.arrivals);
    ns += static_cast<double>(each.effective_ns);
  }
  return ns > 0 ? arrivals / ns : 0;
}

Result<Loads> analyse_loads(const Profile& profile, const Options& options) {
  return LoadAnalyser(profile, options).analyse();
}

namespace {

struct Sum {
  double rates = 0;
  double runs = 0;
};

// The runs at one load, by block.
struct Rates {
  std::map<std::size_t, Sum> blocks{};
  Sum all{};

  [[nodiscard]] double mean() const { return all.rates / all.runs; }
  [[nodiscard]] double count() const { return static_cast<double>(blocks.size()); }

  // The amount by which a block moves the mean, as a share of the mean. The squares of these
  // amounts sum up to the variance of the mean.
  [[nodiscard]] double influence(std::size_t block) const {
    const auto found = blocks.find(block);
    if (found == blocks.end()) return 0;
    const Sum& sum = found->second;
    return std::sqrt(count() / (count() - 1)) * (sum.rates / mean() - sum.runs) / all.runs;
  }
};

Rates rates_of(const Profile& profile, std::size_t load) {
  Rates made;
  for (const Run& run : profile.runs) {
    const double rate = arrival_rate(run);
    if (run.load != load || rate <= 0) continue;
    for (Sum* sum : {&made.blocks[run.block], &made.all}) {
      sum->rates += rate;
      sum->runs += 1;
    }
  }
  return made;
}

// `variance` is the variance of the value as a share of the value.
Measured with_interval(double value, double variance, double blocks, double alpha) {
  Measured made{.value = value};
  const auto factor = t_upper_quantile(alpha / 2, blocks - 1);
  if (!factor) return made;
  const double half = *factor * std::sqrt(variance) * value;
  made.interval = Interval{.low = std::max(0.0, value - half), .high = value + half};
  return made;
}

}  // namespace

std::optional<Measured> had_by(const Profile& profile, std::size_t load, std::size_t base,
                               double alpha) {
  const Rates of = rates_of(profile, load);
  const Rates by = rates_of(profile, base);
  if (of.blocks.empty() || by.blocks.empty()) return std::nullopt;
  const double value = of.mean() / by.mean();
  const double blocks = std::min(of.count(), by.count());
  if (blocks < 2) return Measured{.value = value};
  double variance = 0;
  for (const auto& [block, sum] : of.blocks) {
    const double moved = of.influence(block) - by.influence(block);
    variance += moved * moved;
  }
  for (const auto& [block, sum] : by.blocks)
    if (!of.blocks.contains(block)) variance += by.influence(block) * by.influence(block);
  return with_interval(value, variance, blocks, alpha);
}

std::optional<Measured> had_by_one(const Profile& profile, std::size_t load, double base_rate,
                                   double alpha) {
  const Rates of = rates_of(profile, load);
  if (of.blocks.empty()) return std::nullopt;
  const double value = of.mean() / base_rate;
  if (of.count() < 2) return Measured{.value = value};
  double variance = 0;
  for (const auto& [block, sum] : of.blocks) variance += of.influence(block) * of.influence(block);
  // The variances of a mean of this many runs, and of one run.
  return with_interval(value, variance * (1 + of.count()), of.count(), alpha);
}

std::optional<Measured> had_of(const Profile& profile, std::size_t load, double alpha) {
  const auto base = std::ranges::find(profile.loads, 0U, &Load::speedup_ns);
  if (base != profile.loads.end()) {
    const auto index = static_cast<std::size_t>(base - profile.loads.begin());
    if (auto had = had_by(profile, load, index, alpha)) return had;
  }
  return profile.base_rate > 0 ? had_by_one(profile, load, profile.base_rate, alpha) : std::nullopt;
}

}  // namespace stab::stats::causal
