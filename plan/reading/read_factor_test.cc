// SPDX-License-Identifier: MIT
// What is wrong in [factor.NAME].
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "plan/reading/read_plan.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

// From line 7 on.
std::string factor(const std::string& lines) {
  return problems_of(with_build + lines);
}

TEST(ReadPlanFactor, NamesFitAFormulaAndAColumn) {
  EXPECT_EQ(factor("[factor.\"a b\"]\nlevels = {}\n"),
            "p:7:9: 'factor.a b' is not a valid name for a factor: use 1 to 64 of the characters "
            "A-Z a-z 0-9 _, not beginning with a digit\n");
  EXPECT_EQ(factor("[factor.block]\nlevels = {}\n"),
            "p:7:9: 'factor.block': results already have a column of that name, so give the factor "
            "another name\n");
  EXPECT_EQ(factor("[factor]\nopt = 3\n"),
            "p:8:1: 'factor.opt' must be a table with levels or random, not 3\n");
}

TEST(ReadPlanFactor, HasTwoLevelsOrMore) {
  EXPECT_EQ(
      factor("[factor.opt]\n"),
      "p:7:1: 'factor.opt.levels' is missing: add two levels or more, for example { O2 = { CFLAGS "
      "= \"-O2\" "
      "}, ... }\n");
  EXPECT_EQ(factor("[factor.opt]\nlevels = { O2 = { CFLAGS = '-O2' } }\n"),
            "p:8:1: 'factor.opt.levels' must have 2 to 1000 levels, not 1\n");
  std::string many = "[factor.opt.levels]\n";
  for (int i = 0; i < 1001; ++i)
    many += "L" + std::to_string(i) + " = { CFLAGS = '" + std::to_string(i) + "' }\n";
  EXPECT_EQ(factor(many), "p:7:13: 'factor.opt.levels' must have 2 to 1000 levels, not 1001\n");
}

TEST(ReadPlanFactor, LevelsAreTablesOfVariables) {
  EXPECT_EQ(factor("[factor.opt]\nlevels = ['-O2', '-O3']\n"),
            "p:8:1: 'factor.opt.levels' must be a table, for example { O2 = { CFLAGS = \"-O2\" }, "
            "... }\n");
  EXPECT_EQ(
      factor("[factor.opt]\nlevels = { O2 = '-O2', O3 = { } }\n"),
      "p:8:12: 'factor.opt.levels.O2' must be a table of variables, for example { CFLAGS = \"-O2\" "
      "}, not "
      "\"-O2\"\n"
      "p:8:24: 'factor.opt.levels.O3' sets no variable: add one that a benchmark uses\n");
  EXPECT_EQ(
      factor("[factor.opt]\nlevels = { 'O 2' = { CFLAGS = '-O2' }, O3 = { CFLAGS = 3 } }\n"),
      "p:8:12: 'factor.opt.levels.O 2' is not a valid name for a level: use 1 to 64 of the "
      "characters A-Z "
      "a-z "
      "0-9 . _ + -\n"
      "p:8:40: 'factor.opt.levels.O3' must set the same variables as the level 'O 2': CFLAGS\n"
      "p:8:47: 'factor.opt.levels.O3.CFLAGS' must be a text of at most 64 KiB without NUL, not "
      "3\n");
  EXPECT_EQ(factor("[factor.opt.levels]\na = { OUT = '1' }\nb = { OUT = '2' }\n"),
            "p:8:7: 'factor.opt.levels.a.OUT' is set by stabd itself: choose another name\n"
            "p:9:7: 'factor.opt.levels.b.OUT' is set by stabd itself: choose another name\n");
}

TEST(ReadPlanFactor, LevelsSetTheSameVariablesToDifferentValues) {
  EXPECT_EQ(
      factor(
          "[factor.opt.levels]\na = { CFLAGS = '1' }\nb = { CFLAG = '2' }\nc = { CFLAGS = '1' }\n"),
      "p:9:1: 'factor.opt.levels.b' must set the same variables as the level 'a': CFLAGS\n"
      "p:10:1: 'factor.opt.levels.c' is the same as the level 'a': change or remove it\n");
}

