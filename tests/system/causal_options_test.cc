// SPDX-License-Identifier: MIT
// Each option of 'stabctl causal -- PROGRAM', and each kind of program that cannot be profiled, as
// doc/causal.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "stats/causal/coz.h"
#include "stats/causal/profile.h"
#include "tests/system/causal_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using stats::causal::Profile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class CausalOptionsTest : public CausalSubjectTest {
 protected:
  // What such a run leaves in its --coz.
  Profile profile_of(Words options, const Words& command) const {
    options.insert(options.end(), {"--coz", lab_.path("p.coz")});
    const Output made = run(options, command);
    EXPECT_EQ(made.code, 0) << made.err;
    Profile profile;
    const auto read = stats::causal::read_coz(text_of(lab_.path("p.coz")), profile);
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    said_ = made.err;
    return profile;
  }
  static std::vector<unsigned> speedups(const stats::causal::Run& run) {
    std::vector<unsigned> all;
    for (const auto& each : run.experiments) all.push_back(each.speedup);
    return all;
  }

  mutable std::string said_;
};

// The names "--x" that stand behind the mark in the text.
std::set<std::string> options_in(const std::string& text, const std::string& mark) {
  std::set<std::string> found;
  for (std::size_t at = 0; (at = text.find(mark + "--", at)) != std::string::npos; ++at) {
    const std::size_t from = at + mark.size();
    found.insert(
        text.substr(from, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", from) - from));
  }
  return found;
}

TEST_F(CausalOptionsTest, TheDocumentHasEachOptionAndNoOther) {
  std::set<std::string> there = options_in(lab_.ctl({"causal", "--help"}).out, "\n  ");
  there.merge(options_in(lab_.ctl({"causal", "verify", "--help"}).out, "\n  "));
  EXPECT_THAT(there, SizeIs(Gt(14U)));
  EXPECT_EQ(options_in(text_of(STAB_SOURCE_DIR "/doc/causal.md"), "`"), there);
}

TEST_F(CausalOptionsTest, VerifyRefusesOptionsOfCausalThatHaveNoEffect) {
  const Words verify{"verify", "3", lab_.path("change.toml")};
  for (const Words& unused :
       {Words{"--output", "f"}, Words{"--alpha", "0.01"}, Words{"--runs", "3"},
        Words{"--scope", "x"}, Words{"--end-to-end"}, Words{"--coz", "f"}}) {
    Words words = verify;
    words.insert(words.end(), unused.begin(), unused.end());
    const Output refused = causal(words);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr(unused[0] + " of 'stabctl causal' has no effect"));
    EXPECT_THAT(refused.err, HasSubstr("'stabctl causal verify --help'"));
  }
  EXPECT_THAT(causal({"verify", "3", lab_.path("change.toml"), "--", "program"}).err,
              HasSubstr("does not take 'program'"));
  EXPECT_THAT(causal({"verify", "3", lab_.path("change.toml"), "--line", "a.c:3", "--json"}).err,
              HasSubstr("change.toml"))
      << "only the plan is missing";
}

TEST_F(CausalOptionsTest, EndToEndARunIsOneExperimentAndItsEndThePoint) {
  const Words command{program(), "silent", "1000"};
  const Profile drawn = profile_of({"--end-to-end", "--runs", "3"}, command);
  ASSERT_EQ(drawn.runs.size(), 3U);
  for (const auto& each : drawn.runs) ASSERT_EQ(each.experiments.size(), 1U);
  ASSERT_EQ(drawn.points.size(), 1U);
  EXPECT_EQ(drawn.points[0].name, "end to end");
  EXPECT_THAT(said_, Not(HasSubstr("No progress point")));
  const Output read = causal({"--json", "--read", lab_.path("p.coz")});
  EXPECT_TRUE(json::parse(read.out)["end_to_end"]) << read.err;
}

TEST_F(CausalOptionsTest, OfEachTwoRunsOneIsAtTheSpeedupAndTwentyAreEnough) {
  const Words options{"--end-to-end", "--speedup", "25%", "--line", line_of("hot"), "--runs", "20"};
  const Profile made = profile_of(options, {program(), "silent", "300"});
  ASSERT_EQ(made.runs.size(), 20U);
  for (std::size_t i = 0; i < made.runs.size(); i += 2) {
    std::vector<unsigned> pair = speedups(made.runs[i]);
    pair.push_back(speedups(made.runs[i + 1]).at(0));
    EXPECT_THAT(pair, ::testing::UnorderedElementsAre(0U, 250U));
  }
  const Output read = causal({"--json", "--read", lab_.path("p.coz")});
  const json line = json::parse(read.out)["points"][0]["lines"][0];
  EXPECT_NE(line["finding"], "too few") << read.out;
  EXPECT_EQ(line["baselines"], 10);
  EXPECT_EQ(line["sped_up"], 10);
}

TEST_F(CausalOptionsTest, ArrivalsMakeTheirThreadFasterByThatMuch) {
  const std::string hot = line_of("hot");
  const Profile made = profile_of({"--end-to-end", "--line", hot, "--speedup", "10%", "--runs", "2",
                                   "--arrival-speedup", "3ms"},
                                  {program(), "arrive", "100"});
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < made.runs.size(); ++i) {
    const auto& whole = made.runs[i].experiments.at(0);
    if (whole.speedup != 0) continue;
    ++looked_at;
    // "run 1 of 2: 1 experiments, 200 visits in 0.4 s": what passed in the program, from where the
    // experiment begins to where it ends, to a tenth of a second.
    const std::string line = "run " + std::to_string(i + 1) + " of 2: ";
    const std::string rest = said_.substr(said_.find(line));
    const double passed = std::stod(rest.substr(rest.find(" visits in ") + 11));
    EXPECT_NEAR(passed - static_cast<double>(whole.effective_ns) / 1e9, 100 * 0.003, 0.06) << said_;
  }
  EXPECT_EQ(looked_at, 1U);
}

