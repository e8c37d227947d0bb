// SPDX-License-Identifier: MIT
// Plans of the kind "causal": runs of a profile as trials, in the store and in the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CausalPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(STAB_SOURCE_DIR "/tests/system/causal_subject.c", lab_.path("subject.c"));
    ASSERT_TRUE(lab_.start_daemon());
  }

  static std::string build(const std::string& options = "-g") {
    return "build = \"clang-22 " + options +
           " -O1 -ffunction-sections -I " STAB_SOURCE_DIR
           "/runtime ${LDFLAGS} -o ${OUT} subject.c\"\nsources = [\"subject.c\"]\n";
  }
  // Of short experiments on the line that each mode runs.
  static std::string plan(const std::string& benchmarks, int blocks,
                          const std::string& more = "[causal]\nexperiment = \"10ms\"\n") {
    return "[experiment]\nname = \"causal\"\n[defaults]\nrepetitions = " + std::to_string(blocks) +
           "\n" + benchmarks + "[design]\nkind = \"causal\"\n" + more;
  }
  int run(const std::string& text) const {
    lab_.write("plan.toml", text);
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    EXPECT_TRUE(id > 0 && lab_.wait_until_final(id, std::chrono::minutes(5)));
    return id;
  }
  // One number or text.
  std::string ask(const std::string& query, const std::string& database = "") const {
    std::vector<std::string> words{"sql", "--json", query};
    if (database.empty())
      words.insert(words.end(), {"--state", lab_.path("state")});
    else
      words.insert(words.end(), {"--database", database});
    const Output said = lab_.ctl(words);
    const json rows = json::parse(said.out, nullptr, false);
    if (!rows.is_object() || rows["rows"].size() != 1) return said.out + said.err;
    return rows["rows"][0][0].dump();
  }
  // Of the line of the subject that ends with the mark.
  static std::string line_of(const std::string& mark) {
    std::ifstream file(STAB_SOURCE_DIR "/tests/system/causal_subject.c");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
      if (line.ends_with("/* " + mark + " */")) return "subject.c:" + std::to_string(number);
    return "";
  }

  Lab lab_;
};

