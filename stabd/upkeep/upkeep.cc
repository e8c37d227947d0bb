// SPDX-License-Identifier: MIT
#include "stabd/upkeep/upkeep.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace stab::upkeep {
namespace {

constexpr std::int64_t day_ns = std::chrono::nanoseconds(std::chrono::days(1)).count();
constexpr std::int64_t most_drift_ns = std::chrono::nanoseconds(std::chrono::hours(1)).count();

std::string age(std::int64_t days) {
  return fmt::format("{} day{} after its end", days, days == 1 ? "" : "s");
}

}  // namespace

store::Outcome<void> Upkeep::load() {
  const auto begun = store_.removals();
  if (!begun) return std::unexpected(begun.error());
  for (const store::Id id : *begun) work_.push_back({.id = id});
  return {};
}

store::Outcome<void> Upkeep::remove(const store::Experiment& experiment, std::string_view how) {
  auto begun = store_.begin_removal(experiment.id,
                                    fmt::format("experiment {} ({}) was removed {}", experiment.id,
                                                one_line(experiment.name, 100), how));
  if (begun) work_.push_front({.id = experiment.id});
  return begun;
}

store::Outcome<bool> Upkeep::look(const settings::Retention& retention, std::int64_t now_ns,
                                  std::int64_t running_ns) {
  // What was found before is found again when it is still there.
  std::erase_if(work_, [](const Work& each) { return each.what != What::remove; });
  const std::int64_t set_to = now_ns - running_ns;
  if (std::abs(set_to - std::exchange(set_to_ns_, set_to).value_or(set_to)) > most_drift_ns)
    return false;
  const auto add = [this, now_ns](What what, std::int64_t days, auto find) -> store::Outcome<void> {
    if (days == 0) return {};
    const std::int64_t before = now_ns - days * day_ns;
    const auto found = (store_.*find)(before);
    if (!found) return std::unexpected(found.error());
    for (const store::Id id : *found)
      work_.push_back({.what = what, .id = id, .before_ns = before, .days = days});
    return {};
  };
  if (auto added = add(What::forget_experiment, retention.experiments_days, &store::Store::ended);
      !added)
    return std::unexpected(added.error());
  if (auto added = add(What::forget_output, retention.output_days, &store::Store::with_output);
      !added)
    return std::unexpected(added.error());
  return true;
}

store::Outcome<void> Upkeep::step() {
  if (work_.empty()) return {};
  Work work = work_.front();
  const auto more = advance(work);
  if (!more && more.error().temporary) return std::unexpected(more.error());
  work_.pop_front();
  if (!more) return std::unexpected(more.error());
  if (*more) work_.push_front(work);
  in_log_ = true;
  return {};
}

store::Outcome<void> Upkeep::empty_log() {
  const auto emptied = store_.empty_log();
  in_log_ = emptied ? !*emptied : emptied.error().temporary;
  if (!emptied) return std::unexpected(emptied.error());
  return {};
}

store::Outcome<bool> Upkeep::advance(Work& work) {
  if (work.what == What::remove) return store_.go_on_with_removal(work.id);
  const auto experiment = store_.experiment(work.id);
  if (!experiment) return std::unexpected(experiment.error());
  // Somebody has removed it since, or lets it go on.
  const bool is_old =
      *experiment && (*experiment)->ended_ns != 0 && (*experiment)->ended_ns < work.before_ns;
  return is_old ? forget(work, **experiment) : false;
}

store::Outcome<bool> Upkeep::forget(Work& work, const store::Experiment& experiment) {
  if (work.what == What::forget_experiment) {
    auto begun =
        store_.begin_removal(work.id, fmt::format("experiment {} ({}) was removed {}", work.id,
                                                  one_line(experiment.name, 100), age(work.days)));
    if (!begun) return std::unexpected(begun.error());
    work.what = What::remove;
    return true;
  }
  const auto next = store_.forget_output(
      work.id, work.place,
      fmt::format("what its trials and builds printed was removed {}", age(work.days)));
  if (!next) return std::unexpected(next.error());
  if (*next) work.place = **next;
  return next->has_value();
}

}  // namespace stab::upkeep