TEST(ReadPlanFactor, AVariableBelongsToOneFactor) {
  EXPECT_EQ(factor("[factor.y.levels]\na = { CFLAGS = '1' }\nb = { CFLAGS = '2' }\n"
                   "[factor.x.levels]\na = { CFLAGS = '3' }\nb = { CFLAGS = '4' }\n"),
            "p:10:9: 'factor.x' sets CFLAGS, and so does 'factor.y': only one factor may set a "
            "variable\n");
}

TEST(ReadPlanFactor, AMisspeltBuiltInFactorIsRecognized) {
  EXPECT_EQ(
      factor("[factor.env_byte]\nlevels = [0, 100]\n"),
      "p:8:1: 'factor.env_byte.levels' must be a table, for example { O2 = { CFLAGS = \"-O2\" }, "
      "... }, did "
      "you mean 'env_bytes'?\n");
  EXPECT_EQ(
      factor("[factor.linkorder]\nrandom = { per = 'block' }\n"),
      "p:8:1: 'factor.linkorder.random' is only for the built-in factors env_bytes, link_order, "
      "link_padding and layout, did you mean 'link_order'?\n");
}

TEST(ReadPlanFactor, BuiltInLevelsAreBoundedAndDifferent) {
  EXPECT_EQ(
      factor("[factor.env_bytes]\nlevels = [0, 1048577, 0, 'x']\n"),
      "p:8:14: each item of 'factor.env_bytes.levels' must be a whole number of bytes from 0 to "
      "1048576, not 1048577\n"
      "p:8:23: 'factor.env_bytes.levels' has the level 0 twice: remove one\n"
      "p:8:26: each item of 'factor.env_bytes.levels' must be a whole number of bytes from 0 to "
      "1048576, not \"x\"\n");
  EXPECT_EQ(
      factor("[factor.link_order]\nlevels = [0, 2147483648]\n"),
      "p:8:11: each item of 'factor.link_order.levels' must be a seed, a whole number from 1 to "
      "2147483647, not 0\n"
      "p:8:14: each item of 'factor.link_order.levels' must be a seed, a whole number from 1 to "
      "2147483647, not 2147483648\n");
  EXPECT_EQ(factor("[factor.aslr]\nlevels = [0, true]\n"),
            "p:8:11: each item of 'factor.aslr.levels' must be true or false, not 0\n");
  EXPECT_EQ(factor("[factor.aslr]\nlevels = []\n"),
            "p:8:1: 'factor.aslr.levels' must have 1 to 1000 levels, not 0\n");
}

TEST(ReadPlanFactor, OneLevelHoldsABuiltInFactor) {
  const Plan plan = good_plan(with_build + "[factor.env_bytes]\nlevels = [64]\n");
  EXPECT_FALSE(plan.factors.at(0).is_treatment());
}

TEST(ReadPlanFactor, IsFixedOrRandom) {
  EXPECT_EQ(factor("[factor.env_bytes]\n"),
            "p:7:9: 'factor.env_bytes' must have either levels or random\n");
  EXPECT_EQ(factor("[factor.env_bytes]\nlevels = [1]\nrandom = { per = 'block' }\n"),
            "p:7:9: 'factor.env_bytes' must have either levels or random\n");
  EXPECT_EQ(factor("[factor.aslr]\nrandom = { per = 'block' }\n"),
            "p:8:1: 'factor.aslr.random' is not possible: use levels = [false, true]\n");
}

