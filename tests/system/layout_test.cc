// SPDX-License-Identifier: MIT
// Experiments whose programs szc builds: what the plan asks of the layout is what each trial gets,
// and a trial that does not get it is not counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Prints where its functions run: a return address lies in the copy.
constexpr const char* program = R"(
#include <stdio.h>
#include <stdlib.h>
#include <stabilizer.h>
#define NOINLINE __attribute__((noinline))
static volatile unsigned sink;
NOINLINE void *here(void) { return __builtin_return_address(0); }
NOINLINE void *first(void) { void *p = here(); sink += 1; return p; }
NOINLINE void *second(void) { void *p = here(); sink += 2; return p; }
NOINLINE void work(unsigned n) { for (unsigned i = 0; i < n; ++i) sink += i ^ (i >> 3); }
int main(int argc, char **argv) {
#ifdef REGION
  STAB_BEGIN();
#endif
  work(argc > 1 ? (unsigned)atoi(argv[1]) : 20000);
#ifdef REGION
  STAB_END();
#endif
  printf("%p %p\n", first(), second());
  return 0;
}
)";

std::string plan(const std::string& name, const std::string& flags, const std::string& more) {
  return "[experiment]\nname = \"" + name + R"("
seed = 5
[variables]
CC = "szc"
[defaults]
repetitions = 4
[[benchmark]]
name = "b"
build = "${CC} -O1 )" +
         flags + R"( ${LDFLAGS} -o ${OUT} b.c"
sources = ["b.c"]
run = ["${OUT}"]
)" + more;
}

class Layout : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("b.c", program);
    ASSERT_TRUE(lab_.start_daemon());
  }

  // Its id, when it has ended.
  int run(const std::string& text) {
    const std::string file = "plan" + std::to_string(++plans_) + ".toml";
    lab_.write(file, text);
    submitted_ = lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path(file)});
    return plans_;
  }
  json report(int id) const {
    return json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out, nullptr, false);
  }

  Lab lab_;
  Output submitted_;
  int plans_ = 0;
};

TEST_F(Layout, CodeIsSwitchedOnAndOffInOneBinary) {
  const int id = run(plan("code", "-DREGION",
                          "[factor.code]\nlevels = [false, true]\n"
                          "[randomize]\nrerandomize = \"once\"\nheap = false\n"
                          "[analysis]\nresponse = \"region\"\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  const std::string versions = report(id)["versions"];
  EXPECT_THAT(versions, HasSubstr("stabd 0"));
  EXPECT_THAT(versions, HasSubstr("built by Debian LLD 22"));
  EXPECT_THAT(versions, HasSubstr("clang version 22"));
  EXPECT_TRUE(report(id)["load"]["busy"].is_boolean());
  const json rows = lab_.trials(id);
  ASSERT_THAT(rows, SizeIs(8));
  std::set<std::string> builds;
  std::map<std::string, std::set<std::string>> places;
  for (const json& row : rows) {
    EXPECT_EQ(row["status"], "ok") << row;
    const bool on = row["code"] == "true";
    EXPECT_EQ(row["randomized"], on) << row;
    EXPECT_EQ(row["randomization"], on ? "code once" : "");
    EXPECT_EQ(row["layout_seed"], on ? row["seed"] : json(nullptr));
    EXPECT_EQ(row["layout_note"], on ? "" : "code=0");
    EXPECT_GT(row["region_ns"].get<std::int64_t>(), 0);
    EXPECT_EQ(row["regions"], 1);
    EXPECT_LE(row["region_ns"], row["main_to_exit_ns"]);
    EXPECT_LT(row["main_to_exit_ns"], row["wall_ns"]);
    if (on) EXPECT_GT(row["moved_functions"].get<int>(), 3);
    builds.insert(row["build"]);
    places[row["code"]].insert(row["stdout_sha256"]);
  }
  EXPECT_THAT(builds, SizeIs(1));
  EXPECT_THAT(places["false"], SizeIs(1));
  EXPECT_THAT(places["true"], SizeIs(4));

  const json document = report(id);
  EXPECT_EQ(document["layouts"]["randomized"], 4);
  EXPECT_EQ(document["layouts"]["unrandomized"], 4);
  EXPECT_EQ(document["layouts"]["kinds"], "code once");
  EXPECT_GT(document["layouts"]["median_share"], 0.5);
  EXPECT_THAT(document["model"].get<std::string>(), HasSubstr("log(region) ~"));
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id)}).out,
              HasSubstr("4 of 8 trials randomized (code once)"));
}

