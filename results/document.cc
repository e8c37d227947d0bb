// SPDX-License-Identifier: MIT
#include "results/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "counters/readings.h"
#include "design/fractional.h"
#include "design/model.h"
#include "design/trial_list.h"
#include "machine/facts.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/plan.h"
#include "plan/reading/read_plan.h"
#include "results/calibrations.h"
#include "results/heap_layer.h"
#include "results/identical.h"
#include "results/rows.h"
#include "stats/analyse/analyse.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"
#include "toml/value.h"

namespace stab::results {
namespace {

constexpr std::size_t max_failure_lines = 20;

// Adds the chains of a fractional design.
void add_chains(const plan::Plan& plan, stats::Spec& spec) {
  const auto design = plan::fraction(plan);
  if (!design) return;
  for (const auto& chain : plan::alias_chains(*design))
    spec.chains.push_back(
        {.effect = chain.front(),
         .aliases = plan::alias_text(std::span(chain).subspan(1), design->treatments)});
}

stats::Spec spec_of(const plan::Plan& plan) {
  stats::Spec spec;
  spec.response = plan.analysis.response;
  describe_response(spec);
  spec.drawn = drawn_builds(plan);
  spec.subject = subject_column;
  for (const std::size_t index : plan::treatments(plan))
    spec.treatments.push_back(plan.factors[index].name);
  spec.log_scale = plan.analysis.log_scale;
  spec.alpha = plan.analysis.alpha;
  spec.equivalence = plan.analysis.equivalence;
  spec.random_seed = plan.seed;
  spec.order_drawn = true;
  add_chains(plan, spec);
  if (plan.analysis.stabilizer) spec.method = stats::Method::stabilizer;
  if (plan.analysis.sums_of_squares == 3) spec.sums_of_squares = stats::SumsOfSquares::type3;
  if (plan.analysis.pooled) spec.error = stats::Error::pooled;
  spec.estimand = stats::estimand_named(plan.analysis.estimand);
  spec.losses = stats::losses_named(plan.analysis.losses);
  if (plan.analysis.these_programs) spec.programs = stats::Programs::these;
  spec.all_pairs = plan.analysis.all_pairs;
  spec.higher_is_better = plan.analysis.higher_is_better;
  spec.control = plan.analysis.control;
  spec.asked = plan::treatments_asked(plan);
  for (const plan::Factor& factor : plan.factors)
    if (factor.kind != plan::FactorKind::user) spec.built_in.push_back(factor.name);
  switch (plan.design.kind) {
    case plan::DesignKind::within_subjects:
      spec.design = stats::Design::within_subjects;
      break;
    case plan::DesignKind::nested:
      spec.design = stats::Design::nested;
      break;
    case plan::DesignKind::calibration:
      spec.design = stats::Design::calibration;
      spec.comparison = comparison_column;
      break;
    case plan::DesignKind::padding_study:
      spec.design = stats::Design::padding_study;
      break;
    default:
      spec.design = stats::Design::factorial;
  }
  for (const plan::Factor& factor : plan.factors)
    if (std::holds_alternative<plan::RandomSeeds>(factor.levels)) spec.seed = factor.name;
  // The trials of a block share random layouts and a period of time, so levels are compared within
  // blocks.
  if (spec.seed.empty()) spec.block = block_column;
  return spec;
}

// Facts about the machine for other parts of the document; each is "" if it is not known.
struct MachineFacts {
  std::string aslr{};  // the kernel's setting randomize_va_space
  std::string host{};  // the name with which the machine's description begins
  std::string kind{};  // as in machine::StoredFacts
};

MachineFacts add_machine(store::Reader& store, store::Id id, report::Document& document) {
  MachineFacts known;
  if (id == 0) return known;
  if (const auto machine = store.machine(id); !machine) {
    document.machine = "not known: " + machine.error().message;
  } else if (!*machine) {
    document.machine = fmt::format("not known: row {} is missing in the table 'machine'", id);
  } else {
    const machine::StoredFacts facts = machine::stored_facts((*machine)->facts);
    known.host = facts.host.empty() ? (*machine)->host : facts.host;
    document.machine = facts.summary.empty() ? (*machine)->host : facts.summary;
    document.hardware = facts.hardware;
    known.kind = facts.kind;
    known.aslr = facts.aslr;
  }
  if (document.hardware.empty()) document.hardware = document.machine;
  return known;
}

// The nodes that ran trials take the place of the host in the description of one of them, which may
// be any of them.
std::string on_nodes(std::string_view described, const std::string& host,
                     const std::string& nodes) {
  return described.starts_with(host + ": ") ? nodes + std::string(described.substr(host.size()))
                                            : nodes;
}

void add_nodes(const plan::Plan& plan, const Rows& rows, const std::string& host,
               report::Document& document) {
  if (host.empty()) return;  // the document says why nothing is known
  std::string nodes = fmt::format("{} nodes", plan.machine_count());
  if (const stats::Column* column = rows.data.find(plan::machine_column)) {
    std::vector<std::string> names = column->levels;
    std::ranges::sort(names);
    nodes = fmt::format("{}", fmt::join(names, ", "));
  }
  document.machine =
      on_nodes(document.machine, host, nodes) + " (the details are those of one node)";
  document.hardware = on_nodes(document.hardware, host, nodes);
}

// Adds the nodes of a cluster that ran the trials, and their hardware if it is the same.
void add_pool(const store::Experiment& experiment, const plan::Plan& plan, const Rows& rows,
              const MachineFacts& machine, report::Document& document) {
  if (!plan.machines || machine.host.empty()) return;
  if (plan.machine_count() == 1) {
    document.nodes = {machine.host};
    document.pool = machine.kind;
    return;
  }
  const stats::Column* column = rows.data.find(plan::machine_column);
  if (column == nullptr) return;
  document.nodes = column->levels;
  std::ranges::sort(document.nodes);
  std::set<std::string> kinds;
  for (const std::string& name : document.nodes) {
    const auto known = std::ranges::find(experiment.nodes, name, &store::Node::name);
    kinds.insert(known == experiment.nodes.end() ? "" : known->hardware);
  }
  if (kinds.size() == 1) document.pool = *kinds.begin();
}

// Why trials had no runtime. At least one trial must have had none.
std::string why_without_runtime(const report::Layouts& layouts) {
  const std::string why = one_line(layouts.why_in_place, 400);
  if (!why.empty() && layouts.in_place == layouts.without_runtime)
    return layouts.randomized + layouts.unrandomized == 0
               ? why
               : fmt::format("in {} trials, {}", layouts.in_place, why);
  return fmt::format("szc did not build {} programs{}",
                     layouts.randomized + layouts.unrandomized == 0 ? "the" : "some of the",
                     why.empty() ? "" : fmt::format("; in {} trials, {}", layouts.in_place, why));
}

// Adds what the programs' runtime noted about their layouts.
void add_layout_notes(const report::Layouts& layouts, std::vector<std::string>& notes) {
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, layouts.notes.size()); ++i)
    notes.push_back(fmt::format("In {} of {} randomized trials, the runtime reported: {}.",
                                layouts.notes[i].trials, layouts.randomized,
                                one_line(layouts.notes[i].text, 600)));
  if (layouts.notes.size() > most)
    notes.push_back(
        fmt::format("The runtime reported {} more notes: see the column layout_note of 'stabctl "
                    "export'.",
                    layouts.notes.size() - most));
}

