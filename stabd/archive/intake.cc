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
  if (!*row) return std::unexpected(store::StoreError{.message = "the parts have no experiment"});
  return Intake(std::move(*from), std::move(**row));
}

Intake::Intake(std::unique_ptr<store::Reader> from, store::Experiment row)
    : from_(std::move(from)), row_(std::move(row)), part_(whole) {
  row_.id = 0;
  state_ = std::exchange(row_.state, std::string(store::being_removed));
}

store::Outcome<void> Intake::begin(store::Store& to) {
  try {
    row_.machine = copy_machine(*from_, row_.machine, to);
  } catch (const Refused& why) {
    return std::unexpected(store::StoreError{.message = why.what()});
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
  trials_ = read.has_value();
  return read;
}

// One by one: after an error those that are there are not added again.
store::Outcome<void> Intake::add_others(store::Store& to) {
  auto builds = from_->builds(part_);
  if (!builds) return std::unexpected(builds.error());
  auto events = from_->events(part_);
  if (!events) return std::unexpected(events.error());
  for (; others_ < builds->size() + events->size(); ++others_) {
    store::Outcome<void> added;
    if (others_ < builds->size()) {
      store::Build& build = (*builds)[others_];
      build.experiment = row_.id;
      added = to.add_build(build);
    } else {
      store::Event& event = (*events)[others_ - builds->size()];
      event.experiment = row_.id;
      added = to.add_event(event);
    }
    if (!added) return added;
  }
  return {};
}

store::Outcome<void> Intake::show(store::Store& to) {
  store::Experiment shown = row_;
  shown.state = state_;
  return to.update_experiment(shown);
}

store::Outcome<bool> Intake::step(store::Store& to) {
  store::Outcome<void> done;
  if (row_.id == 0) done = begin(to);
  if (done && !trials_) done = add_trials(to);
  if (done) done = add_others(to);
  if (!done) return std::unexpected(done.error());
  const auto next = from_->experiment(part_ + 1);
  if (!next) return std::unexpected(next.error());
  if (!*next) {
    if (auto shown = show(to); !shown) return std::unexpected(shown.error());
    return false;
  }
  ++part_;
  trials_ = false;
  others_ = 0;
  return true;
}

}  // namespace stab::archive
