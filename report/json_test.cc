// SPDX-License-Identifier: MIT
#include "report/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/sample_document.h"
#include "report/words/answer.h"

namespace stab::report {
namespace {

using nlohmann::json;

json parsed(const Document& document) {
  return json::parse(report::json(document));
}

TEST(Json, HoldsTheAnovaInFullPrecision) {
  const Document document = sample_document();
  const json root = parsed(document);
  EXPECT_EQ(root["experiment"], "quickstart");
  EXPECT_EQ(root["model"], "log(wall) ~ opt + Error(benchmark/opt)");
  ASSERT_EQ(root["anova"].size(), 7U);           // of benchmarks like these, and of these
  EXPECT_TRUE(root["anova"][1]["F"].is_null());  // blocks are common to the benchmarks
  const json& opt = root["anova"][5];
  EXPECT_EQ(opt["stratum"], "block:opt");
  EXPECT_EQ(opt["term"], "opt");
  EXPECT_EQ(opt["df"], 1.0);
  EXPECT_EQ(opt["F"].get<double>(), *document.analysis.tables[1].rows[1].f);
  EXPECT_EQ(opt["p"].get<double>(), *document.analysis.tables[1].rows[1].p);
}

TEST(Json, IsTheSameAsAPartOfOtherJson) {
  Document document = sample_document();
  document.experiment = "a\xff";
  document.duration = std::chrono::nanoseconds(1);
  document.exclusions = Exclusions{.alpha = 0.05, .p = std::nan("")};
  const auto text = [](json report) {
    json whole;
    whole["report"] = std::move(report);
    return whole.dump(2, ' ', false, json::error_handler_t::replace);
  };
  EXPECT_EQ(text(json_value(document)), text(parsed(document)));
}

TEST(Json, CountsTheLayouts) {
  Document document = sample_document();
  document.layouts = {
      .randomized = 5, .unrandomized = 4, .without_runtime = 3, .kinds = "code once"};
  document.layouts.median_share = 0.5;
  const json layouts = parsed(document)["layouts"];
  EXPECT_EQ(layouts["randomized"], 5);
  EXPECT_EQ(layouts["unrandomized"], 4);
  EXPECT_EQ(layouts["without_runtime"], 3);
  EXPECT_EQ(layouts["kinds"], "code once");
  EXPECT_EQ(layouts["median_share"], 0.5);
  EXPECT_TRUE(layouts["median_epochs"].is_null());
}

TEST(Json, SaysHowQuietTheMachineWas) {
  const json quietness = parsed(sample_document())["quietness"];
  EXPECT_EQ(quietness["quiesce"], "best-effort");
  EXPECT_EQ(quietness["found"], "fair for measurements: smt (on)");
  EXPECT_EQ(quietness["changed"], "governor (2 files), swappiness");
  EXPECT_EQ(quietness["not_made_quiet"], "ksm: the kernel does not accept 0");
  Document waited;
  waited.quietness = {.waits = 3, .waits_in_vain = 1, .waited_ns = 7};
  EXPECT_EQ(parsed(waited)["quietness"]["waits"], 3);
  EXPECT_EQ(parsed(waited)["quietness"]["waits_in_vain"], 1);
  EXPECT_EQ(parsed(waited)["quietness"]["waited_ns"], 7);
  EXPECT_TRUE(parsed(Document())["quietness"]["changed"].is_null());
}

TEST(Json, WhatIsAbsentIsNull) {
  const json root = parsed(sample_document());
  EXPECT_TRUE(root["anova"][0]["F"].is_null());
  EXPECT_TRUE(root["anova"][0]["benchmark"].is_null());
  EXPECT_TRUE(root["reason"].is_null());
  EXPECT_TRUE(root["analysis"]["equivalence"].is_null());
}

TEST(Json, HoldsMeansEffectsVerdictAnswerAndNotes) {
  const Document document = sample_document();
  const json root = parsed(document);
  ASSERT_EQ(root["means"].size(), 12U);
  EXPECT_EQ(root["means"][0]["benchmark"], "sort");
  EXPECT_EQ(root["means"][0]["levels"]["opt"], "O1");
  EXPECT_EQ(root["means"][0]["n"], 5);
  ASSERT_EQ(root["effects"].size(), 8U);
  EXPECT_TRUE(root["effects"][6]["benchmark"].is_null());
  EXPECT_EQ(root["effects"][6]["verdict"], "faster");
  EXPECT_EQ(root["verdict"], "faster");
  EXPECT_EQ(root["answer"], answer(document.analysis));
  EXPECT_EQ(root["notes"].size(), document.analysis.notes.size());
  EXPECT_EQ(root["trials"]["failed"], 2);
}

TEST(Json, VerdictsThatDisagreeAreMixedAndNoneIsNull) {
  Document document = sample_document();
  document.analysis.suite = 0;
  document.analysis.effects[0].verdict = stats::Verdict::slower;
  EXPECT_EQ(parsed(document)["verdict"], "mixed");
  document.analysis.effects.clear();
  EXPECT_TRUE(parsed(document)["verdict"].is_null());
}

TEST(Json, WhereMoreIsBetterTheVerdictIsStillBetterOrWorse) {
  Document document = sample_document();
  document.analysis.spec.unit = stats::Unit::number;
  document.analysis.spec.higher_is_better = true;
  EXPECT_EQ(parsed(document)["verdict"], "faster");
}

TEST(Json, HoldsWhatWasExcludedAndTheResultWithoutTheRules) {
  Document document = sample_document();
  EXPECT_TRUE(parsed(document)["exclusions"].is_null());
  document.exclusions =
      Exclusions{.rules = {{.when = "steal_share > 0.01", .caught = 3, .open = 1}},
                 .cells = {{.name = "sort opt=O2", .judged = 30, .disturbed = 3}},
                 .disturbed = 3,
                 .lost = 1,
                 .alpha = 0.05,
                 .p = 0.01,
                 .without = document.analysis.effects};
  const json exclusions = parsed(document)["exclusions"];
  EXPECT_EQ(exclusions["rules"][0]["when"], "steal_share > 0.01");
  EXPECT_EQ(exclusions["rules"][0]["not_judged"], 1);
  EXPECT_EQ(exclusions["cells"][0]["disturbed"], 3);
  EXPECT_EQ(exclusions["disturbed"], 3);
  EXPECT_EQ(exclusions["lost"], 1);
  EXPECT_TRUE(exclusions["depends_on_cell"].get<bool>());
  EXPECT_EQ(exclusions["effects_without"], parsed(document)["effects"]);
  EXPECT_EQ(exclusions["effects_vanished"].size(), 0U);
  document.exclusions->vanished = {document.analysis.effects.front()};
  EXPECT_EQ(parsed(document)["exclusions"]["effects_vanished"][0], parsed(document)["effects"][0]);
}

TEST(Json, AComparisonWithoutTrialsIsUnsureInTheVerdict) {
  Document document = sample_document();
  document.exclusions = Exclusions{};
  ASSERT_EQ(parsed(document)["verdict"], "faster");
  document.exclusions->vanished = {document.analysis.effects.front()};
  EXPECT_EQ(parsed(document)["verdict"], "mixed");
  document.analysis.effects.clear();
  EXPECT_EQ(parsed(document)["verdict"], "unsure");
}

TEST(Json, TheControlHasNoVerdict) {
  Document document = sample_document();
  document.analysis.spec.control = document.analysis.effects.front().level;
  const json control = parsed(document)["effects"][0];
  EXPECT_EQ(control["control"], true);
  EXPECT_TRUE(control["verdict"].is_null());
}

TEST(Json, AnEmptyDocumentIsValid) {
  const json root = parsed(Document());
  EXPECT_TRUE(root["model"].is_null());
  EXPECT_TRUE(root["anova"].empty() && root["anova"].is_array());
}

TEST(Json, BadBytesAndNumbersDoNotBreakIt) {
  Document document = sample_document();
  document.experiment = "a\xff";
  document.analysis.effects[0].ratio = std::nan("");
  const json root = parsed(document);
  EXPECT_EQ(root["experiment"], "a\xef\xbf\xbd");
  EXPECT_TRUE(root["effects"][0]["ratio"].is_null());
}

TEST(Json, CountersWithTheirReasons) {
  Document document = sample_document();
  EXPECT_EQ(parsed(document)["counters"], json::array());
  EXPECT_EQ(parsed(document)["measures"], json::array());
  document.measures = {{.name = "ops", .unit = "1/s", .counted = 1, .median = 2.5}};
  EXPECT_EQ(parsed(document)["measures"][0]["median"], 2.5);
  document.counters = {{.name = "cycles",
                        .counted = 3,
                        .scaled = 8,
                        .absent = 1,
                        .left_out = 2,
                        .least_coverage = 0.25,
                        .median = 5e6,
                        .reason = "none was free"},
                       {.name = "cs", .counted = 12, .median = 4.0, .blocks = 6, .of_blocks = 24}};
  const json counters = parsed(document)["counters"];
  EXPECT_EQ(counters[0], (json{{"name", "cycles"},
                               {"unit", ""},
                               {"counted", 3},
                               {"scaled", 8},
                               {"absent", 1},
                               {"left_out", 2},
                               {"least_coverage", 0.25},
                               {"median", 5e6},
                               {"reason", "none was free"},
                               {"blocks", nullptr},
                               {"of_blocks", nullptr}}));
  EXPECT_EQ(counters[1]["blocks"], 6);
  EXPECT_EQ(counters[1]["of_blocks"], 24);
  EXPECT_TRUE(counters[1]["least_coverage"].is_null());
  EXPECT_TRUE(counters[1]["reason"].is_null());
}

}  // namespace
}  // namespace stab::report
