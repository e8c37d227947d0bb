// SPDX-License-Identifier: MIT
// How a session begins, for the first time or again: it reads the experiment's stored trials,
// starts a worker, and has the worker build and make test runs.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/texts.h"
#include "results/document.h"
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
    hand_over(place);
    place.has_whole_blocks = false;
    place.builds = collect_builds(plan_, expansion_);
    place.next_build = 0;
    place.passed.reset();
    place.is_ready = place.waits = false;
  }
  heap_tests_.reset();
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
  stored_wall_.assign(places_.size(), nanoseconds(0));
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
  // If all trials are stored already, the first place's worker leads to the analysis.
  const bool is_complete = std::ranges::none_of(
      places_, [](const Place& each) { return each.schedule->next().has_value(); });
  if (place.schedule->next() || (is_complete && state_ == State::building && place.index == 0))
    return start_worker(place);
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
    const bool is_dealt_out = has_several() && each.position < machine_of_->size();
    const std::size_t at = is_dealt_out ? std::size_t{(*machine_of_)[each.position]} : 0;
    stored_wall_[at] += nanoseconds(each.wall_ns);
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
  // stored trials of one place. Trials of different places run at the same time (E10).
  experiment_.duration_ns =
      std::max(experiment_.duration_ns.value_or(0), std::ranges::max(stored_wall_).count());
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
  if (!positions) return std::nullopt;
  // If a later block has finished trials, a retry fills gaps. So it does if a later trial of the
  // block is finished, unless the next one comes behind the others because it was disturbed (C1).
  const bool fills_gaps = place.schedule->goes_back(positions->second) ||
                          (step->disturbed == 0 && place.schedule->goes_back(step->position));
  // A block that was given up twice goes on where it was, or it might never end (E8).
  if (fills_gaps || abandoned_ == block_at(positions->first) ||
      never_whole_.contains(block_at(positions->first)) ||
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
                             .earlier_cpus = earlier_cpus(place),
                             .counters = plan_.counters,
                             .rotated = plan_.rotated,
                             .profile = plan_.profile,
                             .profile_hz = plan_.profile_hz,
                             .refuse_absent = plan_.refuse_absent,
                             .needed = plan::parts_of(plan_, plan_.analysis.response),
                             .simulate = plan_.simulated,
                             .causal = plan_.is_causal(),
                             .examine = plan_.machines.has_value(),
                             .check_knobs = plan_.machines && plan_.quiesce != plan::Quiesce::off,
                             .knobs = plan_.knobs},
      setup_deadline + (plan_.machines ? around_.node_patience() : nanoseconds(0)));
}

bool Session::has_trials(const Place& place) const {
  return place.schedule->has_begun(0, static_cast<std::uint32_t>(expansion_.trials.size()));
}

// E9. The machine of an experiment has its node's name.
store::Outcome<std::string> Session::earlier_node(const Place& place) {
  if (has_several()) return place.home;
  if (!plan_.machines || experiment_.machine == 0 || !has_trials(place)) return "";
  auto machine = store_.machine(experiment_.machine);
  if (!machine) return std::unexpected(machine.error());
  return *machine && plan::is_node((*machine)->host) ? (*machine)->host : "";
}

// The CPUs of the first trials on the place's node, or none.
machine::CpuSet Session::earlier_cpus(const Place& place) const {
  if (plan_.machines && !has_trials(place)) return {};
  if (!has_several()) return machine::cpus_in(experiment_.trial_cpus);
  const auto known = std::ranges::find(experiment_.nodes, place.home, &store::Node::name);
  return known == experiment_.nodes.end() ? machine::CpuSet{} : machine::cpus_in(known->trial_cpus);
}

// The part of a session that has the worker build.

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::minutes build_grace{5};
constexpr std::size_t most_versions = 1000;
// A build request names at most this many of the builds that follow, with commands and sources of
// at most this many bytes together, so that the worker can start them ahead.
constexpr std::size_t most_next_builds = 64;
constexpr std::size_t most_next_bytes = std::size_t{1} << 20;
constexpr std::size_t quotes_and_comma = 3;

