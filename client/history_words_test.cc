// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/history.h"
#include "results/history_testing.h"

namespace stab::client::history {
namespace {

using nlohmann::json;
using results::history::experiment;
using results::history::make_history;
using results::history::Mean;
using results::history::on_nodes;
using results::history::sizes;
using results::history::step;
using results::history::steps_of;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HistoryWords, AStepIsALineWithItsSize) {
  const History history = make_history("sort", step(1.05), {});
  const std::string text = as_text(history);
  EXPECT_THAT(text, HasSubstr("sort, wall: 16 experiments on lab: a CPU"));
  EXPECT_THAT(text, HasSubstr(" % more from experiment 10 on, worse (p = 0.00"));
  EXPECT_THAT(text, HasSubstr("seed 1, alpha 0.05)"));
  const json object = json::parse(as_json(history));
  EXPECT_EQ(object["series"][0]["changes"][0]["id"], 10);
  EXPECT_EQ(object["seed"], 1);
  EXPECT_EQ(object["permutations"], 999);
}

// The headings of the page's tables.
std::vector<std::string> headings_of(const std::string& page) {
  std::vector<std::string> headings;
  for (std::size_t at = page.find("<th "); at < page.size(); at = page.find("<th ", at)) {
    at = page.find('>', at) + 1;
    headings.push_back(page.substr(at, page.find('<', at) - at));
  }
  return headings;
}

// The keys of a point in JSON, in their order.
std::vector<std::string> keys_of(const History& history, std::size_t point) {
  const auto object = nlohmann::ordered_json::parse(as_json(history));
  std::vector<std::string> keys;
  for (const auto& [key, value] : object["series"][0]["points"][point].items()) keys.push_back(key);
  return keys;
}

TEST(HistoryWords, EachFormHasItsColumnsInTheirOrder) {
  std::vector<Experiment> all = step(1.05);
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              ContainsRegex("\n +id  when +mean  trials +experiment\n"));
  all[3].source = {.branch = "main", .commit = "3f2a91c1d00f"};
  all[3].means[0].missing = 1;
  all[3].means[0].loss_low = all[3].means[0].loss_interval_low = 1e6;
  all[3].means[0].loss_high = all[3].means[0].loss_interval_high = 2e6;
  const History history = make_history("sort", all, {});
  const std::string text = as_text(history);
  EXPECT_THAT(text, ContainsRegex("\n +id  when +mean  trials +source +experiment\n"));
  EXPECT_THAT(text, ContainsRegex("\n +4  .* ms +30  .*o.* main 3f2a91c1  nightly; with the 1 "));
  EXPECT_THAT(text, ContainsRegex("\n  ---- change: [^\n]*\n +10  "));
  EXPECT_THAT(headings_of(as_page(history)),
              ElementsAre("experiment", "name", "source", "when", "trials", "mean", "low", "high",
                          "change"));
  EXPECT_THAT(keys_of(history, 0), ElementsAre("id", "n", "mean", "low", "high"));
  EXPECT_THAT(keys_of(history, 3),
              ElementsAre("id", "n", "mean", "low", "high", "missing", "loss_low", "loss_high",
                          "loss_interval_low", "loss_interval_high"));
}

TEST(HistoryWords, ADifferenceOfFactsIsExact) {
  const History history = make_history("sort", sizes(), {});
  const std::string text = as_text(history);
  EXPECT_THAT(text, HasSubstr("The value that all trials of an experiment share; less is better"));
  EXPECT_THAT(text, HasSubstr("change: 1.6 % more from experiment 3 on, worse (exactly)"));
  EXPECT_THAT(text, HasSubstr(" 1016 B "));
  EXPECT_THAT(text, Not(HasSubstr("cannot be tested")));
  EXPECT_THAT(text, Not(HasSubstr("positions of functions")));
  const json series = json::parse(as_json(history))["series"][0];
  EXPECT_EQ(series["exact"], true);
  EXPECT_TRUE(series["changes"][0]["p"].is_null());
}

