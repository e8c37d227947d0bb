// SPDX-License-Identifier: MIT
// What reports say beside their verdicts, through the real programs: identical binaries, outputs
// that differ, looks before the end, and an export that is analysed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string head = "[experiment]\nname = 'r'\n[defaults]\ngive_up_after = 0\nrepetitions = ";

// A program that runs this command, in which ${X} may stand.
std::string benchmark_of(const std::string& name, const std::string& command) {
  return "[[benchmark]]\nname = '" + name + "'\nsources = ['plan.toml']\nbuild = \"echo ${X} " +
         ">/dev/null; printf '#!/bin/sh\\\\nexec " + command +
         "\\\\n' > ${OUT}; chmod +x ${OUT}\"\nrun = ['${OUT}']\n";
}
// One that sleeps for ${X}, or one that does not look at ${X}.
std::string benchmark(const std::string& name, const std::string& seconds) {
  return benchmark_of(name, "sleep " + seconds);
}
const std::string levels = "[factor.x]\nlevels = { a = { X = '0.01' }, b = { X = '0.05' } }\n";

class Results : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }
  int submit(const std::string& plan) {
    lab_.write("plan.toml", plan);
    return lab_.submit("plan.toml");
  }
  json report(int id) {
    return json::parse(lab_.ctl({"report", std::to_string(id), "--format", "json"}).out);
  }

  Lab lab_;
};

TEST_F(Results, OneBenchmarkWithIdenticalBinariesIsTheSameAndFailsNothing) {
  // Memory is no other on a machine that is busy; it varies a little, by a random digit.
  const auto takes = [](const std::string& name, const std::string& size) {
    return benchmark_of(name, "dd if=/dev/zero of=/dev/null count=1 bs=" + size +
                                  "$(cut -c 1 /proc/sys/kernel/random/uuid | tr a-f 0-5)00K");
  };
  const int id = submit(head + "4\n" + takes("acts", "${X}") + takes("idle", "40") +
                        "[factor.x]\nlevels = { a = { X = '40' }, b = { X = '80' } }\n"
                        "[analysis]\nresponse = 'max_rss'\n");
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json effects = report(id)["effects"];
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[0]["verdict"], "slower");
  EXPECT_EQ(effects[0]["reason"], nullptr);
  EXPECT_EQ(effects[1]["verdict"], "same");
  EXPECT_EQ(effects[1]["reason"], "the binaries at x = a and x = b are identical");
  EXPECT_EQ(lab_.ctl({"compare", "1", "--fail-on", "regressed"}).code, 2);
}

TEST_F(Results, IdenticalBinariesInEveryBenchmarkAreRefused) {
  const int id =
      submit(head + "4\n" + benchmark("one", "0.01") + benchmark("two", "0.02") + levels);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", "1"}).out, HasSubstr("of each built benchmark"));
}

TEST_F(Results, OutputsThatDifferAreToldByWhatTheyDependOn) {
  const auto prints = [](const std::string& name, const std::string& command) {
    return "[[benchmark]]\nname = '" + name + "'\nsources = ['plan.toml']\nrun = ['/bin/sh', " +
           "'-c', '" + command + "']\n";
  };
  const int id =
      submit(head + "3\n" + prints("level", "echo ${X}") + prints("same", "echo same; : ${X}") +
             prints("environment", "env | wc -c; : ${X}") +
             prints("random", "cat /proc/sys/kernel/random/uuid; : ${X}") + levels +
             "[factor.env_bytes]\nrandom = { per = 'block' }\n");
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json outputs = report(id)["outputs"];
  ASSERT_EQ(outputs.size(), 3U) << outputs;
  for (const json& each : outputs) {
    EXPECT_EQ(each["trials"], 6);
    EXPECT_EQ(each["cells"], 2);
    if (each["benchmark"] == "level") {
      EXPECT_EQ(each["factors"], json({"x"}));
      EXPECT_EQ(each["varying_cells"], 0);
    } else if (each["benchmark"] == "environment") {
      EXPECT_EQ(each["factors"], json({"env_bytes"}));
    } else {
      EXPECT_EQ(each["factors"], json::array());
      EXPECT_EQ(each["different"], 6);
      EXPECT_EQ(each["varying_cells"], 2);
    }
  }
  for (const char* format : {"text", "html"}) {
    const std::string said = lab_.ctl({"report", "1", "--full", "--format", format}).out;
    for (const char* words :
         {"level prints different output at different levels of x",
          "environment prints different output at different levels of env_bytes",
          "random prints different output in trials of the same cell"}) {
      std::string in_a_line = said;
      for (std::size_t at = 0; (at = in_a_line.find("\n            ", at)) != std::string::npos;)
        in_a_line.replace(at, 13, " ");
      EXPECT_THAT(in_a_line, HasSubstr(words));
    }
    EXPECT_THAT(said, Not(HasSubstr("same prints")));
  }
}

