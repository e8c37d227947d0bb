// SPDX-License-Identifier: MIT
// Versions are compared without a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/system/ab_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

bool is_over(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

class Ab : public ::testing::Test {
 protected:
  // In the lab's folder, with a database of its own each time.
  Output ab(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {"/bin/sh",
                                     "-c",
                                     "cd \"$0\" && exec \"$@\"",
                                     lab_.folder(),
                                     STAB_BIN_DIR "/stabctl",
                                     "ab",
                                     "--state",
                                     lab_.path("state" + std::to_string(++runs_))};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_program(argv, lab_.folder());
  }
  // With a budget of so many seconds, or more.
  Output ab(int seconds, const std::vector<std::string>& arguments,
            const std::function<bool(const Output&)>& lacks = lacks_time) {
    const auto run = [&](const std::string& budget) {
      std::vector<std::string> all = {"--budget", budget};
      all.insert(all.end(), arguments.begin(), arguments.end());
      return ab(all);
    };
    return with_enough(seconds, run, lacks);
  }
  [[nodiscard]] Output report_in(const std::string& folder,
                                 const std::vector<std::string>& options) const {
    std::vector<std::string> argv = {STAB_BIN_DIR "/stabctl", "report", "--folder", folder};
    argv.insert(argv.end(), options.begin(), options.end());
    return run_program(argv, lab_.folder());
  }
  // Starts the command, whose database is in the folder `state`. Presses Ctrl-C once the command has
  // said the words and a trial more has ended. Returns all that it has said.
  std::string interrupt_after(const std::string& words, const std::vector<std::string>& command,
                              const std::string& directory, const std::string& state) {
    const auto trials = [&] {
      return lab_.ctl({"sql", "--state", state, "SELECT count(*) FROM trial"}).out;
    };
    const auto said = [&] { return read_file(lab_.path("said"), 1 << 20).value_or(""); };
    const pid_t child = start_program(command, directory, lab_.path("said"));
    while (!is_over(child) && !said().contains(words)) usleep(20'000);
    for (const std::string before = trials(); !is_over(child) && trials() == before;)
      usleep(20'000);
    kill(child, SIGINT);
    const int code = end_of(child);
    EXPECT_EQ(code, 128 + SIGINT) << said();
    return said();
  }
  void build(const std::string& name, const std::string& compiler, int rounds) {
    lab_.write(name + ".c",
               "#include <stdio.h>\nstatic unsigned next(unsigned x) { return x * 1664525u + 1; }\n"
               "int main(void) { volatile unsigned x = 1; for (int i = 0; i < " +
                   std::to_string(rounds) +
                   " * 100000; ++i) x = next(x); puts(\"done\"); return 0; }\n");
    const Output built = run_program(
        {"/bin/sh", "-c",
         "cd '" + lab_.folder() + "' && " + compiler + " -O1 " + name + ".c -o " + name},
        lab_.folder());
    ASSERT_EQ(built.code, 0) << built.err;
  }

  Lab lab_;
  int runs_ = 0;
};

TEST_F(Ab, WhatIsPreparedIsThereForEachRun) {
  const std::vector<std::string> commands = {"--", "cat given", "cat given given"};
  std::vector<std::string> arguments = {
      "--json", "--prepare", "test ! -e given && echo '$x' > given", "--cleanup", "rm given"};
  arguments.insert(arguments.end(), commands.begin(), commands.end());
  const Output told = ab(3, arguments);
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["trials"]["failed"], 0) << document["report"]["failures"];
  ASSERT_EQ(document["report"]["means"].size(), 3U) << "two, and the control";

  arguments = {"--prepare", "echo no room >&2; exit 3"};
  arguments.insert(arguments.end(), commands.begin(), commands.end());
  const Output failed = ab(arguments);
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("--prepare of "), HasSubstr("exit code 3: no room")));
}

// On a busy machine starting them takes most of the time of the shorter one.
TEST_F(Ab, AProgramThatDoesTwentyTimesAsMuchIsSlowerAndThatIsAnAnswer) {
  build("old", "cc", 50);
  build("new", STAB_BIN_DIR "/szc", 1000);
  const std::vector<std::string> both = {"--program", "./old", "./new", "--", "--size", "1000"};
  const Output told = ab(60, both);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("new is slower than old: "),
                              ContainsRegex("functions\\s+\\(szc\\s+did\\s+not"),
                              Not(HasSubstr("print different"))));
  expect_one_screen(told.out);
  auto whole = both;
  whole.insert(whole.begin(), "--full");
  const std::string in_full = ab(20, whole).out;
  EXPECT_THAT(in_full, AllOf(HasSubstr("Function positions are random in new but not in old"),
                             HasSubstr("\nold: ./old\nnew: ./new\n"), HasSubstr("\nCode: old has "),
                             HasSubstr(" times as many).\n"), HasSubstr("Assumptions\n"),
                             Not(HasSubstr("NUMBER"))));
  const std::size_t answer = in_full.find("Answer: ");
  EXPECT_NE(answer, std::string::npos) << in_full;
  EXPECT_EQ(in_full.find("Answer: ", answer + 1), std::string::npos) << "the answer stands once";
  EXPECT_EQ(in_full.find("the control measured old twice"),
            in_full.rfind("the control measured old twice"));
  auto table = both;
  table.insert(table.begin(), "--markdown");
  const auto is_unsure = [](const Output& each) { return !each.out.contains("| slower |"); };
  EXPECT_THAT(ab(20, table, is_unsure).out,
              AllOf(HasSubstr("|---|"), HasSubstr("| `new` |"), HasSubstr("| slower |"),
                    Not(HasSubstr("Assumptions"))));
  auto more = both;
  more.insert(more.begin(), {"--fail-on", "regressed", "--json"});
  // A slow machine has too few rounds for the rule in a minute.
  const Output failed = ab(60, more, [](const Output& each) {
    json document = json::parse(each.out, nullptr, false);
    return !document.is_object() || !document["report"]["stopping"].is_object();
  });
  EXPECT_EQ(failed.code, 2) << failed.err;
  const json document = json::parse(failed.out);
  EXPECT_THAT(document["conclusions"][0]["sentence"].get<std::string>(),
              HasSubstr("new is slower than old"));
  EXPECT_TRUE(document["regressed"]);
  EXPECT_TRUE(document["same_output"]);
  EXPECT_THAT(document["code"].get<std::string>(), HasSubstr("Code: old has "));
  EXPECT_EQ(document["report"]["effects"].size(), 2U) << "one, and the control";
  EXPECT_LT(document["report"]["stopping"]["blocks"], document["report"]["stopping"]["most"]);
}

std::string randomized(const Output& told) {
  const json document = json::parse(told.out, nullptr, false);
  return document.is_object() ? document["randomized"].get<std::string>() : told.out + told.err;
}