// In a fifth of its blocks, a plan with enough of them also runs the program as its users run it.
TEST_F(Layout, ThePlanMeasuresWhatRandomLayoutsCost) {
  std::string text =
      plan("cost", "${FLAGS}",
           "[factor.opt]\nlevels = { first = { FLAGS = \"-O1\" }, second = { FLAGS = "
           "\"-O0\" } }\n[randomize]\nrerandomize = \"once\"\n");
  text.replace(text.find("repetitions = 4"), 15, "repetitions = 20");
  lab_.write("cost.toml", text);
  EXPECT_THAT(lab_.ctl({"check", lab_.path("cost.toml")}).out,
              HasSubstr("in one of 5 blocks, the first cell also runs without random layouts"));
  const std::string state = lab_.path("own-state");
  const Output ran = lab_.ctl({"run", "--state", state, lab_.path("cost.toml")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json document =
      json::parse(lab_.ctl({"report", "--state", state, "--json"}).out, nullptr, false);
  EXPECT_EQ(document["trials"]["ok"], 44) << document["failures"];
  EXPECT_EQ(document["trials"]["planned"], 44);
  EXPECT_EQ(document["layouts"]["randomized"], 40);
  EXPECT_EQ(document["layouts"]["unrandomized"], 0);
  for (const json& mean : document["means"]) EXPECT_EQ(mean["n"], 20) << mean;
  const json& cost = document["cost"];
  ASSERT_THAT(document["heap"], SizeIs(1));
  json off = {"functions", "stack frames"};
  if (document["heap"][0]["drawn"] == true) off.push_back("heap blocks");
  EXPECT_EQ(cost["off"], off) << document["heap"];
  EXPECT_EQ(cost["n"], 4);
  EXPECT_TRUE(cost["low"].is_number()) << cost;
  EXPECT_LE(cost["low"], cost["ratio"]);
  EXPECT_LE(cost["ratio"], cost["high"]);
  const json rows = json::parse(lab_.ctl({"export", "1", "--state", state, "--format", "json"}).out,
                                nullptr, false);
  ASSERT_THAT(rows, SizeIs(44));
  std::map<bool, std::set<std::string>> places;
  std::map<bool, std::set<std::string>> builds;
  for (const json& row : rows) {
    const bool is_plain = row["random-layouts"] == "off";
    EXPECT_EQ(row["randomized"], !is_plain) << row;
    EXPECT_EQ(row["opt"].is_null(), is_plain) << row;
    if (!is_plain && row["opt"] != "first") continue;
    places[is_plain].insert(row["stdout_sha256"]);
    builds[is_plain].insert(row["build"]);
  }
  EXPECT_THAT(places[true], SizeIs(1)) << "their functions stay where they are";
  EXPECT_THAT(places[false], SizeIs(20));
  EXPECT_EQ(builds[true], builds[false]) << "it is the same program";
  EXPECT_THAT(joined(lab_.ctl({"report", "--state", state, "--full"}).out),
              HasSubstr("Cost random layouts themselves cost "));
}

// What stabctl adds to a plan says what its trials draw; a stored plan without it draws what it did.
TEST_F(Layout, FramesHavePadsByDefaultAndStoredPlansKeepTheirMeaning) {
  const int id = run(plan("new", "", "[analysis]\nresponse = \"cpu\"\n"));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_THAT(row["randomization"].get<std::string>(), HasSubstr("code stack repeated"));
  }
  const json stored = json::parse(lab_.ctl({"status", std::to_string(id), "--json"}).out);
  EXPECT_THAT(stored["plan"].get<std::string>(),
              HasSubstr("[by_default]\nstack = true\nheap = \"layer\"\nclang = 22\n"));
  const json settings = report(id)["settings"];
  EXPECT_THAT(settings.dump(), HasSubstr("by default: random stack frames in programs built by "
                                         "szc\",\"by default: no benchmark has random heap"));
  std::map<std::string, json> random;
  for (const json& each : report(id)["random"]) random[each["what"]] = each;
  EXPECT_EQ(random["functions"]["random"], true);
  EXPECT_EQ(random["stack frames"]["random"], true);
  EXPECT_EQ(random["stack frames"]["why_not"], nullptr);
  EXPECT_EQ(random["heap blocks"]["random"], false);
  EXPECT_EQ(random["heap blocks"]["why_not"], "the plan has too few trials for test runs");
  EXPECT_EQ(random["addresses"]["why_not"], "machine.aslr = false");
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id), "--full"}).out,
              HasSubstr("Random    functions, stack frames; not: environment (the plan has no"));
  const Output shown = lab_.ctl({"replay", std::to_string(id), "0", "--print"});
  EXPECT_THAT(shown.out, HasSubstr(":stack=1:")) << shown.err;

  // As an earlier version has submitted it: nothing adds to it.
  const std::string old = plan("old", "", "[analysis]\nresponse = \"cpu\"\n");
  const Fd daemon = lab_.connect();
  const protocol::HelloRequest hello{.protocol = protocol::version, .version = ""};
  const protocol::SubmitRequest submit{.plan = old, .directory = lab_.folder()};
  ASSERT_TRUE(
      write_all(daemon.get(), protocol::encode(hello) + "\n" + protocol::encode(submit) + "\n"));
  ASSERT_TRUE(lab_.wait_until_final(id + 1));
  for (const json& row : lab_.trials(id + 1)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_THAT(row["randomization"].get<std::string>(), HasSubstr("code repeated"));
  }
  EXPECT_THAT(lab_.ctl({"replay", std::to_string(id + 1), "0", "--print"}).out,
              ::testing::Not(HasSubstr("stack=1")));
  const json after = json::parse(lab_.ctl({"history", "b", "--json"}).out)["experiments"];
  EXPECT_EQ(after[1]["remarks"], json::array({"fewer settings than before"}));
}