TEST_F(CausalPlan, ArrivalsThatAreFasterBySeveralTimesAreLoads) {
  const int id = run(plan("[[benchmark]]\nname = \"b\"\n" + build() +
                              "run = [\"${OUT}\", \"arrive\", \"60\"]\n"
                              "[factor.arrival_speedup]\nlevels = [\"0us\", \"800us\"]\n",
                          3));
  const std::string number = std::to_string(id);
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", number}).out;
  const json report = json::parse(lab_.ctl({"report", number, "--json"}).out, nullptr, false);
  ASSERT_EQ(report["trials"]["ok"], 6) << report["failures"];
  EXPECT_EQ(report["causal"].size(), 2U) << "a profile of each";
  ASSERT_EQ(report["causal_loads"].size(), 1U);
  const json& both = report["causal_loads"][0];
  EXPECT_EQ(both["benchmark"], "b");
  EXPECT_TRUE(both["levels"].empty());
  EXPECT_EQ(both["reason"], nullptr);
  ASSERT_EQ(both["loads"].size(), 2U) << both;
  EXPECT_EQ(both["loads"][0]["speedup_ns"], 0);
  EXPECT_EQ(both["loads"][1]["speedup_ns"], 800'000);
  EXPECT_EQ(both["loads"][1]["asked"], nullptr);
  EXPECT_NEAR(both["loads"][0]["had"]["value"].get<double>(), 1, 1e-9) << "the mean is of these";
  EXPECT_GT(both["loads"][1]["had"]["value"].get<double>(), 0);
  EXPECT_EQ(both["loads"][1]["points"][0]["kind"], "throughput");
  EXPECT_TRUE(both.contains("changes"));
  const std::string text = lab_.ctl({"report", number}).out;
  EXPECT_THAT(text, HasSubstr("Load against b\n"));
  EXPECT_THAT(text, HasSubstr("\n800 us  "));
}

// A thread of another file takes about half of the time.
TEST_F(CausalPlan, WhatMakesAProfileWorseIsANote) {
  lab_.write("spin.c",
             "#include <pthread.h>\n"
             "static void* spin(void* unused) {\n  for (volatile long i = 0;; ++i) {\n  }\n"
             "  return unused;\n}\n"
             "void start_spinning(void) {\n  pthread_t thread;\n"
             "  pthread_create(&thread, 0, spin, 0);\n}\n");
  lab_.write("main.c",
             "#include \"stabilizer.h\"\nvoid start_spinning(void);\nint main(void) {\n"
             "  start_spinning();\n  for (int i = 0; i < 3000; ++i) {\n"
             "    for (volatile long left = 100000; left > 0; --left) {\n    }\n"
             "    STAB_PROGRESS(\"item\");\n  }\n  return 0;\n}\n");
  const int id = run(plan("[[benchmark]]\nname = \"b\"\nbuild = \"clang-22 -g -I " STAB_SOURCE_DIR
                          "/runtime -o ${OUT} main.c spin.c\"\nsources = [\"main.c\", \"spin.c\"]\n"
                          "run = [\"${OUT}\"]\n",
                          1, "[causal]\nexperiment = \"10ms\"\nscope = [\"*/main.c\"]\n"));
  const Output report = lab_.ctl({"report", std::to_string(id), "--json"});
  const json notes = json::parse(report.out, nullptr, false)["notes"];
  EXPECT_THAT(notes.dump(), HasSubstr(" samples are outside the scope; see 'causal.scope'"))
      << report.out << report.err;
}

TEST_F(CausalPlan, EachCellHasAProfileOfAllItsRuns) {
  const int id = run(plan("[[benchmark]]\nname = \"b\"\n" + build() +
                              "run = [\"${OUT}\", \"${MODE}\", \"2000\"]\n"
                              "[factor.load]\nlevels = { one = { MODE = \"hot\" }, two = { MODE = "
                              "\"both\" } }\n[factor.link_order]\nrandom = { per = \"block\" }\n",
                          5));
  const std::string number = std::to_string(id);
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", number}).out;
  const json report = json::parse(lab_.ctl({"report", number, "--json"}).out, nullptr, false);
  ASSERT_EQ(report["trials"]["ok"], 10) << report["failures"];
  ASSERT_EQ(report["causal"].size(), 2U);
  for (const json& cell : report["causal"]) {
    EXPECT_EQ(cell["benchmark"], "b");
    EXPECT_EQ(cell["cell"], "b load=" + cell["levels"]["load"].get<std::string>());
    ASSERT_EQ(cell["reason"], nullptr);
    EXPECT_EQ(cell["runs"], 5);
    EXPECT_TRUE(cell["runs_are_clusters"]);
    EXPECT_EQ(cell["points"][0]["name"], "item");
    // Each block has a build of its own, and a line of all of them is one line.
    // A sample may be between two calls.
    for (const json& line : cell["points"][0]["lines"])
      EXPECT_TRUE(line["line"] == line_of("hot") || line["line"] == line_of("cold") ||
                  line["finding"] == "too few")
          << line;
  }
  EXPECT_EQ(report["means"].size(), 0U);
  EXPECT_EQ(report["effects"].size(), 0U);

  const Output text = lab_.ctl({"report", number});
  EXPECT_THAT(text.out, HasSubstr("Causal profile of b load=one"));
  EXPECT_THAT(text.out, HasSubstr("if it took 25 % less"));
  EXPECT_THAT(text.out, HasSubstr("experiments in 5 runs"));
  EXPECT_THAT(text.out, HasSubstr("virtual pauses"));
  EXPECT_THAT(lab_.ctl({"report", number, "--format", "html"}).out,
              HasSubstr("Causal profile of b load=two"));

  // Every performance experiment is a row, and belongs to a trial.
  EXPECT_EQ(ask("SELECT count(DISTINCT trial) FROM causal_experiment"), "10");
  EXPECT_EQ(ask("SELECT count(*) > 20 FROM causal_experiment WHERE effective_ns > 0"), "1");
  EXPECT_NE(ask("SELECT count(*) FROM causal_experiment WHERE line = '" + line_of("hot") +
                "' AND speedup = 0"),
            "0");
  EXPECT_EQ(ask("SELECT count(*) FROM (SELECT DISTINCT point, kind FROM causal_visit)"), "1");

  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", number}, {"report", number, "--response", "user"}}) {
    const Output refused = lab_.ctl(words);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("is a causal profile"));
  }
  const Output several = lab_.ctl({"export", number, "--format", "coz"});
  EXPECT_EQ(several.code, 1);
  EXPECT_EQ(several.out, "");
  EXPECT_THAT(several.err, HasSubstr("has several cells"));
  EXPECT_THAT(several.err, HasSubstr("choose a cell with --cell: 'b load=one', 'b load=two'"));
  const Output unknown = lab_.ctl({"export", number, "--format", "coz", "--cell", "b load=three"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.err,
              HasSubstr("has no successful trial of a cell 'b load=three'; with --cell, choose a "
                        "cell that has some: 'b load=one'"));
  const Output rows = lab_.ctl({"export", number, "--format", "csv", "--cell", "b load=two"});
  EXPECT_EQ(rows.code, 1);
  EXPECT_THAT(rows.err, HasSubstr("--cell works only with --format coz"));
  for (const json& cell : json::parse(lab_.ctl({"report", number, "--json"}).out)["causal"]) {
    const Output one = lab_.ctl({"export", number, "--format", "coz", "--cell", cell["cell"],
                                 "--output", lab_.path("cell.coz")});
    ASSERT_EQ(one.code, 0) << one.err;
    const json read =
        json::parse(lab_.ctl({"causal", "--json", "--read", lab_.path("cell.coz")}).out);
    for (const char* same : {"runs", "experiments"}) EXPECT_EQ(read[same], cell[same]) << same;
    EXPECT_EQ(read["points"][0]["visits"], cell["points"][0]["visits"]);
  }

  const Output replay = lab_.ctl({"replay", number, "0", "--print"});
  EXPECT_THAT(replay.out, Not(HasSubstr("LD_PRELOAD"))) << replay.err;

  // They go where their trials go.
  const std::string all = "SELECT count(*) FROM causal_experiment";
  const std::string count = ask(all);
  ASSERT_EQ(lab_.ctl({"export", number, "--archive", lab_.path("kept.db")}).code, 0);
  EXPECT_EQ(ask(all, lab_.path("kept.db")), count);
  ASSERT_EQ(lab_.ctl({"rm", number}).code, 0);
  // The daemon takes rows away in steps.
  for (int i = 0; i < 600 && ask(all) != "0"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(ask(all), "0");
  const Output imported = lab_.ctl({"import", lab_.path("kept.db")});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(ask(all), count);
}

TEST_F(CausalPlan, WhatCannotBeProfiledSaysWhatToChange) {
  const std::string run_it = "run = [\"${OUT}\", \"hot\", \"300\"]\n";
  const std::string silent = "run = [\"${OUT}\", \"silent\", \"300\"]\n";
  const int id = run(plan("[[benchmark]]\nname = \"plain\"\n" + build("") + run_it +
                              "[[benchmark]]\nname = \"fixed\"\n" + build("-g -static") + run_it +
                              "[[benchmark]]\nname = \"silent\"\n" + build() + silent +
                              "[[benchmark]]\nname = \"short\"\n" + build() +
                              "run = [\"${OUT}\", \"hot\", \"1\"]\n",
                          1, "[causal]\nexperiment = \"1min\"\n"));
  const json report =
      json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out, nullptr, false);
  ASSERT_EQ(report["failures"].size(), 4U) << report;
  const std::string failures = report["failures"].dump();
  EXPECT_THAT(failures, HasSubstr("has no debug information; build it with -g"));
  EXPECT_THAT(failures, HasSubstr("is linked statically"));
  EXPECT_THAT(failures, HasSubstr("no progress point was visited"));
  EXPECT_THAT(failures, HasSubstr("no performance experiment ended"));
  EXPECT_EQ(report["causal"].size(), 0U);
  EXPECT_THAT(report["answer"].get<std::string>(), HasSubstr("see the failures"));
}