TEST(ReadPlanFactor, RandomIsPerBlockOrSeedsAndRuns) {
  const std::string either =
      "p:8:1: 'factor.link_order.random' must be { per = \"block\" } or { seeds = 10, runs = 3 }\n";
  EXPECT_EQ(factor("[factor.link_order]\nrandom = { }\n"), either);
  EXPECT_EQ(factor("[factor.link_order]\nrandom = { per = 'block', seeds = 2, runs = 2 }\n"),
            either);
  EXPECT_EQ(factor("[factor.link_order]\nrandom = { per = 'trial' }\n"),
            "p:8:12: 'factor.link_order.random.per' must be \"block\", not \"trial\"\n");
  EXPECT_EQ(
      factor("[factor.link_order]\nrandom = { per = 'block', min = 1 }\n"),
      "p:8:27: unknown key 'factor.link_order.random.min': the known keys are per, seeds, runs\n");
  EXPECT_EQ(factor("[factor.link_order]\nrandom = 'block'\n"),
            "p:8:1: 'factor.link_order.random' must be a table, not \"block\"\n");
}

TEST(ReadPlanFactor, BoundsOfRandomBytesMakeAnInterval) {
  EXPECT_EQ(
      factor("[factor.env_bytes]\nrandom = { per = 'block', min = 5000 }\n"),
      "p:8:27: 'factor.env_bytes.random.min' must be below 'factor.env_bytes.random.max', but they "
      "are 5000 and 4096\n");
  EXPECT_EQ(
      factor("[factor.env_bytes]\nrandom = { per = 'block', max = 0 }\n"),
      "p:8:27: 'factor.env_bytes.random.min' must be below 'factor.env_bytes.random.max', but they "
      "are 0 and 0\n");
}

TEST(ReadPlanFactor, SeedsAndRunsAreBounded) {
  EXPECT_EQ(
      factor("[factor.link_order]\nrandom = { seeds = 1, runs = 0 }\n"),
      "p:8:12: 'factor.link_order.random.seeds' must be a whole number from 2 to 100000, not 1\n"
      "p:8:23: 'factor.link_order.random.runs' must be a whole number from 1 to 100000, not 0\n");
  EXPECT_EQ(factor("[factor.link_order]\nrandom = { seeds = 2 }\n"),
            "p:8:10: 'factor.link_order.random.runs' is missing: add how often each seed is run\n");
  EXPECT_EQ(
      factor("[factor.env_bytes]\nrandom = { seeds = 20, runs = 2, min = 1, max = 10 }\n"),
      "p:8:12: 'factor.env_bytes.random.seeds' is 20, but there are only 10 values from 1 to 10\n");
}

std::vector<Level> revisions_of(const std::string& lines) {
  const Plan plan = good_plan(with_build + "[factor.version]\n" + lines);
  return plan.factors.empty() ? std::vector<Level>()
                              : std::get<FixedLevels>(plan.factors.front().levels).levels;
}

TEST(ReadPlanFactor, RevisionsAreLevelsWithNames) {
  const auto levels = revisions_of("revisions = ['v1.0', 'origin/old~2', '.']\n");
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].name, "v1.0");
  EXPECT_EQ(levels[1].name, "origin-old-2");
  EXPECT_EQ(levels[1].revision, "origin/old~2");
  EXPECT_EQ(levels[2].name, "working-tree");
  EXPECT_EQ(levels[2].revision, working_tree);
  const std::string commit(40, 'a');
  const auto named = revisions_of(
      "revisions = { before = 'main', after = '.' }\n[revisions]\nmain = '" + commit + "'\n");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].name, "before");
  EXPECT_EQ(named[0].revision, commit);
}

