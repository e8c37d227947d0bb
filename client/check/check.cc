// SPDX-License-Identifier: MIT

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "client/analyze.h"
#include "client/check/check_output.h"
#include "client/client.h"
#include "client/plan_file.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "cluster/settings.h"
#include "cluster/slurm.h"
#include "design/model.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "machine/containment.h"
#include "machine/quiet/doctor.h"
#include "machine/simulator.h"
#include "machine/topology.h"
#include "plan/measures/names.h"
#include "plan/options.h"
#include "plan/plan.h"
#include "plan/reading/key_list.h"
#include "plan/reading/read_plan.h"
#include "protocol/codec.h"
#include "protocol/document.h"
#include "protocol/paths.h"
#include "report/json.h"
#include "report/model.h"
#include "results/prediction.h"
#include "stabd/daemon/session/schedule.h"
#include "toml/value.h"

namespace stab::client {
namespace {

using nlohmann::ordered_json;

// An earlier experiment of the same name that a daemon knows.
struct Pilot {
  std::int64_t id = 0;
  std::chrono::nanoseconds duration{0};     // scaled to this plan's number of trials
  std::optional<report::Document> found{};  // its report, if the daemon could send it
};

struct Design {
  plan::Plan plan;
  plan::Expansion expansion;
  std::size_t builds = 0;
  std::size_t warmups = 0;
  std::size_t fewest = 0;  // trials
  std::vector<plan::ModelFor> models;
  std::optional<Pilot> pilot;
  std::vector<Detectable> detectable;
  report::Row comparisons;
  report::Value nodes_needed;
  std::optional<std::size_t> blocks_for_precision;
  CountersHere counters;
  // The states that Slurm reports: of the plan's nodes, or of all nodes if the plan names none.
  std::vector<std::pair<std::string, std::string>> nodes;
  std::vector<std::string> about_nodes;  // what else there is to know about them
};

// The time limit of an allocation if the plan has none.
std::string time_limit_words(const std::string& partition) {
  const auto limit = cluster::time_limit(partition);
  if (!limit || limit->empty()) return "";
  if (*limit == "UNLIMITED")
    return "neither the plan (machines.time_limit) nor the partition limits the time of an "
           "allocation";
  return fmt::format(
      "the plan has no machines.time_limit, so each allocation ends after the partition's time "
      "limit, {}; a longer experiment continues in another allocation",
      *limit);
}

// Asks Slurm about the plan's nodes. A cluster may have thousands of nodes, so the first ones are
// enough if the plan names none.
void ask_cluster(const plan::Machines& machines, Design& design) {
  constexpr std::ptrdiff_t most = 20;
  const auto states = cluster::node_states(machines.partition);
  if (!states) {
    design.about_nodes.push_back(
        fmt::format("Slurm can't be asked about its nodes here: {}. stabd must run on a machine of "
                    "the cluster that has Slurm's commands (Debian's package slurm-client)",
                    states.error().message));
    return;
  }
  if (machines.names.empty()) {
    design.nodes = {states->begin(),
                    std::next(states->begin(), std::min(std::ssize(*states), most))};
    design.about_nodes.push_back(cluster::shortage_in(*states, machines.nodes, machines.partition));
  }
  for (const std::string& name : machines.names) {
    const auto found = states->find(name);
    const std::string unknown = machines.partition.empty()
                                    ? "not a node of the cluster's default partition"
                                    : "not a node of the partition " + machines.partition;
    design.nodes.emplace_back(name, found == states->end() ? unknown : found->second);
  }
  if (!machines.time_limit) design.about_nodes.push_back(time_limit_words(machines.partition));
  std::erase(design.about_nodes, "");
}

// The share of its trials that an experiment ran before its time or its stopping rule ended it.
double share_run(const protocol::Summary& row, const report::Document& document) {
  if (!row.stopped_by && !document.stopping) return 1;
  const report::TrialCounts& counts = document.trials;
  const auto run = static_cast<double>(counts.ok + counts.failed + counts.disturbed);
  const double planned = static_cast<double>(counts.planned) - static_cast<double>(counts.skipped);
  return run > 0 && planned > run ? run / planned : 1;
}

// The number of nodes that ran the experiment; nothing if its plan can't be read.
std::optional<std::uint32_t> nodes_of(Client& client, std::int64_t id) {
  const auto status = client.ask(protocol::StatusRequest{.id = id});
  if (!status) return std::nullopt;
  const auto plan = plan::read_plan(status->plan);
  if (!plan) return std::nullopt;
  return plan->machine_count();
}

// Finds the latest pilot, if a daemon runs and has one; a check needs neither.
std::optional<Pilot> find_pilot(const Common& common, const plan::Plan& plan, std::size_t trials) {
  auto client = Client::connect(common.sockets);
  if (!client) return std::nullopt;
  const auto answer = client->ask(protocol::ListRequest{});
  if (!answer) return std::nullopt;
  // Earlier versions recorded no duration, only two times of day.
  const auto taken = [](const protocol::Summary& row) {
    return std::chrono::nanoseconds(
        row.duration_ns.value_or(row.ended_ns.value_or(0) - row.started_ns.value_or(0)));
  };
  const protocol::Summary* latest = nullptr;
  for (const protocol::Summary& row : answer->experiments)
    if (row.name == plan.name && row.state == "done" && row.trials > 0 && taken(row).count() > 0)
      latest = &row;
  if (latest == nullptr) return std::nullopt;
  const auto nodes = nodes_of(*client, latest->id);
  if (!nodes) return std::nullopt;
  Amount ran{.trials = static_cast<double>(latest->trials), .nodes = *nodes};
  const Amount wanted{.trials = static_cast<double>(trials), .nodes = plan.machine_count()};
  Pilot pilot{.id = latest->id};
  if (auto results = client->ask(protocol::ResultsRequest{.id = latest->id})) {
    // Trials under the simulator have other durations and another variation.
    if (results->document.simulated != plan.simulated) return std::nullopt;
    ran.trials *= share_run(*latest, results->document);
    pilot.found = std::move(results->document);
  }
  pilot.duration = scaled_duration(taken(*latest), ran, wanted);
  return pilot;
}

Design design_of(plan::Plan plan) {
  Design design;
  design.plan = std::move(plan);
  design.expansion = plan::expand(design.plan);
  design.builds = daemon::collect_builds(design.plan, design.expansion).slots.size();
  for (const plan::Trial& trial : design.expansion.trials) design.warmups += trial.warmup ? 1 : 0;
  design.fewest = plan::fewest_trials(design.plan);
  design.models = plan::models(design.plan, design.expansion);
  return design;
}

// Calls `visit` with the benchmark and the task of each cell's program, until it returns false. The
// order of the cells is random, so no cell stands for the others.
template <class Visit>
void for_each_program(const Design& design, const Visit& visit) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const plan::Trial& trial : design.expansion.trials) {
    if (trial.block > 0 && !trial.warmup) return;  // each cell is in the first block
    if (trial.plain) continue;                     // its cell runs in another way
    if (!seen.insert({trial.benchmark, trial.cell}).second) continue;
    const std::string& benchmark = design.plan.benchmarks[trial.benchmark].name;
    if (!visit(benchmark, plan::resolve(design.plan, trial))) return;
  }
}

