// SPDX-License-Identifier: MIT
#include "protocol/messages.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "protocol/codec.h"
#include "protocol/document.h"

namespace stab::protocol {
namespace {

using ::testing::HasSubstr;

KnownMachine example() {
  return {.key = "cafe",
          .host = "lab",
          .facts = "{\"cpu\":\"x\"}",
          .calibrations = {{.name = "calibration",
                            .at_ns = 1'700'000'000'000'000'004,
                            .scope = store::CalibrationScope::benchmark,
                            .benchmark = "sort",
                            .response = "user",
                            .alpha = 0.01,
                            .blocks = 10,
                            .benchmarks = 5,
                            .comparisons = 100,
                            .significant = 6,
                            .margin = 0.1 + 0.2,
                            .margin_low = 0.006,
                            .margin_high = 0.012},
                           {.name = "short", .response = "wall"}}};
}

TEST(Calibrations, ReadsBackAsItWasWritten) {
  const auto read = from_text<std::vector<KnownMachine>>(to_text(std::vector{example()}, -1));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().key, "cafe");
  EXPECT_EQ(read->front().host, "lab");
  EXPECT_EQ(read->front().facts, example().facts);
  EXPECT_EQ(read->front().calibrations, example().calibrations);
}

TEST(Calibrations, OfNoMachineIsEmpty) {
  EXPECT_EQ(to_text(std::vector<KnownMachine>{}, -1), "[]");
  EXPECT_TRUE(from_text<std::vector<KnownMachine>>("[]")->empty());
}

TEST(Calibrations, NonsenseIsAnError) {
  for (const char* text :
       {"[1]", "[{}]", R"([{"key":"k","host":"h","facts":"f","calibrations":[{}]}])",
        R"([{"key":7,"host":"h","facts":"f","calibrations":[]}])", "7"})
    EXPECT_FALSE(from_text<std::vector<KnownMachine>>(text)) << text;
  json wrong = json::parse(to_text(std::vector{example()}, -1));
  wrong[0]["calibrations"][0]["scope"] = "galaxy";
  EXPECT_FALSE(from_text<std::vector<KnownMachine>>(wrong.dump()));
}

// Of a request that must be refused, the words.
std::string refusal(const std::string& line) {
  const auto request = decode_request(line);
  return request ? "it was taken" : request.error().message;
}

TEST(Requests, EachGoesThereAndBack) {
  const SubmitRequest submit{.plan = "a\n\x1b \xc3\xa4", .directory = "/d", .file = "p.toml"};
  const auto submitted = decode_request(encode(submit));
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ(std::get<SubmitRequest>(*submitted).plan, submit.plan);
  EXPECT_EQ(std::get<SubmitRequest>(*submitted).file, "p.toml");
  const auto compared = decode_request(encode(CompareRequest{.ids = {3, 4}, .full = true}));
  EXPECT_EQ(std::get<CompareRequest>(compared.value()).ids, (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(std::get<CompareRequest>(compared.value()).full);
  EXPECT_TRUE(std::holds_alternative<ListRequest>(decode_request(encode(ListRequest{})).value()));
}

TEST(Requests, WhatMayBeLeftOutHasItsValue) {
  const auto request = decode_request(R"({"verb":"report","id":7})");
  ASSERT_TRUE(request) << request.error().message;
  const auto& report = std::get<ReportRequest>(*request);
  EXPECT_EQ(report.id, 7);
  EXPECT_EQ(report.format, "text");
  EXPECT_FALSE(report.colour || report.full);
  EXPECT_EQ(report.response + report.better, "");
  EXPECT_FALSE(report.width);
}

TEST(Requests, ANumberOfAnExperimentIsAWholeOneFrom1) {
  for (const char* id : {"1.9", "1e300", "-1", "0", "9223372036854775808", "1e999", "true", "null",
                         "\"1\"", "[1]", "{}"})
    EXPECT_NE(refusal(fmt::format(R"({{"verb":"report","id":{}}})", id)), "it was taken") << id;
  EXPECT_THAT(refusal(R"({"verb":"report","id":1.9})"),
              HasSubstr("'id' must be a whole number from 1 to 9223372036854775807, not 1.9"));
  EXPECT_THAT(refusal(R"({"verb":"report"})"), HasSubstr("'id' is missing"));
}

TEST(Requests, AnUnknownVerbIsNamed) {
  EXPECT_THAT(refusal(R"({"verb":"dance"})"), HasSubstr("does not know the request 'dance'"));
  EXPECT_THAT(refusal(R"({"id":1})"), HasSubstr("'verb' is missing"));
}

TEST(Requests, TextsAndListsHaveTheirLimits) {
  SubmitRequest submit{.plan = std::string(plan::max_plan_bytes, 'x'), .directory = "/"};
  EXPECT_TRUE(decode_request(encode(submit)));
  submit.plan += 'x';
  EXPECT_THAT(refusal(encode(submit)),
              HasSubstr("'plan' has 1048577 bytes, but at most 1048576 are allowed"));
  EXPECT_THAT(refusal(encode(CompareRequest{.ids = {1, 2, 3}})),
              HasSubstr("'ids' has 3 items, but at most 2 are allowed"));
}

TEST(Requests, DepthAndNumberOfValuesAreLookedAtBeforeTheTextIsParsed) {
  EXPECT_THAT(refusal(std::string(8'000'000, '[')), HasSubstr("nested deeper than 16 levels"));
  std::string flat = R"({"verb":"compare","ids":[0)";
  for (std::size_t i = 0; i < max_values; ++i) flat += ",0";
  EXPECT_THAT(refusal(flat + "]}"), HasSubstr("more than 262144 values"));
  // Brackets in a text count for nothing.
  const SubmitRequest submit{.plan = std::string(100'000, '[') + "\\\"" + std::string(99, '{'),
                             .directory = "/"};
  EXPECT_TRUE(decode_request(encode(submit)));
}

TEST(Replies, ARefusalIsAnErrorWithTheWordsOfTheDaemon) {
  const auto refused = decode_reply<SubmitReply>(encode_refusal("the queue is full"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the queue is full");
  const auto refusal = refusal_in(encode_refusal("the queue is full"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error, "the queue is full");
  EXPECT_EQ(refusal->protocol, version);
  EXPECT_EQ(refusal_in(R"({"ok":false,"error":"no"})").value().protocol, 0U);
  for (const char* other : {"", "no", "{}", R"({"ok":true})", R"({"ok":0})", R"({"ok":false})"})
    EXPECT_FALSE(refusal_in(other)) << other;
  EXPECT_EQ(decode_reply<SubmitReply>(encode(SubmitReply{.id = 4})).value().id, 4);
}

TEST(Replies, ADaemonThatDoesNotSayHowItEndedIsNotTakenForASuccess) {
  EXPECT_FALSE(decode_reply<ReportReply>(R"({"ok":true,"text":""})"));
  EXPECT_FALSE(decode_reply<ReportReply>(R"({"text":""})"));
  EXPECT_FALSE(decode_reply<ReportReply>(R"({"ok":false})"));
}

TEST(Replies, ProgressGoesThereAndBackWithAndWithoutNumbers) {
  const Progress bare{.id = 3, .state = "queued"};
  EXPECT_FALSE(decode<Progress>(encode(bare)).value().total);
  const Progress full{.id = 3, .state = "running", .final = true, .done = 0, .left_ns = -5};
  const auto read = decode<Progress>(encode(full)).value();
  EXPECT_EQ(read.done, 0U);
  EXPECT_EQ(read.left_ns, -5);
  EXPECT_TRUE(read.final);
}

report::Document measured() {
  report::Document document{.experiment = "nightly", .id = 7, .simulated = true};
  document.stopping = {.rule = "sequential", .blocks = 20};
  document.settings = {"CC = clang-22"};
  document.analysis.spec.treatments = {"opt"};
  document.analysis.spec.unit = stats::Unit::bytes;
  document.analysis.means = {{.subject = "sort", .levels = {"O2"}, .n = 4, .mean = 0.1 + 0.2}};
  document.analysis.effects = {{.scope = stats::Scope::these,
                                .level = "O3",
                                .ratio = 0.9,
                                .high = INFINITY,
                                .verdict = stats::Verdict::faster}};
  document.causal.emplace().push_back({.name = "sort", .profile = {.lines = {"a.c:1"}}});
  document.causal->front().profile.points = {
      {.name = "p", .kind = stats::causal::PointKind::latency}};
  document.causal->front().analysis.emplace().points = {
      {.lines = {{.finding = stats::causal::Finding::helps,
                  .steps = {{.speedup = 0.5, .near = {.value = 0.3, .interval = {0.2, 0.4}}}}}}}};
  return document;
}

TEST(Results, CarryWhatClientsComputeWith) {
  const std::string line = encode(ResultsReply{.document = measured()});
  const auto reply = decode_reply<ResultsReply>(line);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(encode(*reply), line);
  const json written = json::parse(line)["document"];
  EXPECT_EQ(written["analysis"]["spec"]["unit"], 1);
  EXPECT_EQ(written["analysis"]["effects"][0]["scope"], 1);
  EXPECT_EQ(written["analysis"]["effects"][0]["verdict"], 1);
  EXPECT_EQ(written["causal"][0]["profile"]["points"][0]["kind"], 1);
  EXPECT_EQ(written["causal"][0]["analysis"]["points"][0]["lines"][0]["finding"], 1);
  const report::Document& document = reply->document;
  EXPECT_EQ(document.id, 7);
  EXPECT_EQ(document.stopping->blocks, 20U);
  EXPECT_EQ(document.analysis.spec.unit, stats::Unit::bytes);
  EXPECT_EQ(document.analysis.means[0].mean, 0.1 + 0.2);
  const stats::Effect& effect = document.analysis.effects[0];
  EXPECT_EQ(effect.scope, stats::Scope::these);
  EXPECT_EQ(effect.ratio, 0.9);
  EXPECT_FALSE(effect.high) << "a number that is not finite is absent";
  EXPECT_EQ(effect.verdict, stats::Verdict::faster);
  const report::CausalCell& cell = document.causal->front();
  EXPECT_EQ(cell.profile.points[0].kind, stats::causal::PointKind::latency);
  EXPECT_EQ(cell.analysis->points[0].lines[0].steps[0].near.interval.low, 0.2);
  EXPECT_EQ(cell.analysis->points[0].lines[0].finding, stats::causal::Finding::helps);
}

TEST(Results, AnUnknownVerdictIsUnsure) {
  json reply = json::parse(encode(ResultsReply{.document = measured()}));
  json& verdict = reply["document"]["analysis"]["effects"][0]["verdict"];
  verdict = 99;
  const auto unknown = decode_reply<ResultsReply>(reply.dump());
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->document.analysis.effects[0].verdict, stats::Verdict::unsure);
  verdict = "faster";
  EXPECT_FALSE(decode_reply<ResultsReply>(reply.dump()));
}

}  // namespace
}  // namespace stab::protocol