TEST(HistoryWords, MoreIsBetterWhereThePlanSaysSo) {
  std::vector<Experiment> all = step(1.05);
  for (Experiment& each : all) each.higher_is_better = true;
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              HasSubstr(" % more from experiment 10 on, better (p"));
}

TEST(HistoryWords, ASmallPIsNotCalledEqualToLessThanItself) {
  const History history = make_history("sort", step(1.05), {});
  Change change = history.series[0].changes.at(0);
  const auto words = [&] {
    return change_words(change, history.series[0], history, scale_of(history, history.series[0]));
  };
  change.p = 5e-5;
  EXPECT_THAT(words(), EndsWith(" % more from experiment 10 on, worse (p < 0.0001)"));
  change.p = 0.001;
  EXPECT_THAT(words(), EndsWith(" (p = 0.001)"));
}

TEST(HistoryWords, TheAxisOfAPictureHasThePowerOfTenOfItsNumbers) {
  std::vector<Experiment> all = step(1.05);
  for (Experiment& each : all) {
    each.unit = stats::Unit::number;
    const double mean = each.means[0].mean * 2.8e-15;
    each.means[0] = {.n = 30, .mean = mean, .low = mean * 0.99, .high = mean * 1.01};
  }
  EXPECT_THAT(as_page(make_history("sort", all, {})), HasSubstr(">wall, x 1e-09</text>"));
}

TEST(HistoryWords, SeveralSeriesShareAlpha) {
  std::vector<Experiment> all = step(1.05);
  for (Experiment& each : all) {
    each.means[0].levels = {{"opt", "O2"}};
    each.means.push_back({.levels = {{"opt", "O3"}}, .n = 30, .mean = 7e5});
  }
  EXPECT_THAT(as_text(make_history("sort", all, {})), HasSubstr("0.05 for all of them together"));
}

TEST(HistoryWords, ANoteSaysWhyAnExperimentIsLeftOut) {
  std::vector<Experiment> all = step(1);
  all[1].response = "user";
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              HasSubstr("Experiment 2 (nightly) is left out: its response is user."));
}

TEST(HistoryWords, MissingTrialsAreSaidBesideTheMeanThatLacksThem) {
  std::vector<Experiment> all = step(1);
  all[4].trials = 40;
  all[4].missing = 4;
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              HasSubstr("nightly; 4 of 40 trials are missing"));
}

TEST(HistoryWords, ABoundOfMissingTrialsIsSaidWithItsInterval) {
  std::vector<Experiment> all = step(1);
  Mean& last = all.back().means[0];
  last.missing = 4;
  last.loss_low = 1.2 * last.mean;
  last.loss_interval_low = 1.1 * last.mean;
  const History history = make_history("sort", all, {});
  EXPECT_THAT(as_text(history), HasSubstr("; with the 4 missing trials, the mean is at least 1.2"));
  EXPECT_THAT(as_text(history),
              HasSubstr(" ms or more), so only an increase can raise an alarm (see 'stabctl "
                        "logs 16')"));
  EXPECT_THAT(as_text(history), HasSubstr(" ms (interval 1.1"));
  const json point = json::parse(as_json(history))["series"][0]["points"][15];
  EXPECT_EQ(point["missing"], 4);
  EXPECT_EQ(point["loss_low"], 1.2 * last.mean);
  EXPECT_FALSE(point.contains("loss_high"));
  EXPECT_EQ(point["loss_interval_low"], 1.1 * last.mean);
  EXPECT_FALSE(point.contains("loss_interval_high"));
}

