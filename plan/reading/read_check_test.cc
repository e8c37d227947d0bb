// SPDX-License-Identifier: MIT
// What is wrong between the tables of a plan.
#include <gtest/gtest.h>

#include <string>

#include "plan/reading/read_plan.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

const std::string opt =
    "[factor.opt]\nlevels = { O2 = { CFLAGS = '-O2' }, O3 = { CFLAGS = '-O3' } }\n";
const std::string aslr = "[factor.aslr]\nlevels = [false, true]\n";
const std::string seeds = "[factor.link_order]\nrandom = { seeds = 4, runs = 3 }\n";

// The benchmark's keys from line 5 on.
std::string benchmark(const std::string& lines) {
  return problems_of("[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\n" + lines);
}

// From line 7 on.
std::string more(const std::string& lines) {
  return problems_of(with_build + lines);
}

TEST(ReadPlanNames, EachIsDefined) {
  EXPECT_EQ(benchmark("build = '${CC} ${CFLAG} -o ${OUT}'\nrun = ['${OUT}', '${SIZE}']\n"),
            "p:5:1: 'benchmark.build' uses ${CFLAG}, which is not defined, did you mean 'CFLAGS'?\n"
            "p:6:18: 'benchmark.run' uses ${SIZE}, which is not defined: define it in [variables], "
            "or write "
            "$${SIZE} for the shell's own\n");
  EXPECT_EQ(
      benchmark("run = ['/bin/true']\nenv = { A = '${XYZZY}' }\nstdin = '${XYZZY}'\n"),
      "p:6:9: 'benchmark.env.A' uses ${XYZZY}, which is not defined: define it in [variables], or "
      "write $${XYZZY} for the shell's own\n"
      "p:7:1: 'benchmark.stdin' uses ${XYZZY}, which is not defined: define it in [variables], or "
      "write $${XYZZY} for the shell's own\n");
  EXPECT_EQ(
      benchmark("run = ['/bin/true', '${A}']\n"),
      "p:5:21: 'benchmark.run' uses ${A}, which is not defined: define it in [variables], or write "
      "$${A} for the shell's own\n");
  EXPECT_EQ(
      benchmark("build = 'for i in 1; do echo $i $${i} ${i:-x}; done >${OUT}'\nrun = ['${OUT}']\n"),
      "");
}

TEST(ReadPlanNames, AFactorDefinesItsVariablesEvenWhenItIsWrong) {
  EXPECT_EQ(benchmark("run = ['/bin/true', '${N}']\n[factor.n]\nlevels = { one = { N = '1' } }\n"),
            "p:7:1: 'factor.n.levels' must have 2 to 1000 levels, not 1\n");
}