// Whether the plan measures how long builds take: then no two builds run at the same time.
bool times_builds(const plan::Plan& plan) {
  const auto is_made_of = [&](const std::string& name) {
    const auto parts = plan::parts_of(plan, name);
    return std::ranges::find(parts, plan::compile_time) != parts.end();
  };
  if (is_made_of(plan.analysis.response)) return true;
  return std::ranges::any_of(plan.analysis.others, is_made_of, &plan::OtherResponse::name) ||
         std::ranges::any_of(plan.derived, is_made_of, &plan::DerivedMeasure::name);
}

}  // namespace

void Session::ask_for_build(Place& place) {
  if (place.next_build >= place.builds.slots.size()) return builds_complete(place);
  if (comes_from_elsewhere(place)) return;
  const BuildSlot& slot = place.builds.slots[place.next_build];
  const plan::Benchmark& benchmark = plan_.benchmarks[slot.benchmark];
  protocol::BuildRequest request{
      .command = slot.command,
      .directory = experiment_.directory,
      .sources = benchmark.sources,
      .revision = slot.revision,
      .cache = plan_.machines ? place.node.cache : around_.cache(experiment_),
      .keep_tree = plan::uses_tree(plan_, benchmark),
      .known_key = known_key(slot),
      .timeout = benchmark.build_timeout,
      .cache_limit = place.next_build + 1 == place.builds.slots.size() ? around_.cache_limit() : 0};
  auto rest = std::span(place.builds.slots).subspan(place.next_build + 1);
  if (times_builds(plan_)) rest = {};
  if (!place.arrived.empty()) {
    request.known_key = std::exchange(place.arrived, "");
    rest = {};  // they come from elsewhere, too
  }
  std::size_t bytes = 0;
  for (const BuildSlot& each : rest.first(std::min(rest.size(), most_next_builds))) {
    const plan::Benchmark& its = plan_.benchmarks[each.benchmark];
    bytes += each.command.size();
    for (const std::string& source : its.sources) bytes += source.size() + quotes_and_comma;
    if (bytes > most_next_bytes) break;
    request.next.push_back({.command = each.command,
                            .sources = its.sources,
                            .revision = each.revision,
                            .keep_tree = plan::uses_tree(plan_, its),
                            .known_key = known_key(each),
                            .timeout = its.build_timeout});
  }
  // Another daemon may be doing the same build. So the worker may wait for two locks and for the
  // other build before it copies the sources and builds, and each of these five may take the whole
  // timeout.
  ask(place, request, 5 * benchmark.build_timeout + build_grace);
}

// The key that this build had when the experiment began; "" if it was not built or failed, so that
// nothing was measured with it.
std::string Session::known_key(const BuildSlot& slot) const {
  for (const store::Build& build : earlier_builds_)
    if (build.benchmark == plan_.benchmarks[slot.benchmark].name && build.command == slot.command &&
        build.status != store::BuildStatus::failed)
      return build.key;
  return "";
}

// A resumed experiment must not continue with other sources or another compiler.
bool Session::same_as_before(const Place& place, const protocol::BuildReply& reply) {
  const BuildSlot& slot = place.builds.slots[place.next_build];
  const std::string known = known_key(slot);
  if (known.empty() || reply.key.empty() || reply.key == known) return true;
  refuse(fmt::format(
      "the build of '{}' is no longer in the cache, and its sources or its compiler have changed "
      "since this experiment began: submit the plan again, or restore the sources and the compiler",
      plan_.benchmarks[slot.benchmark].name));
  return false;
}

// The machines of one experiment measure the same programs.
bool Session::same_as_elsewhere(const Place& place, const protocol::BuildReply& reply) {
  for (const Place& other : places_) {
    if (&other == &place || place.next_build >= other.next_build || reply.key.empty()) continue;
    const BuildSlot& slot = other.builds.slots[place.next_build];
    const std::string& benchmark = plan_.benchmarks[slot.benchmark].name;
    const bool both_built = !slot.binary_sha256.empty() && !reply.binary_sha256.empty();
    if (!slot.key.empty() && slot.key != reply.key)
      refuse(fmt::format(
          "node {} builds '{}' from different sources or with a different compiler than node {}: "
          "all nodes of an experiment need the same sources and the same compiler",
          place.node.node, benchmark, other.node.node));
    else if (both_built && slot.binary_sha256 != reply.binary_sha256)
      refuse(fmt::format(
          "the same build of '{}' makes different programs on the nodes {} and {}: their headers "
          "or libraries differ, the compiler optimizes for each node's own CPU (-march=native), or "
          "the build writes the time into the program. Install the same packages on all nodes, "
          "then remove the build cache {} on both nodes. Or name the CPU in the compiler's flags, "
          "or use nodes of one kind (machines.nodes, machines.constraint)",
          benchmark, other.node.node, place.node.node, place.node.cache));
    else
      continue;
    return false;
  }
  return true;
}