TEST_F(Ab, BlocksOfTheHeapAreAtRandomPlacesWhereThatWorksAndElseItIsSaid) {
  // Plain trials have no random heap.
  const std::vector<std::string> short_run = {"--no-control", "--no-cost", "--json"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), short_run.begin(), short_run.end());
    const Output told = ab(2, more);
    EXPECT_EQ(told.code, 0) << told.err;
    return told;
  };
  lab_.write(
      "a.c",
      "#include <stdlib.h>\nint main(void) { char *volatile p = malloc(100); free(p); return "
      "getenv(\"PICKY\") && getenv(\"LD_PRELOAD\") ? 9 : 0; }\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c", "cc -O1 a.c -o a && cp a b && cc -O1 -static a.c -o fixed"},
                  lab_.folder())
          .code,
      0);
  const std::string on =
      "the positions of heap blocks \\(by a layer above the program's own allocator, which costs "
      ".*% "
      "of CPU time.*\\)\\. Not random: the positions of functions, the sizes of stack frames\\.";
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--program", "./a", "./b"}, {"--", "./a", "./b"}}) {
    const Output told = run(how);
    EXPECT_THAT(randomized(told), ContainsRegex(on));
    const json document = json::parse(told.out);
    const json& report = document["report"];
    EXPECT_EQ(report["layouts"]["kinds"], "heap layer once");
    EXPECT_EQ(document["heap"]["drawn"], true);
    EXPECT_EQ(document["heap"]["allocator"], "layer");
    EXPECT_EQ(document["heap"]["why_not"], nullptr);
    EXPECT_GE(document["heap"]["cost"]["pairs"], 2) << "of each version one or more";
    if (document["heap"]["cost"]["pairs"] >= 4)
      EXPECT_LT(document["heap"]["cost"]["low"], document["heap"]["cost"]["high"]);
    EXPECT_EQ(report["layouts"]["randomized"], report["trials"]["ok"]);
    // A later report gives the same cost.
    const std::string sentence = document["randomized"];
    const std::string before = "which costs ";
    const std::size_t at = sentence.find(before) + before.size();
    const std::string cost = sentence.substr(at, sentence.find(')', at) - at);
    EXPECT_THAT(joined(report_in(document["state"], {"--full"}).out),
                HasSubstr("heap blocks (costs " + cost + ")"));
  }
  // A program that breaks is measured without.
  const Output picky = run({"--env", "PICKY=1", "--program", "./a", "./b"});
  EXPECT_THAT(
      randomized(picky),
      HasSubstr(
          "heap blocks (a does not run with the heap layer: ended with exit code 9, not 0), the "
          "sizes"));
  EXPECT_EQ(json::parse(picky.out)["report"]["trials"]["failed"], 0);
  const Output without = run({"--no-heap", "--", "./a", "./b"});
  EXPECT_THAT(randomized(without), HasSubstr("heap blocks (--no-heap), the sizes"));
  EXPECT_EQ(json::parse(without.out)["report"]["layouts"]["randomized"], 0);
  EXPECT_EQ(json::parse(without.out)["heap"]["drawn"], false);
  EXPECT_EQ(json::parse(without.out)["heap"]["why_not"], "--no-heap");

  const Output refused = ab({"--heap", "--program", "./a", "./fixed"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--heap: fixed has no random heap: the program is linked "
                                     "statically, and szc's runtime needs the C library"));
  EXPECT_NE(ab({"--heap", "--no-heap", "--program", "./a", "./b"}).code, 0);
}

// A heap that is slower than the program's own costs as much as it does, and the answer says so.
TEST_F(Ab, TheCostOfRandomLayoutsIsMeasuredInAFifthOfTheRounds) {
  lab_.write("lists.c",
             "#include <stdlib.h>\nint main(void) {\n  static void *list[20000];\n"
             "  for (int i = 0; i < 30; ++i) {\n"
             "    for (int j = 0; j < 20000; ++j) list[j] = malloc(40), *(char *)list[j] = 1;\n"
             "    for (int j = 0; j < 20000; ++j) free(list[j]);\n  }\n  return 0;\n}\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c", "cc -O1 lists.c -o lists && cp lists again"}, lab_.folder())
          .code,
      0);
  const auto lacks_cost = [](const Output& each) {
    const json document = json::parse(each.out, nullptr, false);
    return !document.is_object() || !document["report"]["cost"].is_object() ||
           !document["report"]["cost"]["low"].is_number();
  };
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--program", "./lists", "./again"},
        {"--", "./lists", "./again"}}) {
    std::vector<std::string> all = {"--heap", "--margin", "0.01%", "--json"};
    all.insert(all.end(), how.begin(), how.end());
    const Output told = ab(6, all, lacks_cost);
    ASSERT_EQ(told.code, 0) << told.err;
    const json document = json::parse(told.out);
    const json& cost = document["report"]["cost"];
    ASSERT_TRUE(cost["low"].is_number()) << cost;
    EXPECT_EQ(cost["response"], "wall");
    EXPECT_EQ(cost["off"], json::array({"heap blocks"}));
    EXPECT_GT(cost["high"], 1.05) << "the layer costs much here";
    EXPECT_LT(cost["low"], cost["ratio"]);
    EXPECT_GE(cost["n"], 4);
    const json& stopping = document["report"]["stopping"];
    EXPECT_LE(cost["n"].get<std::uint64_t>(), stopping["blocks"].get<std::uint64_t>() / 5 + 1);
    ASSERT_EQ(document["report"]["effects"].size(), 2U) << "one, and the control";
    // No process of a plain trial has the library.
    const Output trials = run_program({STAB_BIN_DIR "/stabctl", "export", "--folder",
                                       document["state"].get<std::string>(), "--json"},
                                      lab_.folder());
    ASSERT_EQ(trials.code, 0) << trials.err;
    std::size_t plain = 0;
    for (const json& trial : json::parse(trials.out)) {
      if (trial["status"] != "ok" || trial["warmup"] == true) continue;
      const bool is_plain = trial["random-layouts"] == "off";
      EXPECT_EQ(trial["version"].is_null(), is_plain) << trial;
      EXPECT_EQ(trial["randomized"] == true, !is_plain) << trial;
      plain += is_plain ? 1U : 0U;
    }
    EXPECT_GE(plain, cost["n"].get<std::size_t>());
    const std::string later = joined(report_in(document["state"], {"--full"}).out);
    EXPECT_THAT(later, HasSubstr("Cost random layouts themselves cost +"));
    EXPECT_THAT(later, HasSubstr("Cost of random layouts"));
  }
  // Nothing is measured if the user does not want it, or if nothing is random.
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--no-cost", "--heap"}, {"--no-heap"}}) {
    std::vector<std::string> all = how;
    all.insert(all.end(), {"--no-control", "--json", "--program", "./lists", "./again"});
    const Output told = ab(3, all, [](const Output& each) {
      const json document = json::parse(each.out, nullptr, false);
      return !document.is_object() || !document["report"]["stopping"].is_object();
    });
    ASSERT_EQ(told.code, 0) << told.err;
    const json document = json::parse(told.out);
    EXPECT_TRUE(document["report"]["cost"].is_null()) << document["report"]["cost"];
    EXPECT_EQ(document["report"]["trials"]["ok"],
              2 * document["report"]["stopping"]["blocks"].get<int>());
  }
}

