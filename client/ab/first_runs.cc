// SPDX-License-Identifier: MIT
#include "client/ab/first_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/ab/conclusion.h"
#include "machine/measured_run.h"
#include "machine/program.h"
#include "machine/topology.h"
#include "protocol/work.h"
#include "results/heap_layer.h"
#include "worker/trial.h"
#include "worker/wrappers.h"

namespace stab::client::ab {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t output_kept = std::uint64_t{16} << 20;

struct Tried {
  nanoseconds all{0};
  nanoseconds longest{0};  // the longest of the trial and its steps
};

// Runs the command or a step once, and adds its time to `tried`. `what` names it in errors.
Result<void> run_once(const Comparison& comparison, std::vector<std::string> argv,
                      const plan::Check& check, bool is_measured, const std::string& what,
                      const Surroundings& around, nanoseconds most, Tried& tried) {
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : comparison.env) variables[name] = value;
  machine::Launch launch;
  launch.argv = std::move(argv);
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = around.directory;
  launch.bind = around.bind;
  launch.stop_fd = around.stop_fd;
  launch.timeout = most;
  launch.output_limit = output_kept;
  if (is_measured && around.loaded != nullptr) around.loaded->watch(launch);
  const auto before = steady_clock::now();
  const machine::Ended ended = machine::run(launch);
  const nanoseconds took = steady_clock::now() - before;
  tried.all += took;
  tried.longest = std::max(tried.longest, took);
  if (ended.how == machine::End::exited && check.accepts(ended.exit_code)) return {};
  const bool usual = check.exit == 0 && check.other_exits.empty();
  const std::string why =
      ended.how == machine::End::exited
          ? fmt::format("the command ended with exit code {}{}", ended.exit_code,
                        usual ? "" : ", not " + plan::exits_of(check))
          : ended.reason;
  const std::string said = one_line(tail(ended.err, 400), 500);
  // Only the command's exit code can be a success that the user did not list: a step must succeed,
  // and with codes from 126 on the shell reports that it can't run the command.
  const bool may_be_right =
      is_measured && usual && ended.how == machine::End::exited && ended.exit_code < 126;
  // The shell ends with 127 if it cannot find the command.
  const bool is_missing = ended.how == machine::End::exited && ended.exit_code == 127;
  return fail(fmt::format(
      "{}: {}{}{}{}", what, why, said.empty() ? "" : ": " + said,
      may_be_right ? fmt::format(" (if that is a success, add --exit-codes 0,{})", ended.exit_code)
                   : "",
      is_missing ? "; check the command's name, or write ./NAME for a program in this folder"
                 : ""));
}

// Runs a version once with its steps, to find mistakes early and to know how long a trial takes.
Result<Tried> try_out(const Comparison& comparison, const Version& version,
                      const Surroundings& around, nanoseconds most) {
  Tried tried;
  const auto run = [&](std::vector<std::string> argv, const plan::Check& check, bool is_measured,
                       const std::string& what) {
    return run_once(comparison, std::move(argv), check, is_measured, what, around, most, tried);
  };
  const auto step = [&](const std::string& name, const std::string& command) -> Result<void> {
    if (command.empty()) return {};
    return run({"/bin/sh", "-c", step_of(comparison, version.text, command)}, {}, false,
               fmt::format("--{} of {}", name, version.name));
  };
  auto done = step("prepare", comparison.prepare);
  if (done)
    done = run(command_of(comparison, version), comparison.check, true,
               version.name + " cannot be measured");
  auto cleaned = step("cleanup", comparison.cleanup);
  if (!done) return std::unexpected(done.error());
  if (!cleaned) return std::unexpected(cleaned.error());
  return tried;
}

// A preloaded heap sends a report, too, but it moves no functions.
bool is_built_by_szc(const protocol::RunReply& reply) {
  return reply.layout.random_code.value_or(false);
}