void Session::built(Place& place, const protocol::BuildReply& reply) {
  if (!same_as_before(place, reply) || !same_as_elsewhere(place, reply)) return;
  BuildSlot& slot = place.builds.slots[place.next_build];
  const std::string& benchmark = plan_.benchmarks[slot.benchmark].name;
  const bool failed = reply.status == store::BuildStatus::failed;
  slot.key = reply.key;
  slot.out = reply.out;
  slot.directory = reply.directory;
  slot.binary_sha256 = reply.binary_sha256;
  slot.compilers = reply.compilers;
  slot.in_place = reply.in_place;
  slot.usable = !failed;
  slot.cached = reply.status == store::BuildStatus::cached;
  slot.took = nanoseconds(reply.duration_ns);
  slot.readings = reply.readings;
  if (!reply.tidied.empty()) note("cache", reply.tidied);
  // The row of the place that has made it stays.
  const bool is_stored = reply.status == store::BuildStatus::cached &&
                         std::ranges::any_of(places_, [&](const Place& other) {
                           return &other != &place && other.next_build > place.next_build &&
                                  other.builds.slots[place.next_build].key == reply.key;
                         });
  if (!is_stored && !stored(store_.add_build({.experiment = experiment_.id,
                                              .key = reply.key,
                                              .benchmark = benchmark,
                                              .command = slot.command,
                                              .status = reply.status,
                                              .binary_sha256 = reply.binary_sha256,
                                              .output = reply.output,
                                              .duration_ns = reply.duration_ns})))
    return;
  if (failed) {
    const bool is_on_node = !place.node.node.empty();
    const std::string reason =
        fmt::format("the build of '{}' failed{}:\n{}\nthe command was: {}", benchmark,
                    is_on_node ? " on node " + place.node.node : "", reply.output, slot.command);
    note("build", reason);
    // A full disk is neither the program's fault nor a result.
    if (reply.no_room)
      return refuse(fmt::format(
          "{} has no room for builds{}, even after the unused builds were removed from "
          "the cache: free some space{}, then retry; {}",
          is_on_node ? "node " + place.node.node : "the machine",
          is_on_node ? " in " + place.node.cache : "", is_on_node ? " there" : "", reason));
    if (plan_.on_build_failure == plan::OnBuildFailure::fail_experiment) return refuse(reason);
    place.schedule->fail_benchmark(slot.benchmark, store::reason_of_failed_build(reply.error));
  }
  // A node builds again for each worker, so there a build is no progress.
  if (reply.status == store::BuildStatus::built && !place.lost_position) place.losses = 0;
  ++place.next_build;
  ask_for_build(place);
}

// E12: how programs get to a place from another one of its kind. The place asks whether it has the
// program already. If not, it gets piece after piece from the other place, which answers one request
// at a time.

namespace {

constexpr std::chrono::minutes piece_deadline{2};

}  // namespace

// The other place that makes the builds for this one; nullptr if this one makes its builds itself.
const Place* Session::maker_for(const Place& place) const {
  const auto maker = makers_.find(place.kind);
  return maker == makers_.end() || maker->second == place.index ? nullptr : &places_[maker->second];
}