// Words end at blanks, quotes and '=', so that "-static" is not found in "-static-pie".
bool has_word(std::string_view command, std::string_view word) {
  constexpr std::string_view cuts = " \t'\"=";
  for (std::size_t at = command.find(word); at != std::string_view::npos;
       at = command.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || cuts.contains(command[at - 1])) &&
        (end == command.size() || cuts.contains(command[end])))
      return true;
  }
  return false;
}

// The flag with which this build links ${OUT} statically, or "". Only the command with ${OUT}
// counts, because others may link tools that the build itself uses.
std::string_view static_flag(std::string_view build) {
  constexpr std::string_view ends = ";&|\n";
  const std::size_t out = build.find("${OUT}");
  if (out == std::string_view::npos) return "";
  const std::size_t begin = build.find_last_of(ends, out) + 1;  // npos + 1 is 0
  const std::string_view command = build.substr(begin, build.find_first_of(ends, out) - begin);
  for (const std::string_view flag : {"-static", "-static-pie"})
    if (has_word(command, flag)) return flag;
  return "";
}

// A build that links statically, and whether its trials need a runtime.
struct StaticBuild {
  std::string benchmark;
  std::string_view flag;
  bool needs_runtime = false;
};
std::optional<StaticBuild> find_static(const Design& design) {
  std::optional<StaticBuild> found;
  for_each_program(design, [&](const std::string& benchmark, const plan::Task& task) {
    const std::string_view flag = static_flag(task.build);
    if (flag.empty() || (found && task.needs == plan::Needs::nothing)) return true;
    found = {
        .benchmark = benchmark, .flag = flag, .needs_runtime = task.needs != plan::Needs::nothing};
    return !found->needs_runtime;
  });
  return found;
}

