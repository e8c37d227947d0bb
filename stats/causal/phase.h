// SPDX-License-Identifier: MIT
// How much of the program's time a line's experiments stand for: (t_obs / s_obs) (s / T). Experiments
// begin when the line runs, so a line that runs in one phase only is measured in that one. s counts all
// that the line did, under speedups too, so T is what the runs would have taken without them. (Coz's
// files do not say how long pauses were; their T has them in it.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/causal/profile.h"

namespace stab::stats::causal {

struct Phase {
  double factor = 1;  // at most 1: a line does not run more outside of its experiments than in them
  double variance = 0;
};

class Phases {
 public:
  explicit Phases(const Profile& profile);

  // Whether samples and times of whole runs are known. If not, factors are 1.
  [[nodiscard]] bool are_known() const { return base_time_ > 0 && is_known_; }
  [[nodiscard]] std::uint64_t samples(std::size_t line) const;
  [[nodiscard]] Phase of(std::size_t line) const;

 private:
  struct Sums {
    double samples = 0;  // in whole runs
    double in_all = 0;   // in experiments at any speedup
    double in_base = 0;  // at speedup 0
    double base_time = 0;
    double sped_time = 0;  // at other speedups, as it counts
    double paused = 0;     // in that
    double squares = 0;    // of in_base - rate * time, of experiments
    std::size_t experiments = 0;
  };
  // By the samples of each line, what its speedups took off: no more than the pauses, either way.
  [[nodiscard]] double saved() const;

  std::vector<Sums> lines_;
  double base_time_ = 0;  // of all runs, without speedups
  bool is_known_ = false;
};

}  // namespace stab::stats::causal
