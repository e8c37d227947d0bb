// SPDX-License-Identifier: MIT
#include "client/web/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace stab::client::web {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* report =
    "<html><head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "&#39;none&#39;; "
    "style-src &#39;unsafe-inline&#39;\"/>\n</head><body>THE REPORT</body></html>";

protocol::Progress running(std::uint64_t done) {
  return {.id = 1, .state = "running", .total = 10, .done = done, .ok = done, .failed = 0};
}

class WebPage : public ::testing::Test {
 protected:
  std::string look() { return *page_.look(now_).text; }
  void report_after(milliseconds took) {
    ASSERT_TRUE(page_.wants_report(now_));
    page_.asked(now_);
    now_ += took;
    page_.answered(protocol::ReportReply{.text = report}, now_, 1'000'000'000);
  }

  LivePage page_{1};
  Clock::time_point now_ = Clock::now();
};

TEST_F(WebPage, SaysPlainlyThatNothingIsMeasuredYetAndAsksForNoReport) {
  page_.follow(running(0));
  EXPECT_THAT(look(), HasSubstr("No trial has ended yet"));
  EXPECT_FALSE(page_.wants_report(now_));
}

TEST_F(WebPage, NobodyLooksAndNoReportIsMade) {
  page_.follow(running(3));
  EXPECT_FALSE(page_.wants_report(now_ + seconds(1000)));
  EXPECT_THAT(look(), HasSubstr("stabd is preparing the first report."));
  report_after(milliseconds(10));
  page_.follow(running(4));
  EXPECT_FALSE(page_.wants_report(now_ + seconds(1000)));
}

TEST_F(WebPage, ReportsAreApartAndNoneIsMadeOfWhatHasNotChanged) {
  page_.follow(running(3));
  look();
  report_after(milliseconds(10));
  EXPECT_THAT(look(), HasSubstr("THE REPORT"));
  EXPECT_FALSE(page_.wants_report(now_ + seconds(1000)));
  page_.follow(running(4));
  look();
  EXPECT_FALSE(page_.wants_report(now_ + pace - milliseconds(1)));
  EXPECT_TRUE(page_.wants_report(now_ + pace));
  now_ += pace;
  report_after(seconds(2));
  page_.follow(running(5));
  look();
  EXPECT_FALSE(page_.wants_report(now_ + times_as_long * seconds(2) - milliseconds(1)));
  now_ += times_as_long * seconds(2);
  report_after(seconds(100));
  page_.follow(running(6));
  look();
  EXPECT_TRUE(page_.wants_report(now_ + longest_pause));
}

TEST_F(WebPage, HasAnotherVersionWhenItShowsSomethingElse) {
  page_.follow(running(3));
  const View first = page_.look(now_);
  EXPECT_EQ(page_.look(now_).version, first.version);
  protocol::Progress less = running(3);
  less.left_ns = 5;
  page_.follow(less);
  EXPECT_EQ(page_.look(now_).version, first.version);
  page_.follow(running(4));
  EXPECT_NE(page_.look(now_).version, first.version);
}

TEST_F(WebPage, IsFinalWithTheReportThatWasAskedForAfterTheEnd) {
  page_.follow(running(9));
  look();
  page_.asked(now_);
  protocol::Progress end = running(10);
  end.state = "done";
  end.final = true;
  page_.follow(end);
  EXPECT_FALSE(page_.look(now_).final);
  page_.answered(protocol::ReportReply{.text = report}, now_, 1);
  EXPECT_FALSE(page_.look(now_).final);
  report_after(milliseconds(1));  // at once, however soon after the one before
  EXPECT_TRUE(page_.look(now_).final);
  EXPECT_THAT(look(), HasSubstr("The experiment has ended, and this is its final report."));
}

TEST_F(WebPage, AReportThatCannotBeHadIsSaidBesideTheOneBefore) {
  page_.follow(running(3));
  look();
  report_after(milliseconds(10));
  page_.follow(running(4));
  now_ += pace;
  look();
  page_.asked(now_);
  page_.answered(fail("the <disk> is full"), now_, 1);
  EXPECT_THAT(look(), HasSubstr("There is no newer report: the &lt;disk&gt; is full"));
  EXPECT_THAT(look(), HasSubstr("THE REPORT"));
}

TEST_F(WebPage, OfAnotherReleaseIsNotTakenForOurs) {
  page_.follow(running(3));
  look();
  page_.asked(now_);
  page_.answered(protocol::ReportReply{.text = "<html><body>x</body></html>"}, now_, 1);
  EXPECT_THAT(look(), HasSubstr("use the stabctl of the same release"));
  EXPECT_THAT(look(), Not(HasSubstr("<body>x")));
}

}  // namespace
}  // namespace stab::client::web
