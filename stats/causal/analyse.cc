// SPDX-License-Identifier: MIT
#include "stats/causal/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stats/causal/fit.h"
#include "stats/causal/profile.h"
#include "stats/numbers/distribution.h"

namespace stab::stats::causal {
namespace {

// The share of the program's time that a line's experiments represent: (t_obs / s_obs) (s / T).
// Experiments begin when the line runs, so a line that runs in one phase only is measured in that
// phase. s counts all samples of the line, under speedups too, so T is the time that the runs would
// have taken without speedups. (Coz's files do not contain the length of pauses, so their T
// includes the pauses.)

struct Phase {
  double factor = 1;  // at most 1: a line does not run more outside of its experiments than in them
  double variance = 0;
};

class Phases {
 public:
  explicit Phases(const Profile& profile);

  // Returns whether samples and times of whole runs are known. If not, factors are 1.
  [[nodiscard]] bool are_known() const { return base_time_ > 0 && is_known_; }
  [[nodiscard]] std::uint64_t samples(std::size_t line) const;
  [[nodiscard]] Phase of(std::size_t line) const;

 private:
  struct Sums {
    double samples = 0;  // in whole runs
    double in_all = 0;   // in experiments at any speedup
    double in_base = 0;  // at speedup 0
    double base_time = 0;
    double sped_time = 0;  // effective time at other speedups
    double paused = 0;     // pauses in sped_time
    double squares = 0;    // sum over experiments of (line_samples - rate * time)^2
    std::size_t experiments = 0;
  };
  // The time that speedups took off, by the samples of each line. It never exceeds the pauses.
  [[nodiscard]] double saved() const;

  std::vector<Sums> lines_;
  double base_time_ = 0;  // time of all runs, without speedups
  bool is_known_ = false;
};

Phases::Phases(const Profile& profile) : lines_(profile.lines.size()) {
  for (const Run& run : profile.runs) {
    base_time_ += static_cast<double>(run.effective_ns);
    for (const LineSamples& each : run.samples) {
      lines_[each.line].samples += static_cast<double>(each.count);
      is_known_ = true;
    }
    for (const Experiment& each : run.experiments) {
      Sums& line = lines_[each.line];
      line.in_all += static_cast<double>(each.line_samples);
      if (each.speedup != 0) {
        line.sped_time += static_cast<double>(each.effective_ns);
        line.paused += static_cast<double>(each.paused_ns);
        continue;
      }
      line.in_base += static_cast<double>(each.line_samples);
      line.base_time += static_cast<double>(each.effective_ns);
      ++line.experiments;
    }
  }
  for (const Run& run : profile.runs)
    for (const Experiment& each : run.experiments) {
      Sums& line = lines_[each.line];
      if (each.speedup != 0 || line.base_time <= 0) continue;
      const double error = static_cast<double>(each.line_samples) -
                           line.in_base / line.base_time * static_cast<double>(each.effective_ns);
      line.squares += error * error;
    }
  base_time_ += saved();
}

double Phases::saved() const {
  double found = 0;
  double paused = 0;
  double unseen = 0;  // pauses for lines without an experiment at speedup 0
  for (const Sums& line : lines_) {
    if (line.in_base <= 0) {
      unseen += line.paused;
      continue;
    }
    const double without = (line.in_all - line.in_base) * line.base_time / line.in_base;
    found += std::clamp(without - line.sped_time, -line.paused, line.paused);
    paused += line.paused;
  }
  return paused > 0 ? found * (1 + unseen / paused) : 0;
}

std::uint64_t Phases::samples(std::size_t line) const {
  const Sums& sums = lines_[line];
  return static_cast<std::uint64_t>(are_known() ? sums.samples : sums.in_all);
}

Phase Phases::of(std::size_t line) const {
  const Sums& sums = lines_[line];
  if (!are_known() || sums.in_base <= 0 || sums.samples <= 0) return {};
  const double factor = sums.base_time / sums.in_base * sums.samples / base_time_;
  // The relative error of s_obs from experiment to experiment, and the error of s as if samples
  // came one by one.
  const double n = static_cast<double>(sums.experiments);
  const double of_observed =
      n > 1 ? sums.squares * n / (n - 1) / (sums.in_base * sums.in_base) : 1 / sums.in_base;
  if (factor >= 1) return {};
  return {.factor = factor, .variance = factor * factor * (of_observed + 1 / sums.samples)};
}

constexpr double ns_of_hour = 3.6e12;
constexpr double farthest = 0.1;  // distance of nearby speedups
constexpr double covered = 0.9;   // share of a run that an experiment from end to end covers

bool is_number(const Gain& gain) {
  return std::isfinite(gain.value) && std::isfinite(gain.interval.low) &&
         std::isfinite(gain.interval.high);
}

// The experiments of one line at one point.
struct Seen {
  std::vector<Observation> observations{};
  std::uint64_t visits = 0;
};

class Analyser {
 public:
  Analyser(const Profile& profile, const Options& options)
      : profile_(profile), options_(options), phases_(profile) {}