// A change of libc's thresholds makes such a program many times faster, and our allocators have none.
TEST_F(Ab, AProgramIsMeasuredWithItsOwnAllocator) {
  lab_.write("trim.c",
             "#include <malloc.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
             "int main(void) {\n#ifdef TUNED\n  mallopt(M_MMAP_THRESHOLD, 64 << 20);\n"
             "  mallopt(M_TRIM_THRESHOLD, 256 << 20);\n#endif\n  unsigned long sum = 0;\n"
             "  for (int i = 0; i < 200; ++i) {\n    char *p[8];\n"
             "    for (int j = 0; j < 8; ++j) {\n      p[j] = malloc(60000 + j * 1000);\n"
             "      memset(p[j], i, 60000);\n    }\n"
             "    for (int j = 7; j >= 0; --j) sum += p[j][i], free(p[j]);\n  }\n"
             "  return printf(\"%lu\\n\", sum) < 0;\n}\n");
  lab_.write("lists.c",
             "#include <stdlib.h>\nint main(void) {\n  static void *list[20000];\n"
             "  for (int i = 0; i < 100; ++i) {\n"
             "    for (int j = 0; j < 20000; ++j) list[j] = malloc(40), *(char *)list[j] = 1;\n"
             "    for (int j = 0; j < 20000; ++j) free(list[j]);\n  }\n  return 0;\n}\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c",
                   "cc -O1 trim.c -o plain && cc -O1 -DTUNED trim.c -o tuned && cc -O1 lists.c "
                   "-o lists && cp lists again"},
                  lab_.folder())
          .code,
      0);
  const Output told = ab(20, {"--heap", "--json", "--program", "./plain", "./tuned"});
  ASSERT_EQ(told.code, 0) << told.err;
  json document = json::parse(told.out);
  EXPECT_EQ(document["conclusions"][0]["verdict"], "faster") << document["conclusions"];
  EXPECT_EQ(document["heap"]["drawn"], true) << document["heap"];
  // Where the layer itself changes what is measured the heap stays, unless the user wants it drawn.
  const Output slow = ab(10, {"--no-control", "--json", "--program", "./lists", "./again"});
  ASSERT_EQ(slow.code, 0) << slow.err;
  document = json::parse(slow.out);
  EXPECT_EQ(document["heap"]["drawn"], false);
  EXPECT_THAT(
      document["heap"]["why_not"].get<std::string>(),
      ContainsRegex("^random heap positions would change what is measured: .* takes .* times "
                    "as much CPU time with the heap layer \\(.*pairs? of runs\\); --heap uses them "
                    "anyway$"));
  EXPECT_GT(document["heap"]["cost"]["change"], 0.1);
  // A later report gives the same reason.
  EXPECT_THAT(joined(report_in(document["state"], {"--full"}).out),
              HasSubstr("heap blocks (" + document["heap"]["why_not"].get<std::string>() + ")"));
  EXPECT_THAT(document["randomized"].get<std::string>(), HasSubstr("; --heap uses them anyway"));
  const Output forced =
      ab(10, {"--no-control", "--heap", "--json", "--program", "./lists", "./again"});
  ASSERT_EQ(forced.code, 0) << forced.err;
  document = json::parse(forced.out);
  EXPECT_EQ(document["heap"]["drawn"], true);
  EXPECT_EQ(document["report"]["layouts"]["kinds"], "heap layer once");
}

// The loader ignores LD_PRELOAD for it.
TEST_F(Ab, AProgramWithMoreRightsKeepsItsHeap) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program another user's rights";
  lab_.write("a.c",
             "#include <stdio.h>\n#include <sys/auxv.h>\n"
             "int main(void) { return getauxval(AT_SECURE) ? 0 : 3; }\n");
  const Output made = run_program(
      {"/bin/sh", "-c", "cc a.c -o a && chown 65534 a && chmod 4755 a && ./a"}, lab_.folder());
  if (made.code != 0) GTEST_SKIP() << "nobody gets other rights here: " << made.err;
  const Output refused = ab({"--heap", "--program", "./a", "./a"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--heap: a does not load the heap layer"));
}

TEST_F(Ab, CommandsAreTakenAsTheyAreAndDifferentOutputIsSaid) {
  const Output told = ab(3, {"--env", "GREETING=a $ \"b\"", "--json", "--",
                             "printf '%s\\n' \"$GREETING\" | grep -qx 'a \\$ \"b\"' && echo one",
                             "test -n \"$PATH\" && echo two"});
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["trials"]["failed"], 0) << document["report"]["failures"];
  EXPECT_FALSE(document["same_output"]);
  // It stands above all that the screen says of trust.
  EXPECT_THAT(
      ab(3, {"--", "echo one", "echo two"}).out,
      ContainsRegex("\n\n  Output +the versions print different output: do they do the same"));
  EXPECT_THAT(ab(3, {"--", "true", "exit 3"}).err,
              HasSubstr("ended with exit code 3 (if that is a success, add --exit-codes 0,3)"));
  EXPECT_THAT(ab(3, {"--", "sort", "-n", "numbers"}).err,
              HasSubstr("put each command into quotes"));
}

TEST_F(Ab, TheResponseIsTheUsersChoice) {
  lab_.write(
      "a.c",
      "#include <stdlib.h>\n#include <string.h>\nint main(int n, char **v) { char *volatile p "
      "= malloc(SIZE); memset(p, n, SIZE); return p[SIZE / 2] - n; }\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c",
                   "cc -O1 -DSIZE=4000000 a.c -o small && cc -O1 -DSIZE=64000000 a.c -o large"},
                  lab_.folder())
          .code,
      0);
  const Output memory =
      ab(6, {"--response", "max_rss", "--markdown", "--program", "./small", "./large"});
  EXPECT_EQ(memory.code, 0) << memory.err;
  EXPECT_THAT(memory.out, AllOf(HasSubstr("| version | peak memory | change |"), HasSubstr(" MB |"),
                                HasSubstr("large has more peak memory than small: "),
                                HasSubstr(" times as much (")));
  const Output time = ab(3, {"--response", "cpu", "--json", "--", "true", "exit 0"});
  ASSERT_EQ(time.code, 0) << time.err;
  const json document = json::parse(time.out);
  EXPECT_EQ(document["report"]["analysis"]["response"], "cpu");
  EXPECT_THAT(document["control"]["sentence"].get<std::string>(), HasSubstr("true"));
  const Output event = ab(3, {"--response", "page-faults:u", "--json", "--", "true", "exit 0"});
  if (event.code == 0)
    EXPECT_EQ(json::parse(event.out)["report"]["analysis"]["response"], "page-faults:u");
  else
    EXPECT_THAT(event.err, HasSubstr("--metric page-faults:u: "));
}