// Why this version's frames had no pads; "" if they had. `by_szc` becomes false if szc did not build the version.
std::string why_no_pads(const Version& version, const protocol::RunReply& reply, bool& by_szc) {
  if (!reply.layout.randomized && !reply.layout.note.empty())
    return fmt::format("{} has no pads: {}", version.name, one_line(reply.layout.note, 200));
  if (reply.status == store::TrialStatus::not_randomized && is_built_by_szc(reply))
    return fmt::format("{} has no pads: {}", version.name, one_line(reply.layout.note, 200));
  if (reply.status == store::TrialStatus::not_randomized ||
      (reply.status == store::TrialStatus::ok && !is_built_by_szc(reply))) {
    by_szc = false;
    return fmt::format("szc did not build {}", version.name);
  }
  if (reply.status == store::TrialStatus::ok) return "";
  return fmt::format("{} does not run with random stack frames: {}", version.name,
                     one_line(reply.reason, 200));
}

// Runs the version as the worker will run a trial, and judges it in the same way.
protocol::RunReply run_as_trial(const Comparison& comparison, const Version& version,
                                const Surroundings& around, nanoseconds most,
                                plan::Variables options, plan::Needs needs, nanoseconds& took) {
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
                                     .output_limit = output_kept,
                                     .check = comparison.check,
                                     .options = std::move(options),
                                     .needs = needs};
  worker::TrialContext context;
  context.stop_fd = around.stop_fd;
  context.bind = around.bind;
  const auto before = steady_clock::now();
  const protocol::RunReply reply = worker::run_trial(request, context);
  took = steady_clock::now() - before;
  return reply;
}

plan::Variables options_of(const Comparison& comparison, std::uint64_t seed) {
  plan::Variables options{{"seed", fmt::format("{}", seed)}};
  if (comparison.heap) options.insert({{"heap", "1"}, {"allocator", "layer"}});
  return options;
}

// Runs a version with the heap layer, or without it, as users run the program.
Result<Tried> try_heap(const Comparison& comparison, const Version& version,
                       const Surroundings& around, nanoseconds most, std::uint64_t seed,
                       results::HeapRun& run) {
  nanoseconds took{0};
  const auto reply =
      run_as_trial(comparison, version, around, most, options_of(comparison, seed),
                   comparison.heap ? plan::Needs::randomized : plan::Needs::nothing, took);
  if (reply.status != store::TrialStatus::ok)
    return fail(results::why_no_layer(version.name, reply, comparison.heap));
  run = results::heap_run(reply);
  return Tried{.all = took, .longest = took};
}

Result<Tried> try_pads(const Comparison& comparison, const Version& version,
                       const Surroundings& around, nanoseconds most, bool& by_szc) {
  nanoseconds took{0};
  plan::Variables options = options_of(comparison, 1);
  options["stack"] = "1";
  const auto reply = run_as_trial(comparison, version, around, most, std::move(options),
                                  plan::Needs::randomized, took);
  if (const std::string why = why_no_pads(version, reply, by_szc); !why.empty()) return fail(why);
  return Tried{.all = took, .longest = took};
}