  Result<Analysis> analyse() {
    count();
    if (made_.experiments == 0) return fail("the profile has no experiment");
    for (std::size_t point = 0; point < profile_.points.size(); ++point) look_at(point);
    if (made_.points.empty())
      return fail(
          "no progress point was visited during the experiments: put a progress point into the "
          "code that you want to make faster, at a place that the program passes often");
    std::ranges::sort(made_.points, [](const PointResult& a, const PointResult& b) {
      return std::pair(b.visits, a.point) < std::pair(a.visits, b.point);
    });
    adjust();
    for (PointResult& each : made_.points) judge(each);
    return std::move(made_);
  }

 private:
  void count() {
    made_.runs = profile_.runs.size();
    double ns = 0;
    has_one_each_ = profile_.runs.size() > 1;
    for (const Run& run : profile_.runs) {
      made_.experiments += run.experiments.size();
      has_one_each_ = has_one_each_ && run.experiments.size() <= 1;
      double sum = 0;
      for (const Experiment& each : run.experiments) sum += static_cast<double>(each.effective_ns);
      ns += std::max(sum, static_cast<double>(run.effective_ns));
    }
    made_.is_end_to_end = has_one_each_ && do_experiments_cover_runs();
    made_.hours = ns / ns_of_hour;
    made_.runs_are_clusters = made_.runs >= least_runs;
    made_.is_phase_known = phases_.are_known();
  }

  // Returns whether experiments last as long as their runs. Only experiments at speedup 0 tell,
  // because the time of coz's runs includes pauses. If the time of runs is not known, returns true.
  [[nodiscard]] bool do_experiments_cover_runs() const {
    double experiments = 0;
    double runs = 0;
    for (const Run& run : profile_.runs)
      for (const Experiment& each : run.experiments) {
        if (each.speedup != 0 || run.effective_ns == 0) continue;
        experiments += static_cast<double>(each.effective_ns);
        runs += static_cast<double>(run.effective_ns);
      }
    return experiments >= covered * runs;
  }

  // Each run is a cluster, or parts of runs are. If a run has a single experiment, its speedup 0 is
  // in another run.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::size_t run, std::size_t at) const {
    if (has_one_each_) return {0, run};
    if (made_.runs_are_clusters) return {run, run};
    constexpr std::size_t parts = 10;
    const std::size_t all = profile_.runs[run].experiments.size();
    return {run, run * parts + at * parts / all};
  }

  void look_at(std::size_t point) {
    PointResult made{.point = point};
    const bool is_latency = profile_.points[point].kind == PointKind::latency;
    std::map<std::size_t, Seen> lines;
    double base_time = 0;
    double base_visits = 0;
    for (std::size_t r = 0; r < profile_.runs.size(); ++r) {
      const auto& experiments = profile_.runs[r].experiments;
      for (std::size_t at = 0; at < experiments.size(); ++at) {
        const Experiment& each = experiments[at];
        if (each.effective_ns == 0) continue;
        const Visits* visits = visits_of(each, point);
        const auto [run, cluster] = place(r, at);
        Observation seen{.run = run,
                         .cluster = cluster,
                         .speedup = each.speedup,
                         .time = static_cast<double>(each.effective_ns)};
        if (visits != nullptr) {
          seen.visits = static_cast<double>(visits->count);
          made.visits += visits->count;
          made.departures += visits->departures;
        }
        if (is_latency) {
          // An experiment in which no item was inside has no latency.
          if (visits == nullptr || visits->inside <= 0) continue;
          seen.time *= visits->inside;
        }
        if (each.speedup == 0) {
          base_time += seen.time;
          base_visits += seen.visits;
        }
        Seen& line = lines[each.line];
        line.visits += visits == nullptr ? 0 : visits->count;
        line.observations.push_back(seen);
      }
    }
    if (made.visits == 0) return;
    if (base_visits > 0) made.base = base_time / base_visits;
    if (is_latency) made.is_steady = is_steady(made);
    for (const auto& [line, seen] : lines) made.lines.push_back(fit(line, seen));
    made_.points.push_back(std::move(made));
  }