// Each run is one experiment, whose arrivals save far more time than it lasts.
TEST_F(CausalPlan, PausesThatTakeAllTheTimeAreTheReason) {
  const int id = run(plan(
      "[[benchmark]]\nname = \"b\"\n" + build() + "run = [\"${OUT}\", \"arrive\", \"20\"]\n", 1,
      "[causal]\nend_to_end = true\narrival_speedup = \"10s\"\nline = \"" + line_of("hot") +
          "\"\n"));
  const json report =
      json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out, nullptr, false);
  ASSERT_EQ(report["failures"].size(), 1U) << report;
  const std::string failures = report["failures"].dump();
  EXPECT_THAT(failures, HasSubstr("pauses filled the trial's"));
  EXPECT_THAT(failures, HasSubstr("'causal.arrival_speedup'"));
  EXPECT_THAT(failures, Not(HasSubstr("no performance experiment ended")));
}

TEST_F(CausalPlan, LinesOfFunctionsThatMoveAreTheirs) {
  const std::string szc = "build = \"${CC} -g -O1 -I " STAB_SOURCE_DIR
                          "/runtime -o ${OUT} subject.c\"\nsources = [\"subject.c\"]\n";
  const int id = run("[variables]\nCC = \"szc\"\n" +
                     plan("[[benchmark]]\nname = \"b\"\n" + szc +
                              "run = [\"${OUT}\", \"both\", \"12000\"]\n[randomize]\ncode = true\n"
                              "rerandomize = \"repeated\"\nperiod = \"20ms\"\nbudget = \"off\"\n",
                          3));
  const std::string number = std::to_string(id);
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", number}).out;
  const json rows = json::parse(lab_.ctl({"export", number, "--format", "json"}).out);
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    EXPECT_EQ(row["status"], "ok") << row["reason"];
    EXPECT_GT(row["moved_functions"], 1);
    EXPECT_GT(row["epochs"], 3);
  }
  // Each takes half of the time: samples choose both, and see both in experiments. The program runs
  // so long that timers, which miss it where the CPUs are shared, see enough of it, too.
  for (const char* mark : {"hot", "cold"})
    EXPECT_EQ(ask("SELECT count(*) > 5 AND sum(line_samples) > 50 FROM causal_experiment WHERE "
                  "line = '" +
                  line_of(mark) + "'"),
              "1")
        << mark;
  // Few samples are between two calls of them.
  EXPECT_EQ(ask("SELECT 10 * sum(line NOT IN ('" + line_of("hot") + "', '" + line_of("cold") +
                "')) < count(*) FROM causal_experiment"),
            "1");
}

