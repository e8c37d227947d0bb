// SPDX-License-Identifier: MIT
#include "stats/causal/phase.h"

#include <algorithm>

namespace stab::stats::causal {

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
  // Of s_obs, from experiment to experiment, and of s as if samples came one by one.
  const double n = static_cast<double>(sums.experiments);
  const double of_observed =
      n > 1 ? sums.squares * n / (n - 1) / (sums.in_base * sums.in_base) : 1 / sums.in_base;
  if (factor >= 1) return {};
  return {.factor = factor, .variance = factor * factor * (of_observed + 1 / sums.samples)};
}

}  // namespace stab::stats::causal
