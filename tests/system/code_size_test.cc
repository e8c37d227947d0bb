// SPDX-License-Identifier: MIT
// What is known of a build as the response: bytes of code, and the CPU time of compiling.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/system/built_program_testing.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* program = R"(
__attribute__((used)) static void filler(void) {
  __asm__ volatile(".fill " FILL ", 1, 0x90");
}
int main(void) { return 0; }
)";

// 50000 bytes more, which no alignment changes.
std::string plan(int blocks, const std::string& more) {
  return fmt::format(
      "[experiment]\nname = \"size\"\nseed = 5\n[defaults]\nrepetitions = {}\n"
      "[[benchmark]]\nname = \"b\"\nbuild = \"${{CC}} -O1 ${{CFLAGS}} ${{LDFLAGS}} -o ${{OUT}} "
      "b.c\"\nsources = [\"b.c\"]\nrun = [\"${{OUT}}\"]\n[factor.big]\nlevels = {{ no = {{ CFLAGS "
      "= \"-DFILL='\\\"1000\\\"'\" }}, yes = {{ CFLAGS = \"-DFILL='\\\"51000\\\"'\" }} }}\n{}",
      blocks, more);
}

std::string response(const std::string& names) {
  return fmt::format("[analysis]\nresponse = {}\n", names);
}

// By the loaded segments that readelf calls executable.
std::int64_t code_by_readelf(const std::string& file) {
  std::istringstream lines(run_program({"/usr/bin/readelf", "-lW", file}, "/").out);
  std::int64_t bytes = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string type;
    std::string offset;
    std::string address;
    std::string physical;
    std::string in_file;
    std::string in_memory;
    words >> type >> offset >> address >> physical >> in_file >> in_memory;
    std::string flags;
    std::getline(words, flags);
    if (type == "LOAD" && flags.contains('E')) bytes += std::stoll(in_memory, nullptr, 16);
  }
  return bytes;
}

// The size of .text, as binutils' `size` has it.
std::int64_t text_by_size(const std::string& file) {
  std::istringstream lines(run_program({"/usr/bin/size", "-A", "-d", file}, "/").out);
  std::string name;
  std::int64_t bytes = 0;
  for (std::string line; std::getline(lines, line);)
    if (std::istringstream words(line); words >> name && name == ".text") words >> bytes;
  return bytes;
}

class CodeSize : public BuiltProgram {
 protected:
  CodeSize() : BuiltProgram(program) {}
  // The numbers that a level's trials have.
  [[nodiscard]] std::set<std::int64_t> numbers(int id, const std::string& factor,
                                               const std::string& level,
                                               const std::string& name) const {
    std::set<std::int64_t> found;
    for (const json& row : lab_.trials(id))
      if (row[factor] == level)
        found.insert(row[name].is_null() ? -1 : row[name].get<std::int64_t>());
    return found;
  }
  [[nodiscard]] std::string program_of(int id, const std::string& level) const {
    for (const json& row : lab_.trials(id))
      if (row["big"] == level)
        return json::parse(lab_.ctl({"replay", std::to_string(id),
                                     std::to_string(row["position"].get<int>()), "--json"})
                               .out)["out"];
    return "";
  }
};

