// SPDX-License-Identifier: MIT
// How a session begins, for the first time or again: it reads the experiment's stored trials, then
// starts a worker.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/measures/formula.h"
#include "plan/texts.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using store::TrialStatus;

constexpr std::uint32_t positions_at_once = 2000;
constexpr std::chrono::seconds setup_deadline{60};

}  // namespace

void Session::start() {
  apply(Event::start, "");
  for (Place& place : places_) {
    place.has_whole_blocks = false;
    place.builds = collect_builds(plan_, expansion_);
    place.next_build = 0;
    place.passed.reset();
    place.is_ready = place.waits = false;
  }
  stopped_.clear();
  goes_on_after_.reset();
  driven_then_.reset();
  last_look_.clear();
  last_changes_.clear();
  load_builds();
  begin_loading();
  load_trials();
}

void Session::begin_loading() {
  for (Place& place : places_) {
    place.schedule = schedule_for(place);
    place.trial.reset();
  }
  activity_ = Loading{};
  stored_wall_ = {};
}

std::unique_ptr<Schedule> Session::schedule_for(const Place& place) const {
  return std::make_unique<Schedule>(
      plan_, expansion_, std::vector<store::Store::Progress>(),
      Share{.machine_of = machine_of_, .machine = static_cast<std::uint8_t>(place.index)});
}

// E10
void Session::settle_at_home(Place& place, const store::Store::Progress& progress) const {
  if (!progress.done || !plan::is_node(progress.node)) return;
  if (place.home.empty()) place.home = progress.node;
  place.has_been_up = true;
}

// E9. Returns false if the session can't go on now.
bool Session::reopen_incomplete(Place& place, bool& has_reopened) {
  const auto incomplete = incomplete_block(place);
  if (!incomplete) return true;
  if (!stored(store_.reopen(experiment_.id, incomplete->first, incomplete->second))) return false;
  has_reopened = true;
  const BlockId block = block_at(incomplete->first);
  note("trial", fmt::format("{} {} will run again from its first trial, because all trials of a "
                            "block must run on one node",
                            block.first ? "warm-up block" : "block", block.second + 1));
  return true;
}

// The place's worker is lost.
void Session::start_again(Place& place, const std::string& why) {
  if (!has_several()) {
    apply(Event::worker_lost, why);
    return start();
  }
  place.has_whole_blocks = place.is_ready = false;
  place.builds = collect_builds(plan_, expansion_);
  place.next_build = 0;
  place.passed.reset();
  load_builds();
  bool has_reopened = false;
  if (!needs_worker(state_) || !reload(place) || !reopen_incomplete(place, has_reopened)) return;
  if (has_reopened && !reload(place)) return;
  if (place.schedule->next()) return start_worker(place);
  place.is_ready = true;
  continue_at(place);
}

// The trials of the experiment are read at once, because the other places go on meanwhile.
bool Session::reload(Place& place) {
  place.schedule = schedule_for(place);
  for (std::uint32_t from = 0; from < expansion_.trials.size(); from += positions_at_once) {
    const auto progress =
        store_.progress(experiment_.id, {.from = from, .end = from + positions_at_once});
    if (!progress) {
      stored(std::unexpected(progress.error()));
      return false;
    }
    place.schedule->remember(*progress);
  }
  place.schedule->loaded();
  return true;
}

void Session::load_builds() {
  auto builds = store_.builds(experiment_.id);
  if (!builds) {
    stored(std::unexpected(builds.error()));
    return;
  }
  earlier_builds_ = std::move(*builds);
}

