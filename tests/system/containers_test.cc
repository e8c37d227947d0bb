// SPDX-License-Identifier: MIT
// The example with a real program of Google Benchmark, in a short form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string source = STAB_SOURCE_DIR;

TEST(Containers, EachBenchmarkHasAVerdictAndOneLayoutAloneSaysItsOwn) {
  Lab lab;
  std::filesystem::copy(source + "/plans/programs", lab.path("programs"));
  Output plan = run_program(
      {"/bin/sed", "s/^repetitions = .*/repetitions = 3/", source + "/plans/containers.toml"}, "/");
  lab.write("plan.toml", plan.out);
  const std::string run = lab.path("run");
  const Output ran = lab.ctl({"run", "--state", run, lab.path("plan.toml")});
  const Output text = lab.ctl({"report", "--state", run, "--json"});
  const json document = json::parse(text.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << ran.err << text.err;
  EXPECT_EQ(document["trials"]["ok"], 6) << document["failures"];
  EXPECT_EQ(document["layouts"]["randomized"], 6) << document["layouts"];
  ASSERT_EQ(document["effects"].size(), 6U);
  for (const json& each : document["effects"]) {
    EXPECT_THAT(each["benchmark"].get<std::string>(), HasSubstr("containers/"));
    EXPECT_FALSE(each["ratio"].is_null());
    EXPECT_EQ(each["units"], 3);
  }
  for (const json& each : document["samples"]) EXPECT_EQ(each["samples_per_trial"], 5);

  // Of that run, and of one of its own.
  for (const std::vector<std::string>& which :
       {std::vector<std::string>{run}, std::vector<std::string>{"--repetitions", "2"}}) {
    std::vector<std::string> argv{"/usr/bin/env", "STAB_BIN=" STAB_BIN_DIR,
                                  source + "/bench/one_layout"};
    argv.insert(argv.end(), which.begin(), which.end());
    const Output alone = run_program(argv, "/");
    EXPECT_EQ(alone.code, 0) << alone.err;
    for (const char* name : {"fill/64", "fill/2048", "find/64", "find/2048", "sum/64", "sum/2048"})
      EXPECT_THAT(alone.out, HasSubstr(name));
    EXPECT_THAT(alone.out, HasSubstr("The same program in two layouts differs by that test in "));
  }
}

}  // namespace
}  // namespace stab::test
