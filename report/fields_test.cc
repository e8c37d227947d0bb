// SPDX-License-Identifier: MIT
// doc/report.md names each field of a report's JSON, and no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "report/json.h"

namespace stab::report {
namespace {

using nlohmann::json;

// What stands elsewhere on the page: "as `effects[]`".
const std::set<std::string> described_above{"exclusions.effects_without[]",
                                            "exclusions.effects_vanished[]",
                                            "measures[]",
                                            "causal[]",
                                            "causal_loads[]",
                                            "responses[].effects[]",
                                            "interactions[].variance",
                                            "calibration.any",
                                            "calibration.suite"};

std::set<std::string> documented() {
  std::ifstream page(std::string(STAB_SOURCE_DIR) + "/doc/report.md");
  std::set<std::string> fields;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string field = line.substr(3, line.find('`', 3) - 3);
    EXPECT_TRUE(fields.insert(field).second) << field << " is there twice";
  }
  return fields;
}

// "effects[].ratio" of each value that is no object or list, and of what is described above.
void add_fields(const json& value, const std::string& path, std::set<std::string>& fields) {
  if (described_above.contains(path)) {
    fields.insert(path);
  } else if (value.is_object() && path == "means[].levels") {
    EXPECT_FALSE(value.empty());
    fields.insert(path + ".TREATMENT");
  } else if (value.is_object()) {
    for (const auto& [key, child] : value.items())
      add_fields(child, path.empty() ? key : path + "." + key, fields);
  } else if (value.is_array()) {
    EXPECT_FALSE(value.empty()) << path << " is empty: this test says nothing of it";
    for (const json& child : value) add_fields(child, path + "[]", fields);
  } else {
    fields.insert(path);
  }
}

stats::Effect an_effect() {
  return {.treatment = "opt",
          .baseline = "O1",
          .level = "O2",
          .ratio = 0.5,
          .alternatives = {{.method = "Wilcoxon"}},
          .beside = stats::Alternative{.method = "typical"},
          .averages = {{.method = "median"}},
          .randomization = stats::Randomization{},
          .spread = stats::Spread{},
          .verdict = stats::Verdict::faster};
}

stats::Analysis an_analysis() {
  stats::Analysis analysis;
  analysis.spec.response = "wall";
  analysis.spec.unit = stats::Unit::nanoseconds;
  analysis.spec.treatments = {"opt"};
  analysis.tables = {{.formula = "y ~ opt", .rows = {{.term = "opt"}}}};
  analysis.means = {{.subject = "sort", .levels = {"O1"}}};
  analysis.effects = {an_effect()};
  analysis.interactions = {{.term = "opt:heap", .spread = stats::Spread{}}};
  analysis.components = {{.seed = "layout"}};
  analysis.spec.machines = true;
  analysis.machine_changes = {
      {.treatment = "opt", .machines = {"a", "b"}, .changes = {1.02, 0.97}, .p = 0.001},
      {.treatment = "opt", .machines = {"a", "b"}, .changes = {1, -2}, .ratios = false}};
  analysis.slow_machines = {{.name = "c", .times = 2}};
  analysis.padding = {{.seeds = {"1"}, .percent = {2}}};
  analysis.assumptions = {{.test = "Shapiro-Wilk"}};
  analysis.calibration = stats::Calibration{.benchmarks = {{.subject = "sort"}}};
  analysis.notes = {"a note"};
  return analysis;
}

// With something in each part.
Document a_document() {
  Document document;
  document.noise = NoiseFloor{};
  document.settings = {"CC = szc"};
  document.drawn = {{.what = "functions"}};
  document.heap = {{.benchmark = "sort", .cost = HeapCost{}}};
  document.cost = Cost{.off = {"functions"}, .benchmarks = {{.benchmark = "sort"}}};
  document.source = {.branch = "main", .commit = std::string(40, 'a')};
  document.outputs = {{.benchmark = "sort", .factors = {"opt"}}};
  document.stopping = Stopping{};
  document.exclusions =
      Exclusions{.rules = {{}}, .cells = {{}}, .without = {an_effect()}, .vanished = {an_effect()}};
  document.counters = {{.name = "cycles"}};
  document.measures = {{.name = "ipc"}};
  document.samples = {{.subject = "sort"}};
  document.failures = {"it failed"};
  document.causes = {
      {.why = "it failed", .trials = 1, .cells = {"sort"}, .said = "why", .last_lines = {"why"}}};
  document.causal = {CausalCell{}};
  document.causal_loads = {CausalLoads{}};
  document.analysis = an_analysis();
  stats::Analysis count = an_analysis();
  count.spec.response = "instructions";
  count.spec.unit = stats::Unit::number;
  count.effects.front().verdict = stats::Verdict::slower;
  document.others = {count};
  document.counts = {"instructions"};
  return document;
}

TEST(Fields, ThePageNamesEachAndNoOther) {
  std::set<std::string> printed;
  add_fields(json::parse(report::json(a_document())), "", printed);
  add_fields(json::parse(analysis_json("trials.csv", an_analysis())), "", printed);
  const std::set<std::string> page = documented();
  for (const std::string& field : printed)
    EXPECT_TRUE(page.contains(field)) << field << " is not in doc/report.md";
  for (const std::string& field : page)
    EXPECT_TRUE(printed.contains(field)) << field << " is in doc/report.md only";
}

}  // namespace
}  // namespace stab::report
