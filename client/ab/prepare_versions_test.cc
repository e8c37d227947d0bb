// SPDX-License-Identifier: MIT
#include "client/ab/prepare_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/testing.h"
#include "machine/processes.h"

namespace stab::client::ab {
namespace {

using ::testing::HasSubstr;

TEST(BuildOfAVersion, HasItsVariablesAndItsErrorSaysWhatItPrinted) {
  ASSERT_TRUE(machine::adopt_orphans());
  const test::Folder files;
  files.write("1/kept", "old\n");
  const std::string folder = files / "1";
  const std::string log = files / "1.log";
  EXPECT_TRUE(build_in(folder, log, {.command = "cp kept $WORD", .variables = {{"WORD", "made"}}}));
  EXPECT_EQ(files.read("1/made"), "old\n");
  const auto built = build_in(folder, log, {.command = "echo why; exit 3", .variables = {}});
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message, HasSubstr("the build ended with exit code 3"));
  EXPECT_THAT(built.error().message, HasSubstr("why"));
  EXPECT_EQ(files.read("1.log"), "why\n");
  EXPECT_FALSE(build_in(folder + "/nowhere", log, {.command = "true", .variables = {}}));
}

TEST(WorkFolder, IsGoneAtTheEndUnlessItIsToBeKept) {
  for (const bool kept : {false, true}) {
    std::string path;
    {
      WorkFolder folder(false);
      ASSERT_TRUE(folder.make());
      path = folder.path();
      EXPECT_TRUE(std::filesystem::is_directory(path));
      if (kept) folder.keep();
    }
    EXPECT_EQ(std::filesystem::exists(path), kept);
    std::filesystem::remove_all(path);
  }
}

TEST(Options, OfDifferentKindsDoNotGoTogether) {
  AbOptions options;
  options.words = {"true", "false"};
  EXPECT_TRUE(check_options(options));
  options.same = {"x"};
  EXPECT_FALSE(check_options(options));
  options.build = "make";
  EXPECT_FALSE(check_options(options));
  options.run = "./x";
  EXPECT_TRUE(check_options(options));
  options.programs = {"a", "b"};
  EXPECT_FALSE(check_options(options));
}

TEST(Options, WhatAPlanCannotHoldIsRefusedAtOnce) {
  AbOptions options;
  options.words = {"true", "false"};
  WorkFolder work(false);
  for (const char* variable : {"A B=1", "=1", "1A=2", "STABD_VERSION=1", "A-B=1"}) {
    options.env = {variable};
    EXPECT_FALSE(comparison_of(options, "/", work)) << variable;
  }
  options.env = {"A=b=c"};
  EXPECT_EQ(comparison_of(options, "/", work).value().env.at("A"), "b=c");
  options.words = {"true", "echo \xff"};
  EXPECT_FALSE(check_options(options));
}

TEST(Options, CpusAndEventsOfNodesAreLeftToTheNodes) {
  AbOptions options;
  options.words = {"true", "false"};
  options.cpus = "1000";
  EXPECT_FALSE(check_options(options));
  options.machines = "2-4";
  EXPECT_FALSE(check_options(options)) << "ab plans its blocks for a number of nodes";
  options.machines = "2";
  EXPECT_TRUE(check_options(options));
  options.cpus = "none";
  EXPECT_FALSE(check_options(options));
  options.cpus.clear();
  options.response = "cycles";
  EXPECT_TRUE(check_options(options));
  options.response = "no-such-event";
  EXPECT_FALSE(check_options(options));
}

TEST(Options, AMarginIsAPercentage) {
  AbOptions options;
  for (const char* margin : {"", "1", "%", "0%", "-1%", "50%", "1 %", "nan%", "inf%", "1%%"}) {
    options.margin = margin;
    EXPECT_FALSE(check_options(options)) << margin;
  }
  options.margin = "0.5%";
  EXPECT_TRUE(check_options(options));
}

}  // namespace
}  // namespace stab::client::ab