// Test runs decide about heap blocks before the first trial. Because the machine may be slow, both
// decisions are right here, but each must be the same in all that shows it.
TEST_F(Layout, HeapBlocksAreRandomByDefaultIfTestRunsAllowIt) {
  lab_.write("b.c",
             "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n"
             "for (int i = 0; i < 99; ++i) { char *volatile p = malloc(100); *p = 1; }\n"
             "puts(\"done\"); return 0; }\n");
  std::string text = plan("heap", "", "");
  text.replace(text.find("repetitions = 4"), 15, "repetitions = 20");
  const int id = run(text);
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(20));
  const json document = report(id);
  ASSERT_THAT(document["heap"], SizeIs(1)) << document;
  const json& heap = document["heap"][0];
  EXPECT_EQ(heap["benchmark"], "b");
  EXPECT_EQ(heap["cost"]["pairs"], 2) << "a fifth of 20 runs";
  const bool drawn = heap["drawn"];
  if (!drawn) EXPECT_THAT(heap["changes"].dump(), HasSubstr("times as much CPU time"));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["randomization"].get<std::string>().contains("heap layer"), drawn) << row;
  }
  const std::string words = drawn ? "heap blocks (costs " : "heap blocks (random heap positions";
  EXPECT_THAT(joined(lab_.ctl({"report", std::to_string(id), "--full"}).out), HasSubstr(words));
  EXPECT_THAT(lab_.ctl({"logs", std::to_string(id)}).out,
              HasSubstr(drawn ? "b: heap blocks are random (costs " : "b: heap blocks are not"));
  EXPECT_EQ(lab_.ctl({"replay", std::to_string(id), "0", "--print"}).out.contains("heap=1"), drawn);
  // A program that breaks with the layer runs without it.
  lab_.write("b.c",
             "#include <stdlib.h>\n#include <string.h>\nint main(void) {\n"
             "return strstr(getenv(\"STABILIZER_OPTIONS\"), \"heap=1\") ? 9 : 0; }\n");
  const int picky = run(text);
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  EXPECT_EQ(report(picky)["heap"][0]["why_not"],
            "b does not run with the heap layer: ended with exit code 9, not 0");
  EXPECT_EQ(report(picky)["trials"]["ok"], 20);
}

