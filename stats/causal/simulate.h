// SPDX-License-Identifier: MIT
// Profiles with known true gains, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

struct TrueLine {
  std::function<double(double)> gain;  // as a function of the speedup
  double noise = 0.05;                 // of an experiment's time per visit, relative
  double slope_sd = 0;                 // standard deviation of the slope from run to run
  double share = 0.2;                  // its samples' share of its phase's time without speedups
};

struct Simulated {
  std::vector<TrueLine> lines{};
  std::size_t runs = 10;
  std::size_t experiments = 100;  // in each run
  double run_sd = 0.03;
  double visits = 200;  // in each experiment
  double phase = 1;     // the part of the run in which lines run at all
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {}

  Profile make(const Simulated& what) {
    Profile made{.points = {{.name = "point"}}};
    for (std::size_t i = 0; i < what.lines.size(); ++i)
      made.lines.push_back("a.cc:" + std::to_string(i + 1));
    for (std::size_t r = 0; r < what.runs; ++r) made.runs.push_back(run(what));
    return made;
  }

 private:
  Run run(const Simulated& what) {
    Run made;
    const double luck = std::exp(what.run_sd * normal());
    // Runs also differ in how much they vary.
    const double unrest = std::exp(0.3 * normal());
    std::vector<double> slopes;
    for (const TrueLine& line : what.lines) slopes.push_back(line.slope_sd * normal());
    double all = 0;
    double without = 0;  // time of the same work at speedup 0
    for (std::size_t e = 0; e < what.experiments; ++e) {
      const std::size_t at = random_.below(what.lines.size());
      const TrueLine& line = what.lines[at];
      const unsigned speedup =
          random_.below(2) == 0 ? 0 : 50 * (1 + static_cast<unsigned>(random_.below(20)));
      const double x = speedup / 1000.0;
      const double gain = line.gain(x) + slopes[at] * x;
      const double per_visit =
          5e8 / what.visits * luck * (1 - gain) * std::max(0.1, 1 + line.noise * unrest * normal());
      const double ns = 5e8 * (0.9 + 0.2 * uniform());
      const double real = ns / (1 - gain);
      all += ns;
      without += real;
      made.experiments.push_back(
          {.line = at,
           .speedup = speedup,
           .effective_ns = static_cast<std::uint64_t>(ns),
           .paused_ns = static_cast<std::uint64_t>(real * std::max({0.0, gain, x * line.share})),
           .line_samples = static_cast<std::uint64_t>(real / 1e6 * line.share),
           .visits = {{.count = static_cast<std::uint64_t>(ns / per_visit + uniform())}}});
    }
    made.effective_ns = static_cast<std::uint64_t>(all + without * (1 / what.phase - 1));
    for (std::size_t i = 0; i < what.lines.size(); ++i)
      made.samples.push_back(
          {.line = i, .count = static_cast<std::uint64_t>(without / 1e6 * what.lines[i].share)});
    return made;
  }

  double uniform() {
    return (static_cast<double>(random_.next() >> 11) + 0.5) / 9007199254740992.0;
  }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

  Random random_;
};

}  // namespace stab::stats::causal
