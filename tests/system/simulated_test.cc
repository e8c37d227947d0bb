// SPDX-License-Identifier: MIT
// Experiments whose trials run under valgrind's cachegrind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/system/built_program_testing.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Eight instructions a turn. The heap is walked in the order of the keys.
constexpr const char* program = R"(
#include <stdio.h>
#include <stdlib.h>
#include <stabilizer.h>
struct node { struct node *left, *right; unsigned key; };
static struct node *insert(struct node *tree, unsigned key) {
  if (tree == NULL) {
    tree = malloc(sizeof *tree);
    tree->left = tree->right = NULL;
    tree->key = key;
  } else if (key < tree->key) {
    tree->left = insert(tree->left, key);
  } else {
    tree->right = insert(tree->right, key);
  }
  return tree;
}
static unsigned long sum(const struct node *tree) {
  return tree == NULL ? 0 : tree->key + sum(tree->left) + sum(tree->right);
}
int main(void) {
  unsigned long turns = TURNS;
  __asm__ volatile("1: add $1, %%rax\n add $1, %%rax\n add $1, %%rax\n add $1, %%rax\n"
                   "add $1, %%rax\n add $1, %%rax\n dec %0\n jnz 1b"
                   : "+r"(turns) : : "rax", "cc");
  STAB_BEGIN_REGION("tree");
  struct node *tree = NULL;
  unsigned key = 7;
  for (int i = 0; i < 3000; ++i) tree = insert(tree, key = key * 1664525u + 1013904223u);
  STAB_END_REGION("tree");
  printf("ops=4\n%lu\n", sum(tree));
  return 0;
}
)";

std::string plan(const std::string& compiler, int blocks, const std::string& more) {
  return "[experiment]\nname = \"simulated\"\nseed = 3\n[variables]\nCC = \"" + compiler +
         "\"\n[defaults]\ncpu_limit = \"50s\"\nrepetitions = " + std::to_string(blocks) +
         "\n[[benchmark]]\nname = \"b\"\nbuild = \"${CC} -O1 -I" STAB_BIN_DIR
         "/../include ${CFLAGS} -o ${OUT} b.c\"\nsources = [\"b.c\"]\nrun = [\"${OUT}\"]\n"
         "[factor.turns]\nlevels = { few = { CFLAGS = \"-DTURNS=100000\" }, many = { CFLAGS = "
         "\"-DTURNS=200000\" } }\n" +
         more;
}

const std::string simulate =
    "[measure]\nsimulate = true\n[analysis]\nresponse = \"simulated-instructions\"\n";

const std::array<const char*, 7> times{"wall_ns",  "user_ns",   "system_ns",      "max_rss_bytes",
                                       "setup_ns", "region_ns", "main_to_exit_ns"};

class Simulated : public BuiltProgram {
 protected:
  Simulated() : BuiltProgram(program) {}
};