// A program without pads is an error only if the plan asks for pads.
TEST_F(Layout, FramesWithoutPadsAreNotRandom) {
  lab_.write("b.c",
             "#include <stdio.h>\n__attribute__((noinline)) void say(void) { puts(\"a\"); }\n"
             "int main(void) { say(); return 0; }\n");
  const std::string gcc = "--stab-quiet --stab-cc=gcc --stab-stack=off";
  const std::string none = "no stack frame of the executable has a pad";
  const int by_default = run(plan("default", gcc, "[randomize]\nrerandomize = \"once\"\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(by_default), SizeIs(4));
  for (const json& row : lab_.trials(by_default)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["randomization"], "code once");
    EXPECT_THAT(row["layout_note"].get<std::string>(), HasSubstr(none));
  }
  const json random = report(by_default)["random"];
  const auto frames = std::find_if(random.begin(), random.end(),
                                   [](const json& each) { return each["what"] == "stack frames"; });
  ASSERT_NE(frames, random.end()) << random;
  EXPECT_EQ((*frames)["random"], false);
  EXPECT_THAT((*frames)["why_not"].get<std::string>(), HasSubstr(none));
  EXPECT_THAT(report(by_default)["notes"].dump(),
              HasSubstr("In 4 of 4 randomized trials, the runtime reported: " + none));
  const int asked = run(plan("asked", gcc, "[randomize]\nstack = true\n"));
  EXPECT_EQ(submitted_.code, 5);
  ASSERT_THAT(lab_.trials(asked), SizeIs(4));
  for (const json& row : lab_.trials(asked)) {
    EXPECT_EQ(row["status"], "not_randomized") << row;
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("asks for stack=1"));
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr(none));
  }
}

TEST_F(Layout, APlanThatAsksForPadsOfAProgramWithoutCallsIsToldWhatToChange) {
  lab_.write("b.c",
             "int main(void) {\n  volatile unsigned sum = 0;\n"
             "  for (unsigned i = 0; i < 100000; ++i) sum += i;\n  return 0;\n}\n");
  run(plan("asked", "", "[randomize]\nstack = true\n"));
  EXPECT_EQ(submitted_.code, 5);
  ASSERT_THAT(lab_.trials(1), SizeIs(4));
  for (const json& row : lab_.trials(1)) {
    EXPECT_EQ(row["status"], "not_randomized") << row;
    EXPECT_THAT(
        row["reason"].get<std::string>(),
        ::testing::AllOf(HasSubstr("no stack frame of the executable can have a pad, because the "
                                   "movable functions make no calls"),
                         HasSubstr("set stack = false in [randomize]")));
  }
  run(plan("without", "", "[randomize]\nstack = false\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
}

// The link gives no pads to frames that no pass has seen, so only the compilers differ.
TEST_F(Layout, TheReportSaysWhyAClangWithoutAPassMakesNoPads) {
  lab_.write("clang-15",
             "#!/bin/sh\n[ \"$1\" != --version ] || exec echo 'clang version 15.0.7'\n"
             "exec clang-22 \"$@\"\n",
             true);
  const auto frames_of = [&](const std::string& name, const std::string& compiler) {
    const std::string by = " --stab-cc=" + compiler + " ";
    std::string text = plan(name, by + "-c", "[randomize]\nrerandomize = \"once\"\n");
    const std::string output = "-o ${OUT} b.c";
    text.replace(text.find(output), output.size(),
                 "-o ${OUT}.o b.c && STAB_STACK=off ${CC}" + by + "${LDFLAGS} -o ${OUT} ${OUT}.o");
    const int id = run(text);
    EXPECT_EQ(submitted_.code, 0) << submitted_.err;
    const json random = report(id)["random"];
    const auto frames = std::ranges::find_if(
        random, [](const json& each) { return each["what"] == "stack frames"; });
    return frames == random.end() ? json() : *frames;
  };
  const std::string why =
      "no stack frame of the executable has a pad, because szc could not add any (szc "
      "--stab-version lists the versions of clang that make room for pads in all functions, and "
      "szc "
      "--stab-explain gives each function's reason)";
  const json without = frames_of("without", lab_.path("clang-15"));
  EXPECT_EQ(without["random"], false) << without;
  EXPECT_THAT(without["why_not"].dump(), HasSubstr(why));
  EXPECT_THAT(joined(lab_.ctl({"report", "1", "--full"}).out), HasSubstr(joined(why)));
  const json with = frames_of("with", "clang-22");
  EXPECT_EQ(with["random"], true) << with;
}

TEST_F(Layout, ALayoutFactorsSeedsAreDrawnPerCellAndRunSeveralTimes) {
  std::string text = plan("seeds", "",
                          "[factor.layout]\nrandom = { seeds = 3, runs = 3 }\n"
                          "[design]\nkind = \"nested\"\n");
  text.erase(text.find("[defaults]"), text.find("[[benchmark]]") - text.find("[defaults]"));
  const int id = run(text);
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  std::map<std::string, std::set<std::string>> places;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["layout_seed"], row["layout"]) << row;
    EXPECT_EQ(row["randomization"], "code stack once");
    places[row["layout"]].insert(row["stdout_sha256"]);
  }
  ASSERT_THAT(places, SizeIs(3));
  std::set<std::string> all;
  for (const auto& [seed, digests] : places) {
    EXPECT_THAT(digests, SizeIs(1)) << seed;
    all.insert(*digests.begin());
  }
  EXPECT_THAT(all, SizeIs(3));
}