// The cost of the layer: "costs +0.4 % of CPU time; 3 pairs of runs". For several benchmarks, the
// range of their costs.
std::string cost_in(const std::vector<report::HeapLayer>& layers) {
  if (layers.size() == 1) return layers[0].cost ? "costs " + said(*layers[0].cost) : "";
  std::optional<std::pair<double, double>> range;
  for (const report::HeapLayer& each : layers) {
    if (!each.cost) continue;
    const double percent = 100 * each.cost->change;
    range = range ? std::pair(std::min(range->first, percent), std::max(range->second, percent))
                  : std::pair(percent, percent);
  }
  return range ? fmt::format("costs {:+.1f} to {:+.1f} % of CPU time, depending on the benchmark",
                             range->first, range->second)
               : "";
}

// Why test runs did not allow the layer in all benchmarks; "" if they did.
std::string why_not_in(const std::vector<report::HeapLayer>& layers) {
  const auto refused = std::ranges::find(layers, false, &report::HeapLayer::drawn);
  if (refused == layers.end()) return "";
  const auto is_same = [&](const report::HeapLayer& each) {
    return !each.drawn && each.why_not == refused->why_not;
  };
  if (std::ranges::all_of(layers, is_same)) return refused->why_not;
  return fmt::format("random in {} of {} benchmarks; {}: {}",
                     std::ranges::count(layers, true, &report::HeapLayer::drawn), layers.size(),
                     refused->benchmark, refused->why_not);
}

