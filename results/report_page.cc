// SPDX-License-Identifier: MIT
#include "results/report_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "design/model.h"
#include "design/trial_list.h"
#include "machine/facts.h"
#include "plan/reading/read_plan.h"
#include "report/html/page.h"
#include "results/answers.h"
#include "results/sums.h"
#include "results/trials.h"
#include "toml/value.h"

namespace stab::results {
namespace {

using plan::FactorKind;
using report::html::Chance;

Chance chance_of(const plan::Factor& factor) {
  Chance chance{.what = factor.name};
  if (const auto* drawn = std::get_if<plan::RandomPerBlock>(&factor.levels)) {
    chance.random = true;
    chance.how =
        fmt::format("drawn once for each block, from {} to {}, and used in all cells of the block",
                    drawn->minimum, drawn->maximum);
  } else if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) {
    chance.random = true;
    chance.how = fmt::format("{} seeds, with {} runs of each seed", seeds->seeds, seeds->runs);
  } else if (factor.is_treatment()) {
    chance.how = "a treatment, which is compared";
  } else {
    const auto& levels = std::get<plan::FixedLevels>(factor.levels).levels;
    chance.how = "fixed at " + (levels.empty() ? "nothing" : levels.front().name);
  }
  return chance;
}

std::string_view times_in_block(plan::DesignKind kind) {
  switch (kind) {
    case plan::DesignKind::nested:
      return "once with each seed of the cell";
    case plan::DesignKind::padding_study:
      return "once under each padding";
    case plan::DesignKind::one_way:
    case plan::DesignKind::within_subjects:
    case plan::DesignKind::full_factorial:
    case plan::DesignKind::custom:
    case plan::DesignKind::calibration:
    case plan::DesignKind::fractional:
    case plan::DesignKind::causal:
      return "once";
  }
  return "once";
}

bool has(const plan::Plan& plan, FactorKind kind) {
  return std::ranges::any_of(plan.factors,
                             [&](const plan::Factor& factor) { return factor.kind == kind; });
}

Chance programs_own(const report::Layouts& layouts) {
  Chance chance{.what = "positions of code, stack and heap"};
  const std::uint64_t all = layouts.randomized + layouts.unrandomized + layouts.without_runtime;
  chance.random = layouts.randomized > 0;
  if (layouts.randomized > 0) {
    std::vector<std::string_view> random;
    std::vector<std::string_view> others;
    (layouts.random_code > 0 ? random : others).emplace_back("code");
    (layouts.random_stack > 0 ? random : others).emplace_back("stack");
    (layouts.random_heap > 0 ? random : others).emplace_back("heap");
    chance.how = fmt::format("chosen by the programs' runtime ({}) in {} of {} trials",
                             report::kinds_text(layouts), layouts.randomized, all);
    // Databases of early versions do not say which parts were random.
    if (!random.empty() && !others.empty()) {
      chance.what = fmt::format("positions of {}", fmt::join(random, " and "));
      chance.how += fmt::format("; positions of {} were not random", fmt::join(others, " and "));
    }
  } else if (layouts.unrandomized > 0) {
    chance.how = "the programs can randomize positions, but this was switched off or failed";
  } else if (layouts.in_place > 0 && layouts.in_place == layouts.without_runtime) {
    chance.how = fmt::format("as they were built: {}", layouts.why_in_place);
  } else {
    chance.how = "as the compiler placed them, because szc did not build the programs";
  }
  return chance;
}

}  // namespace

std::vector<Chance> chances_of(const plan::Plan& plan, const report::Document& document) {
  std::vector<Chance> chances;
  chances.push_back(
      {.what = "order of trials",
       .how = fmt::format(
           "each block runs each of its cells {}; the order is drawn from the experiment's seed",
           times_in_block(plan.design.kind)),
       .random = true});
  for (const plan::Factor& factor : plan.factors) chances.push_back(chance_of(factor));
  chances.push_back(programs_own(document.layouts));
  if (!has(plan, FactorKind::aslr))
    chances.push_back({.what = "address space (ASLR)",
                       .how = plan.aslr ? "the kernel chooses random addresses for each trial"
                                        : "switched off for the trials",
                       .random = plan.aslr});
  if (!has(plan, FactorKind::env_bytes))
    chances.push_back({.what = "size of the environment",
                       .how = "not a factor: determined by the plan's variables"});
  if (!has(plan, FactorKind::link_order))
    chances.push_back(
        {.what = "link order", .how = "not a factor: determined by the build commands"});
  chances.push_back(
      {.what = "machine, kernel and session",
       .how = plan.machine_count() > 1
                  ? fmt::format("{} machines, during one period", plan.machine_count())
                  : "one machine, during one period: another machine may give another answer"});
  return chances;
}