// Refuses a program that can't load its runtime before a trial has to.
Result<void> check_static(const Design& design, const std::string& path) {
  const auto found = find_static(design);
  if (!found || !found->needs_runtime) return {};
  return fail(
      fmt::format("{}: the plan asks for a random layout, which needs a shared C library, but the "
                  "build of '{}' links with {}: leave {} out, or use only the factors link_order, "
                  "link_padding, env_bytes and aslr",
                  path, found->benchmark, found->flag, found->flag));
}

// For link_padding, builds with compilers other than szc need an lld that pads.
Result<void> check_padding(const Design& design, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path lld = fs::path(plan::padding_lld_folder) / "ld.lld";
  if (design.expansion.trials.empty() || fs::exists(lld, error)) return {};
  std::string found;
  for_each_program(design, [&](const std::string& benchmark, const plan::Task& task) {
    if (task.build.contains(plan::padding_lld_flag)) found = benchmark;
    return found.empty();
  });
  if (found.empty()) return {};
  return fail(
      fmt::format("{}: link_padding needs lld 22 for the build of '{}', but {} does not exist: "
                  "install lld-22, or set CC = \"szc\" and CXX = \"szc++\"",
                  path, found, lld.string()));
}

std::string cell_text(const Design& design, const std::vector<plan::Level>& cell) {
  std::string text;
  const auto treatments = plan::treatments(design.plan);
  for (std::size_t i = 0; i < cell.size(); ++i)
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", design.plan.factors[treatments[i]].name,
                        cell[i].name);
  return text.empty() ? "(no treatment)" : text;
}

bool builds_with_szc(const Design& design) {
  bool found = false;
  for_each_program(design, [&](const std::string& /*benchmark*/, const plan::Task& task) {
    found = plan::names_szc(task.build);
    return !found;
  });
  return found;
}

// Whether functions of a program that szc builds move again while it runs.
bool moves_functions_again(const Design& design) {
  bool found = false;
  for_each_program(design, [&](const std::string& /*benchmark*/, const plan::Task& task) {
    found = plan::names_szc(task.build) && plan::moves_functions_again(task.options);
    return !found;
  });
  return found;
}

// Whether programs that szc did not build can do all that the plan asks for.
bool is_for_any_program(const plan::Plan& plan) {
  const auto is_ok = [](const std::string& name) {
    const plan::RuntimeOption* option = plan::find_option(name);
    return option != nullptr && option->for_any_program;
  };
  return std::ranges::all_of(plan.randomize,
                             [&](const auto& entry) { return is_ok(entry.first); }) &&
         std::ranges::all_of(plan.factors, [&](const plan::Factor& factor) {
           return factor.kind == plan::FactorKind::option ? is_ok(factor.name)
                                                          : factor.kind != plan::FactorKind::layout;
         });
}

// Says why szc does not build the programs. Variables reach a build only where it names them.
std::string unused_compiler(const plan::Plan& plan) {
  std::vector<std::string> set;
  for (const auto& [name, value] : plan.variables)
    if (plan::names_szc(value)) set.push_back(fmt::format("{0}=${{{0}}}", name));
  const std::string why =
      "the programs do not randomize their own layouts, because szc does not build them";
  if (set.empty()) return why;
  return fmt::format(
      "{}: a variable in [variables] names szc, but no build command uses the variable; write '{} "
      "' before the command that compiles",
      why, fmt::join(set, " "));
}

// Warnings about the plan, and about this machine if the trials run here.
std::vector<std::string> warnings_of(const Design& design) {
  std::vector<std::string> all = plan_warnings(design.plan);
  const std::string limit = machine::limit_of_kernel();
  if (!limit.empty() && !design.plan.machines && moves_functions_again(design))
    all.push_back(limit);
  return all;
}