// Whether one part of the layout was random, by the reports of the trials' runtimes.
report::Drawn drawn_by_runtime(const plan::Plan& plan, const report::Layouts& layouts,
                               const std::vector<report::HeapLayer>& heap, std::string what,
                               const std::string& option, std::uint64_t random_in) {
  const bool of_any_program = option == "heap";
  const std::string stated = option == "heap"                             ? plan.stated.why_no_heap
                             : option == "stack" && !plan.pads_by_default ? plan.stated.why_no_stack
                                                                          : "";
  const bool all = layouts.unrandomized == 0 && layouts.without_runtime == 0;
  const bool random = layouts.randomized > 0 && all && random_in == layouts.randomized;
  report::Drawn drawn{.what = std::move(what), .is_random = random};
  if (random && option == "heap") drawn.cost = heap.empty() ? plan.stated.heap_cost : cost_in(heap);
  if (random) return drawn;
  const std::string refused = option == "heap" ? why_not_in(heap) : "";
  const auto is_it = [&](const plan::Factor& factor) {
    return factor.kind == plan::FactorKind::option && factor.name == option;
  };
  const auto given = plan.randomize.find(option);
  if (std::ranges::any_of(plan.factors, is_it))
    drawn.why = "it is a factor";
  else if (given != plan.randomize.end() && given->second.number == 0)
    drawn.why = fmt::format("{} = false", option);
  else if (given == plan.randomize.end() && !stated.empty())
    drawn.why = stated;
  else if (given == plan.randomize.end() && !refused.empty())
    drawn.why = refused;
  else if (!of_any_program && layouts.without_runtime > 0)
    drawn.why = why_without_runtime(layouts);
  else if (option == "stack" && !layouts.why_no_pads.empty() &&
           (given != plan.randomize.end() || plan.pads_by_default))
    drawn.why =
        (random_in == 0 ? "" : fmt::format("not in all of the {} trials: ", layouts.randomized)) +
        one_line(layouts.why_no_pads, 400);
  else if (given != plan.randomize.end() || (option == "stack" && plan.pads_by_default) ||
           (option == "heap" && !heap.empty()) || option == "code")
    drawn.why = "not in all trials";
  else if (option == "heap" && plan.layer_by_default)
    drawn.why = "there were no test runs with random heap blocks";
  else if (option == "heap" && plan.machines)
    drawn.why = "not requested in the plan, and not random by default on a cluster";
  else
    drawn.why = "not requested in the plan";
  return drawn;
}

// Which conditions the trials randomize, and why they do not randomize the others; heap blocks come
// last. `aslr` is what add_machine() returns.
std::vector<report::Drawn> drawn_in(const plan::Plan& plan, const report::Layouts& layouts,
                                    const std::vector<report::HeapLayer>& heap,
                                    std::string_view aslr) {
  const auto find = [&](plan::FactorKind kind) {
    return std::ranges::find(plan.factors, kind, &plan::Factor::kind);
  };
  const auto environment = find(plan::FactorKind::env_bytes);
  const bool drawn = environment != plan.factors.end() &&
                     !std::holds_alternative<plan::FixedLevels>(environment->levels);
  const bool factor = find(plan::FactorKind::aslr) != plan.factors.end();
  return {{.what = "environment",
           .is_random = drawn,
           .why = drawn                               ? ""
                  : environment == plan.factors.end() ? "the plan has no factor env_bytes"
                                                      : "it is a factor"},
          {.what = "addresses",
           .is_random = plan.aslr && !factor && aslr != "0",
           .why = factor        ? "it is a factor"
                  : !plan.aslr  ? "machine.aslr = false"
                  : aslr == "0" ? "the machine's randomize_va_space is 0"
                                : ""},
          drawn_by_runtime(plan, layouts, heap, "functions", "code", layouts.random_code),
          drawn_by_runtime(plan, layouts, heap, "stack frames", "stack", layouts.random_stack),
          drawn_by_runtime(plan, layouts, heap, "heap blocks", "heap", layouts.random_heap)};
}

// "" if some trials ran code that szc did not build.
std::string compiler_in(const plan::Plan& plan, const report::Layouts& layouts) {
  const std::uint64_t all = layouts.randomized + layouts.unrandomized + layouts.without_runtime;
  if (plan.stated.compiler.empty() || all == 0 || layouts.random_code < all) return "";
  // stabd stores which compilers its own builds used.
  const auto is_built = [](const plan::Benchmark& each) { return each.build.has_value(); };
  if (std::ranges::any_of(plan.benchmarks, is_built)) return "";
  return "szc with " + plan.stated.compiler;
}