// Whether the place's next build comes from elsewhere. If the other place is not ready, nothing is
// asked now.
bool Session::comes_from_elsewhere(Place& place) {
  if (!has_several() || state_ != State::building || place.kind.empty() ||
      place.makes_itself.contains(place.next_build) || !place.arrived.empty())
    return false;
  makers_.try_emplace(place.kind, place.index);
  const Place* const maker = maker_for(place);
  if (maker == nullptr) return false;
  const BuildSlot& slot = maker->builds.slots[place.next_build];
  if (plan::uses_tree(plan_, plan_.benchmarks[slot.benchmark])) return false;
  if (!maker->is_ready) return true;
  // A build that failed there may succeed here; one without a program has its result elsewhere.
  if (!slot.usable || slot.binary_sha256.empty()) return false;
  if (place.arrival) return true;
  place.arrival.emplace();
  ask(place,
      protocol::KeepRequest{
          .cache = place.node.cache, .key = slot.key, .binary_sha256 = slot.binary_sha256},
      piece_deadline + around_.loss_patience());
  return true;
}

// All places that wait for something go on, if they can.
void Session::go_on_with_builds() {
  for (Place& place : places_) {
    const bool waits = place.has_worker && !place.asked && !place.is_ready && !place.lost;
    if (state_ != State::building || !waits) continue;
    if (!place.arrival) {
      ask_for_build(place);
      continue;
    }
    const Place* const maker = maker_for(place);
    if (maker == nullptr || !place.arrival->wants_piece) continue;
    Place& from = places_[maker->index];
    if (!from.has_worker || from.asked || !from.is_ready || from.lost) continue;
    place.arrival->wants_piece = false;
    from.serves = place.index;
    ask(from,
        protocol::FetchRequest{.cache = from.node.cache,
                               .key = from.builds.slots[place.next_build].key,
                               .offset = place.arrival->offset},
        piece_deadline + around_.loss_patience());
  }
}

void Session::fetched(Place& from, const protocol::FetchReply& reply) {
  const auto to = std::exchange(from.serves, std::nullopt);
  Place* const place = to ? &places_[*to] : nullptr;
  // The other place may have been lost meanwhile, and may have begun again.
  if (place == nullptr || maker_for(*place) != &from || !place->has_worker || place->asked ||
      place->lost || !place->arrival || place->arrival->wants_piece) {
    go_on_with_builds();
    return begin_when_ready(from);
  }
  if (!reply.error.empty() || reply.bytes.empty()) {
    build_itself(*place, reply.error.empty() ? "${OUT} is empty" : reply.error);
    return go_on_with_builds();
  }
  const BuildSlot& slot = from.builds.slots[place->next_build];
  place->arrival->least = place->arrival->offset + 1;
  ask(*place,
      protocol::KeepRequest{.cache = place->node.cache,
                            .key = slot.key,
                            .binary_sha256 = slot.binary_sha256,
                            .size = reply.size,
                            .mode = reply.mode,
                            .complete = reply.complete,
                            .offset = place->arrival->offset,
                            .bytes = reply.bytes},
      piece_deadline + around_.loss_patience());
  go_on_with_builds();
}

void Session::kept(Place& place, const protocol::KeepReply& reply) {
  const Place* const maker = maker_for(place);
  if (!place.arrival || maker == nullptr) {  // the other place was lost meanwhile
    place.arrival.reset();
  } else if (!reply.error.empty()) {
    return build_itself(place, reply.error);
  } else if (reply.is_there) {
    const BuildSlot& slot = maker->builds.slots[place.next_build];
    place.arrived = slot.key;
    if (place.arrival->least > 0)
      note("machine", fmt::format("node {} got the program of '{}' from node {}", place.node.node,
                                  plan_.benchmarks[slot.benchmark].name, maker->node.node));
    place.arrival.reset();
  } else if (reply.arrived < place.arrival->least) {
    return build_itself(place, "a piece of it has not arrived");
  } else {
    place.arrival->offset = reply.arrived;
    place.arrival->wants_piece = true;
  }
  go_on_with_builds();
}

void Session::build_itself(Place& place, const std::string& why) {
  const Place* const maker = maker_for(place);
  const BuildSlot& slot = place.builds.slots[place.next_build];
  note("machine",
       fmt::format("node {} builds '{}' itself, because the program can't come from node {}: {}",
                   place.node.node, plan_.benchmarks[slot.benchmark].name,
                   maker == nullptr ? "(none)" : maker->node.node, why));
  place.arrival.reset();
  place.makes_itself.insert(place.next_build);
  ask_for_build(place);
}