namespace {

using report::html::Fate;
using report::html::most_shots;
using report::html::Shot;
using report::html::Shots;

// Keeps a random sample of all shots added, each with the same probability (algorithm R of Vitter,
// ACM TOMS 1985).
class Sample {
 public:
  explicit Sample(std::uint64_t seed) : random_(seed) {}

  void add(const Shot& shot) {
    ++seen_;
    if (kept_.size() < most_shots) {
      kept_.push_back(shot);
      return;
    }
    const std::uint64_t place = random_.below(seen_);
    if (place < most_shots) kept_[place] = shot;
  }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  [[nodiscard]] const std::vector<Shot>& kept() const { return kept_; }

 private:
  Random random_;
  std::uint64_t seen_ = 0;
  std::vector<Shot> kept_;
};

// Bounds the number of subjects, because programs may print any number of names. It keeps the
// subjects that the analysis keeps, taken from the same trials in the same order, and as many again
// that only other attempts have.
class Names {
 public:
  bool has_place(const std::string& name, bool ok) {
    std::set<std::string>& own = ok ? ok_ : others_;
    if (ok_.contains(name) || (!ok && others_.contains(name))) return true;
    return own.size() < most_subjects && own.insert(name).second;
  }

 private:
  std::set<std::string> ok_;
  std::set<std::string> others_;
};

class Collector {
 public:
  explicit Collector(const plan::Plan& plan)
      : plan_(plan),
        split_(plan.is_split(plan.analysis.response)),
        by_machine_(plan::tells_machines_apart(plan, plan.analysis.response)),
        treatments_(plan::treatments(plan)),
        ok_(derive(plan.seed, "page-trials")),
        others_(derive(plan.seed, "page-other-trials")) {}

  void add(const store::Trial& trial) {
    const bool ok = trial.status == store::TrialStatus::ok;
    if (trial.warmup || is_plain(trial) || (ok && !trial.last)) return;
    if (trial.status == store::TrialStatus::skipped ||
        trial.status == store::TrialStatus::build_failed)
      return;  // nothing was run
    const Fate fate = ok                                              ? Fate::ok
                      : trial.status == store::TrialStatus::disturbed ? Fate::disturbed
                                                                      : Fate::failed;
    const std::vector<SubjectNumber> numbers = numbers_of(trial, plan_, plan_.analysis.response);
    for (const SubjectNumber& each : numbers) {
      if (split_ && !names_.has_place(each.subject, ok))
        ++left_out_;
      else if (each.value)
        add(trial, each.subject, fate, counters::to_double(*each.value));
      else if (!ok)
        add(trial, each.subject, fate, Shot().value);
    }
    if (numbers.empty() && !ok) add(trial, trial.benchmark, fate, Shot().value);
  }

  Shots finish() {
    Shots result{.cells = std::move(cells_),
                 .shots = ok_.kept(),
                 .ok = ok_.seen(),
                 .others = others_.seen(),
                 .kept_ok = ok_.kept().size(),
                 .kept_others = others_.kept().size(),
                 .left_out = left_out_};
    result.shots.insert(result.shots.end(), others_.kept().begin(), others_.kept().end());
    std::ranges::sort(result.shots, {}, [](const Shot& shot) {
      return std::tuple(shot.position, shot.attempt, shot.cell);
    });
    return result;
  }

 private:
  void add(const store::Trial& trial, const std::string& benchmark, Fate fate, double value) {
    const std::uint32_t cell = cell_of(trial, by_machine_ ? trial.node : benchmark);
    ++(fate == Fate::ok ? cells_[cell].ok : cells_[cell].others);
    (fate == Fate::ok ? ok_ : others_)
        .add({.position = trial.position,
              .attempt = trial.attempt,
              .block = trial.block,
              .cell = cell,
              .fate = fate,
              .value = value});
  }