TEST_F(CausalPlan, ThePlansRunsAreOneProfileOfCoz) {
  const int id = run(plan(
      "[[benchmark]]\nname = \"b\"\n" + build() + "run = [\"${OUT}\", \"both\", \"2000\"]\n", 5));
  const std::string number = std::to_string(id);
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", number}).out;
  const Output written =
      lab_.ctl({"export", number, "--format", "coz", "-o", lab_.path("all.coz")});
  ASSERT_EQ(written.code, 0) << written.err;
  const json stored = json::parse(lab_.ctl({"report", number, "--json"}).out)["causal"][0];
  const json read = json::parse(lab_.ctl({"causal", "--json", "--read", lab_.path("all.coz")}).out);
  for (const char* same : {"runs", "experiments"}) EXPECT_EQ(read[same], stored[same]) << same;
  EXPECT_NEAR(read["hours"], stored["hours"], 1e-9);
  const auto samples_of = [](const json& profile) {
    std::map<std::string, int> samples;
    for (const json& line : profile["points"][0]["lines"]) samples[line["line"]] = line["samples"];
    return samples;
  };
  EXPECT_GE(samples_of(read).size(), 2U);
  EXPECT_EQ(samples_of(read), samples_of(stored));
}

TEST_F(CausalPlan, OfEachTwoRunsOneIsAtTheSpeedup) {
  const int id = run(plan(
      "[[benchmark]]\nname = \"b\"\n" + build() + "run = [\"${OUT}\", \"silent\", \"300\"]\n", 4,
      "[causal]\nend_to_end = true\nspeedup = \"25%\"\nline = \"" + line_of("hot") + "\"\n"));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", std::to_string(id)}).out;
  EXPECT_EQ(ask("SELECT group_concat(n) FROM (SELECT count(*) AS n FROM causal_experiment GROUP BY "
                "speedup ORDER BY speedup)"),
            "\"2,2\"");
  EXPECT_EQ(ask("SELECT count(DISTINCT t.block / 2) FROM causal_experiment c JOIN trial t ON "
                "t.id = c.trial WHERE c.speedup = 0.25"),
            "2");
  EXPECT_EQ(ask("SELECT DISTINCT point FROM causal_visit"), "\"end to end\"");
}