// The place has no worker any more. If it has made builds for others, one of these makes them now.
// It is the one that has most of them, because what they have got must stay what all have.
void Session::hand_over(Place& place) {
  const bool was_maker = makers_.contains(place.kind) && maker_for(place) == nullptr;
  const std::string kind = std::exchange(place.kind, "");
  place.arrival.reset();
  place.arrived.clear();
  place.serves.reset();
  place.makes_itself.clear();
  if (!was_maker) return;
  makers_.erase(kind);
  // A build that is requested has arrived there already.
  const auto builds_at = [](const Place& each) {
    return each.next_build + (each.asked == protocol::build_index ? 1 : 0);
  };
  const Place* next = nullptr;
  for (Place& other : places_) {
    if (other.kind != kind || !other.has_worker) continue;
    other.arrival.reset();  // the new one's program may have other bytes
    if (next == nullptr || builds_at(other) > builds_at(*next)) next = &other;
  }
  if (next == nullptr) return;
  makers_.emplace(kind, next->index);
  go_on_with_builds();
}

// An estimate that assumes that no further build is in the cache. Empty before the first build has
// ended.
std::optional<nanoseconds> Session::builds_left(const Place& place) {
  nanoseconds took{0};
  std::int64_t built = 0;
  for (const BuildSlot& slot : std::span(place.builds.slots).first(place.next_build)) {
    if (slot.cached || slot.took.count() == 0) continue;
    took += slot.took;
    ++built;
  }
  if (built == 0) return std::nullopt;
  // Several builds may have run at the same time.
  const std::chrono::duration<double> elapsed = steady_clock::now() - place.builds_since;
  const double at_once =
      std::clamp(std::chrono::duration<double>(took) / elapsed, 1.0, static_cast<double>(built));
  const auto left = static_cast<double>(place.builds.slots.size() - place.next_build);
  return std::chrono::duration_cast<nanoseconds>(took / built * left / at_once);
}

// Noted at each start, because another version of stabd may continue the experiment later.
void Session::note_versions(const Place& place) {
  std::set<std::string> compilers;
  for (const BuildSlot& slot : place.builds.slots)
    if (slot.usable && !slot.compilers.empty()) compilers.insert(slot.compilers);
  std::string text = "stabd " STAB_VERSION;
  std::string_view before = "; built by ";
  for (const std::string& each : compilers)
    text += fmt::format("{}{}", std::exchange(before, "; and by "), each);
  if (!place.simulator.empty()) text += fmt::format("; simulated by {}", place.simulator);
  note(std::string(results::versions_event), one_line(text, most_versions));
}

void Session::builds_complete(Place& place) {
  if (const auto reason = find_identical(plan_, place.builds)) return refuse(*reason);
  if (const auto reason = find_in_place(plan_, expansion_, place.builds)) return refuse(*reason);
  note_versions(place);
  place.is_ready = true;
  if (state_ == State::running) {
    if (!may_be_loud({&place, 1})) return;
    return continue_at(place);
  }
  go_on_with_builds();
  begin_when_ready(place);
}

// E10. A place that has been asked for a piece of a program answers first.
void Session::begin_when_ready(Place& place) {
  const auto may_begin = [](const Place& each) { return each.is_ready && !each.asked; };
  if (state_ != State::building || !std::ranges::all_of(places_, may_begin)) return;
  test_heaps(place);
}

// E13. Nothing is tested on a cluster, because its nodes may differ.
void Session::test_heaps(Place& place) {
  auto known = results::recall_heap(experiment_, plan_);
  if (!known) return apply(Event::damaged, known.error().message);
  if (!plan_.layer_by_default || plan_.machines || !place.schedule->next() ||
      plan_.benchmarks.size() > results::most_heap_benchmarks)
    return begin_trials(place);
  // Without room for trials, nothing runs. Otherwise, trials might begin before the decisions.
  if (!has_room()) return;
  heap_tests_ =
      HeapTests{.all = heap_tests(plan_, expansion_, place.builds), .decided = *std::move(known)};
  std::erase_if(heap_tests_->all, [&](const HeapTest& test) {
    return std::ranges::find(heap_tests_->decided, plan_.benchmarks[test.benchmark].name,
                             &report::HeapLayer::benchmark) != heap_tests_->decided.end();
  });
  next_heap_test(place);
}