// The program runs for some CPU time, whatever that is in work.
TEST_F(Layout, RepeatedLayoutsAreCountedAndTooFewAreWarnedOf) {
  lab_.write("b.c",
             "#include <time.h>\nstatic volatile unsigned sink;\n"
             "__attribute__((noinline)) void work(void) { sink += sink ^ 3; }\n"
             "int main(void) { while (clock() < CLOCKS_PER_SEC / 20) work(); return 0; }\n");
  const int id = run(plan("epochs", "", "[factor.period]\nlevels = [\"5ms\", \"1h\"]\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    const bool often = row["period"] == "5ms";
    EXPECT_EQ(row["randomization"],
              often ? "code stack repeated 5ms" : "code stack repeated 3600000ms");
    if (often)
      EXPECT_GT(row["epochs"].get<int>(), 1);
    else
      EXPECT_EQ(row["epochs"], 1);
  }
  EXPECT_GE(report(id)["layouts"]["few_epochs"], 4);
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id)}).out, HasSubstr("warning:"));
}

// What the heap does to the addresses of blocks, by the way in which the program was built.
TEST_F(Layout, TheHeapIsSwitchedOnAndOffInProgramsOfAnyCompiler) {
  lab_.write("b.c",
             "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n"
             "for (int i = 0; i < 9; ++i) printf(\"%p\\n\", malloc(100)); return 0; }\n");
  const int id = run(plan("heap", "",
                          "[factor.heap]\nlevels = [false, true]\n"
                          "[factor.compiler]\nlevels = { ours = { CC = \"szc\" }, other = { CC = "
                          "\"clang-22\" } }\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(16));
  std::map<std::string, std::set<std::string>> places;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    const bool on = row["heap"] == "true";
    const bool ours = row["compiler"] == "ours";
    EXPECT_EQ(row["randomized"], on || ours) << row;
    if (on) {
      EXPECT_THAT(row["randomization"].get<std::string>(), HasSubstr("heap shuffled"));
      EXPECT_GE(row["heap_operations"].get<int>(), 9);
      EXPECT_GE(row["heap_bytes"].get<int>(), 900);
      EXPECT_EQ(row["heap_fixed_bytes"], 0);
    } else {
      EXPECT_EQ(row["heap_bytes"], nullptr);
    }
    places[row["heap"].get<std::string>() + row["compiler"].get<std::string>()].insert(
        row["stdout_sha256"]);
  }
  EXPECT_THAT(places["falseother"], SizeIs(1));
  EXPECT_THAT(places["falseours"], SizeIs(1));
  EXPECT_THAT(places["trueother"], SizeIs(4));
  EXPECT_THAT(places["trueours"], SizeIs(4));
}

// jemalloc has an operator new of its own, which does not call malloc.
TEST_F(Layout, TheLayerServesMallocAndNewOfProgramsWithAnotherAllocator) {
  const Output library = run_program(
      {"/bin/sh", "-c", "echo 'int main(void) { return 0; }' | cc -xc - -ljemalloc -o x"},
      lab_.folder());
  if (library.code != 0) GTEST_SKIP() << "there is no libjemalloc to link with";
  lab_.write("b.c",
             "#include <stdlib.h>\nvoid *_Znwm(unsigned long);\nint main(void) {\n"
             "for (int i = 0; i < 300; ++i) {\n  char *volatile p = malloc(100);\n"
             "  char *volatile q = _Znwm(100);\n  *p = *q = 1;\n}\nreturn 0; }\n");
  const int id = run(plan("other", "-Wl,--no-as-needed -ljemalloc",
                          "[factor.heap]\nlevels = [false, true]\n"
                          "[factor.compiler]\nlevels = { ours = { CC = \"szc\" }, other = { CC = "
                          "\"clang-22\" } }\n[randomize]\nallocator = \"layer\"\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(16));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    if (row["heap"] != "true") continue;
    EXPECT_THAT(row["randomization"].get<std::string>(), HasSubstr("heap layer"));
    EXPECT_GE(row["heap_operations"].get<int>(), 600) << row;
  }
}

TEST_F(Layout, AHeapThatIsMostlyLargeBlocksIsWarnedOf) {
  lab_.write("b.c",
             "#include <stdlib.h>\nint main(void) { char *volatile p = malloc(1 << 20); free(p); "
             "return 0; }\n");
  const int id = run(plan("large", "", "[factor.allocator]\nlevels = [\"shuffled\", \"tlsf\"]\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  EXPECT_EQ(report(id)["layouts"]["fixed_heaps"], 8);
  EXPECT_THAT(
      lab_.ctl({"report", std::to_string(id), "--full"}).out,
      ::testing::ContainsRegex("more[ \n]+than[ \n]+half[ \n]+of[ \n]+the[ \n]+heap's[ \n]+bytes"));
}

TEST_F(Layout, LinkPaddingMakesABinaryForEachBlock) {
  const int id = run(plan("padding", "",
                          "[factor.link_padding]\nrandom = { per = \"block\" }\n"
                          "[randomize]\ncode = false\nheap = false\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  std::set<std::string> builds;
  std::set<std::string> places;
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["randomized"], false);
    builds.insert(row["build"]);
    places.insert(row["stdout_sha256"]);
  }
  EXPECT_THAT(builds, SizeIs(4));
  EXPECT_GT(places.size(), 1U);
}

TEST_F(Layout, LinkFactorsAndPlacementAtRandomWorkTogether) {
  const int id = run(plan("links", "",
                          "[factor.link_padding]\nlevels = [1, 2]\n"
                          "[factor.link_order]\nrandom = { per = \"block\" }\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(8));
  for (const json& row : lab_.trials(id)) EXPECT_EQ(row["randomized"], true) << row;
}

TEST_F(Layout, ANewRuntimeIsNotServedFromTheCache) {
  namespace fs = std::filesystem;
  const fs::path ours = fs::path(STAB_BIN_DIR).parent_path();
  const fs::path copy = lab_.path("tools");
  for (const char* part : {"bin/szc", "libexec/ld.stab", "libexec/stab-link", "lib/stab-runtime.o",
                           "lib/stab-library.o", "lib/stab-pass-22.so", "include/stabilizer.h"}) {
    fs::create_directories((copy / part).parent_path());
    fs::copy_file(ours / part, copy / part);
  }
  std::string text = plan("cache", "", "");
  text.replace(text.find("szc"), 3, (copy / "bin/szc").string());
  const auto build = [&] { return lab_.trials(run(text)).at(0)["build"].get<std::string>(); };
  const std::string before = build();
  EXPECT_EQ(build(), before);
  const fs::path runtime = copy / "lib/stab-runtime.o";
  fs::last_write_time(runtime, fs::last_write_time(runtime) + std::chrono::seconds(1));
  EXPECT_NE(build(), before);
}

TEST_F(Layout, TheSamePlanGivesTheSameLayoutsAgain) {
  const std::string text = plan("again", "", "[randomize]\nrerandomize = \"once\"\n");
  const auto layouts = [&](int id) {
    std::map<int, std::pair<std::string, std::string>> found;
    for (const json& row : lab_.trials(id)) {
      EXPECT_EQ(row["layout_seed"], row["seed"]) << row;
      found[row["position"]] = {row["layout_seed"], row["stdout_sha256"]};
    }
    return found;
  };
  const auto first = layouts(run(text));
  ASSERT_THAT(first, SizeIs(4));
  EXPECT_EQ(layouts(run(text)), first);
}

TEST_F(Layout, APlanThatAsksForNothingRandomizesWhatSzcBuiltAndRunsTheRest) {
  lab_.write("plain/stabilizer.h", "");
  const int id = run(plan("both", "",
                          "[factor.compiler]\nlevels = { ours = { CC = \"szc\" }, other = { CC = "
                          "\"clang-22 -I${SRC}/plain\" } }\n"));
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(8));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_EQ(row["randomized"], row["compiler"] == "ours" ? json(true) : json(nullptr)) << row;
  }
}

TEST_F(Layout, AProgramThatSzcDidNotBuildIsRefusedWithWhatToChange) {
  lab_.write("plain.c", "int main(void) { return 0; }\n");
  const std::string text =
      "[experiment]\nname = \"p\"\n[defaults]\nrepetitions = 2\n[[benchmark]]\nname = \"b\"\n"
      "build = \"clang-22 -o ${OUT} plain.c\"\nsources = [\"plain.c\"]\nrun = [\"${OUT}\"]\n";
  const int id = run(text + "[randomize]\ncode = true\n");
  EXPECT_EQ(submitted_.code, 5);
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "not_randomized");
    EXPECT_EQ(row["randomized"], nullptr);
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("build it with szc"));
  }
  EXPECT_EQ(report(id)["trials"]["ok"], 0);
}

// What no text of the plan shows, the built file does.
TEST_F(Layout, AStaticProgramIsRefusedBeforeTheFirstTrial) {
  const std::string text =
      "[experiment]\nname = \"s\"\n[defaults]\nrepetitions = 2\n[[benchmark]]\nname = \"b\"\n"
      "build = \"sh link.sh ${OUT}\"\nsources = [\"b.c\", \"link.sh\"]\nrun = [\"${OUT}\"]\n";
  for (const std::string flag : {"-static", "-static-pie"}) {
    lab_.write("link.sh", "exec szc --stab-quiet " + flag + " b.c -o \"$1\"\n");
    const int refused = run(text + "[randomize]\ncode = true\n");
    EXPECT_NE(submitted_.code, 0) << flag;
    EXPECT_THAT(lab_.trials(refused), SizeIs(0)) << flag;
    EXPECT_THAT(
        lab_.ctl({"status", std::to_string(refused), "--json"}).out,
        HasSubstr("the program built for 'b' can't have one: the program is linked statically"))
        << flag;
    // A plan that asks for nothing runs it, and its report says why nothing was random.
    const int plain = run(text);
    EXPECT_EQ(submitted_.code, 0) << submitted_.err;
    ASSERT_THAT(lab_.trials(plain), SizeIs(2));
    for (const json& row : lab_.trials(plain)) {
      EXPECT_EQ(row["status"], "ok") << row;
      EXPECT_EQ(row["randomized"], nullptr);
      EXPECT_THAT(row["layout_note"].get<std::string>(), HasSubstr("linked statically"));
    }
    EXPECT_EQ(report(plain)["layouts"]["in_place"], 2);
    EXPECT_THAT(joined(lab_.ctl({"report", std::to_string(plain), "--full"}).out),
                AllOf(HasSubstr("not: "), HasSubstr("(the program is linked statically, and")));
  }
}

// What BOLT has rewritten keeps its code in place, but takes a library.
TEST_F(Layout, AProgramOfBoltHasARandomHeap) {
  lab_.write("plain.c",
             "#include <stdlib.h>\nint main(void) {\n  for (int i = 0; i < 1000; ++i) "
             "free(malloc(100));\n  return 0;\n}\n");
  // BOLT leaves this section.
  lab_.write("link.sh",
             "clang-22 -O0 -o \"$1\" plain.c && "
             "objcopy --add-section .note.bolt_info=plain.c \"$1\"\n");
  const std::string text =
      "[experiment]\nname = \"b\"\n[defaults]\nrepetitions = 2\n[[benchmark]]\nname = \"b\"\n"
      "build = \"sh link.sh ${OUT}\"\nsources = [\"plain.c\", \"link.sh\"]\nrun = [\"${OUT}\"]\n";
  const int id = run(text + "[randomize]\ncode = false\nstack = false\nheap = true\n");
  EXPECT_EQ(submitted_.code, 0) << submitted_.err;
  ASSERT_THAT(lab_.trials(id), SizeIs(2));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    EXPECT_GE(row["heap_operations"].get<int>(), 900) << row;
  }
}