TEST(ReadPlanNames, ReplacedTextsStayShort) {
  std::string bomb = "run = ['/bin/true'";
  for (int i = 0; i < 30; ++i) bomb += ", '${X}'";
  bomb += "]\n[variables]\nX = '" + std::string(60'000, 'x') + "'\n";
  EXPECT_EQ(benchmark(bomb),
            "p:5:157: 'benchmark.run' is 1080009 bytes long after its variables are replaced, but "
            "at most 1048576 are allowed: shorten it\n");
  EXPECT_EQ(benchmark("build = '${X}${X} >${OUT}'\nrun = ['${OUT}']\n[variables]\nX = '" +
                      std::string(60'000, 'x') + "'\n"),
            "p:5:1: 'benchmark.build' is 120008 bytes long after its variables are replaced, but "
            "at most 65936 are allowed: shorten it\n");
}

TEST(ReadPlanBuilds, WhatRunsIsWhatIsBuilt) {
  EXPECT_EQ(benchmark("run = ['${OUT}']\n"),
            "p:5:8: 'benchmark.run' uses ${OUT}, but the benchmark 'b' has no build: add "
            "benchmark.build, or write the path of an existing file\n");
  EXPECT_EQ(benchmark("run = ['${X}']\n[variables]\nX = '${DIR}/prog'\n"),
            "p:5:8: 'benchmark.run' uses ${DIR}, but the benchmark 'b' has no build: add "
            "benchmark.build, or write the path of an existing file\n");
  EXPECT_EQ(benchmark("build = 'make'\nrun = ['${OUT}']\n"),
            "p:5:1: 'benchmark.build' of 'b' must write the file ${OUT}, or benchmark.run must use "
            "a file in ${DIR}\n");
  EXPECT_EQ(benchmark("build = 'make ${OUT}'\nrun = ['/bin/true']\n"),
            "p:5:1: 'benchmark.build' of 'b' writes ${OUT}, but benchmark.run does not use it\n");
  EXPECT_EQ(benchmark("build = 'make'\nrun = ['${DIR}/prog']\n"), "");
  EXPECT_EQ(
      benchmark("build = 'make ${OUT}'\nrun = ['sh', '-c', 'prog']\nenv = { PATH = '${DIR}' }\n"),
      "");
  EXPECT_EQ(benchmark("run = ['${SRC}/script.sh']\n"), "");
}

TEST(ReadPlanFactors, EachActsOnEachBenchmark) {
  EXPECT_EQ(problems_of(with_build + "[[benchmark]]\nname = 'plain'\nrun = ['/bin/true']\n" + opt),
            "p:10:9: the factor 'opt' has no effect on the benchmark 'plain': use ${CFLAGS} in its "
            "build, run, env, stdin, prepare or cleanup\n");
  EXPECT_EQ(benchmark("run = ['/bin/true']\nstdin = '${CFLAGS}'\n" + opt), "");
  EXPECT_EQ(benchmark("run = ['/bin/true']\nenv.X = '${CFLAGS}'\n" + opt), "");
}

TEST(ReadPlanFactors, LevelsDifferForEachBenchmark) {
  EXPECT_EQ(
      more("[factor.f.levels]\na = { CFLAGS = '1', X = '1' }\nb = { CFLAGS = '1', X = '2' }\n"),
      "p:7:9: the levels 'a' and 'b' of the factor 'f' differ only in variables that the "
      "benchmark 'b' does not use\n");
  EXPECT_EQ(
      more("[factor.f.levels]\na = { CFLAGS = '1', X = '1' }\nb = { CFLAGS = '2', X = '1' }\n"),
      "");
}

TEST(ReadPlanFactors, LinkOrderNeedsTheLinkersFlags) {
  const std::string link_order = "[factor.link_order]\nrandom = { per = 'block' }\n";
  EXPECT_EQ(benchmark("build = 'cc -o ${OUT} b.c'\nrun = ['${OUT}']\n" + link_order),
            "p:5:1: the factor 'link_order' acts through ${LDFLAGS}, which the benchmark 'b' does "
            "not use: add ${LDFLAGS} to the link command in benchmark.build\n");
  EXPECT_EQ(benchmark("run = ['/bin/true', '${LDFLAGS}']\n" + link_order),
            "p:4:1: the factor 'link_order' acts through ${LDFLAGS}, which the benchmark 'b' does "
            "not use: add ${LDFLAGS} to the link command in benchmark.build\n");
}

TEST(ReadPlanDesign, KindsAreKnown) {
  EXPECT_EQ(
      more("[design]\nkind = 'oneway'\n"),
      "p:8:1: 'design.kind' must be \"one-way\" or \"within-subjects\" or \"full-factorial\" or "
      "\"nested\" or \"custom\" or \"fractional\" or \"calibration\" or \"padding-study\" or "
      "\"causal\", not "
      "\"oneway\", did you mean 'one-way'?\n");
}

TEST(ReadPlanDesign, BlocksAreRandomized) {
  EXPECT_EQ(more("[design]\norder = 'sequential'\n"),
            "p:8:1: 'design.order' must be \"randomized-blocks\", not \"sequential\"\n");
  EXPECT_TRUE(
      good_plan(smallest + "[design]\norder = 'randomized-blocks'\n").design.has_idle_order);
  EXPECT_FALSE(good_plan(smallest).design.has_idle_order);
}

TEST(ReadPlanDesign, OneWayHasOneTreatment) {
  EXPECT_EQ(more("[design]\nkind = 'one-way'\n" + opt), "");
  EXPECT_EQ(more("[design]\nkind = 'one-way'\n" + opt + aslr),
            "p:8:1: a one-way design needs exactly one treatment (a factor with two or more fixed "
            "levels), but this plan has 2: aslr, opt\n");
  EXPECT_EQ(more("[design]\nkind = 'one-way'\n"),
            "p:8:1: a one-way design needs exactly one treatment (a factor with two or more fixed "
            "levels), but this plan has 0\n");
}

TEST(ReadPlanDesign, WithinSubjectsHasSubjectsAndATreatment) {
  EXPECT_EQ(more("[design]\nkind = 'within-subjects'\n"),
            "p:8:1: a within-subjects design compares levels across benchmarks and needs at least "
            "two benchmarks, but this plan has 1\np:8:1: a within-subjects design needs at least "
            "one treatment (a factor with two or more fixed levels), but this plan has 0\n");
}

TEST(ReadPlanDesign, NestedHasSeedsAndAtMostOneTreatment) {
  EXPECT_EQ(more("[design]\nkind = 'nested'\n" + opt + seeds), "");
  EXPECT_EQ(more("[design]\nkind = 'nested'\n" + seeds), "");
  EXPECT_EQ(
      more("[design]\nkind = 'nested'\n" + opt),
      "p:8:1: a nested design needs a factor with random = { seeds, runs }, such as link_order\n");
  EXPECT_EQ(more("[design]\nkind = 'nested'\n" + opt + aslr + seeds),
            "p:8:1: a nested design can have at most one treatment (a factor with two or more "
            "fixed levels), but this plan has 2: aslr, opt\n");
  EXPECT_EQ(more(seeds),
            "p:7:9: the factor 'link_order' with random = { seeds, runs } needs design.kind = "
            "\"nested\" or \"padding-study\"\n");
  EXPECT_EQ(more("[design]\nkind = 'nested'\n" + seeds +
                 "[factor.env_bytes]\nrandom = { seeds = 2, runs = 2 }\n"),
            "p:11:9: only one factor can have random = { seeds, runs }, and 'link_order' already "
            "has it\n");
}

TEST(ReadPlanDesign, RunsOfANestedFactorAreTheRepetitions) {
  const std::string nested = "[design]\nkind = 'nested'\n" + seeds;
  EXPECT_EQ(problems_of(with_build + "repetitions = 3\n[defaults]\nrepetitions = 3\n" + nested),
            "p:7:1: leave out 'repetitions': the value of 'runs' in the factor 'link_order' is the "
            "number of repetitions\n"
            "p:9:1: leave out 'repetitions': the value of 'runs' in the factor 'link_order' is the "
            "number of repetitions\n");
  EXPECT_EQ(good_plan(with_build + nested).benchmarks.at(0).repetitions, 3U);
}

TEST(ReadPlanDesign, CellsBelongToCustomDesigns) {
  EXPECT_EQ(
      more("[design]\ncells = [ { opt = 'O2' } ]\n" + opt),
      "p:8:1: 'design.cells' belongs to kind = \"custom\": set this kind, or remove the cells\n");
  EXPECT_EQ(more("[design]\nkind = 'custom'\n" + opt),
            "p:8:1: 'design.cells' is missing: a \"custom\" design lists its cells\n");
  EXPECT_EQ(more("[design]\nkind = 'custom'\ncells = []\n" + opt),
            "p:9:1: 'design.cells' must list 1 to 1000 cells, not 0\n");
  EXPECT_EQ(
      more("[design]\nkind = 'custom'\ncells = [ 'O2', { opt = [] } ]\n" + opt),
      "p:9:11: each item of 'design.cells' must be a table, for example { opt = \"O2\", aslr = "
      "\"true\" }, "
      "not \"O2\"\n"
      "p:9:19: 'design.cells.opt' must be the name of a level, not an array\n");
}

TEST(ReadPlanDesign, CellsNameEveryTreatmentOnce) {
  EXPECT_EQ(
      more("[design]\nkind = 'custom'\ncells = [\n{ opt = 'O2' },\n{ opt = 'O4', aslr = true },\n"
           "{ opt = 'O2', aslr = true, ops = 1 },\n{ opt = 'O3', aslr = true },\n"
           "{ opt = 'O3', aslr = 'true' }]\n" +
           opt + aslr),
      "p:10:1: this cell leaves out 'aslr', but a cell must contain every treatment\np:11:1: this "
      "cell contains the level 'O4', which the factor 'opt' does not have, did you mean "
      "'O2'?\np:12:1: this cell contains 'ops', which is not a treatment of this plan, did you "
      "mean 'opt'?\np:14:1: this cell is listed twice: remove one\n");
  EXPECT_EQ(more("[design]\nkind = 'custom'\ncells = [ { opt = 'O2' } ]\n" + opt),
            "p:10:9: no cell of the design has the level 'O3' of the factor 'opt': use or remove "
            "the level\n");
}

std::string thousand_levels(const std::string& name) {
  std::string text = "[factor." + name + ".levels]\n";
  for (int i = 0; i < 1000; ++i)
    text += "L" + std::to_string(i) + " = { " + name + " = '" + std::to_string(i) + "' }\n";
  return text;
}

TEST(ReadPlanSize, ABillionCellsAreRefusedAtOnce) {
  EXPECT_EQ(benchmark("run = ['/bin/true', '${a} ${b} ${c}']\n" + thousand_levels("a") +
                      thousand_levels("b") + thousand_levels("c")),
            "p:2008:9: the design has 1000 x 1000 x 1000 = 1000000000 cells, but at most 10000 are "
            "allowed: remove levels or factors, or list the cells in a custom design\n");
}

TEST(ReadPlanSize, MoreCellsThanANumberCanHoldAreRefusedToo) {
  std::string text = "run = ['/bin/true', '${a}${b}${c}${d}${e}${f}${g}']\n";
  for (const std::string name : {"a", "b", "c", "d", "e", "f", "g"}) text += thousand_levels(name);
  EXPECT_EQ(benchmark(text),
            "p:6012:9: the design has 1000 x 1000 x 1000 x 1000 x 1000 x 1000 x 1000 = more than "
            "10^19 cells, but at most 10000 are allowed: remove levels or factors, or list the "
            "cells in a custom design\n");
}

TEST(ReadPlanSize, TooManyTrialsAreRefused) {
  EXPECT_EQ(
      benchmark("run = ['/bin/true', '${a}']\n[defaults]\nrepetitions = 1000\nwarmup = 1\n" +
                thousand_levels("a")),
      "p:7:1: the plan has 1001000 trials (1 benchmarks, each with 1000 trials in a block), but at "
      "most 1000000 are allowed: lower the repetitions, or remove levels or benchmarks\n");
  EXPECT_EQ(
      more("[design]\nkind = 'nested'\n[factor.link_order]\nrandom = { seeds = 1001, runs = 1000 "
           "}\n"),
      "p: the plan has 1001000 trials (1 benchmarks, each with 1001 trials in a block), but at "
      "most "
      "1000000 are allowed: lower the repetitions, or remove levels or benchmarks\n");
}

}  // namespace
}  // namespace stab::plan