// The second version does three times the work of the first, which runs beside both.
TEST_F(Ab, TheFirstVersionRunsBesideEachTrial) {
  const std::string work = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
  const Output told = ab(6, {"--beside", "--json", "--", work, work + "; " + work + "; " + work});
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["analysis"]["response"], "relative_cpu");
  EXPECT_THAT(document["conclusions"][0]["sentence"].get<std::string>(), HasSubstr("CPU time"));
  const Output trials = run_program({STAB_BIN_DIR "/stabctl", "export", "--folder",
                                     document["state"].get<std::string>(), "--json"},
                                    lab_.folder());
  ASSERT_EQ(trials.code, 0) << trials.err;
  std::size_t found = 0;
  std::map<std::string, double> sums;  // by version
  for (const json& trial : json::parse(trials.out)) {
    if (trial["status"] != "ok" || trial["version"].is_null()) continue;  // null: a plain trial
    ++found;
    const double beside = trial["beside-cpu-ns"].get<double>();
    const double own = trial["user_ns"].get<double>() + trial["system_ns"].get<double>();
    EXPECT_GT(own / beside, 0.2);
    EXPECT_LT(own / beside, 12);
    sums[trial["version"].get<std::string>()] += own / beside;
  }
  EXPECT_GT(sums[document["versions"][1]["name"].get<std::string>()],
            1.5 * sums[document["versions"][0]["name"].get<std::string>()]);
  EXPECT_GE(found, 30U);
  const std::string first = document["versions"][0]["name"];
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--full"}})
    EXPECT_THAT(joined(report_in(document["state"], options).out),
                AllOf(HasSubstr("Relative to the CPU time of " + first + ", which ran beside each"),
                      ContainsRegex("[Rr]elative CPU ")));
  EXPECT_THAT(ab(3, {"--beside", "--response", "cpu", "--", "true", "exit 0"}).err,
              HasSubstr("cannot be used together"));
  EXPECT_THAT(
      ab(3, {"--beside", "--build", "true", "--run", "true", "--prepare", "true", "HEAD"}).err,
      HasSubstr("where the prepare and cleanup commands do not run"));
}

TEST_F(Ab, ExitCodesAndCpusAreTheUsersChoice) {
  const Output codes = ab(3, {"--exit-codes", "0,3", "--json", "--", "exit 3", "true"});
  ASSERT_EQ(codes.code, 0) << codes.err;
  EXPECT_EQ(json::parse(codes.out)["report"]["trials"]["failed"], 0);
  const Output other = ab({"--exit-codes", "3,4", "--", "exit 3", "true"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              HasSubstr("true cannot be measured: the command ended with exit code 0, not 3 or 4"));

  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  const std::string number = std::to_string(cpu);
  const std::string is_there =
      "test \"$(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)\" = " + number;
  const Output bound = ab(3, {"--cpu", number, "--json", "--", is_there, is_there + " # the same"});
  ASSERT_EQ(bound.code, 0) << bound.err;
  EXPECT_EQ(json::parse(bound.out)["report"]["trials"]["failed"], 0);
}

// szc's programs have pads of random sizes in their frames, others do not.
TEST_F(Ab, StackFramesHavePadsWhereSzcBuiltAllVersions) {
  build("a", STAB_BIN_DIR "/szc", 1);
  build("b", STAB_BIN_DIR "/szc", 1);
  build("c", "cc", 1);
  build("d", STAB_BIN_DIR "/szc --stab-quiet --stab-cc=gcc --stab-stack=off", 1);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--no-control", "--json"});
    const Output told = ab(2, more);
    EXPECT_EQ(told.code, 0) << told.err;
    return told;
  };
  const Output padded = run({"--program", "./a", "./b"});
  EXPECT_THAT(randomized(padded),
              AllOf(HasSubstr("the sizes of stack frames."), Not(HasSubstr("Not random"))));
  EXPECT_THAT(json::parse(padded.out)["report"]["layouts"]["kinds"].get<std::string>(),
              HasSubstr("code stack heap"));
  EXPECT_THAT(randomized(run({"--no-stack", "--program", "./a", "./b"})),
              HasSubstr("Not random: the sizes of stack frames (--no-stack)."));
  EXPECT_THAT(randomized(run({"--program", "./a", "./c"})),
              HasSubstr("of c, the sizes of stack frames."));
  const Output refused = ab({"--stack", "--program", "./a", "./c"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--stack: szc did not build c"));
  EXPECT_THAT(randomized(run({"--program", "./d", "./a"})),
              HasSubstr("Not random: the sizes of stack frames (d has no pads: no stack frame of "
                        "the executable has a pad"));
  EXPECT_THAT(ab({"--stack", "--program", "./a", "./d"}).err, HasSubstr("--stack: d has no pads"));
}

// A working tree is compared with the commit at which its branch left main.
TEST_F(Ab, RevisionsAreBuiltAndRunInFoldersOfTheirOwn) {
  lab_.write("Makefile", "bench: bench.c\n\t$(CC) -O1 -o $@ bench.c\n");
  build("bench", "cc", 20);
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "rm bench && git init -q -b main . && git add -A && git -c user.name=a "
                         "-c user.email=a@b commit -qm one && sed -i 's/20 \\*/2000 */' bench.c"},
                        lab_.folder())
                .code,
            0);
  const std::vector<std::string> how = {"--build", "make CC=\"$CC\"", "--run",
                                        "test -d .git && ./bench"};
  auto arguments = how;
  arguments.insert(arguments.end(), {"--heap", "--fail-on", "regressed"});
  const Output told = ab(60, arguments);
  EXPECT_EQ(told.code, 2) << told.err << told.out;
  EXPECT_THAT(told.out, AllOf(HasSubstr("working-tree is slower than "),
                              ContainsRegex("\n  Compiler  szc with .*clang version [0-9.]+"),
                              Not(HasSubstr("szc built none of the versions"))));
  EXPECT_THAT(joined(told.out), ContainsRegex("environment, addresses, functions, heap blocks "
                                              "\\((costs|changes) .*\\), stack frames "));
  const std::string folder = lab_.path("state" + std::to_string(runs_));
  EXPECT_THAT(told.out + told.err, HasSubstr("stabctl report --full 1 --folder '" + folder + "'"));
  EXPECT_THAT(report_in(folder, {"--full"}).out,
              ContainsRegex("\n  Compiler  szc with .*clang version [0-9.]+"));
  EXPECT_FALSE(std::filesystem::exists(lab_.path("bench"))) << "the repository is as it was";
  // With --same all have the last one's source.
  std::vector<std::string> looks = {"--build", "true", "--run", "grep -q '2000 ' bench.c",
                                    "main",    "."};
  EXPECT_THAT(
      ab(looks).err,
      ContainsRegex("main-[0-9a-f]{8} cannot be measured: the command ended with exit code 1"));
  looks.insert(looks.begin(), {"--same", "bench.c"});
  const Output alike = ab(3, looks);
  EXPECT_EQ(alike.code, 0) << alike.err;
  EXPECT_THAT(alike.out, HasSubstr("szc built none of the versions: does each build use"));

  auto broken = how;
  broken[1] = "echo because; false";
  const Output refused = ab(broken);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("working-tree cannot be built: the build ended with exit"),
                    HasSubstr("because")));
}

