// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace stab::daemon {

using store::TrialStatus;

Schedule::Schedule(const plan::Plan& plan, const plan::Expansion& expansion,
                   const std::vector<store::Store::Progress>& progress)
    : plan_(plan), expansion_(expansion), finished_(expansion.trials.size(), 0) {
  counts_.total = expansion.trials.size();
  remember(progress);
}

void Schedule::remember(const std::vector<store::Store::Progress>& progress) {
  for (const auto& entry : progress) {
    if (entry.position >= finished_.size()) continue;
    if (entry.done)
      finish(entry.position, entry.status);
    else
      attempts_[entry.position] = entry.attempts;
  }
}

std::optional<Schedule::Step> Schedule::next() const {
  if (first_open_ >= finished_.size()) return std::nullopt;
  const auto stored = attempts_.find(first_open_);
  Step step{.position = first_open_, .attempt = stored == attempts_.end() ? 0 : stored->second};
  const std::uint32_t benchmark = expansion_.trials[first_open_].benchmark;
  if (const auto build = failed_builds_.find(benchmark); build != failed_builds_.end()) {
    step.without_running = TrialStatus::build_failed;
    step.reason = build->second;
    return step;
  }
  const auto row = failures_in_a_row_.find(benchmark);
  if (plan_.give_up_after > 0 && row != failures_in_a_row_.end() &&
      row->second >= plan_.give_up_after) {
    step.without_running = TrialStatus::skipped;
    step.reason =
        fmt::format("not run: {} trials of this benchmark in a row have failed", row->second);
  }
  return step;
}

bool Schedule::is_last(std::uint32_t attempt, TrialStatus status) const {
  const bool never_repeated = status == TrialStatus::ok || status == TrialStatus::skipped ||
                              status == TrialStatus::build_failed;
  return never_repeated || attempt >= plan_.retries;
}

void Schedule::record(const Step& step, TrialStatus status) {
  if (is_last(step.attempt, status))
    finish(step.position, status);
  else
    attempts_[step.position] = step.attempt + 1;
}

void Schedule::finish(std::uint32_t position, TrialStatus status) {
  finished_[position] = 1;
  end_ = std::max(end_, position + 1);
  attempts_.erase(position);
  while (first_open_ < finished_.size() && finished_[first_open_] != 0) ++first_open_;
  std::uint32_t& row = failures_in_a_row_[expansion_.trials[position].benchmark];
  switch (status) {
    case TrialStatus::ok:
      ++counts_.ok;
      row = 0;
      break;
    case TrialStatus::skipped:
    case TrialStatus::build_failed:
      ++counts_.skipped;
      break;
    default:
      ++counts_.failed;
      ++row;
  }
}

void Schedule::fail_benchmark(std::uint32_t benchmark, const std::string& reason) {
  failed_builds_.try_emplace(benchmark, reason);
}

}  // namespace stab::daemon