TEST_F(CodeSize, AReportSaysExactlyHowMuchMoreCodeALevelHas) {
  const int id = run(plan(2, response("\"code-size\"")));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  const std::string small = program_of(id, "no");
  const std::string big = program_of(id, "yes");
  const std::int64_t less = code_by_readelf(small);
  const std::int64_t more = code_by_readelf(big);
  ASSERT_GT(less, 1000);
  EXPECT_EQ(more - less, 50'000);
  EXPECT_EQ(text_by_size(big) - text_by_size(small), 50'000);
  EXPECT_EQ(numbers(id, "big", "no", "code-size"), std::set<std::int64_t>{less});
  EXPECT_EQ(numbers(id, "big", "yes", "code-size"), std::set<std::int64_t>{more});

  const double ratio = static_cast<double>(more) / static_cast<double>(less);
  const json effect = report(id)["effects"].at(0);
  EXPECT_EQ(effect["verdict"], "slower") << effect;
  EXPECT_NEAR(effect["ratio"].get<double>(), ratio, 1e-9);
  EXPECT_EQ(effect["exact"], true);
  for (const char* none : {"low", "high", "p", "p_adjusted", "df"})
    EXPECT_EQ(effect[none], nullptr) << none;
  const Output text = lab_.ctl({"report", std::to_string(id)});
  EXPECT_THAT(joined(text.out),
              AllOf(HasSubstr(fmt::format(
                        "big=yes takes {:.0f} % more code than big=no (the change is exact, "
                        "because all trials of a level have the same value)",
                        100 * (ratio - 1))),
                    Not(HasSubstr("cannot tell")), Not(HasSubstr("too few trials"))))
      << text.err;
  EXPECT_EQ(lab_.ctl({"report", std::to_string(id), "--fail-on", "regressed"}).code, 2);

  // Of stored trials anybody may ask, whatever the plan compares; time remains a matter of samples.
  EXPECT_NE(report(id, {"--response", "wall"})["effects"].at(0)["exact"], true);
  const json other = run(plan(2, "")) > id ? report(id + 1, {"--response", "code-size"}) : json();
  EXPECT_NEAR(other["effects"].at(0)["ratio"].get<double>(), ratio, 1e-9);

  const auto history = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"history", "b", "--response", "code-size"});
    return lab_.ctl(more);
  };
  EXPECT_THAT(history({}).out, Not(HasSubstr("---- change")));

  // A size does not vary between sessions either.
  std::string grown = plan(2, "");
  grown.replace(grown.find("1000"), 4, "17000");
  const std::string third = std::to_string(run(grown));
  const json compared = json::parse(
      lab_.ctl({"compare", std::to_string(id), third, "--response", "code-size", "--json"}).out);
  ASSERT_EQ(compared["effects"].size(), 2U) << compared;
  EXPECT_THAT(
      history({}).out,
      AllOf(HasSubstr(fmt::format(" as much from experiment {} on, worse (exactly)", third)),
            HasSubstr(fmt::format(" {} B ", less + 16'000)), Not(HasSubstr("too short"))));
  EXPECT_EQ(json::parse(history({"--json"}).out)["series"].at(0)["exact"], true);
  for (const json& each : compared["effects"]) {
    const bool has_grown = each["benchmark"].get<std::string>().contains("big=no");
    EXPECT_NEAR(each["ratio"].get<double>(),
                has_grown ? static_cast<double>(less + 16'000) / static_cast<double>(less) : 1,
                1e-9);
    EXPECT_EQ(each["verdict"], has_grown ? "slower" : "same") << each;
  }
}

TEST_F(CodeSize, CompileTimeIsOneSampleABuildHoweverManyTrialsItHas) {
  const int id = run(plan(6, response("[\"wall\", \"compile-time\"]")));
  ASSERT_EQ(lab_.state(id), "done");
  const auto no = numbers(id, "big", "no", "compile-time");
  ASSERT_EQ(no.size(), 1U);
  EXPECT_GT(*no.begin(), 0);
  const json other = report(id)["responses"].at(0);
  EXPECT_EQ(other["response"], "compile-time");
  const json effect = other["effects"].at(0);
  EXPECT_EQ(effect["verdict"], "unsure") << effect;
  EXPECT_TRUE(effect["ratio"].is_number());
  for (const char* none : {"low", "high", "p", "p_adjusted", "df"})
    EXPECT_EQ(effect[none], nullptr) << none;
  EXPECT_THAT(effect["reason"].get<std::string>(), HasSubstr("each level was built once"));
  const Output text =
      lab_.ctl({"report", std::to_string(id), "--response", "compile-time", "--full"});
  EXPECT_THAT(joined(text.out),
              AllOf(HasSubstr("no verdict on big=yes against big=no"),
                    HasSubstr("all trials of a build share that value"), Not(HasSubstr("p = "))))
      << text.err;

  // The time of a build that comes from the cache is that of when it was made.
  const int again = run(plan(3, response("[\"wall\", \"compile-time\"]")));
  for (const char* level : {"no", "yes"})
    EXPECT_EQ(numbers(again, "big", level, "compile-time"),
              numbers(id, "big", level, "compile-time"));
}

TEST_F(CodeSize, BuildsOfTheirOwnInEachBlockAreSamplesOfCompileTime) {
  const int id = run(plan(
      5, "[factor.link_order]\nrandom = { per = \"block\" }\n" + response("\"compile-time\"")));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  EXPECT_EQ(numbers(id, "big", "no", "compile-time").size(), 5U);
  const json effect = report(id)["effects"].at(0);
  EXPECT_EQ(effect["units"], 5) << effect;
  EXPECT_EQ(effect["df"], 4);
  EXPECT_TRUE(effect["p"].is_number());
  EXPECT_EQ(effect["reason"], nullptr);
}

TEST_F(CodeSize, OneBuildOfManyIsNotExact) {
  const int id = run(
      plan(1, "[factor.link_order]\nrandom = { per = \"block\" }\n" + response("\"code-size\"")));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  const json effect = report(id)["effects"].at(0);
  EXPECT_EQ(effect["exact"], false) << effect;
  EXPECT_EQ(effect["verdict"], "unsure");
  EXPECT_GT(effect["ratio"].get<double>(), 1);
  EXPECT_THAT(joined(lab_.ctl({"report", std::to_string(id), "--full"}).out),
              AllOf(HasSubstr("no verdict on big=yes against big=no"), Not(HasSubstr("exact,")),
                    HasSubstr("Use five blocks or seeds ('repetitions'), or a plan without")));
  // The builds of another experiment are others.
  const int fixed = run(plan(1, response("\"code-size\"")));
  EXPECT_EQ(report(fixed)["effects"].at(0)["exact"], true);
  const json compared =
      json::parse(lab_.ctl({"compare", std::to_string(id), std::to_string(fixed), "--json"}).out);
  ASSERT_EQ(compared["effects"].size(), 2U) << compared;
  for (const json& each : compared["effects"]) EXPECT_EQ(each["exact"], false) << each;
}

TEST_F(CodeSize, OfProgramsThatNobodyBuildsItIsThatOfTheFirstWord) {
  lab_.write("shell.sh", "#!/bin/sh\nexit 0\n", true);
  const std::string head =
      "[experiment]\nname = \"found\"\n[defaults]\nrepetitions = 2\n"
      "[[benchmark]]\nname = \"b\"\nrun = [\"${P}\"]\n";
  const std::string levels =
      "[factor.version]\nlevels = { a = { P = \"/bin/true\" }, b = { P = \"/bin/ls\" } }\n";
  const int id = run(head + levels + response("\"code-size\""));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  EXPECT_EQ(numbers(id, "version", "a", "code-size"), std::set{code_by_readelf("/bin/true")});
  EXPECT_EQ(numbers(id, "version", "b", "code-size"), std::set{code_by_readelf("/bin/ls")});

  const int script =
      run(head +
          "[factor.version]\nlevels = { a = { P = \"./shell.sh\" }, b = { P = \"/bin/sh\" } }\n" +
          response("\"code-size\""));
  std::map<std::string, std::string> reasons;
  for (const json& row : lab_.trials(script)) {
    EXPECT_EQ(row["status"], "not_measured");
    reasons[row["version"]] = row["reason"];
  }
  EXPECT_THAT(reasons["a"], HasSubstr("the file is not a 64-bit ELF program"));
  EXPECT_THAT(
      reasons["b"],
      HasSubstr("the trial runs sh, and stabd cannot tell which program this command starts"));

  lab_.write("plan.toml", head + levels + response("\"compile-time\""));
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).err,
              HasSubstr("needs 'compile-time', but benchmark 'b' has no 'build'"));
}

}  // namespace
}  // namespace stab::test