// A working tree in which somebody else's compiler has been: its products are not measured.
TEST_F(Ab, FilesOfAnEarlierBuildAreNotMeasured) {
  lab_.write("Makefile",
             "bench: bench.o\n\t$(CC) -o $@ bench.o\nbench.o: bench.c\n\t$(CC) -O1 -c bench.c\n");
  build("bench", "cc", 2000);
  const auto shell = [&](const std::string& command) {
    const Output done = run_program({"/bin/sh", "-c", command}, lab_.folder());
    ASSERT_EQ(done.code, 0) << done.err;
  };
  shell(
      "rm bench && git init -q -b main . && git add Makefile bench.c && git -c user.name=a -c "
      "user.email=a@b "
      "commit -qm one && sed -i 's/2000 \\*/20 */' bench.c && make -s CC=cc && touch bench.o "
      "bench");
  const std::vector<std::string> how = {"--build", "make CC=\"$CC\"", "--run", "./bench"};
  auto arguments = how;
  arguments.insert(arguments.end(), {"--no-heap", "--json"});
  const Output told = ab(20, arguments);
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(json::parse(told.out)["conclusions"][0]["verdict"], "faster") << told.out;

  // Nothing is measured if one command builds the versions with different compilers.
  arguments = {"--build", "if grep -q '2000 ' bench.c; then make CC=\"$CC\"; else make CC=cc; fi",
               "--run",   "./bench",
               "main",    "."};
  const Output mixed = ab(20, arguments);
  EXPECT_EQ(mixed.code, 1);
  EXPECT_THAT(mixed.err, ContainsRegex("szc built main-[0-9a-f]{8} but not working-tree: "));
  EXPECT_THAT(mixed.err, HasSubstr(".gitignore"));

  shell("git checkout -q bench.c && echo '*' >.git/info/exclude");
  const Output same = ab(20, {"--build", "false", "--run", "./bench", "main", "."});
  EXPECT_THAT(same.err, HasSubstr("the working tree is identical to main"));
  EXPECT_THAT(ab(20, {"--build", "false", "--run", "./bench", "main", "HEAD"}).err,
              HasSubstr("main and HEAD are the same commit"));
  EXPECT_THAT(
      ab(20, {"main", "HEAD"}).err,
      HasSubstr("main and HEAD are revisions of this repository. To compare revisions, give"));
  EXPECT_THAT(ab(20, {"--build", "false", "--run", "./bench", "main..HEAD"}).err,
              HasSubstr("write the two revisions apart"));
}

// The program finds a library outside first, and not the one that its build makes.
TEST_F(Ab, ALibraryFromOutsideTheBuildIsSaid) {
  const auto write = [&](const std::string& file, const std::string& rounds) {
    lab_.write(file, "int one(void) { volatile unsigned x = 1; for (int i = 0; i < " + rounds +
                         " * 1000000; ++i) x = x * 3; return x == 0; }\n");
  };
  std::filesystem::create_directories(lab_.path("tree"));
  std::filesystem::create_directories(lab_.path("outside"));
  write("outside/one.c", "29");
  write("tree/one.c", "30");
  lab_.write("tree/bench.c", "int one(void);\nint main(void) { return one(); }\n");
  lab_.write("tree/Makefile",
             "bench: bench.c one.c\n\t$(CC) -shared -fPIC -Wl,-soname,libone.so.1 -o "
             "libone.so.1 one.c\n\t$(CC) -o bench bench.c ./libone.so.1 "
             "-Wl,--enable-new-dtags,-rpath," +
                 lab_.path("outside") + "\n");
  const Output made = run_program(
      {"/bin/sh", "-c",
       STAB_BIN_DIR
       "/szc -shared -fPIC -Wl,-soname,libone.so.1 -o outside/libone.so.1 outside/one.c && cd tree "
       "&& git init -q -b main . && git add . && git -c user.name=a -c user.email=a@b commit -qm "
       "one "
       "&& echo >>bench.c"},
      lab_.folder());
  ASSERT_EQ(made.code, 0) << made.err;
  const auto compare = [&](const std::string& run, const std::vector<std::string>& form) {
    const auto in_tree = [&](const std::string& budget) {
      std::vector<std::string> argv = {STAB_BIN_DIR "/stabctl",
                                       "ab",
                                       "--state",
                                       lab_.path("state" + std::to_string(++runs_)),
                                       "--budget",
                                       budget,
                                       "--no-heap",
                                       "--no-stack",
                                       "--no-control",
                                       "--build",
                                       "make",
                                       "--run",
                                       run,
                                       "main",
                                       "."};
      argv.insert(argv.end(), form.begin(), form.end());
      return run_program(argv, lab_.path("tree"));
    };
    return with_enough(5, in_tree);
  };
  const std::string outside = std::filesystem::canonical(lab_.path("outside/libone.so.1"));
  const Output wrong = compare("./bench", {"--json"});
  ASSERT_EQ(wrong.code, 0) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("warning: the build made libone.so.1, but bench loads " +
                                   outside + " in all versions; to measure"));
  const json document = json::parse(wrong.out);
  ASSERT_EQ(document["foreign_libraries"].size(), 2U) << document["foreign_libraries"];
  const json& last = document["foreign_libraries"][1];
  EXPECT_EQ(last["version"], "working-tree");
  EXPECT_EQ(last["library"], "libone.so.1");
  EXPECT_EQ(last["loaded"], outside);
  EXPECT_THAT(last["program"].get<std::string>(), ContainsRegex("/002/+bench$"));
  EXPECT_THAT(document["report"]["notes"][0].get<std::string>(), HasSubstr("libone.so.1"));

  const Output shown = compare("cd / && \"$OLDPWD/bench\"", {});
  EXPECT_THAT(shown.out, HasSubstr("\n  Library   the build made libone.so.1, but bench loads"));
  expect_one_screen(shown.out);

  const Output right = compare("LD_LIBRARY_PATH=. ./bench", {"--json"});
  ASSERT_EQ(right.code, 0) << right.err;
  EXPECT_THAT(right.err, Not(HasSubstr("the build made")));
  EXPECT_EQ(json::parse(right.out)["foreign_libraries"], json::array());
}