TEST(ReadPlanFactor, RevisionsThatCannotBeComparedAreProblems) {
  EXPECT_EQ(factor("[factor.v]\nrevisions = ['main']\n"),
            "p:8:1: 'factor.v.revisions' must have 2 to 100 revisions, for example [\"main\", "
            "\".\"], not "
            "1\n");
  EXPECT_EQ(factor("[factor.v]\nrevisions = ['a/b', 'a~b']\n"),
            "p:8:21: 'factor.v.revisions': two levels have the name 'a-b': give them different "
            "names, for example { before = \"main\", after = \".\" }\n");
  EXPECT_EQ(factor("[factor.v]\nrevisions = { a = 'main', b = 'main' }\n"),
            "p:8:27: 'factor.v.revisions': the levels 'a' and 'b' are the same revision: change or "
            "remove one\n");
  const std::string no_revision = factor("[factor.v]\nrevisions = ['-x', 'main']\n");
  EXPECT_TRUE(no_revision.starts_with("p:8:14: each item of 'factor.v.revisions' must be "))
      << no_revision;
  EXPECT_TRUE(no_revision.ends_with("does not begin with -, not \"-x\"\n")) << no_revision;
  EXPECT_EQ(factor("[factor.v]\nrevisions = ['a', 'b']\nlevels = { x = { CFLAGS = '1' } }\n"),
            "p:9:1: 'factor.v.levels' and 'revisions' both define levels: remove one\n");
  EXPECT_EQ(factor("[factor.v]\nrevisions = ['a', 'b']\n[factor.w]\nrevisions = ['c', 'd']\n"),
            "p:10:1: 'factor.w.revisions' is a second list of revisions, but each program is built "
            "from only one revision: remove one of the two lists\n");
  EXPECT_EQ(factor("[factor.aslr]\nrevisions = ['a', 'b']\n"),
            "p:8:1: 'factor.aslr.revisions': a built-in factor cannot have revisions, so give your "
            "factor another name\n");
  EXPECT_EQ(problems_of(smallest + "[factor.v]\nrevisions = ['a', 'b']\n"),
            "p:4:1: the factor 'v' has no effect on the benchmark 'b', which has no build: add "
            "benchmark.build\n");
  EXPECT_EQ(factor("[revisions]\nmain = 'abc'\n"),
            "p:8:1: 'revisions.main' must be the full name of a commit, 40 or 64 of the digits 0-9 "
            "a-f, not \"abc\"\n");
}

TEST(ReadPlanFactor, CellsAndTheControlNameLevelsAsThePlanWritesThem) {
  const std::string by_szc =
      "[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\nbuild = 'szc -o ${OUT} b.c'\n"
      "run = ['${OUT}']\n";
  const std::string custom = by_szc +
                             "[factor.rerandomize]\nlevels = ['once', 'repeated']\n"
                             "[factor.period]\nlevels = ['1s', '2s']\n"
                             "[design]\nkind = 'custom'\n"
                             "cells = [ { rerandomize = 'once', period = '1s' },\n"
                             "{ rerandomize = 'repeated', period = '1000ms' },\n";
  const Plan plan = good_plan(custom + "{ rerandomize = 'repeated', period = '2s' } ]\n");
  ASSERT_EQ(plan.design.cells.size(), 3U);
  EXPECT_EQ(plan.design.cells[0].at("period"), "1000ms");
  EXPECT_EQ(plan.design.cells[1].at("period"), "1000ms");
  EXPECT_EQ(plan.design.cells[2].at("period"), "2000ms");
  EXPECT_NE(problems_of(custom + "{ rerandomize = 'repeated', period = '2s' },\n"
                                 "{ rerandomize = 'repeated', period = '2000ms' } ]\n")
                .find("this cell is listed twice"),
            std::string::npos);
  EXPECT_NE(problems_of(custom + "{ rerandomize = 'repeated', period = '3s' } ]\n")
                .find("this cell contains the level '3000ms', which the factor 'period' does not"),
            std::string::npos);
  EXPECT_EQ(good_plan(by_szc + "[factor.period]\nlevels = ['1s', '2s', '3s']\n"
                               "[design]\nkind = 'one-way'\n[analysis]\ncontrol = '2s'\n")
                .analysis.control,
            "2000ms");
}

TEST(ReadPlanFactor, ThereAreNotTooMany) {
  std::string many;
  for (int i = 0; i < 17; ++i) many += "[factor.f" + std::to_string(i) + "]\n";
  EXPECT_EQ(factor(many), "p:7:2: the plan has 17 factors, but at most 16 are allowed\n");
}

}  // namespace
}  // namespace stab::plan