TEST_F(CausalOptionsTest, SamplesOfALineMayStandForProgress) {
  const Profile made =
      profile_of({"--progress", line_of("cold"), "--runs", "1"}, {program(), "both", "3000"});
  const auto at = std::ranges::find_if(
      made.points, [](const auto& point) { return point.name.ends_with("/" + line_of("cold")); });
  ASSERT_NE(at, made.points.end());
  EXPECT_EQ(at->kind, stats::causal::PointKind::throughput);
  const Output silent =
      run({"--progress", line_of("cold"), "--runs", "1", "--line", line_of("hot")},
          {program(), "silent", "3000"});
  EXPECT_EQ(silent.code, 1);
  EXPECT_THAT(silent.err, HasSubstr("No progress point was visited")) << "it never runs";
}

TEST_F(CausalOptionsTest, NoOtherLineIsTried) {
  const Words command{program(), "both", "2000"};
  const Profile one = profile_of({"--runs", "1", "--line", line_of("cold")}, command);
  ASSERT_FALSE(one.runs.at(0).experiments.empty());
  for (const auto& each : one.runs[0].experiments)
    EXPECT_THAT(one.lines[each.line], EndsWith("/" + line_of("cold")));
}

// Each of two lines is all of one half. Under speedups much more work is done in a time.
TEST_F(CausalOptionsTest, ALineOfOnePhaseIsOfThatPartOfTheProgram) {
  const Output made = run({"--runs", "2", "--json"}, {program(), "phases", "30000"});
  ASSERT_EQ(made.code, 0) << made.err;
  const json object = json::parse(made.out);
  // A sample may be between two calls, and a run may stand still for seconds in one phase.
  double both = 0;
  for (const json& line : object.at("points").at(0).at("lines"))
    for (const char* mark : {"hot", "cold"})
      if (line["line"].get<std::string>().ends_with("/" + line_of(mark)))
        both += line["phase"].get<double>();
  EXPECT_GT(both, 0.5) << object;
  EXPECT_LT(both, 1.5) << object;
}

TEST_F(CausalOptionsTest, LinesOfALibraryAreLookedAtBesideTheProgram) {
  lab_.write("library.c",
             "void library_works(void) {\n"
             "  for (long i = 300000; i > 0; --i) __asm__ volatile(\"\" : \"+r\"(i));\n"
             "}\n");
  compile("libworks.so", "clang-22 -g -shared -fPIC " + lab_.path("library.c"));
  const std::string path = compile("with", "clang-22 -g -DWITH_LIBRARY " + subject +
                                               " -L. -lworks" + " -Wl,-rpath," + lab_.folder());
  const Words rest{"--runs",       "1",    "--scope", "*/library.c",
                   "--experiment", "20ms", "--coz",   lab_.path("p.coz"),
                   "--",           path,   "both",    "2000"};
  Words with{"--binary", lab_.path("libworks*")};
  with.insert(with.end(), rest.begin(), rest.end());
  const Output made = causal(with);
  ASSERT_EQ(made.code, 0) << made.err;
  Profile profile;
  ASSERT_TRUE(stats::causal::read_coz(text_of(lab_.path("p.coz")), profile));
  // And only they are in scope.
  EXPECT_THAT(profile.lines, ::testing::Each(HasSubstr("/library.c:")));
  EXPECT_THAT(profile.lines, Contains(EndsWith("/library.c:2")));
  const Output without = causal(rest);
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr("is in scope")) << "the program alone has none of its lines";
}