template <class Try>
Result<Pace> round_of(const Comparison& comparison, const Try& once) {
  // The approximate time that stabd itself needs between two trials.
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

// Runs each version in pairs, with the heap layer and without it, within a fifth of the budget. The
// order changes from pair to pair. Returns the pace of the last round with the layer.
Result<Pace> pairs_of_runs(Comparison& comparison, const Surroundings& around, const Pace& pace,
                           nanoseconds budget, std::vector<results::HeapPairs>& pairs) {
  const std::string preloads = comparison.heap_preloads;
  const auto turn = [&](bool heap, std::uint64_t seed) {
    comparison.heap = heap;
    comparison.heap_preloads = heap ? preloads : "";
    std::size_t i = 0;
    return round_of(comparison, [&](const Version& version) {
      auto& runs = heap ? pairs[i].with : pairs[i].without;
      ++i;
      return try_heap(comparison, version, around, most_of(pace), seed, runs.emplace_back());
    });
  };
  const auto end = steady_clock::now() + budget / results::heap_tests_one_in;
  Result<Pace> round;
  for (std::uint64_t seed = 1; seed <= results::most_heap_pairs; ++seed) {
    const auto began = steady_clock::now();
    const bool first =
        seed % 2 == 1;  // the first run has the layer, so problems with it show early
    for (const bool heap : {first, !first}) {
      const auto took = turn(heap, seed);
      if (!took) return took;
      if (heap) round = took;
    }
    const auto now = steady_clock::now();
    if (now + (now - began) > end) break;
  }
  comparison.heap = true;
  comparison.heap_preloads = preloads;
  return round;
}

// Whether a program that the versions' commands name, or LD_PRELOAD, names an allocator with its
// own operator new.
bool names_allocator_with_new(const Comparison& comparison, const std::string& directory) {
  const auto preload = comparison.env.find("LD_PRELOAD");
  if (preload != comparison.env.end() && worker::names_allocator_with_new(preload->second))
    return true;
  return std::ranges::any_of(comparison.versions, [&](const Version& version) {
    const bool is_folder = comparison.kind == Kind::folders;
    const std::string& command = is_folder ? comparison.command : version.text;
    const auto programs = programs_in(comparison, command, is_folder ? version.text : directory);
    return worker::names_allocator_with_new(command) ||
           std::ranges::any_of(programs, [](const auto& each) {
             return worker::uses_allocator_with_new(each.second);
           });
  });
}

// The libraries for LD_PRELOAD of what a shell starts. The worker knows only the shell, so they are
// chosen here, as the worker chooses them for a program that it starts itself. If any program needs
// libstabnew.so, all get it: LD_PRELOAD is the same in all versions.
std::string preloads_for(const Comparison& comparison, const std::string& directory,
                         bool has_loaded_one) {
  std::string preloads = worker::heap_library();
  if (has_loaded_one || names_allocator_with_new(comparison, directory))
    if (const std::string library = worker::new_library(); !library.empty())
      preloads += ":" + library;
  return preloads;
}

// `has_loaded_one`: a version's process loaded an allocator with its own operator new.
Result<Pace> round_with_heap(Comparison& comparison, const Surroundings& around, const Pace& pace,
                             nanoseconds budget, bool has_loaded_one) {
  if (worker::heap_library().empty()) return fail("libstabheap.so is not installed");
  if (comparison.kind != Kind::programs)
    comparison.heap_preloads = preloads_for(comparison, around.directory, has_loaded_one);
  std::vector<results::HeapPairs> pairs(comparison.versions.size());
  auto round = pairs_of_runs(comparison, around, pace, budget, pairs);
  results::HeapChange& changes = comparison.heap_changes;
  if (round) {
    comparison.heap_cost = results::heap_cost(pairs);
    std::vector<std::string> names;
    for (const Version& version : comparison.versions) names.push_back(version.name);
    changes = results::first_change(names, pairs);
  }
  if (!changes.clause.empty() && comparison.wanted_heap != Heap::always)
    round = fail(
        fmt::format("random heap positions would change what is measured: {}; --heap uses them "
                    "anyway",
                    changes.clause));
  if (round) return round;
  comparison.heap = false;
  comparison.heap_preloads.clear();
  return round;
}

Result<Pace> round_with_pads(Comparison& comparison, const Surroundings& around, const Pace& pace,
                             bool& by_szc) {
  auto round = round_of(comparison, [&](const Version& version) {
    return try_pads(comparison, version, around, most_of(pace), by_szc);
  });
  comparison.pads = round.has_value();
  return round;
}

// If a version's build compiles nothing, or does not use szc, the versions would differ in their
// compilers.
Result<void> built_alike(const Comparison& comparison, const Surroundings& around,
                         const Pace& pace) {
  std::vector<std::string> by_szc;
  std::vector<std::string> others;
  for (const Version& version : comparison.versions) {
    nanoseconds took{0};
    const auto reply = run_as_trial(comparison, version, around, most_of(pace),
                                    options_of(comparison, 1), plan::Needs::nothing, took);
    if (reply.status == store::TrialStatus::ok)
      (is_built_by_szc(reply) ? by_szc : others).push_back(version.name);
  }
  if (by_szc.empty() || others.empty()) return {};
  return fail(fmt::format(
      "{}. Delete the files of earlier builds or list them in .gitignore, and let --build use $CC "
      "and $CXX",
      not_built_alike(by_szc, others)));
}

// Call it after the trial of the random heap, because the runs here use a random heap if that trial
// succeeded.
Result<Pace> with_pads(Comparison& comparison, const Surroundings& around, const Pace& pace) {
  comparison.why_no_pads = comparison.wanted_pads == Pads::never ? "--no-stack" : "";
  if (comparison.wanted_pads == Pads::never) return pace;
  bool by_szc = true;
  const auto padded = round_with_pads(comparison, around, pace, by_szc);
  if (padded) return padded;
  if (comparison.wanted_pads == Pads::always) return fail("--stack: " + padded.error().message);
  if (comparison.kind == Kind::folders)
    if (auto alike = built_alike(comparison, around, pace); !alike)
      return std::unexpected(alike.error());
  // If szc did not build a version, the answer says anyway what is not random.
  if (by_szc) comparison.why_no_pads = padded.error().message;
  return pace;
}

}  // namespace

