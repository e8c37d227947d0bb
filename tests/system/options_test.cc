// SPDX-License-Identifier: MIT
// What stabd writes into STABILIZER_OPTIONS is what the runtime reads there.
#include "runtime/base/options.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/options.h"
#include "worker/runtime_report.h"

namespace stab::test {
namespace {

std::string complaints_about(const std::string& text) {
  rt::Line complaints;
  rt::parse_options(text.c_str(), complaints);
  return {complaints.data(), complaints.size()};
}

TEST(RuntimeOptions, AreReadAsTheyWereWritten) {
  const std::string text = worker::options_text(
      {{"code", "0"},
       {"rerandomize", "repeated"},
       {"period", "3600000ms"},
       {"seed", "18446744073709551615"}},
      {.report = "/proc/4194304/fd/1048576", .places = "/proc/4194304/fd/1048577"});
  rt::Line complaints;
  const rt::Options options = rt::parse_options(text.c_str(), complaints);
  EXPECT_EQ(std::string(complaints.data(), complaints.size()), "");
  EXPECT_FALSE(options.code);
  EXPECT_TRUE(options.again());
  EXPECT_EQ(options.period, 3'600'000'000'000U);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(std::string(options.report.start, options.report.size), "/proc/4194304/fd/1048576");
  EXPECT_EQ(std::string(options.places.start, options.places.size), "/proc/4194304/fd/1048577");
}

TEST(RuntimeOptions, FillerMeansNothing) {
  EXPECT_EQ(complaints_about(worker::options_text({{"seed", "1"}}, {})), "");
  EXPECT_EQ(complaints_about(worker::options_text({}, {})), "");
}

TEST(RuntimeOptions, EveryFlagOfAPlanIsAnOptionOfTheRuntime) {
  for (const std::string& name : plan::option_names()) {
    if (plan::find_option(name)->kind != plan::OptionKind::flag) continue;
    EXPECT_EQ(complaints_about(name + "=0"), "");
    EXPECT_EQ(complaints_about(name + "=1"), "");
  }
}

}  // namespace
}  // namespace stab::test
