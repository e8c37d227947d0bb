// SPDX-License-Identifier: MIT
#include "stabd/upkeep/retry.h"

#include <utility>

namespace stab::upkeep {

Retry::Retry(const store::Experiment& before, store::Experiment after, bool anyway)
    : state_before_(before.state), after_(std::move(after)), anyway_(anyway) {}

Retry::Retry(store::Experiment row) : after_(std::move(row)), stage_(Stage::opening) {}

store::Outcome<bool> Retry::step(store::Store& store) {
  if (auto done = do_stage(store); !done) return std::unexpected(done.error());
  return stage_ != Stage::stored && stage_ != Stage::nothing;
}

store::Outcome<void> Retry::do_stage(store::Store& store) {
  store::Outcome<void> done;
  switch (stage_) {
    case Stage::looking:
      return look(store);
    case Stage::beginning:
      done = store.begin_retry(after_, state_before_);
      if (done) stage_ = open_ > 0 ? Stage::opening : Stage::storing;
      return done;
    case Stage::opening:
      return open_some(store);
    case Stage::storing:
      done = store.update_experiment(after_);
      if (done) stage_ = Stage::stored;
      return done;
    case Stage::stored:
    case Stage::nothing:
      break;
  }
  return done;
}

store::Outcome<void> Retry::look(store::Store& store) {
  const auto found = store.failed(after_.id, place_);
  if (!found) return std::unexpected(found.error());
  open_ += found->count;
  place_ = found->next.value_or(store::Store::Place());
  if (!found->next) stage_ = open_ > 0 || anyway_ ? Stage::beginning : Stage::nothing;
  return {};
}

store::Outcome<void> Retry::open_some(store::Store& store) {
  const auto next = store.go_on_with_retry(after_.id, place_);
  if (!next) return std::unexpected(next.error());
  place_ = next->value_or(store::Store::Place());
  if (!*next) stage_ = Stage::storing;
  return {};
}

}  // namespace stab::upkeep
