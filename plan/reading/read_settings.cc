// SPDX-License-Identifier: MIT
// [experiment], [variables], [measure], [machine], [analysis].
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

const Words responses{"wall", "user", "system", "cpu", "max_rss", "main_to_exit", "region"};

void check_variable_names(const Table& table) {
  for (const Entry& entry : table.entries())
    for (const std::string& own : own_variables)
      if (entry.key == own)
        table.problems().add(
            entry.at,
            fmt::format("'{}' is set by stabd itself: choose another name", table.path(entry.key)));
}

// The paper's procedure is one within subjects, on raw numbers.
void use_paper(const Table& table, Draft& draft) {
  Analysis& analysis = draft.plan.analysis;
  const Entry* log = table.find("log");
  if (log != nullptr && analysis.log_scale)
    draft.problems.add(log->at,
                       "'analysis.log' must be false with method = \"stabilizer\", which compares "
                       "raw numbers: leave it out");
  if (draft.plan.design.kind != DesignKind::within_subjects)
    draft.problems.add(table.find("method")->at,
                       "'analysis.method' \"stabilizer\" needs design.kind = \"within-subjects\"");
  analysis.stabilizer = true;
  analysis.log_scale = false;
}

}  // namespace

Variables variables_of(const Table& table) {
  Variables variables;
  if (table.entries().size() > toml::max_entries) {
    table.problems().add(table.at(),
                         fmt::format("'{}' has {} entries, at most {} are allowed", table.path(),
                                     table.entries().size(), toml::max_entries));
    return variables;
  }
  for (const Entry& entry : table.entries()) {
    if (!is_identifier(entry.key))
      table.problems().add(entry.at, fmt::format("'{}' is no name for a variable: use {}",
                                                 table.path(entry.key), identifier_rule));
    else if (auto value = table.text(entry.key, is_word, word_rule))
      variables[entry.key] = *std::move(value);
  }
  return variables;
}

void read_experiment(const Table& root, Draft& draft) {
  static const Words known{"name", "seed", "question"};
  root.require("experiment", "[experiment] with a name");
  const auto table = root.table("experiment", known);
  if (!table) return;
  constexpr std::uint64_t max_seed = std::numeric_limits<std::int64_t>::max();
  table->require("name", title_rule);
  if (auto name = table->text("name", is_title, title_rule)) draft.plan.name = *std::move(name);
  if (const auto seed = table->integer("seed", 0, max_seed)) draft.plan.seed = *seed;
  if (auto question = table->text("question", is_question, question_rule))
    draft.plan.question = *std::move(question);
}

void read_variables(const Table& root, Draft& draft) {
  draft.plan.variables = {
      {"CC", "clang-19"}, {"CXX", "clang++-19"}, {"CFLAGS", ""}, {"CXXFLAGS", ""}, {"LDFLAGS", ""}};
  const auto table = root.open_table("variables");
  if (!table) return;
  check_variable_names(*table);
  for (const Entry& entry : table->entries()) draft.declared.push_back(entry.key);
  for (const auto& [name, value] : variables_of(*table)) {
    draft.plan.variables[name] = value;
    draft.values.push_back({table->find(name)->at, table->path(name), value});
  }
}

void read_measure(const Table& root, Draft& draft) {
  static const Words known{"counters", "on_absent"};
  static const Words absent{"record", "refuse"};
  const auto table = root.table("measure", known);
  if (!table) return;
  const Items* counters = table->items("counters", "an array of names");
  if (counters != nullptr && !counters->empty())
    draft.problems.add(
        table->find("counters")->at,
        "'measure.counters' must be empty in this version: each trial is measured in "
        "wall, user, system, cpu and max_rss, and by szc's runtime in main_to_exit and region");
  (void)table->choice("on_absent", absent);
}

void read_machine(const Table& root, Draft& draft) {
  static const Words known{"cpus", "quiesce", "aslr"};
  static const Words levels{"off", "best-effort", "strict"};
  const auto table = root.table("machine", known);
  if (!table) return;
  if (const auto cpus = table->integer("cpus", 1, 1024))
    draft.plan.cpus = static_cast<std::uint32_t>(*cpus);
  const auto quiesce = table->choice("quiesce", levels);
  if (quiesce && *quiesce != "off")
    draft.problems.add(
        table->find("quiesce")->at,
        fmt::format(
            "'machine.quiesce' must be \"off\": this version cannot quiesce a machine yet, so it "
            "has no \"{}\"",
            *quiesce));
  if (const auto aslr = table->boolean("aslr")) draft.plan.aslr = *aslr;
}

void read_analysis(const Table& root, Draft& draft) {
  static const Words known{"response",        "log",   "alpha",    "equivalence", "method",
                           "sums_of_squares", "error", "programs", "pairs",       "better"};
  static const Words methods{"standard", "stabilizer"};
  static const Words errors{"own", "pooled"};
  static const Words programs{"these", "like-these"};
  static const Words pairs{"baseline", "all"};
  static const Words directions{"lower", "higher"};
  const auto table = root.table("analysis", known);
  if (!table) return;
  for (const Entry& entry : table->entries()) draft.study.analysis[entry.key] = entry.at;
  Analysis& analysis = draft.plan.analysis;
  if (auto response = table->choice("response", responses))
    analysis.response = *std::move(response);
  if (const auto log = table->boolean("log")) analysis.log_scale = *log;
  if (const auto alpha = table->number("alpha", 0.0001, 0.5)) analysis.alpha = *alpha;
  analysis.equivalence = table->percentage("equivalence");
  if (const auto type = table->integer("sums_of_squares", 2, 3))
    analysis.sums_of_squares = static_cast<int>(*type);
  analysis.pooled = table->choice("error", errors) == "pooled";
  analysis.these_programs = table->choice("programs", programs) == "these";
  analysis.all_pairs = table->choice("pairs", pairs) == "all";
  analysis.higher_is_better = table->choice("better", directions) == "higher";
  const auto method = table->choice("method", methods);
  if (method && *method == "stabilizer") use_paper(*table, draft);
}

}  // namespace stab::plan