  static const Visits* visits_of(const Experiment& experiment, std::size_t point) {
    const auto found = std::ranges::find(experiment.visits, point, &Visits::point);
    return found == experiment.visits.end() ? nullptr : &*found;
  }

  // Little's law holds for systems that are as full at the end as at the beginning.
  static bool is_steady(const PointResult& point) {
    const double in = static_cast<double>(point.visits);
    const double out = static_cast<double>(point.departures);
    return std::fabs(in - out) <= std::max(0.02 * std::max(in, out), 3 * std::sqrt(in + out));
  }

  Line fit(std::size_t line, const Seen& seen) {
    Line made{.line = line, .samples = phases_.samples(line), .visits = seen.visits};
    std::set<std::size_t> runs;
    for (const Observation& each : seen.observations) {
      ++(each.speedup == 0 ? made.baselines : made.sped_up);
      runs.insert(has_one_each_ ? each.cluster : each.run);
    }
    made.runs = runs.size();
    // In end-to-end profiles an experiment is a whole run.
    const Phase phase = made_.is_end_to_end ? Phase() : phases_.of(line);
    made.phase = phase.factor;
    const std::uint64_t wanted = wanted_visits(seen);
    const auto fit = Fit::make(seen.observations, wanted);
    if (!fit) {
      made.too_few = why_too_few(made, wanted);
      return made;
    }
    made.dropped = fit->dropped();
    fill(made, *fit, phase);
    return made;
  }

  // Parts of runs may have few visits by chance, but a whole run has exactly its visits.
  [[nodiscard]] std::uint64_t wanted_visits(const Seen& seen) const {
    const bool has_one_each = std::ranges::all_of(
        seen.observations, [](double visits) { return visits >= 1; }, &Observation::visits);
    return made_.is_end_to_end && has_one_each ? seen.observations.size() : least_visits;
  }

  static std::string why_too_few(const Line& line, std::uint64_t wanted) {
    if (line.baselines < least_baselines)
      return fmt::format("at speedup 0, only {} of {} needed experiments ran", line.baselines,
                         least_baselines);
    if (line.sped_up < least_sped_up)
      return fmt::format("with a speedup, only {} of {} needed experiments ran", line.sped_up,
                         least_sped_up);
    if (line.visits < wanted)
      return fmt::format("only {} of {} needed visits happened", line.visits, wanted);
    return fmt::format("most of the {} runs have too few experiments at speedup 0", line.runs);
  }

  // The window is narrower at the ends of the curve, so that it extends equally far on both sides.
  Gain gain_near(double x, const Fit& fit, const Fit::Estimate& alone, const Phase& phase) const {
    constexpr double first = 0.05;
    const double reach = std::clamp(std::min(x - first, 1 - x), 0.0, farthest);
    const auto found = fit.around(x, reach).value_or(alone);
    return gain_of(found, factor_of(found), phase);
  }

  // A line without an answer keeps none of its numbers, some of which may be infinite or NaN.
  static void give_up(Line& made, const char* why) {
    made.finding = Finding::too_few;
    made.too_few = why;
    made.steps.clear();
    made.slope = made.at_quarter = {};
  }