void Session::next_heap_test(Place& place) {
  for (; heap_tests_->at < heap_tests_->all.size(); ++heap_tests_->at) {
    const HeapTest& test = heap_tests_->test();
    if (!test.pairs.empty()) {
      heap_tests_->run = 0;
      heap_tests_->pairs.assign(test.versions.size(), results::HeapPairs());
      heap_tests_->since = steady_clock::now();
      return ask_for_heap_run(place);
    }
    if (!keep_heap({.why_not = test.why_none})) return;
  }
  heap_tests_.reset();
  begin_trials(place);
}

void Session::ask_for_heap_run(Place& place) {
  if (last_) return;
  const HeapTests& tests = *heap_tests_;
  plan_.benchmarks[tests.test().benchmark].has_layer = tests.has_layer();
  ask_to_run(place, request_for(place, tests.test().pairs[tests.pair()][tests.version()]));
}

void Session::heap_tested(Place& place, const protocol::RunReply& reply) {
  using Seconds = std::chrono::duration<double>;
  // No further pair begins after this time.
  constexpr Seconds enough = std::chrono::minutes(1);
  HeapTests& tests = *heap_tests_;
  const HeapTest& test = tests.test();
  const std::string& version = test.versions[tests.version()];
  const bool has_layer = tests.has_layer();
  if (reply.status != TrialStatus::ok || (has_layer && reply.layout.random_heap != true))
    return decide_heap(place, {.why_not = results::why_no_layer(version, reply, has_layer)});
  results::HeapPairs& pairs = tests.pairs[tests.version()];
  (has_layer ? pairs.with : pairs.without).push_back(results::heap_run(reply));
  ++tests.run;
  const bool is_whole = tests.run % tests.runs_in_pair() == 0;
  // The duration of all tests at the end of the next run's pair.
  const Seconds expected = Seconds(steady_clock::now() - tests.since) *
                           static_cast<double>((tests.pair() + 1) * tests.runs_in_pair()) /
                           static_cast<double>(tests.run);
  const auto& time = plan_.design.time;
  const Seconds most = time ? Seconds(*time) / (results::heap_tests_one_in *
                                                static_cast<double>(plan_.benchmarks.size()))
                            : Seconds::max();
  if (tests.pair() == 0 && expected > most)
    return decide_heap(place, {.why_not = "test runs would take too much of the plan's time"});
  const bool is_last = tests.pair() == test.pairs.size();
  if (!is_last && !(is_whole && expected > std::min(enough, most))) return ask_for_heap_run(place);
  report::HeapLayer layer{.cost = results::heap_cost(tests.pairs)};
  layer.changes = results::first_change(test.versions, tests.pairs).clause;
  layer.drawn = layer.changes.empty();
  if (!layer.drawn)
    layer.why_not = fmt::format(
        "random heap positions would change what is measured: {}; with allocator = \"layer\" in "
        "[randomize], they are random anyway",
        layer.changes);
  decide_heap(place, std::move(layer));
}

void Session::decide_heap(Place& place, report::HeapLayer layer) {
  if (!keep_heap(std::move(layer))) return;
  place.losses = 0;
  ++heap_tests_->at;
  next_heap_test(place);
}

// Stores the decision about the benchmark that is tested. Returns false if the session can't go on.
bool Session::keep_heap(report::HeapLayer layer) {
  plan::Benchmark& benchmark = plan_.benchmarks[heap_tests_->test().benchmark];
  layer.benchmark = benchmark.name;
  benchmark.has_layer = layer.drawn;
  const std::string words = results::heap_words(layer);
  heap_tests_->decided.push_back(std::move(layer));
  experiment_.heap_layer = results::heap_column(heap_tests_->decided);
  if (!stored(store_.update_experiment(experiment_))) return false;
  note("heap", words);
  return true;
}

void Session::begin_trials(Place& place) {
  trials_since_ = steady_clock::now();
  finished_then_ = counts().finished();
  if (plan_.quiesce == plan::Quiesce::off) {
    note_quietness();
    apply(Event::built, "");
  } else {
    make_quiet(place);
  }
  if (state_ == State::running) continue_work();
}

}  // namespace stab::daemon
