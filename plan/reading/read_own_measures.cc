// SPDX-License-Identifier: MIT
// [[measure.output]] and [measure.derived]: readings that the plan defines.
#include <fmt/format.h>

#include <algorithm>

#include "design/turns.h"
#include "plan/measures/formula.h"
#include "plan/measures/google_benchmark.h"
#include "plan/measures/output.h"
#include "plan/measures/own_names.h"
#include "plan/measures/regions.h"
#include "plan/measures/simulated.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

// The numbers that formulas may name.
Words parts_for(const Plan& plan) {
  Words names(words::responses.begin(), words::responses.end());
  names.insert(names.end(), words::of_builds.begin(), words::of_builds.end());
  if (plan.simulated)
    for (const std::string_view name : simulated_names) names.emplace_back(name);
  for (const std::string& name : counter_names(plan)) names.push_back(name);
  for (const OutputMeasure& each : plan.outputs) names.push_back(each.name);
  return names;
}

bool is_among(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Why nothing else may have this name; "" if it is free. Exports have one column of a name.
std::string_view why_taken(const std::string& name, const Draft& draft) {
  if (is_own_name(name)) return "is a name that every trial already uses";
  if (is_among(parts_for(draft.plan), name)) return "is already measured";
  if (std::ranges::find(draft.plan.derived, name, &DerivedMeasure::name) !=
      draft.plan.derived.end())
    return "is already measured";
  if (std::ranges::any_of(draft.factors,
                          [&](const DraftFactor& each) { return each.value.name == name; }))
    return "is also a factor";
  return "";
}

bool is_free(const std::string& name, Position at, Draft& draft) {
  const std::string_view why = why_taken(name, draft);
  if (why.empty()) return true;
  draft.problems.add(at,
                     fmt::format("'{}' {}: choose another name for the measure", shown(name), why));
  return false;
}

void read_regex(const Table& table, OutputMeasure& measure) {
  measure.regex = given<"measure.output.regex">(table).value_or("");
  if (measure.regex.empty()) return;
  if (const std::string fault = pattern_fault(measure.regex); !fault.empty())
    table.problems().add(table.find("regex")->value.at,
                         fmt::format("'measure.output.regex': {}", shown(fault)));
}

void read_json(const Table& table, OutputMeasure& measure) {
  measure.json = given<"measure.output.json">(table);
  if (!measure.json) return;
  if (const std::string fault = pointer_fault(*measure.json); !fault.empty())
    table.problems().add(table.find("json")->value.at,
                         "'measure.output.json' is not a pointer: " + fault);
}

void read_google_benchmark(const Table& table, OutputMeasure& measure) {
  measure.google_benchmark = given<"measure.output.google_benchmark">(table);
  const Pair* unit = table.find("unit");
  if (unit != nullptr && measure.google_benchmark && is_google_time(*measure.google_benchmark))
    table.problems().add(unit->at,
                         "'measure.output.unit' must be ns for times of Google Benchmark");
}

// Where the number is, and what is wrong with that.
void read_place(const Table& table, OutputMeasure& measure) {
  const bool regex = table.find("regex") != nullptr;
  const bool json = table.find("json") != nullptr;
  const bool google = table.find("google_benchmark") != nullptr;
  if (int{regex} + int{json} + int{google} != 1)
    return table.problems().add(
        table.at(),
        "'measure.output' needs one of 'regex', 'json' and 'google_benchmark' to find the value");
  if (regex) return read_regex(table, measure);
  if (json)
    read_json(table, measure);
  else
    read_google_benchmark(table, measure);
  if (const Pair* take = table.find("take"))
    table.problems().add(
        take->at, fmt::format("'measure.output.take' is for 'regex': {}",
                              json ? "'json' selects one value"
                                   : "each repetition of a benchmark is a sample of the trial"));
}

void read_benchmark_names(const Table& table, OutputMeasure& measure, const Draft& draft) {
  const auto names = given<"measure.output.benchmarks">(table);
  if (!names) return;
  const Pair& pair = *table.find("benchmarks");
  if (names->empty())
    return table.refuse(pair, "an array of at least one name; leave it out for all benchmarks");
  Words known;
  for (const DraftBenchmark& each : draft.benchmarks) known.push_back(each.value.name);
  const Items& items = std::get<Items>(pair.value.data);
  for (std::size_t i = 0; i < names->size(); ++i)
    if (!is_among(known, (*names)[i]))
      table.problems().add(items[i].at,
                           fmt::format("no benchmark has the name '{}'{}", shown((*names)[i]),
                                       did_you_mean((*names)[i], known)));
  measure.benchmarks = *names;
}

void read_output_measure(const Value& value, Draft& draft) {
  const Table table(draft.problems, value, "measure.output", names_below("measure.output"));
  OutputMeasure measure;
  table.require("name", name_rule);
  measure.name = given<"measure.output.name">(table).value_or("");
  measure.unit = given<"measure.output.unit">(table).value_or("");
  read_place(table, measure);
  const auto take = plan::value<"measure.output.take">(table);
  for (const Pick pick : {Pick::first, Pick::last, Pick::mean, Pick::sum, Pick::samples})
    if (take == to_string(pick)) measure.pick = pick;
  measure.from_stderr = plan::value<"measure.output.from">(table) == "stderr";
  read_benchmark_names(table, measure, draft);
  if (!measure.name.empty() && is_free(measure.name, table.find("name")->value.at, draft))
    draft.plan.outputs.push_back(std::move(measure));
}

void read_outputs(const Table& measure, Draft& draft) {
  const Items* items = measure.items("output", "an array of tables: write [[measure.output]]");
  if (items == nullptr) return;
  const Pair& pair = *measure.find("output");
  if (items->size() > max_measures)
    return draft.problems.add(
        pair.at, fmt::format("a plan has at most {} 'measure.output' tables, but this one has {}",
                             max_measures, items->size()));
  for (const Value& item : *items)
    if (std::holds_alternative<Pairs>(item.data))
      read_output_measure(item, draft);
    else
      measure.refuse_item(pair, item, "a table: write [[measure.output]]");
}

// "; 'page-faults' stands in quotes": a longer name that begins here, too.
std::string quotes_hint(std::string_view text, const Step& step, const Words& known) {
  for (const std::string& name : known)
    if (name.size() > step.name.size() && text.substr(step.at - 1).starts_with(name))
      return fmt::format(": put '{}' in quotes", name);
  return "";
}

void check_names_of(const std::string& path, Position at, const std::string& text,
                    const Formula& formula, const Table& derived, Draft& draft) {
  const Words known = parts_for(draft.plan);
  for (const Step& step : formula) {
    if (step.kind != Step::Kind::name) continue;
    if (draft.plan.is_split(step.name))
      draft.problems.add(
          at, fmt::format("'{}', character {}: '{}' has a value for each of Google Benchmark's "
                          "benchmarks, but a formula needs one value per trial",
                          path, step.at, shown(step.name)));
    if (is_among(known, step.name) || region_of(step.name)) continue;
    std::string why = fmt::format("'{}' is not a counter, response or output measure{}",
                                  shown(step.name), quotes_hint(text, step, known));
    if (derived.find(step.name) != nullptr)
      why = fmt::format("'{}' is also derived: write its formula here", shown(step.name));
    else if (!why.ends_with("quotes"))
      why += did_you_mean(step.name, known);
    draft.problems.add(at, fmt::format("'{}', character {}: {}", path, step.at, why));
  }
}

void read_derived(const Table& measure, Draft& draft) {
  const auto table = measure.open_table("derived");
  if (!table) return;
  if (table->pairs().size() > max_measures)
    return draft.problems.add(
        table->at(), fmt::format("'measure.derived' has {} names, but at most {} are allowed",
                                 table->pairs().size(), max_measures));
  for (const Pair& pair : table->pairs()) {
    const std::string path = table->path(shown(pair.key));
    if (!is_name(pair.key)) {
      draft.problems.add(
          pair.at, fmt::format("'{}' is not a valid name for a measure: use {}", path, name_rule));
      continue;
    }
    const auto text = table->text(pair.key, is_formula, formula_rule);
    if (!text || !is_free(pair.key, pair.at, draft)) continue;
    const auto formula = parse_formula(*text);
    if (!formula)
      draft.problems.add(pair.value.at, fmt::format("'{}', character {}: {}", path,
                                                    formula.error().at, formula.error().message));
    else
      check_names_of(path, pair.value.at, *text, *formula, *table, draft);
    if (!formula) continue;
    draft.plan.derived.push_back({.name = pair.key, .formula = *text});
    if (Turns(draft.plan, pair.key).in_no_set())
      draft.problems.add(pair.value.at,
                         fmt::format("'{}' is computed from events that no block counts together: "
                                     "put them into one set of 'measure.rotate'",
                                     path));
  }
}

}  // namespace

void read_own_measures(const Table& measure, Draft& draft) {
  read_outputs(measure, draft);
  read_derived(measure, draft);
}

}  // namespace stab::plan