TEST_F(Layout, CheckRefusesAPlanWhoseBuildLinksStatically) {
  const auto check = [&](const std::string& flags, const std::string& more) {
    lab_.write("check.toml", plan("c", flags, more));
    return lab_.ctl({"check", lab_.path("check.toml")});
  };
  for (const std::string flag : {"-static", "-static-pie"}) {
    const Output refused = check(flag, "[randomize]\ncode = true\n");
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err,
                HasSubstr("the build of 'b' links with " + flag + ": leave " + flag + " out"));
    const Output plain = check(flag, "");
    EXPECT_EQ(plain.code, 0) << plain.err;
    EXPECT_THAT(plain.out, HasSubstr("random layouts: the program of 'b' does not randomize its "
                                     "own layout, because its build links with " +
                                     flag));
  }
  EXPECT_EQ(check("-static-libgcc", "[randomize]\ncode = true\n").code, 0);
  EXPECT_EQ(check("-static", "[factor.link_order]\nrandom = { per = \"block\" }\n").code, 0);
  // A tool of the build's own may be static.
  EXPECT_EQ(check("-static -o tool b.c && ${CC}", "[randomize]\ncode = true\n").code, 0);
}

TEST_F(Layout, ALayoutThatTheRuntimeCannotMakeIsRefused) {
  const int id = run(plan("off", "--stab-off", "[randomize]\ncode = true\n"));
  EXPECT_EQ(submitted_.code, 5);
  EXPECT_THAT(lab_.trials(id), SizeIs(4));
  for (const json& row : lab_.trials(id)) EXPECT_EQ(row["status"], "not_randomized") << row;
}