TEST_F(Ab, AControlIsMeasuredBesideUnlessItIsRefusedAndIsNoVersion) {
  const Output told = ab(3, {"--save", "plan.toml", "--json", "--", "true", "exit 0"});
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["means"].size(), 3U);
  ASSERT_EQ(document["report"]["effects"].size(), 2U);
  for (const json& effect : document["report"]["effects"]) {
    EXPECT_EQ(effect["control"], effect["level"] == "true-again");
    EXPECT_EQ(effect["p_adjusted"], effect["p"]) << "each is a family by itself";
  }
  ASSERT_EQ(document["conclusions"].size(), 1U);
  EXPECT_EQ(document["conclusions"][0]["version"], "exit-0");
  EXPECT_EQ(document["control"]["version"], "true-again");
  EXPECT_THAT(document["randomized"].get<std::string>(),
              HasSubstr("(true does not load the heap layer: it may be a script, a shell builtin"));
  EXPECT_EQ(document["control"]["trusted"], document["control"]["can_tell"].is_number());
  EXPECT_THAT(read_file(lab_.path("plan.toml"), 1 << 20).value_or(""),
              HasSubstr("control = \"true-again\""));
  const Output help = lab_.ctl({"help", "ab"});
  EXPECT_THAT(help.out, AllOf(ContainsRegex("\n  --no-control +Leave out the control"),
                              Not(HasSubstr("{false}"))));
  EXPECT_THAT(lab_.ctl({"help", "ab", "--json"}).out,
              AllOf(HasSubstr("\"--no-control\""), HasSubstr("\"--web\""), Not(HasSubstr("{0}"))));
  // Without it.
  const Output alone = ab(2, {"--no-control", "--json", "--", "true", "exit 0"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(json::parse(alone.out)["report"]["means"].size(), 2U);
  EXPECT_TRUE(json::parse(alone.out)["control"].is_null());
}

std::size_t planned_rounds(const Output& told) {
  std::smatch planned;
  return std::regex_search(told.err, planned, std::regex("at most ([0-9]+) rounds"))
             ? std::stoul(planned[1])
             : 0;
}

// Until there is a database its runs are quick: up to 29 rounds are planned. Then ten rounds, which
// there are in any case, last longer than the budget.
TEST_F(Ab, AProgramThatGetsSlowerGetsNoMoreTime) {
  const auto run = [this](const std::string& budget) {
    const double seconds = std::stod(budget);
    lab_.write("slower",
               "#!/bin/sh\n[ ! -e state" + std::to_string(runs_ + 1) + " ] || exec sleep " +
                   std::to_string(seconds / 8) + "\nexec sleep " + std::to_string(seconds / 60) +
                   "\n",
               true);
    return ab({"--budget", budget, "--no-control", "--json", "--", "./slower", "./slower x"});
  };
  const Output told =
      with_enough(6, run, [](const Output& each) { return planned_rounds(each) < 12; });
  ASSERT_EQ(told.code, 0) << told.err;
  std::smatch over;
  ASSERT_TRUE(std::regex_search(
      told.err, over,
      std::regex("the budget of [^\n]* allowed only ([0-9]+) of ([0-9]+) rounds; the first runs "
                 "took [^\n]* of it\n")))
      << told.err;
  EXPECT_EQ(planned_rounds(told), std::stoul(over[2]));
  EXPECT_EQ(std::stoul(over[1]), 10U);
}

// The ten rounds before the rule's first look last longer than the budget, and a first look of many
// alone would come too early for any interval.
TEST_F(Ab, WhereTheTimeEndsItAtTheFirstLookThereIsAnInterval) {
  const auto run = [this](const std::string& budget) {
    lab_.write("slower",
               "#!/bin/sh\n[ ! -e state" + std::to_string(runs_ + 1) + " ] || sleep " +
                   std::to_string(std::stod(budget) / 10) + "\n",
               true);
    return ab({"--budget", budget, "--no-control", "--json", "--", "./slower", "./slower x"});
  };
  const Output told =
      with_enough(4, run, [](const Output& each) { return planned_rounds(each) < 60; });
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.err, ContainsRegex("the budget of [^\n]* allowed only 10 of [0-9]+ rounds; "));
  const json report = json::parse(told.out)["report"];
  EXPECT_EQ(report["stopping"]["blocks"], 10);
  EXPECT_TRUE(report["effects"].at(0)["low"].is_number()) << report["effects"];
}

// Somebody who looks at the terminal's output as a file sees each look of the rule.
TEST_F(Ab, WhatTheRuleSeesIsToldWhileItRuns) {
  const std::string outlook = "would settle the comparison to within 0.2 %: use --beside";
  // That is from thirty rounds on. By chance, the change may look large at first.
  const Output told = ab(4, {"--margin", "0.2%", "--", "true", "exit 0"}, [&](const Output& each) {
    return !each.err.contains("command exit-0 against true: ") || !each.err.contains(outlook);
  });
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.err, AllOf(ContainsRegex("command exit-0 against true: [-+][0-9.]+ %"),
                              ContainsRegex("command true-again against true: .*, \\(control\\)")));
  // It also says, once, that so small a difference would take longer.
  const std::size_t at = told.err.find(outlook);
  ASSERT_NE(at, std::string::npos) << told.err;
  EXPECT_EQ(told.err.find(outlook, at + 1), std::string::npos) << told.err;
}

// It fails as soon as it is measured: the first runs are over when there is a database.
TEST_F(Ab, AVersionThatFailsAtTimesIsNotCompared) {
  lab_.write("fails", "#!/bin/sh\nset -- state*\n[ ! -e \"$1\" ] || exit 7\n", true);
  const Output told = ab(2, {"--no-heap", "--", "./fails", "true"});
  EXPECT_EQ(told.code, 5) << told.err;
  EXPECT_THAT(told.out,
              ContainsRegex("cannot compare true with fails: fails failed in [0-9]+ of "));
}

// Before the first trial, too: nothing is left behind.
TEST_F(Ab, CtrlCEndsABuildAndWhatItStarted) {
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "git init -q -b main . && touch x && git add x && git -c user.name=a "
                         "-c user.email=a@b commit -qm one"},
                        lab_.folder())
                .code,
            0);
  const pid_t child =
      start_program({STAB_BIN_DIR "/stabctl", "ab", "--build",
                     "sleep 4711.25 & pwd >>" + lab_.path("began") + "; sleep 4711.5", "--run",
                     "true", "HEAD", "."},
                    lab_.folder(), lab_.path("said"));
  EXPECT_TRUE(wait_for_text(lab_.path("began"), "\n"));
  const std::string began = read_file(lab_.path("began"), 4096).value_or("");
  const std::string built_in = began.substr(0, began.find('\n'));
  EXPECT_TRUE(std::filesystem::exists(built_in)) << built_in;
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child), 128 + SIGINT);
  EXPECT_THAT(read_file(lab_.path("said"), 1 << 20).value_or(""),
              HasSubstr("interrupted before anything was measured"));
  EXPECT_NE(run_program({"/usr/bin/pgrep", "-f", "sleep 4711[.]"}, "/").code, 0);
  EXPECT_FALSE(std::filesystem::exists(built_in)) << built_in;
}

