// SPDX-License-Identifier: MIT
// NIST's Statistical Reference Datasets through the whole path from CSV text, with its certified
// values (https://www.itl.nist.gov/div898/strd).
#include "stats/oracle/nist.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "stats/analyse/analyse.h"
#include "stats/data/csv.h"
#include "stats/tests/diagnostics.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

// Twelve digits; the goal is nine.
constexpr double close = 1e-12;

struct Certified {
  double between_df = 0;
  double within_df = 0;
  double between_ss = 0;
  double within_ss = 0;
  double f = 0;
};

Dataset read(const std::string& text, const std::vector<std::string>& factors) {
  auto csv = read_csv(text, {.response = "y", .factors = factors});
  if (!csv) ADD_FAILURE() << csv.error().message;
  return csv ? csv->data : Dataset();
}

void expect_anova(const std::string& text, const Certified& certified) {
  Spec spec;
  spec.response = "y";
  spec.unit = Unit::number;
  spec.log_scale = false;
  spec.treatments = {"treatment"};
  const Analysis analysis = analyse(read(text, spec.treatments), spec);
  ASSERT_EQ(analysis.tables.size(), 1U);
  const AnovaRow& between = analysis.tables[0].rows.at(0);
  const AnovaRow& within = analysis.tables[0].rows.at(1);
  EXPECT_EQ(between.df, certified.between_df);
  EXPECT_EQ(within.df, certified.within_df);
  EXPECT_NEAR(between.ss / certified.between_ss, 1, close);
  EXPECT_NEAR(within.ss / certified.within_ss, 1, close);
  EXPECT_NEAR(between.f.value_or(0) / certified.f, 1, close);
}

// `count` numbers of each treatment, in their order.
std::string grouped(const char* data, int count) {
  std::istringstream words(data);
  std::string text = "treatment;y\n";
  std::string word;
  for (int i = 0; words >> word; ++i) text += std::to_string(i / count + 1) + ";" + word + "\n";
  return text;
}

TEST(Nist, AnovaOfSiRstv) {
  expect_anova(grouped(nist::sirstv, 5),
               {4, 20, 5.11462616000000E-02, 2.16636560000000E-01, 1.18046237440255E+00});
}

TEST(Nist, AnovaOfAtmWtAg) {
  expect_anova(grouped(nist::atmwtag, 24),
               {1, 46, 3.63834187500000E-09, 1.04951729166667E-08, 1.59467335677930E+01});
}

class SimonLesage : public ::testing::TestWithParam<const char*> {};

TEST_P(SimonLesage, With21Replicates) {
  expect_anova(nist::simon_lesage(GetParam(), 21), {8, 180, 1.68, 1.8, 21});
}

TEST_P(SimonLesage, With201Replicates) {
  expect_anova(nist::simon_lesage(GetParam(), 201), {8, 1800, 16.08, 18, 201});
}

TEST_P(SimonLesage, With2001Replicates) {
  expect_anova(nist::simon_lesage(GetParam(), 2001), {8, 18000, 160.08, 180, 2001});
}

// SmLs01 to 03, 04 to 06, 07 to 09.
INSTANTIATE_TEST_SUITE_P(Nist, SimonLesage, ::testing::Values("1.", "1000000.", "1000000000000."));

void expect_summary(const std::string& numbers, double mean, double sd, double autocorrelation) {
  std::istringstream words(numbers);
  std::string text = "y\n";
  std::string word;
  while (words >> word) text += word + "\n";
  const Dataset data = read(text, {});
  Spec spec;
  spec.response = "y";
  spec.log_scale = false;
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(analysis.means.size(), 1U);
  EXPECT_NEAR(analysis.means[0].mean / mean, 1, 1e-14);
  EXPECT_NEAR(analysis.means[0].sd.value_or(0) / sd, 1, close);
  const auto lag = lag1_autocorrelation(data.response);
  ASSERT_TRUE(lag) << lag.error().message;
  EXPECT_NEAR(lag->r / autocorrelation, 1, close);
}

TEST(Nist, SummaryOfLottery) {
  expect_summary(nist::lottery, 518.958715596330, 291.699727470969, -0.120948622967393);
}

TEST(Nist, SummaryOfLew) {
  expect_summary(nist::lew, -177.435, 277.332168044316, -0.307304800605679);
}

TEST(Nist, SummaryOfMavro) {
  expect_summary(nist::mavro, 2.001856, 0.000429123454003053, 0.937989183438248);
}

TEST(Nist, SummaryOfMichelso) {
  expect_summary(nist::michelso, 299.8524, 0.0790105478190518, 0.535199668621283);
}

TEST(Nist, SummaryOfNumAcc1) {
  // Three numbers are too few for the test of the autocorrelation: its certified -0.5 is left out.
  Spec spec;
  spec.log_scale = false;
  const Analysis analysis = analyse(read("y\n10000001\n10000003\n10000002\n", {}), spec);
  EXPECT_EQ(analysis.means.at(0).mean, 10000002);
  EXPECT_EQ(analysis.means.at(0).sd, 1);
}

// One number, then 500 times the one below it and the one above.
std::string alternating(const std::string& leading) {
  std::string text = leading + "2";
  for (int i = 0; i < 500; ++i) text += " " + leading + "1 " + leading + "3";
  return text;
}

TEST(Nist, SummaryOfNumAcc2) {
  expect_summary(alternating("1."), 1.2, 0.1, -0.999);
}

TEST(Nist, SummaryOfNumAcc3) {
  expect_summary(alternating("1000000."), 1000000.2, 0.1, -0.999);
}

TEST(Nist, SummaryOfNumAcc4) {
  expect_summary(alternating("10000000."), 10000000.2, 0.1, -0.999);
}

}  // namespace
}  // namespace stab::stats
