// SPDX-License-Identifier: MIT
#include "stabd/client/ab/first_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "machine/child.h"
#include "machine/environment.h"
#include "stabd/protocol/work.h"
#include "stabd/worker/preload.h"
#include "stabd/worker/trial.h"

namespace stab::client::ab {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t bytes_kept = std::uint64_t{16} << 20;

struct Tried {
  nanoseconds all{0};
  nanoseconds longest{0};  // of the trial and its steps
};

// Once. `what` says which of them it is.
Result<void> run_once(const Comparison& comparison, std::vector<std::string> argv,
                      const std::string& what, const Surroundings& around, nanoseconds most,
                      Tried& tried) {
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : comparison.env) variables[name] = value;
  machine::Launch launch;
  launch.argv = std::move(argv);
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = around.directory;
  launch.stop_fd = around.stop_fd;
  launch.timeout = most;
  launch.output_limit = bytes_kept;
  const auto before = steady_clock::now();
  const machine::Ended ended = machine::run(launch);
  const nanoseconds took = steady_clock::now() - before;
  tried.all += took;
  tried.longest = std::max(tried.longest, took);
  if (ended.how == machine::End::exited && ended.exit_code == 0) return {};
  const std::string why = ended.how == machine::End::exited
                              ? fmt::format("it ended with exit code {}", ended.exit_code)
                              : ended.reason;
  const std::string said = one_line(tail(ended.err, 400), 500);
  return fail(fmt::format("{}: {}{}", what, why, said.empty() ? "" : ": " + said));
}

// Once, so that what cannot work is said at once, and how long a trial takes is known.
Result<Tried> try_out(const Comparison& comparison, const Version& version,
                      const Surroundings& around, nanoseconds most) {
  Tried tried;
  const auto run = [&](std::vector<std::string> argv, const std::string& what) {
    return run_once(comparison, std::move(argv), what, around, most, tried);
  };
  const auto step = [&](const std::string& name, const std::string& command) -> Result<void> {
    if (command.empty()) return {};
    return run({"/bin/sh", "-c", step_of(comparison, version.text, command)},
               fmt::format("--{} of {}", name, version.name));
  };
  auto done = step("prepare", comparison.prepare);
  if (done) done = run(command_of(comparison, version), version.name + " cannot be measured");
  auto cleaned = step("cleanup", comparison.cleanup);
  if (!done) return std::unexpected(done.error());
  if (!cleaned) return std::unexpected(cleaned.error());
  return tried;
}

// Why this trial did not have a random heap.
std::string why_not(const Version& version, const protocol::RunReply& reply) {
  if (reply.status != store::TrialStatus::not_randomized)
    return fmt::format("{} does not run so: {}", version.name, one_line(reply.reason, 200));
  if (!reply.layout.note.empty())
    return fmt::format("of {}: {}", version.name, one_line(reply.layout.note, 200));
  return fmt::format(
      "{} does not take libstabheap.so, as nothing does that is linked statically, has more rights "
      "than who starts it, or is a script's or a shell's own",
      version.name);
}

// As the worker will run it, and judge it.
Result<Tried> try_heap(const Comparison& comparison, const Version& version,
                       const Surroundings& around, nanoseconds most) {
  const auto step = [&](const std::string& command) {
    return command.empty() ? command : step_of(comparison, version.text, command);
  };
  const protocol::RunRequest request{.argv = command_of(comparison, version),
                                     .env = comparison.env,
                                     .directory = around.directory,
                                     .prepare = step(comparison.prepare),
                                     .cleanup = step(comparison.cleanup),
                                     .aslr = true,
                                     .timeout = most,
                                     .output_limit = bytes_kept,
                                     .options = {{"heap", "1"}, {"seed", "1"}},
                                     .needs = plan::Needs::randomized};
  worker::TrialContext context;
  context.stop_fd = around.stop_fd;
  const auto before = steady_clock::now();
  const protocol::RunReply reply = worker::run_trial(request, context);
  const nanoseconds took = steady_clock::now() - before;
  if (reply.status != store::TrialStatus::ok) return fail(why_not(version, reply));
  return Tried{.all = took, .longest = took};
}

template <class Try>
Result<Pace> round_of(const Comparison& comparison, const Try& once) {
  // What stabd itself takes between two trials, about.
  constexpr nanoseconds between = std::chrono::milliseconds(3);
  Pace pace;
  for (const Version& version : comparison.versions) {
    const Result<Tried> took = once(version);
    if (!took) return std::unexpected(took.error());
    const bool twice = comparison.control && &version == &comparison.versions.front();
    pace.round += (twice ? 2 : 1) * (took->all + between);
    pace.longest = std::max(pace.longest, took->longest);
  }
  return pace;
}

Result<Pace> round_with_heap(Comparison& comparison, const Surroundings& around, const Pace& pace) {
  const std::string library = worker::heap_library();
  if (library.empty()) return fail("libstabheap.so is not installed");
  comparison.heap = true;
  if (comparison.kind != Kind::programs) comparison.heap_library = library;
  auto round = round_of(comparison, [&](const Version& version) {
    return try_heap(comparison, version, around, most_of(pace));
  });
  if (round) return round;
  comparison.heap = false;
  comparison.heap_library.clear();
  return round;
}

}  // namespace

nanoseconds most_of(const Pace& pace) {
  return 10 * pace.longest + std::chrono::seconds(10);
}

Result<Pace> first_runs(Comparison& comparison, const Surroundings& around, nanoseconds budget) {
  const auto plain = [&] {
    return round_of(comparison, [&](const Version& version) {
      return try_out(comparison, version, around, budget);
    });
  };
  comparison.why_no_heap = "--no-heap";
  const auto first = plain();
  if (!first || first->round > budget / 4) return first;  // it is too long anyway
  if (comparison.wanted_heap == Heap::never) return plain();
  const auto random = round_with_heap(comparison, around, *first);
  if (random) return random;
  comparison.why_no_heap = random.error().message;
  if (comparison.wanted_heap == Heap::always) return fail("--heap: " + comparison.why_no_heap);
  return plain();
}

}  // namespace stab::client::ab
