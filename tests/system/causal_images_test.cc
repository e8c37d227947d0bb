// SPDX-License-Identifier: MIT
// 'stabctl causal' and what a program's code is made of: libraries that come and go, and debug information
// in files of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "stats/causal/coz.h"
#include "stats/causal/profile.h"
#include "tests/system/causal_testing.h"

namespace stab::test {
namespace {

using stats::causal::Profile;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::string host = STAB_SOURCE_DIR "/tests/system/causal_host.c";
const std::string plugin = STAB_SOURCE_DIR "/tests/system/causal_plugin.c";
constexpr const char* visits = "2000";  // 0.2 s of work

class CausalImagesTest : public CausalSubjectTest {
 protected:
  // FILE of the line with the mark "first" or "again", which lies in a copy of the plugin.
  std::string library(const std::string& compiler, const std::string& name) const {
    const std::string source = lab_.path(name + ".c");
    lab_.write(name + ".c", text_of(plugin));
    return compile(name + ".so", compiler + " -g -shared -fPIC " + source);
  }

  // The lines that the runs of the program sampled, by how often.
  std::map<std::string, std::uint64_t> samples_in_libraries(const Words& command) const {
    Words words{"--runs",
                "1",
                "--scope",
                lab_.folder() + "/*.c",
                "--experiment",
                "20ms",
                "--binary",
                lab_.path("*.so"),
                "--coz",
                lab_.path("p.coz"),
                "--"};
    words.insert(words.end(), command.begin(), command.end());
    const Output made = causal(words);
    EXPECT_EQ(made.code, 0) << made.err;
    said_ = made.err;
    profile_ = {};
    EXPECT_TRUE(stats::causal::read_coz(text_of(lab_.path("p.coz")), profile_));
    std::map<std::string, std::uint64_t> found;
    for (const auto& run : profile_.runs)
      for (const auto& each : run.samples)
        found[profile_.lines[each.line].substr(lab_.folder().size() + 1)] += each.count;
    return found;
  }

  // Experiments with this line.
  std::int64_t experiments(const std::string& line) const {
    return std::ranges::count_if(profile_.runs.at(0).experiments, [&](const auto& each) {
      return profile_.lines[each.line].ends_with("/" + line);
    });
  }

  mutable Profile profile_;
  mutable std::string said_;
};

// The line of the plugin that ends with the mark.
std::string plugin_line(const std::string& name, const std::string& mark) {
  std::istringstream text(text_of(plugin));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number)
    if (line.ends_with("/* " + mark + " */")) return name + ".c:" + std::to_string(number);
  ADD_FAILURE() << "no line is marked " << mark;
  return "";
}

class Compilers : public CausalImagesTest, public ::testing::WithParamInterface<const char*> {};

// Functions of szc's programs move. The second library is loaded where the first one was.
TEST_P(Compilers, LinesOfALibraryThatIsOpenedAgainAreSampledAndChosen) {
  const std::string one = library(GetParam(), "one");
  const std::string two = library(GetParam(), "two");
  const std::string program = compile("host", std::string(GetParam()) + " -g " + host);
  setenv("STABILIZER_OPTIONS", "code=1:rerandomize=repeated:period=20ms:budget=off", 1);
  const auto samples = samples_in_libraries(
      {program, "/", visits, one, "first", two, "first", one, "again", two, "again"});
  unsetenv("STABILIZER_OPTIONS");
  EXPECT_THAT(said_, HasSubstr(" 8000 visits in "));
  for (const char* name : {"one", "two"})
    for (const char* mark : {"first", "again"}) {
      const std::string line = plugin_line(name, mark);
      EXPECT_THAT(samples, ::testing::Contains(Pair(line, Gt(10U))));
      EXPECT_GT(experiments(line), 0) << line;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Compilers, ::testing::Values("clang-22", STAB_BIN_DIR "/szc"),
                         [](const auto& each) {
                           return std::string(each.param).ends_with("szc") ? "szc" : "clang";
                         });

// As servers do that open their plugins by relative names and then go to the root.
TEST_F(CausalImagesTest, ALibraryWithARelativeNameIsKnownFromWhereverTheProgramGoes) {
  library("clang-22", "one");
  const std::string program = compile("host", "clang-22 -g " + host);
  const auto samples =
      samples_in_libraries({program, "/", visits, "./one.so", "first", "./one.so", "again"});
  for (const char* mark : {"first", "again"})
    EXPECT_THAT(samples, ::testing::Contains(Pair(plugin_line("one", mark), Gt(10U))));
}

// The debug information of the subject is in subject.debug, and the subject names it.
TEST_F(CausalImagesTest, DebugInformationMayLieInAFileBesideTheProgram) {
  const std::string path = program();
  const std::string divide =
      "objcopy --only-keep-debug subject subject.debug && strip -g subject && ";
  const Output divided =
      run_program({"/bin/sh", "-c", divide + "objcopy --add-gnu-debuglink=subject.debug subject"},
                  lab_.folder());
  ASSERT_EQ(divided.code, 0) << divided.err;
  const Words options{"--runs", "1", "--line", line_of("hot")};
  const Output made = run(options, {path, "work", "2000"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(line_of("hot")));
  compile("subject.debug", "clang-22 -gdwarf-4 " + subject);
  const Output other = run(options, {path, "work", "1"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr(path + " has no debug information, and the debug file " + path +
                                   ".debug belongs to a different build than " + path +
                                   "; build the program with -g"));
}

TEST_F(CausalImagesTest, DebugInformationIsFoundByTheBuildId) {
  const std::string path = compile("subject", "clang-22 -g -Wl,--build-id=0xabcdef0123 " + subject);
  const auto with_files = [&](const std::string& command) {
    return run_program(
        {"/usr/bin/unshare", "-m", "/bin/sh", "-c", "mount --bind . /usr/lib/debug && " + command},
        lab_.folder());
  };
  if (with_files("true").code != 0) GTEST_SKIP() << "it takes the right to mount";
  const std::string divide =
      "mkdir -p .build-id/ab && strip -g -o stripped subject && "
      "objcopy --only-keep-debug subject .build-id/ab/cdef0123.debug";
  ASSERT_EQ(run_program({"/bin/sh", "-c", divide}, lab_.folder()).code, 0);
  const std::string profile = STAB_BIN_DIR "/stabctl causal --runs 1 --experiment 20ms --line " +
                              line_of("hot") + " -- ./stripped work ";
  const Output made = with_files(profile + "2000");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr(line_of("hot")));
  compile(".build-id/ab/cdef0123.debug", "clang-22 -g -Wl,--build-id=0xabcdef0124 " + subject);
  const Output other = with_files(profile + "1");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(
      other.err,
      HasSubstr("/usr/lib/debug/.build-id/ab/cdef0123.debug belongs to a different build than "));
}

}  // namespace
}  // namespace stab::test