TEST_F(CausalPlan, AKilledDaemonGoesOnAndEachTrialHasItsExperimentsOnce) {
  lab_.write("plan.toml", plan("[[benchmark]]\nname = \"b\"\n" + build() +
                                   "run = [\"${OUT}\", \"hot\", \"3000\"]\n",
                               6));
  const int id = lab_.submit("plan.toml");
  ASSERT_GT(id, 0);
  for (int i = 0; i < 600 && ask("SELECT count(*) >= 2 FROM trial") != "1"; ++i)
    run_program({"/bin/sleep", "0.1"}, "/");
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  ASSERT_EQ(lab_.state(id), "done");
  EXPECT_EQ(ask("SELECT count(*) FROM trial"), "6");
  EXPECT_EQ(ask("SELECT count(DISTINCT trial) FROM causal_experiment"), "6");
  EXPECT_EQ(ask("SELECT count(*) - count(DISTINCT trial || ' ' || ordinal) FROM "
                "causal_experiment"),
            "0");
}

TEST_F(CausalPlan, AChangeIsMeasuredBesideWhatWasPredicted) {
  ASSERT_TRUE(own_state_folder(lab_.path("default")));
  const int id = run(
      plan("[[benchmark]]\nname = \"b\"\n" + build() + "run = [\"${OUT}\", \"hot\", \"3000\"]\n", 5,
           "[causal]\nexperiment = \"10ms\"\nline = \"" + line_of("hot") + "\"\n"));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"logs", std::to_string(id)}).out;
  // The line is all that the program does, and then does a quarter less of it.
  lab_.write("change.toml",
             "[experiment]\nname = \"change\"\n[defaults]\nrepetitions = 8\n"
             "[[benchmark]]\nname = \"b\"\n" +
                 build() +
                 "run = [\"${OUT}\", \"hot\", \"${TIMES}\"]\n[factor.version]\n"
                 "levels = { old = { TIMES = \"2000\" }, new = { TIMES = \"1500\" } }\n");
  const std::vector<std::string> words{
      "causal", "verify", std::to_string(id), lab_.path("change.toml"), "--line", line_of("hot")};
  const Output said = lab_.ctl(words);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out,
              StartsWith("Prediction: 25 % less time in " + line_of("hot") + " would save "));
  EXPECT_THAT(said.out, HasSubstr("of the time per visit. Measurement: with version=new instead "
                                  "of version=old, the program saved "));
  EXPECT_THAT(said.out, HasSubstr("of wall. Conclusion: the change had "));

  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const json made = json::parse(lab_.ctl(as_json).out, nullptr, false);
  ASSERT_TRUE(made.is_object());
  EXPECT_EQ(made["line"], line_of("hot"));
  EXPECT_EQ(made["speedup"], 0.25);
  EXPECT_LT(made["measured"]["low"], made["measured"]["value"]);
  EXPECT_LT(made["predicted"]["low"], made["predicted"]["value"]);

  EXPECT_THAT(lab_.ctl({"causal", "verify", "99", lab_.path("change.toml")}).err, HasSubstr("99"));
  std::vector<std::string> other = words;
  other.back() = "none.c:1";
  EXPECT_THAT(lab_.ctl(other).err, HasSubstr("the profile has no result for none.c:1"));
  other.insert(other.end(), {"--state", lab_.path("state")});
  EXPECT_THAT(lab_.ctl(other).err, HasSubstr("the profile has no result for none.c:1"));
  drop_state_folder();
}

TEST_F(CausalPlan, ACheckSaysWhatTrialsAre) {
  lab_.write("plan.toml", plan("[[benchmark]]\nname = \"b\"\nrun = [\"/bin/true\"]\n", 5));
  const Output checked = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("each trial runs under the profiler and takes longer because "
                                     "of virtual pauses; each experiment lasts 10 ms or more"));
  EXPECT_THAT(checked.out, Not(HasSubstr("model")));
}

}  // namespace
}  // namespace stab::test