// "" if no response is relative to the CPU time of a command beside trials.
std::string beside_in(const plan::Plan& plan) {
  const auto is_relative = [](const std::string& name) { return name == counters::relative_cpu; };
  if (!is_relative(plan.analysis.response) &&
      std::ranges::none_of(plan.analysis.others, is_relative, &plan::OtherResponse::name))
    return "";
  std::set<std::string> commands;
  for (const plan::Benchmark& each : plan.benchmarks)
    if (!each.beside.empty()) commands.insert(fmt::format("{}", fmt::join(each.beside, " ")));
  if (commands.size() != 1) return "a command of the benchmark";
  return plan.stated.beside.empty() ? fmt::format("'{}'", one_line(*commands.begin(), 40))
                                    : plan.stated.beside;
}

// Adds facts from the events of the experiment's latest start. If they can't be read, the report
// says so.
void add_start(store::Reader& store, const store::Experiment& experiment, const plan::Plan& plan,
               report::Document& document) {
  report::Quietness& quietness = document.quietness;
  quietness = {.asked = std::string(to_string(plan.quiesce))};
  const auto events = store.events(experiment.id);
  if (!events) {
    quietness.found = "not known: " + events.error().message;
    return;
  }
  const std::string grade(experiment.quietness ? to_string(*experiment.quietness) : "");
  for (const store::Event& event : *events) {
    if (event.kind == versions_event) document.versions = event.text;
    if (event.kind == doctor_event)
      quietness = {.asked = quietness.asked, .grade = grade, .found = event.text};
    if (event.kind == quieted_event) quietness.changed = event.text;
    if (event.kind == loud_event)
      quietness.loud += (quietness.loud.empty() ? "" : "; ") + event.text;
  }
}

// Quotes the machine's noise floor. If it can't be read, a note says so.
void quote_calibration(store::Reader& store, const store::Experiment& experiment,
                       const plan::Plan& plan, report::Document& document) {
  // A noise floor is that of one machine.
  if (document.analysis.spec.machines) return;
  std::vector<std::string>& notes = document.analysis.notes;
  const auto noise =
      noise_floor_of(store, experiment.machine,
                     calibrated_name(plan, document.analysis.spec.response), experiment.uid);
  if (!noise) {
    notes.push_back("The calibration of the machine cannot be read: " + noise.error().message);
    return;
  }
  document.noise = *noise;
  if (!document.noise) return;
  document.noise->holds_here = floor_holds(document.analysis, *document.noise);
  if (std::string note = below_the_floor(document.analysis, *document.noise); !note.empty())
    notes.push_back(std::move(note));
}

bool is_complete(const store::Experiment& experiment) {
  return experiment.state == "done" || experiment.state == "analysing";
}

// If the plan's time ended the experiment, its end does not depend on what the trials show. In all other cases the rule
// may have ended it.
bool is_over(const store::Experiment& experiment) {
  return is_complete(experiment) && experiment.stopped_by == store::StopCause::time;
}

// Without a stopping rule, an experiment is designed for a single look at its end.
void note_early_look(const plan::Plan& plan, const store::Experiment& experiment,
                     report::Document& document) {
  const report::TrialCounts& trials = document.trials;
  const std::uint64_t ended = trials.ok + trials.failed + trials.skipped + trials.disturbed;
  document.looked_early = document.compares && !plan.design.stop && !is_complete(experiment) &&
                          trials.ok > 0 && ended < trials.planned;
  if (document.looked_early)
    document.analysis.notes.push_back(
        fmt::format("This report covers {} of {} trials, before the planned end of the experiment. "
                    "The error rate of a verdict holds only if you look at the results once. "
                    "Suppose that nothing differs: a user who checks after every block, and stops "
                    "when p is below 0.05, still finds a change in 24.6 % of experiments. To look "
                    "at results early, give the plan a stopping rule "
                    "('design.stop').",
                    ended, trials.planned));
}