// What is measured by the same command, interrupted and then to its end, is one experiment.
TEST_F(Ab, TheSameCommandGoesOnAfterCtrlCUnlessAFileHasChanged) {
  const std::string state = lab_.path("state");
  std::vector<std::string> command = {STAB_BIN_DIR "/stabctl",
                                      "ab",
                                      "--budget",
                                      "100s",
                                      "--no-heap",
                                      "--state",
                                      state,
                                      "--",
                                      "./short",
                                      "./long"};
  // Interrupted once there are some trials, and long before the rule's first look.
  const auto interrupted = [&] {
    for (int tries = 0; tries < 6; ++tries) {
      std::filesystem::remove_all(state);
      lab_.write("short", "#!/bin/sh\nexec sleep 0.1\n", true);
      lab_.write("long", "#!/bin/sh\nexec sleep 0.4\n", true);
      const pid_t child = start_program(command, lab_.folder(), lab_.path("said"));
      for (std::size_t rows = 0; rows < 4 && !is_over(child);) {
        const Output trials = lab_.ctl({"export", "1", "--state", state});
        rows = static_cast<std::size_t>(std::ranges::count(trials.out, '\n'));
      }
      kill(child, SIGINT);
      if (end_of(child) == 128 + SIGINT) return true;
    }
    return false;
  };
  ASSERT_TRUE(interrupted());
  const std::string said = read_file(lab_.path("said"), 1 << 20).value_or("");
  EXPECT_THAT(said,
              AllOf(HasSubstr("interrupted: run the same command again to continue with the rest"),
                    HasSubstr("short is ./short; long is ./long")))
      << "it shows what it has";
  const Output listed = lab_.ctl({"export", "1", "--state", state});

  std::vector<std::string> saving = command;
  saving.insert(saving.begin() + 2, {"--save", "later.toml"});
  const Output more = run_program(saving, lab_.folder());
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(lab_.ctl({"check", lab_.path("later.toml")}).code, 0) << "its plan is saved now";
  EXPECT_THAT(more.err, ContainsRegex("the same command was interrupted before; it continues with "
                                      "the remaining [^\n]* of its budget of 100s"));
  EXPECT_THAT(more.out, HasSubstr("long is slower than short: "));
  const Output all = lab_.ctl({"export", "1", "--state", state});
  EXPECT_TRUE(
      all.out.starts_with(listed.out.substr(0, listed.out.rfind('\n', listed.out.size() - 2))))
      << "what was measured before counts";
  EXPECT_EQ(lab_.ctl({"report", "2", "--state", state}).code, 1) << "there is one experiment";
  const Output third = run_program(command, lab_.folder());
  EXPECT_THAT(third.err, Not(HasSubstr("interrupted"))) << "that run has ended";

  ASSERT_TRUE(interrupted());
  lab_.write("long", "#!/bin/sh\nexec sleep 0.3\n", true);
  const Output anew = run_program(command, lab_.folder());
  EXPECT_EQ(anew.code, 0) << anew.err;
  EXPECT_THAT(anew.err,
              HasSubstr("interrupted before; now it starts from the beginning, because ./long has "
                        "changed"));
  EXPECT_EQ(lab_.ctl({"report", "2", "--state", state}).code, 0) << "there is a second one";
}

// Where no folder is named it is found among the user's runs, with the builds of its revisions.
TEST_F(Ab, ARunOfRevisionsGoesOnWithItsBuilds) {
  if (!own_state_folder(lab_.path("default"))) GTEST_SKIP() << "mounts are not allowed here";
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "git init -q -b main . && echo '*' >.git/info/exclude && echo 0.1 >pause "
                         "&& git add -f pause && git -c user.name=a "
                         "-c user.email=a@b commit -qm one && echo 0.4 >pause"},
                        lab_.folder())
                .code,
            0);
  const std::vector<std::string> command = {STAB_BIN_DIR "/stabctl",
                                            "ab",
                                            "--budget",
                                            "100s",
                                            "--no-heap",
                                            "--build",
                                            "echo >>" + lab_.path("builds"),
                                            "--run",
                                            "sleep $(cat pause)",
                                            "HEAD",
                                            "."};
  const auto runs = [&] { return json::parse(lab_.ctl({"runs", "--json"}).out); };
  const pid_t child = start_program(command, lab_.folder(), lab_.path("said"));
  while (!is_over(child)) {
    const json found = runs();
    if (!found.empty() && found[0]["done"].is_number() && found[0]["done"] >= 2) break;
  }
  kill(child, SIGINT);
  ASSERT_EQ(end_of(child), 128 + SIGINT) << read_file(lab_.path("said"), 1 << 20).value_or("");
  EXPECT_THAT(lab_.ctl({"runs"}).out, HasSubstr("(run the same 'stabctl ab' to continue)"));
  EXPECT_EQ(runs()[0]["verb"], "ab");
  const Output more = run_program(command, lab_.folder());
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("working-tree is slower than HEAD-"));
  EXPECT_EQ(read_file(lab_.path("builds"), 100).value_or(""), "\n\n")
      << "nothing was built again" << more.err;
  EXPECT_EQ(runs().size(), 1U);
  drop_state_folder();
}

// The measured command writes a log into the user's own tree, which git neither tracks nor ignores. That is
// not a change of what is measured; a new source file is.
TEST_F(Ab, WhatTheCommandWritesIsNoChangeOfTheWorkingTree) {
  std::filesystem::create_directories(lab_.path("tree/sub"));
  lab_.write("tree/sub/pause", "0.1\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c",
                   "git init -q -b main . && git add . && git -c user.name=a "
                   "-c user.email=a@b commit -qm one && echo 0.3 >sub/pause && echo 1 >notes"},
                  lab_.path("tree"))
          .code,
      0);
  const std::string state = lab_.path("state-of-tree");
  const std::vector<std::string> command = {STAB_BIN_DIR "/stabctl",
                                            "ab",
                                            "--state",
                                            state,
                                            "--budget",
                                            "100s",
                                            "--no-heap",
                                            "--build",
                                            "true",
                                            "--run",
                                            "mkdir -p " + lab_.path("tree/logs") + "; echo run >>" +
                                                lab_.path("tree/logs/run.log") +
                                                "; sleep $(cat pause)",
                                            "HEAD",
                                            "."};
  const auto interrupt = [&](const std::string& words) {
    return interrupt_after(words, command, lab_.path("tree/sub"), state);
  };
  EXPECT_THAT(interrupt("a round of runs takes"), Not(HasSubstr("starts from the beginning")));
  ASSERT_TRUE(std::filesystem::exists(lab_.path("tree/logs/run.log")));
  const std::string second = interrupt("it continues with");
  EXPECT_THAT(second, HasSubstr("was interrupted before; it continues"));
  EXPECT_THAT(second, HasSubstr("logs/run.log"));
  lab_.write("tree/sub/new.c", "int x;\n");
  EXPECT_THAT(interrupt("a round of runs takes"),
              HasSubstr("starts from the beginning, because sub/new.c is new in the working tree"));
  lab_.write("tree/notes", "2\n");
  const std::string last = interrupt("a round of runs takes");
  EXPECT_THAT(last, HasSubstr("starts from the beginning, because notes has changed"));
  // A mistake in an option does not cost the builds of the interrupted run.
  const std::string before_builds = "until then the builds remain in ";
  ASSERT_THAT(last, HasSubstr(before_builds));
  const std::size_t at = last.find(before_builds) + before_builds.size();
  const std::string builds = last.substr(at, last.find(". To see", at) - at);
  std::vector<std::string> mistaken(command.begin() + 1, command.end());
  mistaken.insert(mistaken.begin() + 1, {"--save", lab_.path("tree/notes")});
  mistaken.insert(mistaken.begin(), command.front());
  const Output refused = run_program(mistaken, lab_.path("tree/sub"));
  EXPECT_THAT(refused.err, HasSubstr("exists already"));
  EXPECT_TRUE(std::filesystem::exists(builds)) << builds;
}