nanoseconds most_of(const Pace& pace) {
  return 10 * pace.longest + std::chrono::seconds(10);
}

Pace pace_of_trials(const Comparison& comparison, const Pace& first) {
  if (!runs_beside(comparison)) return first;
  return {.round = 2 * first.round, .longest = 2 * first.longest};
}

std::uint64_t rounds_within(nanoseconds budget, const Pace& pace) {
  const nanoseconds rest = budget - pace.round;
  return rest.count() <= 0 ? 0 : static_cast<std::uint64_t>(rest / pace.round);
}

Result<Pace> first_runs(Comparison& comparison, Surroundings around, nanoseconds budget) {
  std::optional<machine::Topology> topology;
  if (!comparison.cpu.empty()) {
    auto loaded = machine::Topology::load();
    if (!loaded) return std::unexpected(loaded.error());
    topology = std::move(*loaded);
    around.bind = [&] { return topology->bind(comparison.cpu).has_value(); };
  }
  const auto plain = [&] {
    return round_of(comparison, [&](const Version& version) {
      return try_out(comparison, version, around, budget);
    });
  };
  comparison.why_no_heap = "--no-heap";
  // The first run of what a shell starts also shows which libraries it loads.
  bool has_allocator_with_new = false;
  const auto first = round_of(comparison, [&](const Version& version) {
    LoadedLibraries loaded;
    around.loaded = comparison.kind == Kind::programs ? nullptr : &loaded;
    auto tried = try_out(comparison, version, around, budget);
    around.loaded = nullptr;
    has_allocator_with_new |= std::ranges::any_of(loaded.all(), worker::names_allocator_with_new);
    if (tried && !version.copy.empty())
      std::ranges::move(loaded.foreign_to(version),
                        std::back_inserter(comparison.foreign_libraries));
    return tried;
  });
  if (!first) return first;
  if (first->round > budget / 2) return first;
  // If the second runs are as slow, no others are needed to say that the budget is too short.
  std::optional<Pace> warm;
  const auto is_enough = [&](const Pace& pace) {
    return rounds_within(budget, pace_of_trials(comparison, pace)) >= fewest_rounds;
  };
  if (!is_enough(*first)) {
    const auto second = plain();
    if (!second || !is_enough(*second)) return second;
    warm = *second;
  }
  const auto plain_pads = [&] {
    const Result<Pace> second = warm ? *warm : plain();
    return second ? with_pads(comparison, around, *second) : second;
  };
  if (comparison.wanted_heap == Heap::never) return plain_pads();
  const auto random = round_with_heap(comparison, around, *first, budget, has_allocator_with_new);
  if (random) return with_pads(comparison, around, *random);
  comparison.why_no_heap = random.error().message;
  if (comparison.wanted_heap == Heap::always) return fail("--heap: " + comparison.why_no_heap);
  return plain_pads();
}

}  // namespace stab::client::ab