// Describes what the programs themselves place at random.
std::string runtime_text(const Design& design) {
  const plan::Plan& plan = design.plan;
  if (const auto fixed = find_static(design))
    return fmt::format(
        "the program of '{}' does not randomize its own layout, because its build links with {}",
        fixed->benchmark, fixed->flag);
  if (!plan::sets_options(plan))
    return builds_with_szc(design)
               ? fmt::format(
                     "programs built by szc place their code{} at random in each trial, using the "
                     "trial's seed{}",
                     plan.pads_by_default ? " and size their stack frames" : "",
                     plan.layer_by_default ? "; test runs decide about heap blocks" : "")
               : unused_compiler(plan);
  std::vector<std::string> parts;
  for (const auto& [name, level] : plan.randomize)
    parts.push_back(fmt::format("{} = {}", name, level.name));
  bool has_layout = false;
  for (const plan::Factor& factor : plan.factors) {
    if (factor.kind == plan::FactorKind::option)
      parts.push_back(fmt::format("{} set by its factor", factor.name));
    has_layout = has_layout || factor.kind == plan::FactorKind::layout;
  }
  if (plan.pads_by_default) parts.emplace_back("stack = true by default");
  if (plan.layer_by_default) parts.emplace_back("random heap blocks if test runs allow it");
  parts.emplace_back(has_layout ? "seeds from the factor layout" : "each trial with its own seed");
  return fmt::format(
      "{}: {}",
      is_for_any_program(plan)
          ? "made by the programs that szc built, and by libstabheap.so in other programs"
          : "made by the programs, which must be built by szc",
      fmt::join(parts, ", "));
}

// Describes the random factors: "link_order once per block".
std::string drawn_text(const plan::Plan& plan) {
  std::vector<std::string> parts;
  for (const plan::Factor& factor : plan.factors) {
    if (std::holds_alternative<plan::RandomPerBlock>(factor.levels))
      parts.push_back(fmt::format("{} once per block", factor.name));
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels))
      parts.push_back(fmt::format(
          "the factor {} has {} seeds for {}, and each seed has {} runs", factor.name, seeds->seeds,
          plan.design.kind == plan::DesignKind::nested ? "each cell" : "all cells together",
          seeds->runs));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_comparisons(const Design& design) {
  const auto lines = value_lines(design.comparisons);
  for (std::size_t i = 0; i < lines.size(); ++i) fmt::print("{}{}\n", i == 0 ? "\n" : "", lines[i]);
  if (const auto blocks = design.blocks_for_precision)
    fmt::print(
        "after about {} blocks{}, intervals will be as narrow as the stopping rule requires\n",
        *blocks, *blocks > design.plan.design.stop->max ? ", more than the rule allows" : "");
  for (const std::string& line : value_lines(design.nodes_needed)) fmt::print("{}\n", line);
}

// The CPUs on which trials would run; absent if this machine doesn't have the CPUs of the plan.
struct CpusHere {
  std::string list;
  std::vector<std::string> reasons;
};
std::optional<CpusHere> cpus_here(const plan::Plan& plan) {
  const auto topology = machine::Topology::load();
  if (!topology) return std::nullopt;
  const auto choice =
      plan.cpu.empty() ? topology->choose_cpus(plan.cpus) : topology->take_cpus(plan.cpu);
  if (!choice) return std::nullopt;
  return CpusHere{.list = machine::to_string(choice->trial), .reasons = topology->reasons(*choice)};
}

ordered_json cpus_json(const plan::Plan& plan) {
  const auto cpus = cpus_here(plan);
  if (!cpus) return nullptr;
  return {{"cpus", cpus->list}, {"reasons", cpus->reasons}};
}