TEST_F(Layout, AResponseThatIsNotMeasuredFailsTheTrial) {
  const int id = run(plan("missing", "", "[analysis]\nresponse = \"region\"\n"));
  EXPECT_EQ(submitted_.code, 5);
  ASSERT_THAT(lab_.trials(id), SizeIs(4));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "not_measured");
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("STAB_BEGIN()"));
    EXPECT_GT(row["main_to_exit_ns"].get<std::int64_t>(), 0);
    EXPECT_EQ(row["region_ns"], nullptr);
  }
}

TEST_F(Layout, CheckSaysWhatWillBeRandomAndWhatCannotBe) {
  const auto check = [&](const std::string& text) {
    lab_.write("check.toml", text);
    return lab_.ctl({"check", lab_.path("check.toml")});
  };
  EXPECT_THAT(
      check(plan("c", "", "[factor.code]\nlevels = [false, true]\n")).out,
      HasSubstr("random layouts: made by the programs, which must be built by szc: code set by its "
                "factor, each trial with its own seed"));
  EXPECT_THAT(check(plan("c", "", "[factor.heap]\nlevels = [false, true]\n")).out,
              HasSubstr("random layouts: made by the programs that szc built, and by "
                        "libstabheap.so in other programs: heap set "
                        "by its factor, stack = true by default, each trial with its own seed"));
  EXPECT_THAT(
      check(plan("c", "", "")).out,
      AllOf(HasSubstr("place their code and size their stack frames at random in each trial"),
            HasSubstr("test runs decide about heap blocks")));
  // The order of the cells makes no difference.
  for (int seed = 1; seed <= 8; ++seed)
    EXPECT_THAT(check("[experiment]\nname = \"m\"\nseed = " + std::to_string(seed) +
                      "\n[[benchmark]]\nname = \"b\"\nbuild = \"${CC} -o ${OUT} b.c\"\n"
                      "run = [\"${OUT}\"]\n[factor.compiler]\n"
                      "levels = { gcc = { CC = \"gcc\" }, szc = { CC = \"szc\" } }\n")
                    .out,
                HasSubstr("programs built by szc place their code"))
        << seed;
  std::string plain = plan("c", "", "[randomize]\ncode = true\n");
  plain.replace(plain.find("szc"), 3, "clang-22");
  const Output refused = check(plain);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("set CC = \"szc\""));
}

