// SPDX-License-Identifier: MIT
#include "stabd/upkeep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "base/text.h"
#include "store/summaries.h"

namespace stab::upkeep {
namespace {

// The row of an experiment that is being removed no longer has its user.
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

constexpr std::int64_t day_ns = std::chrono::nanoseconds(std::chrono::days(1)).count();

std::string age(std::int64_t days) {
  return fmt::format("{} day{} after its end", days, days == 1 ? "" : "s");
}

}  // namespace

store::Outcome<void> Upkeep::load() {
  const auto begun = store_.removals();
  if (!begun) return std::unexpected(begun.error());
  for (const store::Id id : *begun) removals_.add(nobody, id);
  return {};
}

store::Outcome<void> Upkeep::remove(const store::Experiment& experiment, std::string_view how) {
  auto begun = store_.begin_removal(experiment.id,
                                    fmt::format("experiment {} ({}) was removed {}", experiment.id,
                                                one_line(experiment.name, 100), how));
  if (begun) removals_.add(account_of_(experiment.uid), experiment.id);
  return begun;
}

// The clock of ages (U1), which starts at the time of day.
store::Outcome<std::int64_t> Upkeep::age_now(const Clocks& now) {
  const auto kept = store_.age_clock();
  if (!kept) return std::unexpected(kept.error());
  long long age = 0;
  long long running = 0;
  std::array<char, 65> boot{};
  if (std::sscanf(kept->c_str(), "%lld %lld %64s", &age, &running, boot.data()) < 2)
    return now.wall_ns;
  if (!now.boot.empty() && now.boot == boot.data() && now.running_ns >= running)
    return age + (now.running_ns - running);
  return age + std::clamp<std::int64_t>(now.wall_ns - age, 0, day_ns);
}

store::Outcome<void> Upkeep::look(const settings::Retention& retention, const Clocks& now) {
  // Data that was found before is found again if it still exists.
  old_.clear();
  const auto age = age_now(now);
  if (!age) return std::unexpected(age.error());
  const auto kept = store_.seen_ends();
  if (!kept) return std::unexpected(kept.error());
  const auto all = store_.summaries();
  if (!all) return std::unexpected(all.error());
  std::map<store::Id, store::Store::SeenEnd> seen;
  for (const auto& end : *kept) seen[end.experiment] = end;
  std::vector<store::Store::SeenEnd> ends;
  for (const auto& [id, summary] : (*all)->intact()) {
    const std::int64_t ended = summary.experiment.ended_ns;
    if (ended == 0) continue;
    const auto found = seen.find(id);
    if (found == seen.end() || found->second.ended_ns != ended) {
      ends.push_back({.experiment = id, .ended_ns = ended, .seen_ns = *age});
      continue;
    }
    const auto add = [&](What what, std::int64_t days) {
      if (days != 0 && *age - found->second.seen_ns > days * day_ns)
        old_.push_back({.what = what, .id = id, .ended_ns = ended, .days = days});
    };
    add(What::experiment, retention.experiments_days);
    if (!found->second.output_forgotten) add(What::output, retention.output_days);
  }
  return store_.keep_ages(fmt::format("{} {} {}", *age, now.running_ns, now.boot), ends);
}

store::Outcome<void> Upkeep::step() {
  if (!has_work()) return {};
  auto done = removals_.empty() ? go_on_with_old() : go_on_with_removal();
  if (done) in_log_ = true;
  return done;
}

store::Outcome<void> Upkeep::go_on_with_removal() {
  const store::Id id = removals_.front();
  const auto more = store_.go_on_with_removal(id);
  removals_.pass();
  if (!more && more.error().temporary) return std::unexpected(more.error());
  if (!more || !*more) removals_.remove_if([id](store::Id each) { return each == id; });
  if (!more) return std::unexpected(more.error());
  return {};
}

store::Outcome<void> Upkeep::go_on_with_old() {
  Old old = old_.front();
  const auto more = forget(old);
  if (!more && more.error().temporary) return std::unexpected(more.error());
  old_.pop_front();
  if (!more) return std::unexpected(more.error());
  if (*more) old_.push_front(old);
  return {};
}

store::Outcome<void> Upkeep::empty_log() {
  const auto emptied = store_.empty_log();
  in_log_ = emptied ? !*emptied : emptied.error().temporary;
  if (!emptied) return std::unexpected(emptied.error());
  return {};
}

// Returns whether there is more to remove.
store::Outcome<bool> Upkeep::forget(Old& old) {
  const auto experiment = store_.experiment(old.id);
  if (!experiment) return std::unexpected(experiment.error());
  // Somebody has removed the experiment since, or continues it.
  if (!*experiment || (*experiment)->ended_ns == 0 || (*experiment)->ended_ns != old.ended_ns)
    return false;
  const auto tell = [&](std::string_view what) {
    news_.push_back(fmt::format("experiment {} ({}) of user {}: {} {}", old.id,
                                one_line((*experiment)->name, 100), (*experiment)->uid, what,
                                age(old.days)));
  };
  if (old.what == What::experiment) {
    auto begun = remove(**experiment, age(old.days));
    if (!begun) return std::unexpected(begun.error());
    tell("is removed");
    return false;
  }
  const auto next = store_.forget_output(
      old.id, old.place,
      fmt::format("the output of its trials and builds was removed {}", age(old.days)));
  if (!next) return std::unexpected(next.error());
  if (*next)
    old.place = **next;
  else
    tell("the output of its trials and builds is removed");
  return next->has_value();
}

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