// If some trials of a benchmark lack the number, that may depend on the treatment, and then the
// other trials can't be compared. A benchmark that lacks the number in all trials is ignored here.
void withhold_verdicts(const stats::Dataset& data, stats::Analysis& analysis) {
  const stats::Spec& spec = analysis.spec;
  const auto subject = std::ranges::find(data.columns, spec.subject, &stats::Column::name);
  const std::string_view above = spec.log_scale ? " above 0" : "";
  std::map<std::string, std::pair<std::size_t, std::size_t>> found;  // lacking trials, all trials
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const double value = data.response[row];
    const bool lacks = std::isnan(value) || (spec.log_scale && value + data.centre <= 0);
    auto& [lacking, all] =
        found[subject == data.columns.end() ? "" : subject->levels[subject->codes[row]]];
    lacking += lacks ? 1 : 0;
    ++all;
  }
  for (const auto& [name, counts] : found) {
    const auto& [lacking, all] = counts;
    if (lacking == 0 || lacking == all) continue;
    const std::string why = fmt::format("{} of {} trials{} have no {}{}", lacking, all,
                                        name.empty() ? "" : " of " + name, spec.response, above);
    // Identical programs remain "the same", whatever was measured. The reason here replaces reasons
    // that only came from the numbers.
    for (stats::Effect& effect : analysis.effects)
      if ((effect.subject.empty() || effect.subject == name) &&
          (effect.reason.empty() || stats::is_withheld(effect)))
        stats::withhold(effect, why);
    analysis.notes.insert(
        analysis.notes.begin(),
        fmt::format(
            "{}. There is no verdict, because the levels may influence which trials lack a value. "
            "Find out why trials lack values ('stabctl logs'), or compare another "
            "response with '--metric'.{}",
            why,
            spec.log_scale
                ? " With 'analysis.log = false', the analysis also uses values of 0 and below."
                : ""));
    const auto is_withheld = [](const stats::Effect& each) { return !each.reason.empty(); };
    if (std::ranges::all_of(analysis.effects, is_withheld))
      analysis.withheld =
          fmt::format("some trials have no {}{} (see the notes)", spec.response, above);
  }
}

// If programs measure several benchmarks, these are the subjects. Repeats each program's entry for
// all its subjects.
std::vector<stats::Alike> of_their_parts(const std::vector<stats::Alike>& alike,
                                         const stats::Dataset& data) {
  std::vector<stats::Alike> parts;
  for (const stats::Alike& each : alike)
    for (const std::string& subject : data.find(subject_column)->levels)
      if (subject == each.subject || subject.starts_with(each.subject + "/")) {
        parts.push_back(each);
        parts.back().subject = subject;
      }
  return parts;
}

// The machines take the place of the only benchmark: a change has an error of its own on each of them.
void by_machine(const plan::Plan& plan, const stats::Dataset& data, stats::Spec& spec) {
  spec.machines = true;
  spec.subject = plan::machine_column;
  spec.design = stats::Design::within_subjects;
  spec.programs = plan.machines->like_these ? stats::Programs::like_these : stats::Programs::these;
  for (stats::DrawnBuilds& each : spec.drawn) each.subject.clear();
  const std::vector<stats::Alike> alike = std::exchange(spec.alike, {});
  for (const std::string& machine : data.find(plan::machine_column)->levels)
    for (stats::Alike each : alike) {
      each.subject = machine;
      spec.alike.push_back(std::move(each));
    }
}

constexpr const char* kind_column = "node's hardware";

// Adds the hardware of each row's machine. It is "" if it is not known.
stats::Dataset with_kinds(const store::Experiment& experiment, const stats::Dataset& data) {
  std::map<std::string, std::string> hardware;
  for (const store::Node& node : experiment.nodes) hardware[node.name] = node.hardware;
  stats::Dataset more = data;
  const stats::Column& machines = *data.find(plan::machine_column);
  stats::Column kinds{.name = kind_column, .levels = {}, .codes = {}};
  std::vector<std::uint32_t> kind_of;
  for (const std::string& name : machines.levels) {
    const std::string& kind = hardware[name];
    const auto known = std::ranges::find(kinds.levels, kind);
    kind_of.push_back(static_cast<std::uint32_t>(known - kinds.levels.begin()));
    if (known == kinds.levels.end()) kinds.levels.push_back(kind);
  }
  for (const std::uint32_t code : machines.codes) kinds.codes.push_back(kind_of[code]);
  const auto place = static_cast<std::size_t>(&machines - data.columns.data());
  for (stats::Lost& trial : more.lost) trial.codes.push_back(kind_of[trial.codes[place]]);
  more.columns.push_back(std::move(kinds));
  return more;
}

// An answer about the plan's machines needs all of them. A machine without any trial has no row.
void withhold_without_machines(const plan::Plan& plan, const stats::Dataset& data,
                               stats::Analysis& analysis) {
  const std::size_t found = data.find(plan::machine_column)->levels.size();
  if (found >= plan.machine_count()) return;
  const std::string why =
      fmt::format("only {} of {} machines have trials", found, plan.machine_count());
  for (stats::Effect& effect : analysis.effects)
    if (effect.scope != stats::Scope::subject || analysis.suite == 0)
      if (effect.reason.empty() || stats::is_withheld(effect)) stats::withhold(effect, why);
  analysis.notes.insert(analysis.notes.begin(), why + ", so there is no answer about all of them.");
}