// The test mounts another text over the kernel's version.
TEST_F(Layout, CheckWarnsOfAKernelOnWhichProgramsWithThreadsHaveOneLayout) {
  if (geteuid() != 0) GTEST_SKIP() << "to mount another version takes root";
  const auto check = [&](const std::string& release, const std::string& more,
                         const std::string& flags = "") {
    lab_.write("osrelease", release + "\n");
    lab_.write("check.toml", plan("c", "", more));
    return run_program({"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                        "mount --bind osrelease /proc/sys/kernel/osrelease || exit 9; exec " +
                            std::string(STAB_BIN_DIR) + "/stabctl check check.toml " + flags},
                       lab_.folder());
  };
  const std::string limit =
      "with Linux 5.9, szc's runtime stops moving functions when a program starts its second "
      "thread, so a run of a program with several threads has one layout";
  const Output old = check("5.9.16-2-amd64", "");
  if (old.code == 9 || old.err.contains("unshare"))
    GTEST_SKIP() << "mounts of our own are not allowed here";
  EXPECT_EQ(old.code, 0) << old.err;
  EXPECT_THAT(old.err, HasSubstr("warning: " + limit));
  const Output as_json = check("5.9.16-2-amd64", "", "--json");
  EXPECT_THAT(json::parse(as_json.out)["warnings"].dump(), HasSubstr(limit));
  // On newer kernels, threads have alarms of their own. Functions that move once need none.
  EXPECT_THAT(check("5.10.0-28-amd64", "").err, Not(HasSubstr("with Linux")));
  EXPECT_THAT(check("5.9.16-2-amd64", "[randomize]\nrerandomize = \"once\"\n").err,
              Not(HasSubstr("with Linux")));
}

}  // namespace
}  // namespace stab::test