  void fill(Line& made, const Fit& fit, const Phase& phase) {
    std::vector<Fit::Estimate> estimates;
    for (const unsigned speedup : fit.speedups()) {
      const double x = speedup / 1000.0;
      const auto only = [x](double other) { return std::fabs(other - x) < 1e-9 ? 1.0 : 0.0; };
      auto found = fit.estimate(only, [](double) { return 1.0; });
      if (!found) continue;
      made.steps.push_back({.speedup = x,
                            .gain = {.value = found->value},
                            .near = gain_near(x, fit, *found, phase),
                            .experiments = found->experiments,
                            .visits = static_cast<std::uint64_t>(found->visits)});
      estimates.push_back(std::move(*found));
    }
    Random random(derive(options_.seed, "causal", {made.line}));
    const double factor = fit.simultaneous(estimates, options_.alpha, options_.draws, random);
    for (std::size_t i = 0; i < estimates.size(); ++i)
      made.steps[i].gain = gain_of(estimates[i], factor, phase);

    const auto itself = [](double x) { return x; };
    const auto slope = fit.estimate(itself, itself);
    if (!slope)
      return give_up(made,
                     "while this line had a virtual speedup, the progress point was never visited");
    made.slope = gain_of(*slope, factor_of(*slope), phase);
    const Gain one = gain_of(*slope, 1, phase);
    made.slope_error = one.interval.high - one.value;
    made.slope_df = slope->df;
    made.finding = Finding::unclear;
    fill_quarter(made, fit, *slope, phase);
    const bool are_numbers = is_number(made.slope) && is_number(made.at_quarter) &&
                             !std::isnan(made.p) &&
                             std::ranges::all_of(made.steps, [](const Step& each) {
                               return is_number(each.gain) && is_number(each.near);
                             });
    if (!are_numbers) give_up(made, "the line's times differ too much to compute their ratio");
  }

  void fill_quarter(Line& made, const Fit& fit, const Fit::Estimate& slope, const Phase& phase) {
    constexpr std::size_t enough = 3;
    const auto near = [](double x) { return x >= 0.0999 && x <= 0.4001 ? x : 0.0; };
    const auto share = [](double x) { return x / ranked_speedup; };
    auto found = fit.estimate(near, share);
    made.is_quarter_of_slope = !found || found->experiments < enough;
    if (made.is_quarter_of_slope) {
      found = slope;
      found->value *= ranked_speedup;
      found->variance *= ranked_speedup * ranked_speedup;
    }
    made.at_quarter = gain_of(*found, factor_of(*found), phase);
    // Computes p from the same error as the interval, so the interval excludes 0 exactly if p is
    // below alpha.
    const Gain one = gain_of(*found, 1, phase);
    const double error = one.interval.high - one.value;
    if (error > 0) made.p = t_two_sided(one.value / error, found->df).value_or(1);
    const double half = (made.at_quarter.interval.high - made.at_quarter.interval.low) / 2;
    made.half_after_hour = half * std::sqrt(made_.hours / (made_.hours + 1));
  }

  [[nodiscard]] double factor_of(const Fit::Estimate& estimate) const {
    return t_upper_quantile(options_.alpha / 2, estimate.df).value_or(0);
  }

  // This is the error of a product.
  static Gain gain_of(const Fit::Estimate& estimate, double factor, const Phase& phase) {
    const double value = estimate.value * phase.factor;
    const double variance = phase.factor * phase.factor * estimate.variance +
                            estimate.value * estimate.value * phase.variance;
    const double half = factor * std::sqrt(variance);
    return {.value = value, .interval = {.low = value - half, .high = value + half}};
  }

  // Holm, Scandinavian Journal of Statistics 1979.
  void adjust() {
    std::vector<Line*> tried;
    for (PointResult& point : made_.points)
      for (Line& line : point.lines)
        if (line.finding != Finding::too_few) tried.push_back(&line);
    std::ranges::sort(tried, {}, [](const Line* line) { return std::pair(line->p, line->line); });
    double largest = 0;
    for (std::size_t i = 0; i < tried.size(); ++i) {
      largest = std::max(largest, tried[i]->p * static_cast<double>(tried.size() - i));
      tried[i]->adjusted_p = std::min(1.0, largest);
    }
  }

  void judge(PointResult& point) const {
    for (Line& line : point.lines)
      if (line.finding != Finding::too_few && line.adjusted_p < options_.alpha)
        line.finding = line.at_quarter.value > 0 ? Finding::helps : Finding::contention;
    std::ranges::sort(point.lines, [](const Line& a, const Line& b) {
      const bool a_says = a.finding != Finding::too_few;
      const bool b_says = b.finding != Finding::too_few;
      if (a_says != b_says) return a_says;
      if (a_says && a.at_quarter.value != b.at_quarter.value)
        return a.at_quarter.value > b.at_quarter.value;
      return std::pair(b.samples, a.line) < std::pair(a.samples, b.line);
    });
  }

  const Profile& profile_;
  const Options& options_;
  Phases phases_;
  Analysis made_;
  bool has_one_each_ = false;  // several runs, with at most one experiment in each
};

}  // namespace

Result<Analysis> analyse(const Profile& profile, const Options& options) {
  return Analyser(profile, options).analyse();
}

}  // namespace stab::stats::causal