// The nodes that were slow when the experiment ended. Nothing if it has not ended, or if its nodes
// were not judged.
std::optional<std::vector<stats::SlowMachine>> judged_nodes(const store::Experiment& experiment,
                                                            const stats::Dataset& data) {
  const stats::Column* column = data.find(plan::machine_column);
  const auto is_judged = [](const store::Node& node) { return node.times.has_value(); };
  if (experiment.state != "done" || column == nullptr ||
      std::ranges::none_of(experiment.nodes, is_judged))
    return std::nullopt;
  std::vector<stats::SlowMachine> slow;
  for (const store::Node& node : experiment.nodes)
    if (node.times.value_or(1) > 1 &&
        std::ranges::find(column->levels, node.name) != column->levels.end())
      slow.push_back({.name = node.name, .times = *node.times});
  // The rule leaves nodes over, but an archive may say anything.
  if (slow.size() >= column->levels.size()) return std::nullopt;
  return slow;
}

// How the trials of several nodes are analysed.
struct Nodes {
  bool as_one = false;
  // The nodes that were slow when the experiment ended, or that the first analysis has left out: all
  // of a report is about the same nodes. nullptr: this analysis decides.
  const std::vector<stats::SlowMachine>* slow = nullptr;
};

stats::Dataset without_nodes(const stats::Dataset& data,
                             const std::vector<stats::SlowMachine>& slow) {
  stats::Spec by_node;
  by_node.subject = plan::machine_column;
  return stats::without_machines(data, by_node, slow);
}

// The analysis of the first `blocks` measured blocks. Reports and stopping rules both use this
// function, so that they agree.
store::Outcome<stats::Analysis> analysed(store::Reader& store, const store::Experiment& experiment,
                                         const plan::Plan& plan, const plan::Expansion& expansion,
                                         std::uint32_t blocks, const stats::Dataset& data,
                                         stats::Spec spec, const Nodes& nodes = {}) {
  const auto builds = store.builds(experiment.id);
  if (!builds) return std::unexpected(builds.error());
  // Identical programs may take different times to build.
  const auto parts = plan::parts_of(plan, spec.response);
  if (spec.origin != stats::Origin::building &&
      std::ranges::find(parts, plan::compile_time) == parts.end())
    spec.alike = alike_levels(plan, expansion, *builds);
  if (plan.is_split(spec.response)) spec.alike = of_their_parts(spec.alike, data);
  const bool is_by_machine = !nodes.as_one && plan::tells_machines_apart(plan, spec.response);
  if (is_by_machine) by_machine(plan, data, spec);
  stats::Analysis analysis;
  if (is_by_machine && nodes.slow != nullptr) {
    spec.slow_machines = *nodes.slow;
    analysis = stats::analyse(data, spec);
  } else if (is_by_machine && spec.unit == stats::Unit::nanoseconds) {
    // Only a time says how fast a node is.
    spec.machine_kind = kind_column;
    analysis = stats::analyse(with_kinds(experiment, data), spec);
  } else if (nodes.as_one && nodes.slow != nullptr && !nodes.slow->empty()) {
    analysis = stats::analyse(without_nodes(data, *nodes.slow), spec);
    analysis.slow_machines = *nodes.slow;
  } else {
    analysis = stats::analyse(data, spec);
  }
  if (is_by_machine) withhold_without_machines(plan, data, analysis);
  if (plan.machine_count() > 1 && !is_by_machine && !nodes.as_one)
    analysis.notes.push_back(
        fmt::format("The changes on the {} machines are not reported separately, because {}. "
                    "Differences between machines are part of the error of each comparison.",
                    plan.machine_count(), plan::why_machines_are_one(plan, spec.response)));
  withhold_verdicts(
      analysis.slow_machines.empty() ? data : without_nodes(data, analysis.slow_machines),
      analysis);
  if (const plan::BlocksWithNumber measured(plan, spec.response); measured.takes_turns())
    analysis.notes.insert(
        analysis.notes.begin(),
        fmt::format("{} was counted in only {} of {} blocks, because events take "
                    "turns ('measure.rotate'), so the comparison uses only these blocks.",
                    spec.response, measured.among(blocks), blocks));
  return analysis;
}