// Reads a piece of the trials, so that clients are answered before the next piece.
void Session::load_trials() {
  if (state_ != State::building) return idle();
  const std::uint32_t before = std::get<Loading>(activity_).before;
  const std::uint32_t end = before + positions_at_once;
  const auto progress = store_.progress(experiment_.id, {.from = before, .end = end});
  if (!progress) {
    idle();
    stored(std::unexpected(progress.error()));
    return;
  }
  for (Place& place : places_) place.schedule->remember(*progress);
  if (has_several())
    for (const store::Store::Progress& each : *progress)
      if (each.position < machine_of_->size())
        settle_at_home(places_[(*machine_of_)[each.position]], each);
  for (const store::Store::Progress& each : *progress) {
    stored_wall_ += nanoseconds(each.wall_ns);
    told_of_limit_ = told_of_limit_ || each.status == TrialStatus::over_limit;
  }
  activity_ = Loading{.before = end};
  if (end < expansion_.trials.size()) return around_.call_again();
  idle();
  bool has_reopened = false;
  for (Place& place : places_) {
    place.schedule->loaded();
    if (!reopen_incomplete(place, has_reopened)) return;
  }
  if (has_reopened) {
    begin_loading();
    return around_.call_again();
  }
  // A killed daemon could not store the experiment's duration, so it is at least the time of all
  // stored trials.
  experiment_.duration_ns =
      std::max(experiment_.duration_ns.value_or(0), std::exchange(stored_wall_, {}).count());
  const auto has_work = [](const Place& place) { return place.schedule->next().has_value(); };
  const bool is_complete = std::ranges::none_of(places_, has_work);
  for (Place& place : places_) {
    if (state_ != State::building) return;
    if (has_work(place) || (is_complete && place.index == 0))
      start_worker(place);
    else
      place.is_ready = true;
  }
}

// E9. The positions of the block in which an earlier worker stopped.
std::optional<std::pair<std::uint32_t, std::uint32_t>> Session::incomplete_block(Place& place) {
  if (!plan_.machines || std::exchange(place.has_whole_blocks, true)) return std::nullopt;
  const auto step = place.schedule->next();
  const auto positions = step ? positions_of_block(step->position) : std::nullopt;
  // If a later block has finished trials, a retry fills gaps.
  // A block that was given up twice goes on where it was, or it might never end (E8).
  if (!positions || abandoned_ == block_at(positions->first) ||
      place.schedule->goes_back(positions->second) ||
      !place.schedule->has_begun(positions->first, positions->second))
    return std::nullopt;
  return positions;
}

void Session::start_worker(Place& place) {
  const auto node = earlier_node(place);
  if (!node) {
    stored(std::unexpected(node.error()));
    return;
  }
  // The system lacks a process, a descriptor or room for a file, which passes with time.
  std::vector<std::string> others;
  if (node->empty())
    for (const Place& other : places_)
      if (&other != &place)
        for (const std::string* taken : {&other.home, &other.node.node})
          if (!taken->empty() && std::ranges::find(others, *taken) == others.end())
            others.push_back(*taken);
  if (auto started = around_.start_worker(place.index, {.name = *node, .others = others});
      !started) {
    wait_for_storage(started.error().message, "stabd tries again");
    return;
  }
  place.has_worker = true;
  place.node = {};
  place.lost.reset();
  ask(place,
      protocol::SetupRequest{.cpus = plan_.cpus,
                             .wanted_cpus = plan_.cpu,
                             .earlier_cpus = machine::cpus_in(experiment_.trial_cpus),
                             .counters = plan_.counters,
                             .rotated = plan_.rotated,
                             .profile = plan_.profile,
                             .profile_hz = plan_.profile_hz,
                             .refuse_absent = plan_.refuse_absent,
                             .needed = plan::parts_of(plan_, plan_.analysis.response),
                             .simulate = plan_.simulated,
                             .causal = plan_.is_causal()},
      setup_deadline + (plan_.machines ? around_.node_patience() : nanoseconds(0)));
}

// E9. The machine of an experiment has its node's name.
store::Outcome<std::string> Session::earlier_node(const Place& place) {
  if (has_several()) return place.home;
  const auto trials = static_cast<std::uint32_t>(expansion_.trials.size());
  if (!plan_.machines || experiment_.machine == 0 || !place.schedule->has_begun(0, trials))
    return "";
  auto machine = store_.machine(experiment_.machine);
  if (!machine) return std::unexpected(machine.error());
  return *machine && plan::is_node((*machine)->host) ? (*machine)->host : "";
}

}  // namespace stab::daemon