  std::uint32_t cell_of(const store::Trial& trial, const std::string& subject) {
    std::vector<std::string> levels;
    for (const std::size_t index : treatments_) {
      const auto level = trial.levels.find(plan_.factors[index].name);
      levels.push_back(level == trial.levels.end() ? "" : level->second);
    }
    const auto [entry, fresh] = numbers_.try_emplace(std::pair(subject, std::move(levels)),
                                                     static_cast<std::uint32_t>(cells_.size()));
    if (fresh)
      cells_.push_back({.name = cell_text(plan_, trial, subject),
                        .subject = subject,
                        .levels = entry->first.second});
    return entry->second;
  }

  const plan::Plan& plan_;
  bool split_;
  bool by_machine_;  // the machine is the subject
  std::vector<std::size_t> treatments_;
  Names names_;
  std::uint64_t left_out_ = 0;
  std::map<std::pair<std::string, std::vector<std::string>>, std::uint32_t> numbers_;  // by cell
  std::vector<report::html::ShotCell> cells_;
  Sample ok_;
  Sample others_;
};

}  // namespace

store::Outcome<Shots> read_shots(store::Reader& store, const store::Experiment& experiment,
                                 const plan::Plan& plan) {
  Collector collector(plan);
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    collector.add(trial);
    return true;
  });
  if (!read) return std::unexpected(read.error());
  return collector.finish();
}

namespace {

using report::html::Background;
using report::html::Fact;

report::html::PlannedLevels levels_of(const plan::Plan& plan) {
  report::html::PlannedLevels levels;
  for (const std::size_t index : plan::treatments(plan))
    for (auto& names = levels.emplace_back();
         const plan::Level& level : std::get<plan::FixedLevels>(plan.factors[index].levels).levels)
      names.push_back(level.name);
  return levels;
}

// Returns no facts if they can't be read, because a report can do without them.
std::vector<Fact> facts_of(store::Reader& store, store::Id id) {
  std::vector<Fact> facts;
  if (id == 0) return facts;
  const auto machine = store.machine(id);
  if (!machine || !*machine) return facts;
  machine::StoredFacts stored = machine::stored_facts((*machine)->facts);
  for (machine::Fact& each : stored.all)
    facts.push_back({.name = std::move(each.name), .value = std::move(each.value)});
  return facts;
}

Asked asked_of(const protocol::ReportRequest& request) {
  return {.response = request.response, .better = request.better};
}

}  // namespace

Result<Background> background_of(store::Reader& store, const store::Experiment& experiment,
                                 const report::Document& document, const Asked& asked) {
  const auto stored = plan::read_plan(experiment.plan);
  if (!stored) return fail(toml::describe(stored.error(), "plan"));
  const auto plan = plan_about(store, experiment, *stored, asked);
  if (!plan) return std::unexpected(plan.error());
  // All times of a causal plan's trials include virtual pauses, so the page must not show them.
  auto shots = document.causal ? store::Outcome<report::html::Shots>()
                               : read_shots(store, experiment, *plan);
  if (!shots) return fail(shots.error().message);
  const auto builds = store.builds(experiment.id);
  if (!builds) return fail(builds.error().message);
  Background background{.shots = std::move(*shots),
                        .levels = levels_of(*plan),
                        .chances = chances_of(*plan, document),
                        .machine = facts_of(store, experiment.machine),
                        .plan = experiment.plan,
                        .directory = experiment.directory};
  for (const store::Build& each : *builds)
    background.builds.push_back({.benchmark = each.benchmark,
                                 .command = each.command,
                                 .status = std::string(to_string(each.status)),
                                 .binary_sha256 = each.binary_sha256});
  return background;
}

Result<protocol::ReportReply> show_any_report(store::Reader& store,
                                              const store::Experiment& experiment,
                                              const report::Document& document,
                                              const protocol::ReportRequest& request) {
  if (auto known = check_report_format(request.format); !known)
    return std::unexpected(known.error());
  if (request.format != "html") return show_report(experiment, document, request);
  const auto background = background_of(store, experiment, document, asked_of(request));
  if (!background) return std::unexpected(background.error());
  return reply_with(report::html::page(document, *background), experiment, document);
}

Result<protocol::ReportReply> answer_any_report(store::Reader& store,
                                                const store::Experiment& experiment,
                                                const std::string& database,
                                                const protocol::ReportRequest& request) {
  // Check the format before the analysis, which may take long.
  if (auto known = check_report_format(request.format); !known)
    return std::unexpected(known.error());
  const auto document = make_document(store, experiment, database, asked_of(request));
  if (!document) return std::unexpected(document.error());
  return show_any_report(store, experiment, *document, request);
}

}  // namespace stab::results
