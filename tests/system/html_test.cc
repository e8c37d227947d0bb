// SPDX-License-Identifier: MIT
// The report as a page, of a real run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "report/html/parsing_testing.h"
#include "tests/system/ab_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using report::html::Element;
using report::html::parse;
using report::html::Parsed;
using ::testing::HasSubstr;

// Of Google Benchmark, with a name that is none for a page.
constexpr const char* script = R"(cat <<END
{"context": {}, "benchmarks": [
 {"name": "<script>alert(1)</script>", "run_type": "iteration", "real_time": $1.$((RANDOM % 90 + 10)), "time_unit": "us"},
 {"name": "BM_b&amp;", "run_type": "iteration", "real_time": 3$1.$((RANDOM % 90 + 10)), "time_unit": "us"}]}
END
)";
constexpr const char* plan = R"([experiment]
name = "page"
question = "Is <b>many</b> more than few?"
seed = 4
[[benchmark]]
name = "program"
repetitions = 8
run = ["/bin/bash", "script.sh", "${N}"]
[factor.n]
levels = { few = { N = "100" }, some = { N = "110" }, many = { N = "200" } }
[[measure.output]]
name = "time"
google_benchmark = "real_time"
[analysis]
response = "time"
)";

std::vector<Element> of_kind(const Parsed& parsed, const std::string& name) {
  std::vector<Element> found;
  std::ranges::copy_if(parsed.elements, std::back_inserter(found),
                       [&](const Element& element) { return element.name == name; });
  return found;
}

// The cells of the table behind the first picture of this title, row by row.
std::vector<std::vector<std::string>> table_of(const Parsed& parsed, const std::string& title) {
  std::vector<std::vector<std::string>> rows;
  const auto caption = std::ranges::find_if(parsed.elements, [&](const Element& each) {
    return each.name == "figcaption" && each.text == title;
  });
  for (auto each = caption; each != parsed.elements.end(); ++each) {
    if (each->name == "figure") break;
    if (each->name == "tr") rows.emplace_back();
    if (each->name == "td") rows.back().push_back(each->text);
  }
  std::erase_if(rows, [](const auto& row) { return row.empty(); });
  return rows;
}

// "-12.34 %" and -12.3361: equal in the digits that are there.
void expect_shown(const std::string& shown, double value) {
  const std::size_t point = shown.find('.');
  const std::size_t end = shown.find(' ');
  const double digits =
      point == std::string::npos || point > end ? 0 : static_cast<double>(end - point - 1);
  EXPECT_NEAR(std::stod(shown), value, 0.5001 * std::pow(10, -digits)) << shown;
}

// "-10.0 to +3.4 %".
void expect_interval(const std::string& shown, const json& low, const json& high) {
  const std::size_t to = shown.find(" to ");
  ASSERT_NE(to, std::string::npos) << shown;
  expect_shown(shown.substr(0, to) + " ", 100 * (low.get<double>() - 1));
  expect_shown(shown.substr(to + 4), 100 * (high.get<double>() - 1));
}

void expect_p(const std::string& shown, const json& p) {
  if (shown == "<0.0001")
    EXPECT_LT(p.get<double>(), 1e-4);
  else
    EXPECT_NEAR(std::stod(shown), p.get<double>(), 0.0051 * p.get<double>());
}

// A row of the table of changes has what the JSON has, in each column.
void expect_row(const std::vector<std::string>& row, const json& effect) {
  ASSERT_EQ(row.size(), 8U);
  expect_shown(row[2], 100 * (effect["ratio"].get<double>() - 1));
  expect_interval(row[3], effect["low"], effect["high"]);
  expect_p(row[4], effect["p"]);
  expect_interval(row[5], effect["low_adjusted"], effect["high_adjusted"]);
  expect_p(row[6], effect["p_adjusted"]);
  const auto verdict = effect["verdict"].get<std::string>();
  EXPECT_EQ(row[7].substr(0, row[7].find(':')), verdict);
}

class HtmlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("script.sh", script);
    lab_.write("plan.toml", plan);
    const Output ran = lab_.ctl({"run", "--state", state_, "--html", lab_.path("run.html"),
                                 "--fail-on", "trials", lab_.path("plan.toml")});
    ASSERT_EQ(ran.code, 0) << ran.err;
    page_ = read_file(lab_.path("run.html"), 1 << 24).value();
    parsed_ = parse(page_);
    ASSERT_EQ(parsed_.problem, "");
  }

  Lab lab_;
  std::string state_ = lab_.path("left");
  std::string page_;
  Parsed parsed_;
};

TEST_F(HtmlTest, RunAndReportWriteTheSamePage) {
  ASSERT_EQ(
      lab_.ctl({"report", "--state", state_, "--format", "html", "-o", lab_.path("r.html")}).code,
      0);
  EXPECT_EQ(read_file(lab_.path("r.html"), 1 << 24).value(), page_);
  EXPECT_EQ(lab_.ctl({"report", "--state", state_, "--format", "html"}).out, page_);
}

