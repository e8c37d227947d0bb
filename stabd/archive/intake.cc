// SPDX-License-Identifier: MIT
#include "stabd/archive/intake.h"

#include <utility>
#include <vector>

#include "stabd/archive/parts.h"

namespace stab::archive {

store::Outcome<Intake> Intake::open(const std::string& parts) {
  auto from = store::Reader::open(parts);
  if (!from) return std::unexpected(from.error());
  auto row = (*from)->experiment(whole);
  if (!row) return std::unexpected(row.error());
  if (!*row)
    return std::unexpected(store::StoreError{.message = "the parts contain no experiment"});
  return Intake(std::move(*from), std::move(**row));
}

Intake::Intake(std::unique_ptr<store::Reader> from, store::Experiment row)
    : from_(std::move(from)), row_(std::move(row)), machine_(row_.machine), part_(whole) {
  row_.id = 0;
  state_ = std::exchange(row_.state, std::string(store::being_removed));
}

store::Outcome<void> Intake::begin(store::Store& to) {
  try {
    row_.machine = copy_machine(*from_, machine_, to);
  } catch (const Refused& why) {
    return std::unexpected(store::StoreError{.message = why.what(), .temporary = why.temporary});
  }
  const auto id = to.add_experiment(row_);
  if (!id) return std::unexpected(id.error());
  row_.id = *id;
  return {};
}

store::Outcome<void> Intake::add_trials(store::Store& to) {
  std::vector<store::Trial> trials;
  auto read = from_->for_each_trial(part_, [&](const store::Trial& trial) {
    trials.push_back(trial);
    trials.back().experiment = row_.id;
    return true;
  });
  if (read && !trials.empty()) read = to.add_trials(trials);
  return read;
}

store::Outcome<void> Intake::add_others(store::Store& to) {
  auto builds = from_->builds(part_);
  if (!builds) return std::unexpected(builds.error());
  auto events = from_->events(part_);
  if (!events) return std::unexpected(events.error());
  for (store::Build& each : *builds) each.experiment = row_.id;
  for (store::Event& each : *events) each.experiment = row_.id;
  if (builds->empty() && events->empty()) return {};
  return to.add_builds_and_events(*builds, *events);
}

// Goes on to the next part. After the last part, makes the experiment visible.
store::Outcome<bool> Intake::go_on(store::Store& to) {
  const auto next = from_->experiment(part_ + 1);
  if (!next) return std::unexpected(next.error());
  if (*next) {
    ++part_;
    stage_ = Stage::trials;
    return true;
  }
  store::Experiment shown = row_;
  shown.state = state_;
  if (auto done = to.update_experiment(shown); !done) return std::unexpected(done.error());
  return false;
}

store::Outcome<bool> Intake::step(store::Store& to) {
  if (stage_ == Stage::end_of_part) return go_on(to);
  const auto done = stage_ == Stage::row      ? begin(to)
                    : stage_ == Stage::trials ? add_trials(to)
                                              : add_others(to);
  if (!done) return std::unexpected(done.error());
  stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
  return true;
}

}  // namespace stab::archive