// Appends the events that take turns after the events that each block counts.
void add_turns(const plan::Plan& plan, const Rows& rows, std::vector<report::Counter>& counters) {
  for (report::Counter& each : rows.rotated.result()) {
    each.blocks = plan::BlocksWithNumber(plan, each.name).among(rows.blocks);
    each.of_blocks = rows.blocks;
    counters.push_back(std::move(each));
  }
}

// The responses that count something: events that are not times, and printed numbers without a
// unit.
std::set<std::string> counts_among(const plan::Plan& plan, const report::Document& document) {
  std::set<std::string> counts;
  for (const std::string& name : plan::counter_names(plan)) counts.insert(name);
  for (const plan::OutputMeasure& each : plan.outputs)
    if (each.unit.empty()) counts.insert(each.name);
  const auto forget_times = [&](const stats::Spec& spec) {
    if (spec.unit != stats::Unit::number) counts.erase(spec.response);
  };
  forget_times(document.analysis.spec);
  for (const stats::Analysis& other : document.others) forget_times(other.spec);
  return counts;
}

// Analyses a further response. It is a family of its own, and uses the first response's error
// control.
store::Outcome<stats::Analysis> analysed_other(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const plan::Plan& plan,
                                               const plan::Expansion& expansion, const Rows& rows,
                                               std::size_t index, const Nodes& nodes) {
  stats::Spec spec = spec_of(plan);
  spec.response = plan.analysis.others[index].name;
  describe_response(spec);
  spec.higher_is_better = plan.analysis.others[index].higher_is_better;
  spec.unit = rows.others[index].unit;
  spec.assumptions = false;
  if (plan.design.stop) control_error(spec, *plan.design.stop, rows.blocks, is_over(experiment));
  return analysed(store, experiment, plan, expansion, rows.blocks, rows.others[index].data, spec,
                  nodes);
}

// Fills the whole document of a causal plan, because such a plan compares nothing.
void add_causal(const plan::Plan& plan, Rows rows, stats::Spec spec, report::Document& document) {
  document.analysis.spec = std::move(spec);
  rows.causal.finish(plan, document);
  if (rows.tally) document.exclusions = rows.tally->result();
}

}  // namespace

