// SPDX-License-Identifier: MIT
#include "client/ab/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing.h"
#include "plan/reading/read_plan.h"
#include "toml/value.h"

namespace stab::client::ab {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::Pair;
using ::testing::StartsWith;

plan::Plan read(const Comparison& comparison) {
  const auto plan = plan::read_plan(plan_of(comparison));
  EXPECT_TRUE(plan) << toml::describe(plan.error(), "plan") << plan_of(comparison);
  return plan ? *plan : plan::Plan();
}

std::vector<plan::Level> levels_of(const plan::Plan& plan) {
  return std::get<plan::FixedLevels>(plan.factors.at(0).levels).levels;
}

Comparison of_commands(const std::vector<std::string>& commands) {
  Comparison comparison;
  comparison.versions = versions_of_commands(commands).value();
  comparison.kind = Kind::commands;
  comparison.margin = "1%";
  comparison.blocks = 100;
  comparison.timeout = std::chrono::seconds(11);
  return comparison;
}

TEST(Versions, AreNamedByWhatTheyRun) {
  const auto versions =
      versions_of_commands({"./run --fast", "run   --fast", "'", std::string(200, 'x')}).value();
  EXPECT_THAT(
      versions,
      ElementsAre(Field(&Version::name, "run-fast"), Field(&Version::name, "run-fast-2"),
                  Field(&Version::name, "version"), Field(&Version::name, std::string(40, 'x'))));
}

TEST(Versions, RevisionsAreNamedWithTheirCommits) {
  const std::string first(40, 'a');
  const std::string second = "b" + std::string(39, 'c');
  const auto versions = versions_of_revisions({{.said = "HEAD^", .commit = first, .folder = "/1"},
                                               {.said = "HEAD", .commit = second, .folder = "/2"},
                                               {.said = "bcc", .commit = second, .folder = "/3"},
                                               {.said = ".", .commit = "", .folder = "/4"}})
                            .value();
  EXPECT_THAT(
      versions,
      ElementsAre(Field(&Version::name, "HEAD-aaaaaaaa"), Field(&Version::name, "HEAD-bccccccc"),
                  Field(&Version::name, "bccccccc"), Field(&Version::name, "working-tree")));
  EXPECT_EQ(versions[0].said, "HEAD^, commit " + first);
  EXPECT_EQ(versions[3].text, "/4");
}

TEST(Versions, OneOrAnEmptyOneIsNotCompared) {
  EXPECT_FALSE(versions_of_commands({"true"}));
  EXPECT_FALSE(versions_of_commands({"true", ""}));
  EXPECT_FALSE(versions_of_programs({"/bin/true", "/bin"}));
  EXPECT_FALSE(versions_of_programs({"/bin/true", "/etc/passwd"}));
}

TEST(Versions, PathsOfProgramsAreOfOneLength) {
  const auto versions = versions_of_programs({"/bin/sh", "/bin/../bin/true"}).value();
  EXPECT_EQ(versions[0].text.size(), versions[1].text.size());
  EXPECT_THAT(versions[0].text, AllOf(StartsWith("///"), EndsWith("/bin/sh")));
  EXPECT_EQ(versions[1].text, "/bin/true");
}

TEST(Versions, ThePlanHasTheirTextsAsTheyAre) {
  const std::vector<std::string> odd = {"echo \"$HOME\" '\\' ${X} $$ \t\n\x7f ü", "echo ]}, # x"};
  const plan::Plan plan = read(of_commands(odd));
  ASSERT_EQ(plan.factors.size(), 2U);
  ASSERT_EQ(levels_of(plan).size(), 2U);
  for (std::size_t i = 0; i < odd.size(); ++i) {
    std::string doubled;
    for (const char c : odd[i]) doubled += c == '$' ? "$$" : std::string(1, c);
    EXPECT_EQ(levels_of(plan)[i].variables.at("VERSION"), doubled);
  }
}

TEST(Versions, StepsStandInThePlanAsTheyAre) {
  Comparison comparison = of_commands({"true", "false"});
  comparison.prepare = "echo \"$HOME\"\t\x01";
  comparison.cleanup = "rm x";
  plan::Plan plan = read(comparison);
  EXPECT_EQ(plan.benchmarks[0].prepare, "echo \"$$HOME\"\t\x01");
  EXPECT_EQ(plan.benchmarks[0].cleanup, "rm x");
  comparison.kind = Kind::folders;
  comparison.cleanup.clear();
  plan = read(comparison);
  EXPECT_EQ(plan.benchmarks[0].prepare, "cd '${VERSION}' || exit\necho \"$$HOME\"\t\x01");
  EXPECT_EQ(plan.benchmarks[0].cleanup, std::nullopt);
}

TEST(Versions, ProgramsOfACommandAreFoundAsAShellFindsThem) {
  const test::Folder files;
  for (const char* name : {"bin/tool", "here/other", "here/tool"}) {
    files.write(name, "#!/bin/sh\n");
    files.make_executable(name);
  }
  files.write("here/out", "");
  Comparison comparison;
  comparison.env["PATH"] = "/nowhere:" + files / "bin";
  EXPECT_THAT(
      programs_in(comparison, "X=1 tool -n 'a b' | ./other >out; sh", files / "here"),
      ElementsAre(Pair("./other", files / "here/./other"), Pair("tool", files / "bin/tool")));
  comparison.env.clear();
  EXPECT_THAT(programs_in(comparison, "$(sh)", "/"), ElementsAre(Pair("sh", EndsWith("/sh"))));
}

// Of shells' own heaps nobody asks.
TEST(Versions, WhatAShellStartsIsPreloadedWhereTheHeapIsRandom) {
  Comparison comparison = of_commands({"a", "b"});
  EXPECT_TRUE(read(comparison).randomize.empty());
  comparison.heap = true;
  comparison.heap_preloads = "/lib/it's.so:/lib/b.so";
  plan::Plan plan = read(comparison);
  EXPECT_TRUE(plan.randomize.contains("heap"));
  EXPECT_EQ(plan.randomize.at("allocator").name, "layer");
  const std::string line =
      "case $$STABILIZER_OPTIONS in *heap=1*) export "
      "LD_PRELOAD='/lib/it'\\''s.so:/lib/b.so'$${LD_PRELOAD:+:$$LD_PRELOAD} ;; esac\n";
  EXPECT_EQ(plan.benchmarks[0].run.back(), line + "${VERSION}");
  comparison.kind = Kind::folders;
  comparison.command = "./x";
  plan = read(comparison);
  EXPECT_EQ(plan.benchmarks[0].run[3], "cd \"$$0\" || exit\n" + line + "./x");
  EXPECT_EQ(plan.benchmarks[0].run[4], "${VERSION}");
}

TEST(Versions, WhatIsAskedForStandsInThePlan) {
  Comparison comparison = of_commands({"a", "b"});
  plan::Plan plan = read(comparison);
  EXPECT_EQ(plan.analysis.response, "wall");
  EXPECT_TRUE(plan.cpu.empty());
  EXPECT_TRUE(plan.benchmarks[0].check.other_exits.empty());
  comparison.response = "page-faults:u";
  comparison.check.exit = 1;
  comparison.check.other_exits = {0, 3};
  comparison.cpu = {1, 3};
  comparison.pads = true;
  plan = read(comparison);
  EXPECT_EQ(plan.analysis.response, "page-faults:u");
  EXPECT_EQ(plan::counter_names(plan), std::vector<std::string>{"page-faults:u"});
  for (const int code : {0, 1, 3}) EXPECT_TRUE(plan.benchmarks[0].check.accepts(code));
  EXPECT_FALSE(plan.benchmarks[0].check.accepts(2));
  EXPECT_EQ(plan.cpu, (std::vector<unsigned>{1, 3}));
  EXPECT_TRUE(plan.randomize.contains("stack"));
  EXPECT_FALSE(plan.randomize.contains("heap"));
  for (const char* response : {"cpu", "max_rss", "region-a-ns", "code-size"}) {
    comparison.response = response;
    EXPECT_EQ(read(comparison).analysis.response, response);
  }
}

TEST(Versions, WhatReportsCannotKnowStandsInThePlan) {
  Comparison comparison = of_commands({"a", "b"});
  plan::Stated stated = read(comparison).stated;
  EXPECT_EQ(stated.compiler + stated.beside + stated.why_no_heap + stated.why_no_stack, "");
  comparison.compiler = "clang 19";
  comparison.heap_cost = report::HeapCost{.change = 0.004, .pairs = 2};
  comparison.why_no_heap = "it needs $HOME \"x\" and ${Y}\n";
  comparison.why_no_pads = std::string(1000, 'x');
  comparison.response = "relative_cpu";
  stated = read(comparison).stated;
  EXPECT_EQ(stated.compiler, "clang 19");
  EXPECT_EQ(stated.beside, "a");
  EXPECT_EQ(stated.heap_cost, "");
  EXPECT_EQ(stated.why_no_heap, "it needs $HOME \"x\" and ${Y} ");
  EXPECT_THAT(stated.why_no_stack, EndsWith("x..."));
  comparison.heap = comparison.pads = true;
  stated = read(comparison).stated;
  EXPECT_EQ(stated.why_no_heap + stated.why_no_stack, "");
  EXPECT_EQ(stated.heap_cost, heap_remark(comparison));
  EXPECT_EQ(stated.heap_cost, "costs +0.4 % of CPU time; 2 pairs of runs");
}

TEST(Versions, WhatRandomHeapBlocksCostIsSaidOnce) {
  Comparison comparison = of_commands({"a", "b"});
  comparison.heap_cost =
      report::HeapCost{.change = 0.004, .low = -0.002, .high = 0.011, .pairs = 12};
  EXPECT_EQ(heap_remark(comparison), "");
  comparison.heap = true;
  const std::string cost =
      "costs +0.4 % of CPU time; 95 % interval -0.2 to +1.1 %, 12 pairs of runs";
  EXPECT_EQ(heap_remark(comparison), cost);
  comparison.heap_changes = {.clause = "a has 9 page faults with the heap layer, 7 without"};
  EXPECT_EQ(heap_remark(comparison),
            cost + "; it changes what is measured: " + comparison.heap_changes.clause);
  comparison.heap_changes = {.clause = "a takes 1.15 times as much CPU time", .is_time = true};
  EXPECT_EQ(heap_remark(comparison),
            "changes what is measured: a takes 1.15 times as much CPU time");
}

TEST(Versions, AControlIsOneMoreLevelUnlessItIsNotWanted) {
  Comparison comparison = of_commands({"a", "a-again", "b"});
  EXPECT_EQ(levels_of(read(comparison)).size(), 3U);
  comparison.control = true;
  EXPECT_EQ(name_of_control(comparison), "a-again+");
  EXPECT_EQ(levels_of(read(comparison)).back().name, "a-again+");
  EXPECT_EQ(read(comparison).analysis.control, "a-again+");
}

TEST(Versions, WhatRandomLayoutsCostIsMeasuredIfWeMakeThem) {
  Comparison comparison = of_commands({"a", "b"});
  EXPECT_FALSE(read(comparison).analysis.cost);
  EXPECT_TRUE(read(comparison).analysis.has_cost) << "it is no default of the plan";
  comparison.cost = true;
  EXPECT_TRUE(read(comparison).analysis.cost);

  EXPECT_FALSE(has_own_layouts(comparison));
  comparison.why_no_pads = "a has no pads";
  EXPECT_TRUE(has_own_layouts(comparison)) << "its functions move";
  comparison.wanted_pads = Pads::never;
  comparison.why_no_pads = "--no-stack";
  EXPECT_FALSE(has_own_layouts(comparison));
  comparison.kind = Kind::folders;
  EXPECT_TRUE(has_own_layouts(comparison)) << "builds use szc";
  comparison.kind = Kind::commands;
  comparison.heap = true;
  EXPECT_TRUE(has_own_layouts(comparison));
  comparison.heap = false;
  comparison.pads = true;
  EXPECT_TRUE(has_own_layouts(comparison));
}

TEST(Versions, AnyNumberOfBlocksMakesAPlan) {
  Comparison comparison = of_commands({"a", "b"});
  comparison.time = std::chrono::seconds(60);
  for (const std::uint64_t blocks : {10U, 11U, 29U, 30U, 31U, 49U, 5000U}) {
    comparison.blocks = blocks;
    const auto design = read(comparison).design;
    EXPECT_EQ(design.stop.has_value(), blocks > 10) << blocks;
    // Nothing ends it before the first ten, whatever they take.
    EXPECT_EQ(design.time.has_value(), blocks > 10) << blocks;
    EXPECT_EQ(design.fewest_blocks().value_or(10), 10U) << blocks;
  }
}

TEST(Versions, ArgumentsAndVariablesStandInThePlan) {
  Comparison comparison;
  comparison.versions = versions_of_programs({"/bin/true", "/bin/false"}).value();
  comparison.arguments = {"--size", "$1 \"x\""};
  comparison.env = {{"PATH", "/a:/b"}, {"COST", "$5"}};
  comparison.margin = "0.5%";
  comparison.blocks = 100;
  comparison.heap = true;
  comparison.timeout = std::chrono::milliseconds(1500);
  const plan::Plan plan = read(comparison);
  EXPECT_THAT(plan.benchmarks[0].run, ElementsAre("${VERSION}", "--size", "$$1 \"x\""));
  EXPECT_EQ(plan.benchmarks[0].env.at("COST"), "$$5");
  EXPECT_EQ(plan.benchmarks[0].timeout, std::chrono::seconds(2));
}

}  // namespace
}  // namespace stab::client::ab