TEST_F(Simulated, InstructionsAreCountedExactlyAndNothingIsTimed) {
  const int id = run(plan("clang-22", 5,
                          "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\d+)'\n"
                          "[measure.derived]\nper_op = \"'simulated-instructions' / ops\"\n" +
                              simulate));
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  std::map<std::string, std::set<std::int64_t>> counts;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    for (const char* time : times) EXPECT_EQ(row[time], nullptr) << time;
    const auto instructions = row["simulated-instructions"].get<std::int64_t>();
    counts[row["turns"]].insert(instructions);
    EXPECT_DOUBLE_EQ(row["per_op"].get<double>(), static_cast<double>(instructions) / 4);
    for (const char* name :
         {"simulated-data-accesses", "simulated-branches", "simulated-i1-misses",
          "simulated-d1-misses", "simulated-ll-misses", "simulated-branch-misses"})
      EXPECT_GT(row[name].get<std::int64_t>(), 0) << name;
    EXPECT_FALSE(row.contains("page-faults-minor"));
    EXPECT_FALSE(row.contains("spawn-ns"));
  }
  ASSERT_THAT(counts["few"], SizeIs(1));
  ASSERT_THAT(counts["many"], SizeIs(1));
  const std::int64_t more = *counts["many"].begin() - *counts["few"].begin();
  EXPECT_NEAR(static_cast<double>(more), 8 * 100'000, 50);

  const json document = report(id);
  EXPECT_EQ(document["simulated"], true);
  EXPECT_THAT(document["versions"].get<std::string>(), HasSubstr("; simulated by valgrind-3."));
  EXPECT_EQ(document["effects"].at(0)["verdict"], "slower");
  EXPECT_EQ(document["measures"].at(0)["name"], "simulated-instructions");
  const Output text = lab_.ctl({"report", std::to_string(id)});
  EXPECT_THAT(text.out, HasSubstr("Simulated every trial ran under valgrind's cachegrind"));
  // The limits are the simulator's, and it is replayed by itself.
  const json replay =
      json::parse(lab_.ctl({"replay", std::to_string(id), "0", "--json"}).out)["run"];
  EXPECT_EQ(replay["timeout_ns"], std::int64_t{100} * 60'000'000'000) << replay;
  EXPECT_EQ(replay["cpu_limit_ns"], std::int64_t{100} * 50'000'000'000);
  const Output replayed = lab_.ctl({"replay", std::to_string(id), "0", "--print"});
  EXPECT_EQ(replayed.code, 0) << replayed.err;
  EXPECT_THAT(replayed.out, Not(HasSubstr("valgrind")));
  const Output wall = lab_.ctl({"report", std::to_string(id), "--response", "wall"});
  EXPECT_EQ(wall.code, 1);
  EXPECT_THAT(wall.err, HasSubstr("ran under a simulator, so they have no wall"));

  // What trials take under the simulator says nothing of what they take without it.
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("judging by experiment 1"));
  lab_.write("plan.toml", plan("clang-22", 5, ""));
  const Output real = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(real.code, 0) << real.err;
  EXPECT_THAT(real.out, Not(HasSubstr("judging by experiment")));
}

TEST_F(Simulated, AndRealExperimentsHaveNoNumberInCommon) {
  const std::string output = "[[measure.output]]\nname = \"ops\"\nregex = 'ops=(\\d+)'\n";
  const int one = run(plan("clang-22", 2, output + simulate));
  const int real = run(plan("clang-22", 2, output + "[analysis]\nresponse = \"ops\"\n"));
  for (const json& row : lab_.trials(real)) {
    EXPECT_GT(row["wall_ns"].get<std::int64_t>(), 0);
    EXPECT_FALSE(row.contains("simulated-instructions"));
  }
  EXPECT_EQ(report(real)["simulated"], false);
  for (const char* response : {"ops", "simulated-instructions", "wall"}) {
    const Output compared =
        lab_.ctl({"compare", std::to_string(one), std::to_string(real), "--response", response});
    EXPECT_EQ(compared.code, 1) << compared.out;
  }
  const Output compared =
      lab_.ctl({"compare", std::to_string(one), std::to_string(real), "--response", "ops"});
  EXPECT_THAT(compared.err,
              HasSubstr("ran under a simulator, but the trials of experiment 2 did not"));
}

// Moved code, a shuffled heap and padded frames; a layout a trial, the same for the same seed.
TEST_F(Simulated, ProgramsOfSzcHaveTheirLayoutsUnderTheSimulator) {
  const std::string layouts =
      "[randomize]\nrerandomize = \"once\"\nstack = true\n"
      "[factor.heap]\nlevels = [false, true]\n";
  std::string text = plan("szc", 2, layouts + simulate);
  text.erase(text.find("[factor.turns]"), text.find("[randomize]") - text.find("[factor.turns]"));
  text.insert(text.find("[defaults]"), "CFLAGS = \"-DTURNS=1000\"\n");
  const int id = run(text);
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  std::vector<json> first;
  std::map<std::string, std::int64_t> misses;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["randomized"], true);
    EXPECT_EQ(row["epochs"], 1);
    EXPECT_EQ(row["region-tree-count"], 1);
    EXPECT_FALSE(row.contains("region-tree-ns"));
    for (const char* time : times) EXPECT_EQ(row[time], nullptr) << time;
    misses[row["heap"]] += row["simulated-d1-misses"].get<std::int64_t>();
    first.push_back(row["simulated-instructions"]);
  }
  EXPECT_GT(misses["true"], misses["false"]);
  // The runtime asks the system for its time and its threads: a few instructions more or less.
  const int again = run(text);
  const json second = lab_.trials(again);
  ASSERT_EQ(second.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_NEAR(second[i]["simulated-instructions"].get<double>(), first[i].get<double>(),
                first[i].get<double>() / 1000);
}

TEST_F(Simulated, AProgramThatStartsOthersIsNotMeasured) {
  const auto shell = [&](const std::string& script) {
    return run(
        "[experiment]\nname = \"shell\"\n[[benchmark]]\nname = \"s\"\nrepetitions = 2\n"
        "run = [\"/bin/sh\", \"-c\", \"" +
        script + "\"]\n[factor.n]\nlevels = { a = { N = \"1\" }, b = { N = \"2\" } }\n" + simulate);
  };
  for (const json& row : lab_.trials(shell("/bin/true ${N}; /bin/true"))) {
    EXPECT_EQ(row["status"], "not_measured");
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("the program started other programs"));
  }
  for (const json& row : lab_.trials(shell("exec /bin/true ${N}")))
    EXPECT_EQ(row["status"], "ok") << row;
}

TEST_F(Simulated, CheckSaysSoAndRefusesWhereThereIsNoValgrind) {
  lab_.write("plan.toml", plan("clang-22", 2, simulate));
  const Output here = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(here.code, 0) << here.err;
  EXPECT_THAT(here.out, HasSubstr("simulated: every trial runs under valgrind's cachegrind"));
  const std::string path = getenv("PATH");
  ASSERT_EQ(setenv("PATH", "/nowhere", 1), 0);
  const Output nowhere = lab_.ctl({"check", lab_.path("plan.toml")});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(nowhere.code, 1) << nowhere.out;
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr("'measure.simulate' needs valgrind"),
                                 HasSubstr("apt-get install valgrind")));
}

}  // namespace
}  // namespace stab::test