TEST_F(Ab, AnInterruptedRunInANamedFolderIsLeftAloneByOtherCommands) {
  lab_.write("original", "1\n");
  const std::string state = lab_.path("state-of-one");
  const std::vector<std::string> command = {STAB_BIN_DIR "/stabctl",
                                            "ab",
                                            "--state",
                                            state,
                                            "--budget",
                                            "100s",
                                            "--no-heap",
                                            "--prepare",
                                            "cp original input",
                                            "--",
                                            "cat input; sleep 0.1",
                                            "cat <input; sleep 0.1"};
  const auto interrupt = [&](const std::string& words) {
    return interrupt_after(words, command, lab_.path(""), state);
  };
  interrupt("a round of runs takes");
  const Output other = lab_.ctl({"ab", "--state", state, "--budget", "30s", "--", "true", "true "});
  EXPECT_NE(other.code, 0);
  EXPECT_THAT(other.err, HasSubstr("holds an unfinished run of another command"));
  // A command that starts over but fails does not cost the interrupted run.
  std::filesystem::rename(lab_.path("original"), lab_.path("away"));
  const Output failing = run_program(command, lab_.path(""));
  EXPECT_NE(failing.code, 0);
  EXPECT_THAT(failing.err, HasSubstr("starts from the beginning, because original is gone"));
  std::filesystem::rename(lab_.path("away"), lab_.path("original"));
  // The step writes `input` itself, so only the file from which it comes counts.
  EXPECT_THAT(interrupt("it continues with"), HasSubstr("writes them: input"));
  lab_.write("original", "2\n");
  EXPECT_THAT(interrupt("a round of runs takes"),
              HasSubstr("starts from the beginning, because original has changed"));
}

// A program that is built anew between the two is another one, wherever the shell finds it.
TEST_F(Ab, AProgramThatAShellFindsThroughPathIsLookedAt) {
  std::filesystem::create_directories(lab_.path("bin"));
  lab_.write("bin/a-tool", "#!/bin/sh\nexec sleep 0.1\n", true);
  const std::string state = lab_.path("state-of-tools");
  const std::vector<std::string> command = {STAB_BIN_DIR "/stabctl",
                                            "ab",
                                            "--state",
                                            state,
                                            "--budget",
                                            "100s",
                                            "--no-heap",
                                            "--env",
                                            "PATH=" + lab_.path("bin") + ":/usr/bin:/bin",
                                            "--",
                                            "a-tool 1",
                                            "X=1 a-tool 2 | cat"};
  const auto interrupt = [&](const std::string& words) {
    return interrupt_after(words, command, lab_.path(""), state);
  };
  interrupt("a round of runs takes");
  EXPECT_THAT(interrupt("it continues with"), Not(HasSubstr("starts from the beginning")));
  lab_.write("bin/a-tool", "#!/bin/sh\nexec sleep 0.2\n", true);
  EXPECT_THAT(interrupt("a round of runs takes"),
              HasSubstr("starts from the beginning, because the program a-tool has changed"));
}

// Each waits for the other one, which is there only while both build.
TEST_F(Ab, RevisionsAreBuiltAtTheSameTime) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "there is one CPU";
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "git init -q -b main . && touch x && git add x && git -c user.name=a "
                         "-c user.email=a@b commit -qm one"},
                        lab_.folder())
                .code,
            0);
  const std::string meet = "n=$(basename \"$PWD\"); touch " + lab_.path("here-") +
                           "$n; for i in $(seq 600); do [ -e " + lab_.path("here-001") + " -a -e " +
                           lab_.path("here-002") + " ] && exit 0; sleep 0.1; done; exit 1";
  const Output told = ab(3, {"--build", meet, "--run", "true", "HEAD", "."});
  EXPECT_EQ(told.code, 0) << told.err;
}

TEST_F(Ab, ThePlanThatItSavesIsOneAndNoFileIsReplaced) {
  const std::vector<std::string> twice = {"--save", "saved.toml", "--", "true", "exit 0"};
  ASSERT_EQ(ab(2, twice).code, 0);
  const Output check = lab_.ctl({"check", lab_.path("saved.toml")});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("exit-0"));
  const Output again = ab(twice);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("the file saved.toml exists already"));
}

TEST_F(Ab, WhatCannotBeComparedIsRefusedBeforeAnythingIsMeasured) {
  const auto refusal = [this](const std::vector<std::string>& arguments) {
    const Output refused = ab(arguments);
    EXPECT_EQ(refused.code, 1);
    EXPECT_FALSE(std::filesystem::exists(lab_.path("state" + std::to_string(runs_))));
    return refused.err;
  };
  EXPECT_THAT(refusal({"--", "true"}),
              AllOf(HasSubstr("name at least two versions"), HasSubstr("'stabctl ab --help'")));
  EXPECT_THAT(refusal({"--", "true", "echo why >&2; exit 3"}),
              HasSubstr("the command ended with exit code 3: why"));
  EXPECT_THAT(refusal({"--build", "true", "main", "."}),
              AllOf(HasSubstr("revisions need both"), HasSubstr("'stabctl ab --help'")));
  EXPECT_THAT(refusal({"--build", "true", "--run", "true", "no-such-branch", "."}),
              HasSubstr("no-such-branch is not a revision of the repository"));
  EXPECT_THAT(refusal({"--program", "/bin/true", "./nothing"}),
              HasSubstr("is not an executable file"));
  EXPECT_THAT(refusal({"--budget", "10s", "--", "true", "sleep 3"}), HasSubstr("--budget "));
  EXPECT_THAT(refusal({"--budget", "soon", "--", "true", "exit 0"}), HasSubstr("--budget soon"));
  EXPECT_THAT(refusal({"--budget", "25h", "--", "true", "exit 0"}),
              HasSubstr("--budget 25h: give at most 24 hours"));
  EXPECT_THAT(refusal({"--margin", "wide", "--", "true", "exit 0"}), HasSubstr("margin"));
  EXPECT_THAT(refusal({"--fail-on", "rain", "--", "true", "exit 0"}), HasSubstr("--fail-on rain"));
  EXPECT_THAT(refusal({"--response", "nope", "--", "true", "exit 0"}),
              AllOf(HasSubstr("--metric nope: "), HasSubstr("Give one of wall, user, "),
                    HasSubstr("'stabctl counters'")));
  for (const char* codes : {"", "x", "256", "-1", "0,", "0;1"})
    EXPECT_THAT(refusal({"--exit-codes", codes, "--", "true", "exit 0"}),
                HasSubstr("for example 0,1"));
  for (const char* cpus : {"x", "1x", "2-", "1-0"})
    EXPECT_THAT(refusal({"--cpu", cpus, "--", "true", "exit 0"}),
                HasSubstr("for example 1 or 2-3"));
  EXPECT_THAT(refusal({"--cpu", "1022", "--", "true", "exit 0"}),
              AllOf(HasSubstr("CPU 1022 was requested, but only "), HasSubstr("can be used here")));
  EXPECT_THAT(refusal({"--env", "NO_SUCH_VARIABLE", "--", "true", "exit 0"}),
              HasSubstr("this variable is not set"));
}

}  // namespace
}  // namespace stab::test