ordered_json as_json(const Design& design) {
  ordered_json cells = ordered_json::array();
  for (const auto& cell : design.expansion.cells) cells.push_back(cell_text(design, cell));
  ordered_json models = ordered_json::array();
  for (const plan::ModelFor& entry : design.models) {
    ordered_json terms = ordered_json::array();
    for (const plan::Term& term : entry.model.terms)
      terms.push_back({{"stratum", term.stratum},
                       {"term", term.name},
                       {"df", term.df},
                       {"aliases", term.aliases}});
    models.push_back({{"benchmark", entry.benchmark},
                      {"programs", entry.programs},
                      {"formula", entry.model.formula},
                      {"terms", terms}});
  }
  ordered_json detectable = ordered_json::array();
  for (const Detectable& each : design.detectable)
    detectable.push_back(report::row_json(detectable_row(each)));
  ordered_json root = {
      {"name", design.plan.name},
      {"design", plan::to_string(design.plan.design.kind)},
      {"benchmarks", design.plan.benchmarks.size()},
      {"cells", cells},
      {"blocks", design.expansion.blocks},
      {"trials", design.expansion.trials.size()},
      {"fewest_trials", design.fewest},
      {"stop", design.plan.design.stop ? ordered_json(plan::describe(*design.plan.design.stop))
                                       : ordered_json(nullptr)},
      {"time_ns", design.plan.design.time ? ordered_json(design.plan.design.time->count())
                                          : ordered_json(nullptr)},
      {"exclude", report::value_json(exclusions(design.plan, readings_here()))},
      {"wait_for_quiet", report::value_json(quiet_wait(design.plan))},
      {"machines", design.plan.machines ? ordered_json(plan::describe(*design.plan.machines))
                                        : ordered_json(nullptr)},
      {"nodes", design.nodes.empty()
                    ? ordered_json(nullptr)
                    : ordered_json(std::map(design.nodes.begin(), design.nodes.end()))},
      {"about_nodes", design.about_nodes},
      {"cpus_here", cpus_json(design.plan)},
      {"rights", machine::words_about_rights(geteuid(), design.plan.privileges)},
      {"warmup_trials", design.warmups},
      {"builds", design.builds},
      {"revisions", report::value_json(revisions(design.plan))},
      {"randomized", runtime_text(design)},
      {"cost", design.plan.analysis.cost},
      {"drawn", drawn_text(design.plan)},
      {"estimated_ns",
       design.pilot ? ordered_json(design.pilot->duration.count()) : ordered_json(nullptr)},
      {"smallest_detectable", detectable},
      {"nodes_needed", report::value_json(design.nodes_needed)},
      {"study", study_words(design.plan)},
      {"blocks_for_precision", design.blocks_for_precision
                                   ? ordered_json(*design.blocks_for_precision)
                                   : ordered_json(nullptr)}};
  root.update(report::row_json(events(design.plan, design.counters)));
  root.update(report::row_json(measures(design.plan)));
  root["simulated"] = design.plan.simulated;
  root["models"] = models;
  root.update(report::row_json(design.comparisons));
  for (const std::string& warning : warnings_of(design)) root["warnings"].push_back(warning);
  return root;
}

void print_model(const plan::Plan& plan, const plan::ModelFor& entry) {
  std::string of = entry.benchmark.empty() ? "" : " of " + entry.benchmark;
  if (!entry.programs.empty())
    of = " on " +
         words_of(plan, entry.programs == "these" ? stats::Scope::these : stats::Scope::like_these);
  fmt::print("\nmodel{}: {}\n", of, entry.model.formula);
  for (const plan::Term& term : entry.model.terms)
    fmt::print("  {:<24} {:<24} {:>8} df{}\n", term.stratum, term.name, term.df,
               term.aliases.empty() ? "" : "   = " + term.aliases);
}