// Where a line is all of the time, experiments at 100 % have no effective time and are left out.
TEST_F(CausalOptionsTest, TheSeedDecidesAboutSpeedups) {
  const std::string path = program();
  const auto drawn = [&](const char* seed) {
    const Profile made = profile_of({"--runs", "2", "--seed", seed, "--line", line_of("hot")},
                                    {path, "both", "3000"});
    EXPECT_EQ(made.runs.size(), 2U);
    std::vector<std::vector<unsigned>> all;
    for (const auto& each : made.runs) all.push_back(speedups(each));
    return all;
  };
  const auto first = drawn("1");
  const auto again = drawn("1");
  const auto other = drawn("2");
  // How many experiments there is room for differs from run to run.
  const auto begin_alike = [](const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
    const std::size_t common = std::min(a.size(), b.size());
    EXPECT_GE(common, 2U);
    return std::equal(a.begin(), a.begin() + static_cast<long>(common), b.begin());
  };
  for (const std::size_t i : {0U, 1U}) EXPECT_TRUE(begin_alike(first[i], again[i])) << i;
  EXPECT_FALSE(begin_alike(first[0], other[0]) && begin_alike(first[1], other[1]));
  EXPECT_FALSE(begin_alike(first[0], first[1])) << "each run has its own";
}

// How often others took the CPU from our children, and theirs, that have ended.
long preempted() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return usage.ru_nivcsw;
}

TEST_F(CausalOptionsTest, ASampleIsTakenAfterSoMuchCpuTime) {
  const std::string path = program();
  const long before = preempted();
  const auto samples = [&](const char* period) {
    const Profile made = profile_of({"--end-to-end", "--runs", "1", "--line", line_of("hot"),
                                     "--speedup", "5%", "--sample-period", period},
                                    {path, "silent", "5000"});
    std::uint64_t all = 0;
    for (const auto& each : made.runs.at(0).samples) all += each.count;
    return all;
  };
  // Timers of some kernels are as coarse as 4 ms.
  const std::uint64_t many = samples("1ms");
  const bool has_timer = said_.contains("taken by a timer");
  const std::uint64_t few = samples("40ms");
  // A timer goes off at the kernel's ticks alone. Two runs of half a second of CPU time and more.
  if (has_timer && preempted() - before > 100) GTEST_SKIP() << "the CPUs are shared";
  EXPECT_GT(few, 0U);
  EXPECT_GT(many, 3 * few);
}

TEST_F(CausalOptionsTest, TheAnswerFollowsTheProgramsOutputOrGoesToAFile) {
  const Words command{program(), "environment", "5000"};
  const Output made = run({"--runs", "1", "--output", lab_.path("answer")}, command);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, EndsWith("/libstabcausal.so\n"));
  EXPECT_THAT(text_of(lab_.path("answer")), HasSubstr("Progress point item: "));
}

TEST_F(CausalOptionsTest, LibrariesThatTheUserPreloadsAreJoined) {
  lab_.write("own.c",
             "#include <unistd.h>\n"
             "__attribute__((constructor)) static void say(void) {\n"
             "  if (write(2, \"mine is here\\n\", 13) < 0) _exit(1);\n"
             "}\n");
  const std::string own = compile("own.so", "clang-22 -shared -fPIC " + lab_.path("own.c"));
  const Output made = run_program(
      {"/bin/sh", "-c",
       "LD_PRELOAD=" + own + " exec " STAB_BIN_DIR "/stabctl causal --runs 1 --experiment 20ms " +
           "--scope '*/causal_subject.c' -- " + program() + " environment 5000"},
      lab_.folder());
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out.substr(0, made.out.find('\n')), EndsWith("/libstabcausal.so:" + own));
  EXPECT_THAT(made.err, HasSubstr("mine is here"));
  EXPECT_THAT(made.err, HasSubstr(" experiments, 5000 visits"));
}

TEST_F(CausalOptionsTest, ProgramsOfSzcWhoseFunctionsMoveHaveTheirLines) {
  const std::string moving = compile("moving", STAB_BIN_DIR "/szc -g " + subject);
  const std::string report = lab_.path("report");
  const Output made = run_program(
      {"/bin/sh", "-c",
       "STABILIZER_OPTIONS=code=1:rerandomize=repeated:period=20ms:budget=off:report=" + report +
           " exec " STAB_BIN_DIR "/stabctl causal --coz p.coz --runs 1 --experiment 20ms "
           "--scope '*/causal_subject.c' -- " +
           moving + " both 3000"},
      lab_.folder());
  ASSERT_EQ(made.code, 0) << made.err;
  Profile profile;
  ASSERT_TRUE(stats::causal::read_coz(text_of(lab_.path("p.coz")), profile));
  EXPECT_THAT(profile.lines, Contains(EndsWith("/" + line_of("hot"))));
  EXPECT_THAT(profile.lines, Contains(EndsWith("/" + line_of("cold"))));
  EXPECT_THAT(made.err, Not(HasSubstr("outside the scope")));
  std::ifstream records(report);
  std::string record;
  while (std::getline(records, record) && !record.starts_with("{\"event\": \"exit\"")) continue;
  ASSERT_TRUE(records);
  EXPECT_THAT(json::parse(record)["epochs"].get<int>(), Gt(3)) << record;
}

}  // namespace
}  // namespace stab::test