TEST_F(HtmlTest, ADaemonSendsThePage) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  const Output out = lab_.ctl({"report", std::to_string(id), "--format", "html"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(parse(out.out).problem, "");
  EXPECT_TRUE(out.out.contains("<h1>page (experiment " + std::to_string(id) + ")</h1>"));
}

TEST_F(HtmlTest, ItLoadsNothingAndRunsNothing) {
  for (const char* each :
       {"http:", "https:", "src=", "href=", "url(", "<script", "<link", "javascript:"})
    EXPECT_FALSE(page_.contains(each)) << each;
  for (const Element& element : parsed_.elements)
    for (const auto& [name, value] : element.attributes)
      EXPECT_FALSE(name.starts_with("on")) << name;
}

TEST_F(HtmlTest, WhatProgramsAndPlansCallThemselvesIsText) {
  EXPECT_TRUE(page_.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
  const auto captions = of_kind(parsed_, "figcaption");
  EXPECT_TRUE(std::ranges::any_of(captions, [](const Element& each) {
    return each.text == "program/<script>alert(1)</script>";
  }));
  EXPECT_TRUE(std::ranges::any_of(of_kind(parsed_, "p"), [](const Element& each) {
    return each.text == "Is <b>many</b> more than few?";
  }));
  const auto texts = of_kind(parsed_, "pre");
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(texts.front().text, plan);
}

TEST_F(HtmlTest, ItsNumbersAreThoseOfTheJson) {
  const json report = json::parse(lab_.ctl({"report", "--state", state_, "--format", "json"}).out);
  const auto changes = table_of(parsed_, "Changes in percent");
  ASSERT_EQ(changes.size(), report["effects"].size());
  for (const json& effect : report["effects"]) {
    const auto level = "n=" + effect["level"].get<std::string>() + " ";
    const auto row = std::ranges::find_if(changes, [&](const auto& cells) {
      return cells[0] == effect["benchmark"].get<std::string>() && cells[1].starts_with(level);
    });
    ASSERT_NE(row, changes.end()) << effect;
    expect_row(*row, effect);
  }
  std::size_t cells = 0;
  for (const json& mean : report["means"]) {
    for (const auto& row : table_of(parsed_, mean["benchmark"])) {
      if (row[0] !=
          mean["benchmark"].get<std::string>() + " n=" + mean["levels"]["n"].get<std::string>())
        continue;
      ++cells;
      EXPECT_EQ(row[1], std::to_string(mean["n"].get<int>()));
      const bool small = row[2].ends_with(" us");
      ASSERT_TRUE(small || row[2].ends_with(" ms")) << row[2];
      expect_shown(row[2], mean["mean"].get<double>() / (small ? 1e3 : 1e6));
    }
  }
  EXPECT_EQ(cells, 6U);
}

TEST_F(HtmlTest, EachPictureHasItsTable) {
  const auto pictures = of_kind(parsed_, "svg");
  ASSERT_GE(pictures.size(), 7U);  // changes, bars, and of each subject trials, order, residuals
  EXPECT_EQ(of_kind(parsed_, "figure").size(), pictures.size());
  for (const Element& each : of_kind(parsed_, "figcaption"))
    EXPECT_FALSE(table_of(parsed_, each.text).empty()) << each.text;
}

TEST_F(HtmlTest, AbWritesAPageToo) {
  const Output out = with_enough(2, [this](const std::string& budget) {
    return lab_.ctl({"ab", "--budget", budget, "--state", lab_.path("ab"), "--html",
                     lab_.path("ab.html"), "--", "true", ": 1"});
  });
  ASSERT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(parse(read_file(lab_.path("ab.html"), 1 << 24).value()).problem, "");
}

TEST_F(HtmlTest, APageThatCouldNotBeWrittenIsRefusedBeforeTheRun) {
  for (const std::string& path : {std::string("/nowhere/x.html"), lab_.folder()}) {
    const Output out =
        lab_.ctl({"run", "--state", lab_.path("never"), "--html", path, lab_.path("plan.toml")});
    EXPECT_EQ(out.code, 1);
    EXPECT_THAT(out.err, HasSubstr("--html " + path));
  }
  EXPECT_FALSE(std::filesystem::exists(lab_.path("never")));
}

TEST_F(HtmlTest, AFileThatCannotBeWrittenIsAnError) {
  const Output out =
      lab_.ctl({"report", "--state", state_, "--format", "html", "-o", "/nowhere/x.html"});
  EXPECT_EQ(out.code, 1);
  EXPECT_THAT(out.err, HasSubstr("/nowhere/x.html"));
}

// A hundred thousand trials make a page that a browser opens. The time is bench's to measure.
TEST(HtmlOfManyTrials, APageHasABound) {
  const Lab lab;
#ifdef STAB_SANITIZED
  const std::string trials = "50000";
#else
  const std::string trials = "100000";
#endif
  ASSERT_EQ(
      run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials", lab.path("many"), trials},
                  lab.folder())
          .code,
      0);
  const Output out = lab.ctl(
      {"report", "--state", lab.path("many"), "--format", "html", "-o", lab.path("many.html")});
  ASSERT_EQ(out.code, 0) << out.err;
  EXPECT_LT(std::filesystem::file_size(lab.path("many.html")), 5'000'000U);
  const std::string page = read_file(lab.path("many.html"), 1 << 24).value();
  EXPECT_TRUE(
      page.contains("40000 of " + trials + " numbers, chosen at random with the experiment"));
}

}  // namespace
}  // namespace stab::test