void print_duration(const Design& design) {
  if (design.pilot) {
    const char* most = design.fewest < design.expansion.trials.size() ? " for all trials" : "";
    fmt::print("\nabout {}{}, judging by experiment {}\n", format_duration(design.pilot->duration),
               most, design.pilot->id);
    return;
  }
  std::chrono::nanoseconds most{0};
  for (const plan::Trial& trial : design.expansion.trials)
    most += design.plan.benchmarks[trial.benchmark].timeout *
            (design.plan.simulated ? plan::simulator_slowdown : 1);
  most /= design.plan.machine_count();  // the nodes run their blocks at the same time
  fmt::print(
      "\nthe duration is not known before a first run; if every trial reaches its timeout, the "
      "programs of the trials alone take {}\n",
      format_duration(most));
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

void print(const Design& design) {
  const auto count = [](std::size_t n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  const auto& stop = design.plan.design.stop;
  const auto blocks = design.plan.design.fewest_blocks();
  const auto from = [&](std::size_t fewest) { return blocks ? fmt::format("{} to ", fewest) : ""; };
  fmt::print("{}: {}, {} x {} in {}{}\n", design.plan.name,
             plan::to_string(design.plan.design.kind),
             count(design.plan.benchmarks.size(), "benchmark"),
             count(design.expansion.cells.size(), "cell"), from(blocks.value_or(0)),
             count(design.expansion.blocks, "block"));
  fmt::print("{}{} ({} of them warm-up), {}, seed {}\n", from(design.fewest),
             count(design.expansion.trials.size(), "trial"), design.warmups,
             count(design.builds, "build"), design.plan.seed);
  if (stop) fmt::print("stop {}\n", plan::describe(*stop));
  if (const auto& time = design.plan.design.time)
    fmt::print("a block does not start if it would make the experiment take longer than {}\n",
               format_duration(*time));
  constexpr std::size_t shown = 32;
  for (std::size_t i = 0; i < std::min(shown, design.expansion.cells.size()); ++i)
    fmt::print("  cell {}: {}\n", i + 1, cell_text(design, design.expansion.cells[i]));
  if (design.expansion.cells.size() > shown)
    fmt::print("  and {} more\n", design.expansion.cells.size() - shown);
  print_lines(value_lines(revisions(design.plan)));
  print_lines(study_words(design.plan));
  print_lines(value_lines(exclusions(design.plan, readings_here())));
  print_lines(value_lines(quiet_wait(design.plan)));
  if (const auto& machines = design.plan.machines)
    fmt::print("trials run on {}{}; the answer applies to {}\n", plan::describe(*machines),
               machines->nodes == 1 ? "" : ", which run equal parts of the blocks at the same time",
               machines->nodes == 1   ? "that machine"
               : machines->like_these ? "machines like these"
                                      : "these machines");
  else if (const auto cpus = cpus_here(design.plan))
    fmt::print("on this machine, trials would run on CPU {}: {}\n", cpus->list,
               fmt::join(cpus->reasons, "; "));
  for (const auto& [name, state] : design.nodes) fmt::print("  {}: {}\n", name, state);
  for (const std::string& words : design.about_nodes) fmt::print("  {}\n", words);
  if (const std::string rights = machine::words_about_rights(geteuid(), design.plan.privileges);
      !rights.empty())
    fmt::print("{}\n", rights);
  fmt::print("random layouts: {}\n", runtime_text(design));
  if (design.plan.analysis.cost)
    fmt::print(
        "in one of {} blocks, the first cell also runs without random layouts, which shows what "
        "they cost\n",
        plan::blocks_for_plain);
  if (const std::string drawn = drawn_text(design.plan); !drawn.empty())
    fmt::print("drawn: {}\n", drawn);
  print_lines(value_lines(events(design.plan, design.counters)));
  print_lines(value_lines(measures(design.plan)));
  if (design.plan.simulated)
    fmt::print(
        "simulated: every trial runs under valgrind's cachegrind and takes 20 to 100 times as "
        "long. Timeouts are {} times as long as in the plan. The simulated caches are {}. No time "
        "is measured\n",
        plan::simulator_slowdown, machine::simulated_caches);
  // The models of single benchmarks are usually alike, so each distinct model is printed once.
  std::set<std::string> printed;
  for (const plan::ModelFor& entry : design.models) {
    std::string shape = entry.model.formula;
    for (const plan::Term& term : entry.model.terms)
      shape += fmt::format("|{}{}", term.name, term.df);
    if (printed.insert(shape).second) print_model(design.plan, entry);
  }
  print_duration(design);
}

}  // namespace

Result<int> show_slurm_commands(const Common& common, const std::string& plan_path) {
  const auto file = read_plan_file(plan_path, common.machines);
  if (!file) return std::unexpected(file.error());
  // If nobody can choose now, these are the commands for the least number.
  const auto chosen = with_chosen_nodes(*file);
  const auto plan = plan::read_plan(chosen ? *chosen : file->text);
  if (!plan) return fail(plan::describe(plan.error(), file->path));
  if (!chosen) tell("warning: " + chosen.error().message);
  if (!plan->machines)
    return wrong_call(
        "--dry-run prints Slurm's commands, but this plan does not use Slurm. To print the plan's "
        "design, use 'stabctl check'. To run the plan on nodes of a cluster, use --machines");
  const auto commands =
      cluster::slurm_commands(*plan, companion("stabd"), plan->privileges && geteuid() == 0);
  if (common.json) {
    if (auto printed = write_json(protocol::to_text(commands, 2)); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  for (const cluster::SlurmCommand& command : commands) {
    fmt::print("# {}\n", command.when);
    std::string line;
    for (const std::string& word : command.words) {
      // Anything else is quoted, because a shell may read it in its own way.
      const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-_=./,:").contains(c);
      });
      line += (line.empty() ? "" : " ") + (plain ? word : shell_quote(word));
    }
    fmt::print("{}\n", line);
  }
  return exit_ok;
}

Result<int> check(const Common& common, const std::string& plan_path, const std::string& sd) {
  const auto file = read_plan_file(plan_path, common.machines);
  if (!file) return std::unexpected(file.error());
  // If nobody can choose now, the lines about the cluster say why, and the least number is checked.
  const auto chosen = with_chosen_nodes(*file);
  auto plan = plan::read_plan(chosen ? *chosen : file->text);
  if (!plan) return fail(plan::describe(plan.error(), file->path));
  if (auto there = check_sources(*plan, *file); !there) return std::unexpected(there.error());
  if (const char* path = getenv("PATH"); plan->simulated)
    if (auto there = machine::find_simulator(path == nullptr ? "" : path); !there)
      return std::unexpected(there.error());
  Design design = design_of(std::move(*plan));
  if (design.plan.machines) ask_cluster(*design.plan.machines, design);
  if (auto possible = check_static(design, file->path); !possible)
    return std::unexpected(possible.error());
  if (auto possible = check_padding(design, file->path); !possible)
    return std::unexpected(possible.error());
  design.pilot = find_pilot(common, design.plan, design.expansion.trials.size());
  results::prediction::Variation variation;
  if (!sd.empty()) {
    const auto share = read_share("--noise", sd);
    if (!share) return std::unexpected(share.error());
    variation = {.all_trials = *share, .benchmarks = *share};
  } else if (design.pilot && design.pilot->found) {
    variation = results::prediction::variation_of(*design.pilot->found, design.plan);
  }
  design.detectable = results::prediction::detectable(design.plan, variation);
  const std::string source =
      sd.empty() && design.pilot ? fmt::format("experiment {}", design.pilot->id) : "--noise";
  design.comparisons = comparisons(design.plan, results::prediction::families(design.plan),
                                   design.detectable, source);
  design.nodes_needed =
      nodes_needed(design.plan, results::prediction::on_machines(design.plan, variation), source);
  design.blocks_for_precision = results::prediction::blocks_for_precision(design.plan, variation);
  // This comes last, because it may give up root's rights.
  auto here = counters_here(design.plan);
  if (!here) return std::unexpected(here.error());
  design.counters = *std::move(here);
  if (common.json) {
    fmt::print("{}\n", as_json(design).dump(2));
    return exit_ok;
  }
  for (const std::string& warning : warnings_of(design)) tell("warning: " + warning);
  print(design);
  print_comparisons(design);
  return exit_ok;
}

namespace {

Result<int> print_quantities(bool as_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string table = "| quantity | unit | reading | meaning |\n|---|---|---|---|\n";
  for (const plan::Quantity& each : plan::quantities()) {
    const std::string reading = each.before.empty()
                                    ? std::string(each.reading)
                                    : fmt::format("{}, {}", each.before, each.reading);
    list.push_back({{"quantity", each.name},
                    {"unit", each.unit},
                    {"reading", reading},
                    {"meaning", each.meaning}});
    table +=
        fmt::format("| `{}` | {} | `{}` | {} |\n", each.name, each.unit, reading, each.meaning);
  }
  fmt::print("{}", as_json ? list.dump(2) + "\n" : table);
  return exit_ok;
}

}  // namespace

Result<int> keys(const Common& common, bool quantities) {
  if (quantities) return print_quantities(common.json);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const plan::KeyWords& key : plan::describe_keys())
    list.push_back({{"key", key.path},
                    {"value", key.value},
                    {"meaning", key.meaning},
                    {"default", key.standard}});
  if (common.json)
    fmt::print("{}\n", list.dump(2));
  else
    fmt::print("{}", toml::table_of_keys(plan::describe_keys()));
  return exit_ok;
}

}  // namespace stab::client
