// SPDX-License-Identifier: MIT
#include "stabd/upkeep/upkeep.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <utility>

#include "base/text.h"

namespace stab::upkeep {
namespace {

// A row that is being removed says no more whose it was.
constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

constexpr std::int64_t day_ns = std::chrono::nanoseconds(std::chrono::days(1)).count();
constexpr std::int64_t most_drift_ns = std::chrono::nanoseconds(std::chrono::hours(1)).count();

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
  if (begun) removals_.add(experiment.uid, experiment.id);
  return begun;
}

store::Outcome<bool> Upkeep::look(const settings::Retention& retention, std::int64_t now_ns,
                                  std::int64_t running_ns) {
  // What was found before is found again when it is still there.
  old_.clear();
  const std::int64_t set_to = now_ns - running_ns;
  if (std::abs(set_to - std::exchange(set_to_ns_, set_to).value_or(set_to)) > most_drift_ns)
    return false;
  const auto add = [this, now_ns](What what, std::int64_t days, auto find) -> store::Outcome<void> {
    if (days == 0) return {};
    const std::int64_t before = now_ns - days * day_ns;
    const auto found = (store_.*find)(before);
    if (!found) return std::unexpected(found.error());
    for (const store::Id id : *found)
      old_.push_back({.what = what, .id = id, .before_ns = before, .days = days});
    return {};
  };
  if (auto added = add(What::experiment, retention.experiments_days, &store::Store::ended); !added)
    return std::unexpected(added.error());
  if (auto added = add(What::output, retention.output_days, &store::Store::with_output); !added)
    return std::unexpected(added.error());
  return true;
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

// Whether there is more of it.
store::Outcome<bool> Upkeep::forget(Old& old) {
  const auto experiment = store_.experiment(old.id);
  if (!experiment) return std::unexpected(experiment.error());
  // Somebody has removed it since, or lets it go on.
  if (!*experiment || (*experiment)->ended_ns == 0 || (*experiment)->ended_ns >= old.before_ns)
    return false;
  if (old.what == What::experiment) {
    auto begun = remove(**experiment, age(old.days));
    if (!begun) return std::unexpected(begun.error());
    return false;
  }
  const auto next = store_.forget_output(
      old.id, old.place,
      fmt::format("the output of its trials and builds was removed {}", age(old.days)));
  if (!next) return std::unexpected(next.error());
  if (*next) old.place = **next;
  return next->has_value();
}

}  // namespace stab::upkeep