Result<report::Document> make_document(store::Reader& store, const store::Experiment& experiment,
                                       const std::string& database, const Asked& asked) {
  const auto stored = plan::read_plan(experiment.plan);
  if (!stored)
    return fail("this version of stabd does not accept the experiment's plan: " +
                toml::describe(stored.error(), "plan"));
  auto plan = plan_about(store, experiment, *stored, asked);
  if (!plan) return std::unexpected(plan.error());
  const auto heap = recall_heap(experiment, *plan);
  auto rows = read_rows(store, experiment, *plan, For::report);
  if (!rows) return fail(rows.error().message);

  report::Document document;
  document.experiment = experiment.name;
  document.id = experiment.id;
  document.question = plan->question;
  document.state = experiment.state;
  document.reason = experiment.reason;
  document.source = {.branch = experiment.source_branch, .commit = experiment.source_commit};
  const MachineFacts machine = add_machine(store, experiment.machine, document);
  if (plan->machine_count() > 1 && experiment.machine != 0)
    add_nodes(*plan, *rows, machine.host, document);
  add_pool(experiment, *plan, *rows, machine, document);
  add_start(store, experiment, *plan, document);
  document.quietness.waits = rows->waits.times;
  document.quietness.waits_in_vain = rows->waits.in_vain;
  document.quietness.waited_ns = rows->waits.ns;
  document.simulated = plan->simulated;
  document.seed = plan->seed;
  document.trials = rows->counts;
  document.layouts = rows->layouts.result();
  document.load = rows->load.result();
  document.outputs = rows->outputs.result();
  document.counters = rows->counters.result();
  add_turns(*plan, *rows, document.counters);
  document.measures = rows->measures.result();
  // A trial has a single reading of a split measure only if it has no samples, so there is nothing
  // to show if no reading is absent.
  std::erase_if(document.measures, [&](const report::Counter& each) {
    return plan->is_split(each.name) && each.absent == 0;
  });
  document.samples = rows->samples.result();
  document.cost = rows->cost.result();
  const plan::Expansion expansion = plan::expand(*plan);
  for (const plan::Trial& trial : expansion.trials) document.trials.planned += trial.warmup ? 0 : 1;
  for (const auto& [text, failure] : rows->failures) {
    if (document.failures.size() == max_failure_lines) {
      document.failures.push_back(fmt::format("and {} other kinds of failure: see 'stabctl export'",
                                              rows->failures.size() - max_failure_lines));
      break;
    }
    std::string line =
        failure.trials == 1 ? text : fmt::format("{} ({} trials)", text, failure.trials);
    if (!failure.said.empty()) line += fmt::format("; stderr ends with: {}", failure.said);
    document.failures.push_back(std::move(line));
  }
  document.causes = sorted(std::move(rows->causes));
  document.compares = plan->design.kind != plan::DesignKind::calibration && !plan->is_causal() &&
                      !plan::treatments(*plan).empty();
  document.database = database;
  document.duration = std::chrono::nanoseconds(rows->last_ns - rows->first_ns);
  document.from_ns = rows->first_ns;
  document.to_ns = rows->last_ns;
  document.settings = plan::settings_of(*plan);
  if (heap) document.heap = *heap;
  document.drawn = drawn_in(*plan, document.layouts, document.heap, machine.aslr);
  if (report::Drawn& blocks = document.drawn.back(); !heap && !blocks.is_random)
    blocks.why = "not known: " + heap.error().message;
  document.compiler = compiler_in(*plan, document.layouts);
  document.beside = beside_in(*plan);
  stats::Spec spec = spec_of(*plan);
  spec.unit = rows->unit;
  if (plan->is_causal()) {
    add_causal(*plan, std::move(*rows), std::move(spec), document);
    add_layout_notes(document.layouts, document.analysis.notes);
    return document;
  }
  const auto& stop = plan->design.stop;
  if (stop) control_error(spec, *stop, rows->blocks, is_over(experiment));
  const auto judged = judged_nodes(experiment, rows->data);
  auto analysis = analysed(store, experiment, *plan, expansion, rows->blocks, rows->data, spec,
                           {.as_one = asked.machines_as_one, .slow = judged ? &*judged : nullptr});
  if (!analysis) return fail(analysis.error().message);
  document.analysis = std::move(*analysis);
  document.analysis.notes.insert(document.analysis.notes.end(), rows->notes.begin(),
                                 rows->notes.end());
  add_layout_notes(document.layouts, document.analysis.notes);
  if (rows->tally) {
    document.exclusions = rows->tally->result();
    if (document.exclusions->disturbed > 0) {
      spec.assumptions = false;
      spec.interactions = false;
      auto without =
          analysed(store, experiment, *plan, expansion, rows->blocks, rows->without_rules, spec,
                   {.slow = &document.analysis.slow_machines});
      if (!without) return fail(without.error().message);
      document.exclusions->vanished = stats::lost_effects(document.analysis, *without);
      document.exclusions->without = std::move(without->effects);
    }
  }
  for (std::size_t i = 0; i < rows->others.size(); ++i) {
    auto other = analysed_other(store, experiment, *plan, expansion, *rows, i,
                                {.slow = &document.analysis.slow_machines});
    if (!other) return fail(other.error().message);
    document.others.push_back(std::move(*other));
  }
  document.counts = counts_among(*plan, document);
  if (stop) document.stopping = stopping_of(*plan, document.analysis, rows->blocks);
  if (stop && !asked.response.empty() && asked.response != stored->analysis.response)
    document.stopping->words =
        fmt::format("{}; this rule was applied to {}, and the experiment had {} blocks",
                    describe(*stop), stored->analysis.response, rows->blocks);
  if (std::string note = asked_note(*stored, asked); !note.empty()) {
    document.analysis.notes.insert(document.analysis.notes.begin(), std::move(note));
  }
  note_early_look(*plan, experiment, document);
  if (plan->design.kind != plan::DesignKind::calibration)
    quote_calibration(store, experiment, *plan, document);
  return document;
}

store::Outcome<Look> look_at_trials(store::Reader& store, const store::Experiment& experiment,
                                    const plan::Plan& plan, std::uint32_t blocks) {
  auto rows = read_rows(store, experiment, plan, For::stopping_rule, blocks);
  if (!rows) return std::unexpected(rows.error());
  stats::Spec spec = spec_of(plan);
  spec.assumptions = false;
  spec.interactions = false;
  control_error(spec, *plan.design.stop, blocks);
  const auto analysis =
      analysed(store, experiment, plan, plan::expand(plan), blocks, rows->data, spec);
  if (!analysis) return std::unexpected(analysis.error());
  return look(*analysis, *plan.design.stop, blocks);
}

}  // namespace stab::results