// Paragraphs, that is; tables are as wide as they must be.
TEST_F(Results, AReportFitsTheTerminalThatItIsShownOn) {
  const int id = submit(head + "2\n" + benchmark("acts", "${X}") + levels);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const auto answer = [&](const std::string& columns, const std::string& redirected) {
    const std::string command = std::string(STAB_BIN_DIR) + "/stabctl --socket " +
                                lab_.path("s.sock") + " report 1" + redirected;
    const Output shown = run_program({"/usr/bin/env", "NO_COLOR=1", "COLUMNS=" + columns, "script",
                                      "-qec", command, "/dev/null"},
                                     lab_.folder());
    EXPECT_EQ(shown.code, 0) << shown.out << shown.err;
    const std::size_t begin = shown.out.find("Answer: ");
    return shown.out.substr(begin, shown.out.find("\n  Trials", begin) - begin);
  };
  const auto widest = [](const std::string& text) {
    std::size_t most = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      most = std::max(most, end - at);
      at = end + 1;
    }
    return most;
  };
  EXPECT_LE(widest(answer("60", "")), 61U) << "with a carriage return";
  EXPECT_GT(widest(answer("200", "")), 61U);
  EXPECT_GT(widest(answer("60", " | cat")), 61U) << "what is no terminal has its own width";
}

TEST_F(Results, ALookBeforeTheEndSaysSo) {
  const int id = submit(head + "200\n" + benchmark("acts", "${X}") + levels);
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  for (int i = 0; i < 300 && lab_.trials(id).size() < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(report(id)["looked_early"].get<bool>());
  ASSERT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const json cancelled = report(id);
  EXPECT_TRUE(cancelled["looked_early"].get<bool>());
  EXPECT_THAT(cancelled["notes"].dump(), HasSubstr("of 400 trials, before the planned end"));
}

TEST_F(Results, AnExportThatIsAnalysedAgainIsTheSameExperiment) {
  // The fourth trial fails at first: two are warm-ups.
  lab_.write("nap.sh",
             "#!/bin/sh\nsleep $1\ncd " + lab_.folder() +
                 "\nfor i in 1 2 3 4; do [ -e $i ] || { touch $i; exit $((i / 4)); }; done\n",
             true);
  const int id = submit(
      "[experiment]\nname = 'r'\n[defaults]\nrepetitions = 6\nwarmup = 1\n"
      "retries = 1\n[[benchmark]]\nname = 'b'\nrun = ['./nap.sh', '${X}']\n" +
      levels);
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  const json whole = report(id);
  EXPECT_FALSE(whole["looked_early"].get<bool>());
  const std::string csv = lab_.path("trials.csv");
  ASSERT_EQ(lab_.ctl({"export", "1", "--format", "csv", "-o", csv}).code, 0);
  const Output out = lab_.ctl({"analyze", csv, "--response", "wall_ns", "--factors", "x", "--block",
                               "block", "--subject", "benchmark", "--log", "--json"});
  EXPECT_EQ(out.code, 0) << out.out << out.err;
  const json again = json::parse(out.out);
  EXPECT_NEAR(again["effects"][0]["ratio"].get<double>(),
              whole["effects"][0]["ratio"].get<double>(), 1e-9);
  EXPECT_NEAR(again["effects"][0]["low"].get<double>(), whole["effects"][0]["low"].get<double>(),
              1e-9);
  EXPECT_THAT(again["notes"].dump(),
              HasSubstr("Left out: 3 rows of stabd's export (2 of warm-up trials, 1 of attempts "
                        "that were repeated)."));
}

}  // namespace
}  // namespace stab::test