TEST(HistoryWords, NodesThatMayBeTheReasonAreSaid) {
  std::vector<Experiment> all;
  for (int i = 1; i <= 30; ++i)
    all.push_back(experiment(i, (i <= 20 ? 1e6 : 2e6) * (1 + (i * 5 % 7) / 1000.0)));
  const History history = make_history("sort", on_nodes(all, 20, {"n1"}, {"n2"}), {.pool = true});
  const std::string text = as_text(history);
  EXPECT_THAT(text, HasSubstr("30 experiments on nodes with the same hardware, a CPU, 2 CPUs\n"));
  EXPECT_THAT(text, HasSubstr("nightly; different nodes than before: n2"));
  EXPECT_THAT(text, HasSubstr(", but the nodes changed, too, and may be the reason (p"));
  EXPECT_THAT(text, ContainsRegex("The[ \n]+nodes[ \n]+changed,[ \n]+too,[ \n]+and[ \n]+may[ "
                                  "\n]+be[ \n]+the[ \n]+reason\\."));
  const json object = json::parse(as_json(history));
  EXPECT_EQ(object["pool"], "a CPU, 2 CPUs");
  EXPECT_EQ(object["series"][0]["changes"][0]["other_nodes"], true);
  EXPECT_EQ(object["series"][0]["alarms"][0]["other_nodes"], true);
  const std::string both =
      as_json(make_history("sort", on_nodes(all, 20, {"n1"}, {"n1", "n2"}), {.pool = true}));
  EXPECT_THAT(both, Not(HasSubstr("other_nodes")));
  EXPECT_TRUE(json::parse(as_json(make_history("sort", all, {})))["pool"].is_null());
}

TEST(HistoryWords, MissingTrialsWithoutABoundAreSaid) {
  std::vector<Experiment> all = step(1);
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].mean *= 1.2;
  const History complete = make_history("sort", all, {});
  EXPECT_THAT(as_json(complete), Not(HasSubstr("missing")));
  EXPECT_THAT(as_json(complete), Not(HasSubstr("stands")));
  for (std::size_t i = 11; i < 16; ++i) all[i].means[0].missing = 2;
  const History open = make_history("sort", all, {});
  const std::string text = as_text(open);
  EXPECT_THAT(text, HasSubstr("with the 2 missing trials, the mean could have any value, so this "
                              "experiment can't raise an alarm (see 'stabctl logs 16')"));
  EXPECT_THAT(text,
              HasSubstr(" % more from experiment 12 on, but missing trials may be the reason (p"));
  EXPECT_EQ(json::parse(as_json(open))["series"][0]["changes"][0]["stands"], false);
  EXPECT_EQ(json::parse(as_json(open))["not_looked_at"], 0);
  for (std::size_t i = 11; i < 16; ++i) {
    all[i].means[0].loss_low = 1.1e6;
    all[i].means[0].loss_high = 2e6;
  }
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              HasSubstr("; with the 2 missing trials, the mean lies between 1.10"));
}

TEST(HistoryWords, AShortSeriesIsShownAndNotTested) {
  std::vector<Experiment> all = step(2);
  all.erase(all.begin() + 11, all.end());
  all.erase(all.begin(), all.begin() + 6);
  const History history = make_history("sort", all, {});
  EXPECT_THAT(
      as_text(history),
      HasSubstr(
          "1 of 1 series cannot be tested for changes: with fewer than 6 experiments in a series"));
  EXPECT_TRUE(json::parse(as_json(history))["alpha_of_each"].is_null());
}

TEST(HistoryWords, ANoteSaysThatTheTestsNeedTooManyPermutations) {
  const History history = make_history("sort", steps_of(60, 200), {.alpha = 0.001});
  const std::string text = as_text(history);
  EXPECT_THAT(
      text, HasSubstr("60 of 60 series cannot be tested for changes, because an alpha of 1.7e-05"));
  EXPECT_THAT(text, Not(HasSubstr("E-divisive")));
  EXPECT_TRUE(json::parse(as_json(history))["alpha_of_each"].is_null());
}

TEST(HistoryWords, LayoutsThatStayAreSaid) {
  std::vector<Experiment> all = step(1);
  EXPECT_THAT(as_text(make_history("sort", all, {})),
              HasSubstr("In 16 of 16 experiments the positions of functions were not random"));
  for (Experiment& each : all) each.all_moved = true;
  EXPECT_THAT(as_text(make_history("sort", all, {})), Not(HasSubstr("were not random")));
}

}  // namespace
}  // namespace stab::client::history
