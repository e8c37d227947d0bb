// SPDX-License-Identifier: MIT
#include "bench/verdicts/commits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "report/model.h"
#include "results/history.h"
#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"

namespace stab::bench {
namespace {

constexpr const char* program = "sort";
constexpr std::size_t trials = 20;
constexpr double typical = 1e8;  // ns
constexpr double noise = 0.01;   // of a trial, and of the machine from one experiment to the next
constexpr double neighbours = 0.3;  // correlation

// The trials of one experiment: a number each, or the limits of the number.
class Trials {
 public:
  Trials() {
    data_.columns = {{.name = "program", .levels = {program}, .codes = {}},
                     {.name = "opt", .levels = {"O2"}, .codes = {}}};
    data_.lists_lost = true;
  }
  void add(double value) {
    data_.response.push_back(value);
    for (stats::Column& column : data_.columns) column.codes.push_back(0);
  }
  void lose(stats::Lost lost) {
    lost.codes = {0, 0};
    data_.lost.push_back(std::move(lost));
  }

  // As 'stabctl history' gets it from a report.
  [[nodiscard]] std::vector<results::history::Mean> means() const {
    stats::Spec spec;
    spec.response = "wall";
    spec.unit = stats::Unit::nanoseconds;
    spec.subject = "program";
    spec.treatments = {"opt"};
    spec.log_scale = false;
    spec.assumptions = false;
    report::Document document;
    document.analysis = stats::analyse(data_, spec);
    return results::history::experiment_in(document, program).means;
  }

 private:
  stats::Dataset data_;
};

// One trial that would have taken `value`, given where the machine stood.
void add_trial(Missing missing, bool later, double machine, double value,
               stats::oracle::Normal& random, Trials& all) {
  constexpr double timeout = 10 * typical;  // that no trial reaches, unless said otherwise
  switch (missing) {
    case Missing::nothing:
      break;
    case Missing::at_random:
      if (later && random.uniform() < 0.1) return all.lose({.at_least = 0, .at_most = timeout});
      break;
    case Missing::excluded:
      if (random.uniform() < 0.05)
        return all.lose({.at_least = 1.2 * value, .at_most = 1.2 * value, .excluded = true});
      break;
    case Missing::slow:
      if (random.uniform() < 0.005) return all.lose({.at_least = 1.5 * typical});
      break;
    case Missing::slow_later: {
      constexpr double twentieth = 1.645;  // standard deviations above the mean
      const double longest = machine * (1 + twentieth * noise);
      if (later && value > longest) return all.lose({.at_least = longest});
      break;
    }
    case Missing::slow_days:
      break;
  }
  all.add(value);
}

}  // namespace

bool ever_alarmed(Missing missing, std::size_t experiments, std::uint64_t seed) {
  stats::oracle::Normal random(seed);
  const auto since = static_cast<std::size_t>(random.uniform() * static_cast<double>(experiments));
  results::history::Series series;
  double state = random.next();
  for (std::size_t i = 0; i < experiments; ++i) {
    const double machine = typical * (1 + noise * state);
    Trials all;
    constexpr double slowest = 3.09;  // standard deviations above the mean: one day in 1,000
    const bool loses_one = missing == Missing::slow_days && state > slowest;
    if (loses_one) all.lose({.at_least = machine});
    for (std::size_t k = loses_one ? 1 : 0; k < trials; ++k)
      add_trial(missing, i >= since, machine, machine * (1 + noise * random.next()), random, all);
    for (results::history::Mean& mean : all.means())
      series.points.push_back({.experiment = i, .mean = std::move(mean)});
    state = neighbours * state + std::sqrt(1 - neighbours * neighbours) * random.next();
  }
  return !results::history::alarms_of(series, {}).empty();
}

}  // namespace stab::bench
