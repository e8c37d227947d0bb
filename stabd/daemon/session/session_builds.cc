// SPDX-License-Identifier: MIT
// The part of a session that has the worker build.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "design/expand.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/texts.h"
#include "results/document.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes build_grace{5};
constexpr std::size_t most_versions = 1000;
// A build request names at most this many of the builds that follow, with commands of at most this
// many bytes together, so that the worker can start them ahead.
constexpr std::size_t most_next_builds = 64;
constexpr std::size_t most_next_bytes = std::size_t{1} << 20;

// Whether the benchmark's trials need the sources after the build.
bool uses_tree(const plan::Benchmark& benchmark) {
  const auto uses = [](const std::string& text) {
    const auto names = plan::names_in(text);
    return std::ranges::find(names, "DIR") != names.end();
  };
  for (const auto& text : {benchmark.stdin_file, benchmark.prepare, benchmark.cleanup})
    if (text && uses(*text)) return true;
  for (const auto& [name, value] : benchmark.env)
    if (uses(value)) return true;
  return std::ranges::any_of(benchmark.run, uses);
}

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
  const BuildSlot& slot = place.builds.slots[place.next_build];
  const plan::Benchmark& benchmark = plan_.benchmarks[slot.benchmark];
  protocol::BuildRequest request{
      .command = slot.command,
      .directory = experiment_.directory,
      .sources = benchmark.sources,
      .revision = slot.revision,
      .cache = plan_.machines ? place.node.cache : around_.cache(experiment_),
      .keep_tree = uses_tree(benchmark),
      .known_key = known_key(slot),
      .timeout = benchmark.build_timeout,
      .cache_limit = place.next_build + 1 == place.builds.slots.size() ? around_.cache_limit() : 0};
  auto rest = std::span(place.builds.slots).subspan(place.next_build + 1);
  if (times_builds(plan_)) rest = {};
  std::size_t bytes = 0;
  for (const BuildSlot& each : rest.first(std::min(rest.size(), most_next_builds))) {
    bytes += each.command.size();
    if (bytes > most_next_bytes) break;
    const plan::Benchmark& its = plan_.benchmarks[each.benchmark];
    request.next.push_back({.command = each.command,
                            .sources = its.sources,
                            .revision = each.revision,
                            .keep_tree = uses_tree(its),
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
    const std::string& key = other.builds.slots[place.next_build].key;
    if (key.empty() || key == reply.key) continue;
    refuse(fmt::format(
        "node {} builds '{}' from different sources or with a different compiler than node {}: all "
        "nodes of an experiment need the same sources and the same compiler",
        place.node.node, plan_.benchmarks[place.builds.slots[place.next_build].benchmark].name,
        other.node.node));
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
  if (!stored(store_.add_build({.experiment = experiment_.id,
                                .key = reply.key,
                                .benchmark = benchmark,
                                .command = slot.command,
                                .status = reply.status,
                                .binary_sha256 = reply.binary_sha256,
                                .output = reply.output,
                                .duration_ns = reply.duration_ns})))
    return;
  if (failed) {
    const std::string reason = fmt::format("the build of '{}' failed:\n{}\nthe command was: {}",
                                           benchmark, reply.output, slot.command);
    note("build", reason);
    // A full disk is neither the program's fault nor a result.
    if (reply.no_room)
      return refuse(
          fmt::format("the machine has no room for builds, even after the unused builds were "
                      "removed from the cache: free some space, then retry; {}",
                      reason));
    if (plan_.on_build_failure == plan::OnBuildFailure::fail_experiment) return refuse(reason);
    place.schedule->fail_benchmark(slot.benchmark, reason);
  }
  // A node builds again for each worker, so there a build is no progress.
  if (reply.status == store::BuildStatus::built && !place.lost_position) place.losses = 0;
  ++place.next_build;
  ask_for_build(place);
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
  if (state_ == State::running) return continue_at(place);
  if (!std::ranges::all_of(places_, &Place::is_ready)) return;  // E10
  trials_since_ = steady_clock::now();
  finished_then_ = counts().finished();
  if (plan_.quiesce == plan::Quiesce::off) {
    note_quietness(place);
    apply(Event::built, "");
  } else {
    make_quiet(place);
  }
  if (state_ == State::running) continue_work();
}

}  // namespace stab::daemon
