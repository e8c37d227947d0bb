// SPDX-License-Identifier: MIT
// What is wrong in [experiment], [variables], [defaults], [[benchmark]], [measure], [machine] and
// [analysis].
#include <gmock/gmock.h>

#include <string>

#include "plan/reading/read_plan.h"
#include "plan/reading/testing.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string benchmark = "[[benchmark]]\nname = 'b'\nrun = ['/bin/true']\n";

std::string experiment(const std::string& lines) {
  return problems_of(benchmark + "[experiment]\n" + lines);
}

// The lines follow those of the smallest plan's only benchmark, from line 6 on.
std::string more(const std::string& lines) {
  return problems_of(smallest + lines);
}

TEST(ReadPlanExperiment, NeedsANameOfPrintableCharacters) {
  const std::string rule = "a text of 1 to 100 printable characters";
  EXPECT_EQ(experiment(""), "p:4:1: 'experiment.name' is missing: add " + rule + "\n");
  EXPECT_EQ(experiment("name = ''"), "p:5:1: 'experiment.name' must be " + rule + ", not \"\"\n");
  EXPECT_EQ(experiment("name = 7"), "p:5:1: 'experiment.name' must be " + rule + ", not 7\n");
  EXPECT_EQ(experiment("name = \"a\\nb\""),
            "p:5:1: 'experiment.name' must be " + rule + ", not \"a b\"\n");
  EXPECT_NE(experiment("name = \"\\u0085\""), "");
  EXPECT_NE(experiment("name = '" + std::string(101, 'n') + "'"), "");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(experiment("name = '" + umlauts + "'"), "");
}

TEST(ReadPlanExperiment, ACommandThatIsToldIsWords) {
  EXPECT_TRUE(good_plan(smallest).notify.empty());
  EXPECT_EQ(good_plan(benchmark + "[experiment]\nname = 't'\nnotify = ['tell', 'a b']\n").notify,
            (std::vector<std::string>{"tell", "a b"}));
  EXPECT_NE(experiment("name = 't'\nnotify = 'tell'"), "");
  EXPECT_NE(experiment("name = 't'\nnotify = ['tell', '']"), "");
}

TEST(ReadPlanExperiment, IsATableThatMustBeThere) {
  EXPECT_EQ(problems_of(benchmark),
            "p:1:1: 'experiment' is missing: add [experiment] with a name\n");
  EXPECT_EQ(problems_of("experiment = 1\n" + benchmark),
            "p:1:1: 'experiment' must be a table, not 1\n");
}

TEST(ReadPlanExperiment, BoundsTheQuestion) {
  EXPECT_EQ(experiment("name = 'x'\nquestion = '" + std::string(500, '?') + "'"), "");
  EXPECT_NE(experiment("name = 'x'\nquestion = '" + std::string(501, '?') + "'"), "");
}

TEST(ReadPlanExperiment, ASeedIsAWholeNumber) {
  EXPECT_EQ(
      experiment("name = 'x'\nseed = 7.0"),
      "p:6:1: 'experiment.seed' must be a whole number from 0 to 9223372036854775807, not 7\n");
}

TEST(ReadPlanRoot, FindsTheNearestTable) {
  EXPECT_EQ(more("[mchine]\ncpus = 1\n"), "p:6:2: unknown key 'mchine', did you mean 'machine'?\n");
  EXPECT_EQ(more("[colours]\n"),
            "p:6:2: unknown key 'colours': the known keys are experiment, variables, defaults, "
            "benchmark, factor, randomize, by_default, stated, revisions, design, causal, exclude, "
            "measure, machine, machines, analysis\n");
}

TEST(ReadPlanStated, TextsAreTakenAsTheyAre) {
  const Plan plan = good_plan(smallest +
                              "[stated]\ncompiler = 'clang 19'\nbeside = 'old ${X} $$'\n"
                              "heap_cost = 'costs +1 % of CPU time'\n"
                              "why_no_heap = 'it crashes'\nwhy_no_stack = '--no-stack'\n");
  EXPECT_EQ(plan.stated.compiler, "clang 19");
  EXPECT_EQ(plan.stated.beside, "old ${X} $$");
  EXPECT_EQ(plan.stated.heap_cost, "costs +1 % of CPU time");
  EXPECT_EQ(plan.stated.why_no_heap, "it crashes");
  EXPECT_EQ(plan.stated.why_no_stack, "--no-stack");
  EXPECT_EQ(more("[stated]\ncompiler = 19\n"),
            "p:7:1: 'stated.compiler' must be a text of at most 500 printable characters, not "
            "19\n");
}

TEST(ReadPlanVariables, AreNamedTexts) {
  EXPECT_EQ(more("[variables]\nA = 1\n"),
            "p:7:1: 'variables.A' must be a text of at most 64 KiB without NUL, not 1\n");
  EXPECT_EQ(more("[variables]\n\"a-b\" = 'x'\n"),
            "p:7:1: 'variables.a-b' is not a valid name for a variable: use 1 to 64 of the "
            "characters A-Z a-z 0-9 _, not beginning with a digit\n");
  EXPECT_EQ(more("[variables]\nDIR = 'x'\n"),
            "p:7:1: 'variables.DIR' is set by stabd itself: choose another name\n");
  EXPECT_NE(more("[variables]\nA = \"\\u0000\"\n"), "");
  EXPECT_NE(more("[variables]\nA = '" + std::string(max_word + 1, 'x') + "'\n"), "");
  EXPECT_EQ(more("[variables]\nA = '" + std::string(max_word, 'x') + "'\n"), "");
}

TEST(ReadPlanVariables, DoNotNest) {
  EXPECT_EQ(more("[variables]\nA = '-I${SRC}/include'\n"), "");
  EXPECT_EQ(more("[variables]\nA = '${CFLAGS} -g'\n"),
            "p:7:1: 'variables.A' uses ${CFLAGS}, but the value of a variable can use only ${OUT}, "
            "${DIR} and ${SRC}: write the value of CFLAGS instead\n");
}

TEST(ReadPlanDefaults, AreBounded) {
  EXPECT_EQ(
      more("[defaults]\nrepetitions = 0\nwarmup = 1001\nretries = -1\ngive_up_after = true\n"),
      "p:7:1: 'defaults.repetitions' must be a whole number from 1 to 100000, not 0\n"
      "p:8:1: 'defaults.warmup' must be a whole number from 0 to 1000, not 1001\n"
      "p:9:1: 'defaults.retries' must be a whole number from 0 to 10, not -1\n"
      "p:10:1: 'defaults.give_up_after' must be a whole number from 0 to 1000, not true\n");
}

TEST(ReadPlanDefaults, DurationsHaveAUnitAndAreAboveZero) {
  const std::string rule =
      "must be a duration above 0 and at most 24 hours, for example \"500ms\", \"60s\" or "
      "\"10min\", "
      "not ";
  EXPECT_EQ(more("[defaults]\ntimeout = 60\n"), "p:7:1: 'defaults.timeout' " + rule + "60\n");
  EXPECT_EQ(more("[defaults]\ntimeout = '60'\n"), "p:7:1: 'defaults.timeout' " + rule + "\"60\"\n");
  EXPECT_EQ(more("[defaults]\nbuild_timeout = '0s'\n"),
            "p:7:1: 'defaults.build_timeout' " + rule + "\"0s\"\n");
  EXPECT_NE(more("[defaults]\ntimeout = '25h'\n"), "");
  EXPECT_NE(more("[defaults]\ntimeout = 10:00:00\n"), "");
}

TEST(ReadPlanDefaults, BytesHaveABinaryOrDecimalUnit) {
  const auto limit = [](const std::string& value) {
    return good_plan(smallest + "[defaults]\noutput_limit = " + value)
        .benchmarks.at(0)
        .output_limit;
  };
  // The smallest plan's benchmark comes before [defaults], which hold for it all the same.
  EXPECT_EQ(limit("'2KiB'"), 2048U);
  EXPECT_EQ(limit("'2kB'"), 2000U);
  EXPECT_EQ(limit("'1GiB'"), 1073741824U);
  EXPECT_EQ(limit("7"), 7U);
  for (const std::string wrong :
       {"0", "-1", "'2GiB'", "'1.5MiB'", "'x'", "'99999999999999999999B'"})
    EXPECT_NE(more("[defaults]\noutput_limit = " + wrong), "") << wrong;
}

TEST(ReadPlanDefaults, ChoicesNameTheNearest) {
  EXPECT_EQ(
      more("[defaults]\non_build_failure = 'fail-experment'\n"),
      "p:7:1: 'defaults.on_build_failure' must be \"fail-benchmark\" or \"fail-experiment\", not "
      "\"fail-experment\", did you mean 'fail-experiment'?\n");
}

TEST(ReadPlanBenchmark, ACommandBesideMakesTheRelativeCpuTimeTheResponse) {
  const std::string with =
      "[experiment]\nname = 'x'\n[variables]\nN = '5'\n[[benchmark]]\n"
      "name = 'b'\nrun = ['./b', '${L}']\nbeside = ['./b', '${N}']\n";
  const std::string factor = "[factor.f]\nlevels = { a = { L = '1' }, b = { L = '2' } }\n";
  const Plan plan = good_plan(with + factor);
  EXPECT_EQ(plan.analysis.response, "relative_cpu");
  EXPECT_EQ(plan.benchmarks.at(0).beside, (std::vector<std::string>{"./b", "${N}"}));
  EXPECT_EQ(good_plan(with + factor + "[analysis]\nresponse = 'cpu'\n").analysis.response, "cpu");
  EXPECT_EQ(good_plan(smallest).analysis.response, "wall");
  // A variable of the trial's environment may have any name.
  EXPECT_EQ(problems_of(with + "env.beside = '${L}'\n" + factor), "");
  EXPECT_EQ(
      problems_of(with + "[factor.f]\nlevels = { a = { L = '1', N = '1' }, b = { L = '2', N = "
                         "'2' } }\n"),
      "p:8:18: in a benchmark with 'beside', 'benchmark.beside' must be the same for all trials, "
      "so it cannot use ${N}: write the path of an existing file instead\n");
  const std::string built =
      "[experiment]\nname = 'x'\n[variables]\nREF = '${DIR}/b'\n[[benchmark]]\n"
      "name = 'b'\nbuild = 'cc ${L} b.c -o ${OUT}'\nrun = ['${OUT}']\n";
  for (const char* changing :
       {"beside = ['${REF}']\n", "beside = ['${OUT}']\n", "beside = ['b', '${LDFLAGS}']\n",
        "beside = ['b']\nstdin = '${L}'\n"})
    EXPECT_THAT(problems_of(built + changing + factor),
                HasSubstr("must be the same for all trials, so it cannot use"))
        << changing;
  EXPECT_THAT(problems_of(with + factor + "[[exclude]]\nwhen = 'involuntary_switches_per_s > 5'\n"),
              HasSubstr("leave the rule out"));
  EXPECT_THAT(problems_of(with + factor + "[measure]\nsimulate = true\n"),
              HasSubstr("'benchmark.beside' measures CPU time"));
  EXPECT_EQ(more("[analysis]\nresponse = 'relative_cpu'\n"),
            "p:7:1: 'analysis.response' needs 'relative_cpu', which compares with a 'beside' "
            "command, but benchmark 'b' has no 'beside'\n");
}

TEST(ReadPlanBenchmark, ThereIsAtLeastOne) {
  EXPECT_EQ(problems_of("[experiment]\nname = 'x'\n"),
            "p:1:1: 'benchmark' is missing: add at least one [[benchmark]]\n");
  EXPECT_EQ(problems_of("benchmark = []\n[experiment]\nname = 'x'\n"),
            "p:1:1: a plan must have 1 to 1000 benchmarks, but this one has 0\n");
  EXPECT_EQ(
      problems_of("[experiment]\nname = 'x'\n[benchmark]\nname = 'b'\n"),
      "p:3:2: 'benchmark' must be an array of tables, written as [[benchmark]], not a table\n");
  EXPECT_EQ(problems_of("benchmark = [1]\n[experiment]\nname = 'x'\n"),
            "p:1:14: each item of 'benchmark' must be a table, written as [[benchmark]], not 1\n");
}

// TOML's own complaint is about another line, and in words about tables.
TEST(ReadPlanBenchmark, ASingleHeaderThatIsThereTwiceIsNamedWhereItStands) {
  const std::string start = "[experiment]\nname = 't'\n";
  const std::string one = "name = 'a'\nrun = ['/bin/true']\n";
  const std::string expected =
      ": [benchmark] may appear only once: write [[benchmark]], which may appear several times\n";
  EXPECT_EQ(problems_of(start + "[benchmark]\n" + one + "[benchmark]\n" + one), "p:3:2" + expected);
  EXPECT_EQ(problems_of(start + "[[benchmark]]\n" + one + "  [ benchmark ] # b\n" + one),
            "p:6:4" + expected);
  EXPECT_THAT(more("[exclude]\nwhen = 'a > 1'\n[exclude]\nwhen = 'b > 1'\n"),
              HasSubstr("p:6:2: [exclude] may appear only once: write [[exclude]]"));
  // Another mistake is TOML's.
  EXPECT_THAT(problems_of(start + "[[benchmark]]\n" + one + "[benchmark.env\n"), HasSubstr("p:6:"));
}

TEST(ReadPlanBenchmark, NamesAreUniqueAndPlain) {
  EXPECT_EQ(more("[[benchmark]]\nname = 'b'\nrun = ['/bin/false']\n"),
            "p:7:1: two benchmarks have the name 'b': rename this one\n");
  EXPECT_EQ(more("[[benchmark]]\nname = '../x'\nrun = ['/bin/false']\n"),
            "p:7:1: 'benchmark.name' must be 1 to 64 of the characters A-Z a-z 0-9 . _ + -, not "
            "\"../x\"\n");
  EXPECT_NE(more("[[benchmark]]\nname = '..'\nrun = ['/bin/false']\n"), "");
}

TEST(ReadPlanBenchmark, RunIsAnArrayOfTexts) {
  const auto run = [](const std::string& value) {
    return problems_of("[experiment]\nname = 'x'\n[[benchmark]]\nname = 'b'\n" + value);
  };
  EXPECT_EQ(run(""),
            "p:3:1: 'benchmark.run' is missing: add an array with the program and its arguments, "
            "for example "
            "[\"${OUT}\", \"100\"]\n");
  EXPECT_EQ(run("run = '/bin/true'"),
            "p:5:1: 'benchmark.run' must be an array of texts, not \"/bin/true\"\n");
  EXPECT_EQ(
      run("run = ['/bin/true',\n 5]"),
      "p:6:2: each item of 'benchmark.run' must be a text of at most 64 KiB without NUL, not 5\n");
  EXPECT_EQ(run("run = ['']"), "p:5:1: 'benchmark.run' must start with the program to run\n");
  EXPECT_EQ(run("run = ['/bin/true', '']"), "");
}

TEST(ReadPlanBenchmark, EachKeyHasItsRule) {
  EXPECT_EQ(more("build = ''\nenv = 1\nstdin = ''\nsources = ['/etc']\nrepetition = 3\n"),
            "p:6:1: 'benchmark.build' must be a text of 1 byte to 64 KiB without NUL, not \"\"\n"
            "p:7:1: 'benchmark.env' must be a table, not 1\n"
            "p:8:1: 'benchmark.stdin' must be a text of 1 byte to 64 KiB without NUL, not \"\"\n"
            "p:9:12: each item of 'benchmark.sources' must be a path relative to the plan's "
            "directory, not "
            "\"/etc\"\n"
            "p:10:1: unknown key 'benchmark.repetition', did you mean 'repetitions'?\n");
}

TEST(ReadPlanBenchmark, ChecksAreChecked) {
  EXPECT_EQ(
      more("check = { exit = 256, stdout_sha256 = 'abc', stdout_file = '/x', comand = 'x' }\n"),
      "p:6:11: 'benchmark.check.exit' must be a whole number from 0 to 255, not 256\np:6:23: "
      "'benchmark.check.stdout_sha256' must be a SHA-256 of 64 hexadecimal digits, not "
      "\"abc\"\np:6:46: 'benchmark.check.stdout_file' must be a path relative to the plan's "
      "directory, not \"/x\"\np:6:66: unknown key 'benchmark.check.comand', did you mean "
      "'command'?\n");
}

TEST(ReadPlanMeasure, CountersAreNamesAndGroupsOfNames) {
  using Counters = std::vector<std::vector<std::string>>;
  EXPECT_EQ(good_plan(smallest).counters, Counters());
  EXPECT_FALSE(good_plan(smallest).refuse_absent);
  const Plan plan = good_plan(smallest +
                              "[measure]\ncounters = [['cycles', 'instructions:u'], 'cs']\n"
                              "on_absent = 'refuse'\n[analysis]\nresponse = 'instructions:u'\n");
  EXPECT_EQ(plan.counters, (Counters{{"cycles", "instructions:u"}, {"cs"}}));
  EXPECT_TRUE(plan.refuse_absent);
  EXPECT_EQ(plan.analysis.response, "instructions:u");
}

TEST(ReadPlanMeasure, AProfileHasAnEventAndARate) {
  EXPECT_EQ(good_plan(smallest).profile, "");
  const Plan plan = good_plan(smallest + "[measure]\nprofile = 'task-clock:u'\n");
  EXPECT_EQ(plan.profile, "task-clock:u");
  EXPECT_EQ(plan.profile_hz, 997U);
  EXPECT_EQ(good_plan(smallest + "[measure]\nprofile_hz = 10000\n").profile_hz, 10'000U);
  EXPECT_EQ(more("[measure]\nprofile = ''\nprofile_hz = 10001\n"),
            "p:7:1: 'measure.profile' must be the name of an event, of 1 to 200 printable "
            "characters, not \"\"\n"
            "p:8:1: 'measure.profile_hz' must be a whole number from 1 to 10000, not 10001\n");
}

TEST(ReadPlanMeasure, SaysWhatIsWrongWithEach) {
  EXPECT_EQ(
      more("[measure]\ncounters = ['cycles', '', 7, [], ['cycles'], 'wall', 'cpu-migrations']\n"
           "on_absent = 'ignore'\n"),
      "p:7:23: each item of 'measure.counters' must be the name of an event, of 1 to 200 printable "
      "characters, not \"\"\np:7:27: each item of 'measure.counters' must be the name of an event, "
      "of 1 to 200 printable characters, not 7\np:7:30: each item of 'measure.counters' must be "
      "the name of an event or an array of such names, not an array\np:7:35: cycles is already "
      "counted\np:7:46: wall is measured in each trial and is not a counter: leave it out\np:7:54: "
      "each trial already records cpu-migrations for its first thread; to count the migrations of "
      "all threads and processes, use 'migrations'\np:8:1: 'measure.on_absent' must be \"record\" "
      "or \"refuse\", not \"ignore\"\n");
  EXPECT_THAT(more("[factor.cycles]\nlevels = { a = { X = '1' }, b = { X = '2' } }\n"
                   "[measure]\ncounters = ['cycles']\n"),
              testing::HasSubstr("cycles is also the name of a factor"));
  std::string many = "[measure]\ncounters = [";
  for (int i = 0; i < 65; ++i) many += "'r" + std::to_string(i) + "',";
  EXPECT_THAT(more(many + "]\n"), testing::HasSubstr("has 65 names, but at most 64 are allowed"));
}

TEST(ReadPlanMachine, IsBounded) {
  EXPECT_EQ(more("[machine]\ncpus = 1025\nquiesce = 'strikt'\naslr = 'no'\n"),
            "p:7:1: 'machine.cpus' must be a whole number from 1 to 1024, not 1025\n"
            "p:8:1: 'machine.quiesce' must be \"off\" or \"best-effort\" or \"strict\", not "
            "\"strikt\", did you mean 'strict'?\n"
            "p:9:1: 'machine.aslr' must be true or false, not \"no\"\n");
}

TEST(ReadPlanCheck, SeveralExitCodesMayBeRight) {
  const Check check = good_plan(smallest + "check = { exit = [1, 0, 7] }\n").benchmarks[0].check;
  for (const int code : {0, 1, 7}) EXPECT_TRUE(check.accepts(code)) << code;
  EXPECT_FALSE(check.accepts(2));
  EXPECT_EQ(exits_of(check), "1, 0 or 7");
  EXPECT_EQ(exits_of(Check()), "0");
  EXPECT_EQ(more("check = { exit = [] }\n"),
            "p:6:11: 'benchmark.check.exit' must be a whole number from 0 to 255 or an array of "
            "such numbers, each once, not an array\n");
  EXPECT_EQ(more("check = { exit = [0, 0] }\n"),
            "p:6:22: 'benchmark.check.exit' contains 0 twice: leave one of them out\n");
}

TEST(ReadPlanMachine, TheCpusOfTrialsMayBeNamed) {
  const auto machine = [](const std::string& lines) { return more("[machine]\n" + lines + "\n"); };
  const Plan plan = good_plan(smallest + "[machine]\ncpu = [3, 1]\n");
  EXPECT_EQ(plan.cpu, (std::vector<unsigned>{1, 3}));
  EXPECT_EQ(plan.cpus, 2U);
  EXPECT_EQ(machine("cpu = 5\ncpus = 1"), "");
  EXPECT_EQ(machine("cpu = 5\ncpus = 2"),
            "p:8:1: 'machine.cpus' is 2, but the number of CPUs in 'machine.cpu' is 1: leave out "
            "'cpus'\n");
  EXPECT_EQ(machine("cpu = 1024"),
            "p:7:1: 'machine.cpu' must be a whole number from 0 to 1023, not 1024\n");
  EXPECT_EQ(machine("cpu = [1, 1, -1]"),
            "p:7:11: 'machine.cpu' contains 1 twice: leave one of them out\np:7:14: each item of "
            "'machine.cpu' must be a whole number from 0 to 1023, not -1\n");
  EXPECT_EQ(
      machine("cpu = '1'"),
      "p:7:1: 'machine.cpu' must be a whole number from 0 to 1023 or an array of such numbers, "
      "not \"1\"\n");
}

std::string cluster(const std::string& lines) {
  return more("[machines]\nengine = 'slurm'\n" + lines);
}

TEST(ReadPlanMachines, TrialsRunOnTheDaemonsMachineUnlessThePlanNamesOthers) {
  EXPECT_FALSE(good_plan(smallest).machines);
  const auto machines = good_plan(smallest + "[machines]\nengine = 'slurm'\n").machines;
  EXPECT_EQ(machines, Machines());
  EXPECT_EQ(describe(*machines), "1 node of a Slurm cluster");
}

TEST(ReadPlanMachines, EachKeyIsRead) {
  const auto machines = good_plan(smallest + R"([machines]
engine = "slurm"
nodes = ["n1"]
partition = "lab"
account = "a"
qos = "q"
constraint = "c&d"
reservation = "r"
time_limit = "90min"
answer = "these"
)")
                            .machines;
  EXPECT_EQ(machines, (Machines{.names = {"n1"},
                                .partition = "lab",
                                .account = "a",
                                .qos = "q",
                                .constraint = "c&d",
                                .reservation = "r",
                                .time_limit = std::chrono::minutes(90)}));
  EXPECT_EQ(describe(*machines),
            "1 node of a Slurm cluster (n1), partition lab, account a, qos q, constraint c&d, "
            "reservation r, at most 1 h 30 min");
}

TEST(ReadPlanMachines, TheEngineIsNamed) {
  EXPECT_EQ(more("[machines]\nnodes = 1\n"),
            "p:6:1: 'machines.engine' is missing: add \"slurm\"\n");
  EXPECT_THAT(more("[machines]\nengine = 'pbs'\n"), HasSubstr("'machines.engine' must be"));
  EXPECT_THAT(cluster("nods = 1"), HasSubstr("did you mean 'nodes'?"));
}

TEST(ReadPlanMachines, EachMachineRunsAllRepetitions) {
  const Plan one = good_plan(smallest + "[machines]\nengine = 'slurm'\n");
  const Plan three = good_plan(smallest + "[machines]\nengine = 'slurm'\nnodes = 3\n");
  EXPECT_EQ(three.machine_count(), 3U);
  EXPECT_EQ(three.benchmarks[0].repetitions, 3 * one.benchmarks[0].repetitions);
  EXPECT_EQ(three.warmup, 3 * one.warmup);
  EXPECT_EQ(cluster("nodes = ['n1', 'n2']"), "");
}

// A design whose blocks several machines can't share is refused.
TEST(ReadPlanMachines, SomeDesignsNeedOneMachine) {
  for (const char* nodes : {"nodes = 4", "nodes = ['n1', 'n2']"})
    EXPECT_THAT(cluster(std::string(nodes) + "\n[design]\nkind = 'calibration'"),
                AllOf(HasSubstr("runs a calibration design on one node"),
                      HasSubstr("use nodes = 1 or the name of one node")));
  EXPECT_EQ(cluster("nodes = 1\n[design]\nkind = 'calibration'"), "");
}

// The numbers of blocks in a plan are those of each machine.
TEST(ReadPlanMachines, AnExperimentThatEndsEarlyHasAsManyBlocksOnEachMachine) {
  const std::string three = "[machines]\nengine = 'slurm'\nnodes = 3\n";
  const std::string factor = "[factor.env_bytes]\nlevels = [0, 64]\n";
  const Plan timed = good_plan(smallest + three + factor + "[design]\ntime = '1h'\n");
  EXPECT_EQ(timed.design.fewest_blocks(), 3U * 5);
  const Plan stopped = good_plan(smallest + three + factor +
                                 "[design]\nstop = { rule = 'sequential', min = 5, max = 15, "
                                 "looks = 3 }\n");
  EXPECT_THAT(stopped.design.stop->looks, ::testing::ElementsAre(15, 30));
  EXPECT_EQ(stopped.design.stop->max, 45U);
  EXPECT_EQ(stopped.benchmarks[0].repetitions, 45U);
}

// An answer that the analysis could not give is refused, with the reason.
TEST(ReadPlanMachines, AnAnswerAboutOtherMachinesNeedsTheChangeOnEachOfSeveral) {
  const std::string factor = "[factor.env_bytes]\nlevels = [0, 64]\n";
  const std::string several = "nodes = 3\nanswer = 'like-these'\n";
  EXPECT_TRUE(good_plan(smallest + "[machines]\nengine = 'slurm'\n" + several + factor)
                  .machines->like_these);
  EXPECT_THAT(cluster("answer = 'like-these'\n" + factor), HasSubstr("'machines.nodes' is 1"));
  EXPECT_THAT(cluster(several), HasSubstr("because the plan compares nothing"));
  EXPECT_THAT(cluster(several + factor + "[analysis]\nerror = 'pooled'\n"),
              HasSubstr("because 'analysis.error' is pooled"));
  EXPECT_THAT(cluster(several + factor + "[analysis]\nestimand = 'median'\n"),
              HasSubstr("because 'analysis.estimand' is median"));
  EXPECT_THAT(cluster(several + factor + "[factor.aslr]\nlevels = [false, true]\n[design]\n" +
                      "kind = 'custom'\ncells = [ { env_bytes = '0', aslr = false }, { env_bytes = "
                      "'64', aslr = false }, { env_bytes = '0', aslr = true } ]\n"),
              HasSubstr("because the plan does not have a cell for each combination of levels"));
  EXPECT_THAT(cluster(several + factor + "[[benchmark]]\nname = 'c'\nrun = ['true']\n"),
              HasSubstr("because the plan has several benchmarks"));
}

TEST(ReadPlanMachines, NodesAreANumberOrNames) {
  EXPECT_EQ(cluster("nodes = 1"), "");
  EXPECT_TRUE(good_plan(smallest + "[machines]\nengine = 'slurm'\ndrain = true\n").machines->drain);
  for (const char* wrong :
       {"nodes = 0", "nodes = 65", "nodes = ['n1', 'n1']", "nodes = []", "nodes = 'n1'",
        "nodes = ['n[1-3]']", "nodes = ['-x']", "nodes = [1]", "nodes = true", "nodes = '4-2'",
        "nodes = '2-2'", "nodes = '0-3'", "nodes = '2-65'", "nodes = '2-'", "nodes = '-4'",
        "nodes = '2-4x'", "nodes = '2 - 4'", "nodes = '3'"})
    EXPECT_THAT(cluster(wrong), HasSubstr("'machines.nodes")) << wrong;
  EXPECT_THAT(cluster("partition = 'a b'"), HasSubstr("'machines.partition' must be"));
}

TEST(ReadPlanMachines, ARangeOfNodesIsItsLeastNumberUntilOneIsChosen) {
  const std::string range = "[machines]\nengine = 'slurm'\nnodes = '2-4'\n";
  const Plan least = good_plan(smallest + range);
  EXPECT_EQ(least.machine_count(), 2U);
  EXPECT_EQ(least.machines->range, (NodeRange{.least = 2, .most = 4}));
  EXPECT_FALSE(least.machines->is_chosen);
  EXPECT_EQ(describe(*least.machines), "2 to 4 nodes of a Slurm cluster");
  const Plan chosen = good_plan(smallest + range + "[by_default]\nnodes = 3\n");
  EXPECT_EQ(chosen.machine_count(), 3U);
  EXPECT_TRUE(chosen.machines->is_chosen);
  EXPECT_EQ(describe(*chosen.machines), "3 (of 2 to 4) nodes of a Slurm cluster");
  EXPECT_EQ(2 * chosen.benchmarks[0].repetitions, 3 * least.benchmarks[0].repetitions);
  EXPECT_THAT(cluster("nodes = '2-4'\n[by_default]\nnodes = 5\n"),
              HasSubstr("'by_default.nodes' is 5, but 'machines.nodes' asks for 2 to 4 nodes"));
  for (const std::string& without :
       {cluster("nodes = 3\n[by_default]\nnodes = 3\n"), more("[by_default]\nnodes = 3\n")})
    EXPECT_THAT(without, HasSubstr("'by_default.nodes' needs a range of nodes"));
}

TEST(ReadPlanMachines, NodesCanBeQuietButNobodyWaitsForThat) {
  EXPECT_EQ(cluster("[machine]\nquiesce = 'strict'"), "");
  EXPECT_THAT(cluster("[machine]\nwait_for_quiet = '1min'"), HasSubstr("'machine.wait_for_quiet'"));
}

TEST(ReadPlanMachine, HowQuietItHasToBeSaysNothingWithoutAWait) {
  EXPECT_EQ(
      more("[machine]\nquiet_load = '5%'\nquiet_temperature_c = 50\n"),
      "p:7:1: 'machine.quiet_load' has no effect without 'machine.wait_for_quiet': add that key, "
      "for example wait_for_quiet = \"2min\"\np:8:1: 'machine.quiet_temperature_c' has no effect "
      "without 'machine.wait_for_quiet': add that key, for example wait_for_quiet = \"2min\"\n");
  EXPECT_THAT(more("[machine]\nwait_for_quiet = '0s'\n"), HasSubstr("machine.wait_for_quiet"));
  EXPECT_EQ(more("[machine]\nwait_for_quiet = '2min'\n"), "");
}

TEST(ReadPlanMachine, NamesTheKnobsThatAreMadeQuiet) {
  const std::string more_of = "[machine]\nquiesce = 'best-effort'\nknobs = ";
  EXPECT_EQ(more(more_of + "['governor',\n'swapiness']\n"),
            "p:9:1: an item of 'machine.knobs' is unknown: \"swapiness\", did you mean "
            "'swappiness'?\n");
  EXPECT_THAT(
      more(more_of + "['lights', 7]\n"),
      AllOf(HasSubstr("p:8:10: an item of 'machine.knobs' is unknown: \"lights\": the known values "
                      "are governor, energy_preference, boost, "),
            HasSubstr("p:8:20: an item of 'machine.knobs' is unknown: 7: the known values are")));
  EXPECT_THAT(more(more_of + "[]\n"), HasSubstr("an array of at least one name"));
  EXPECT_THAT(more(more_of + "'governor'\n"), HasSubstr("'machine.knobs' must be an array"));
  EXPECT_EQ(more("[machine]\nknobs = ['governor']\n"),
            "p:7:1: 'machine.knobs' has no effect with machine.quiesce = \"off\": use "
            "\"best-effort\" or \"strict\", or leave 'knobs' out\n");
}

TEST(ReadPlanAnalysis, IsBounded) {
  EXPECT_EQ(
      more("[analysis]\nresponse = 'wal'\nlog = 1\nalpha = 0.6\nequivalence = '0%'\n"),
      "p:7:1: 'analysis.response' must be wall, user, system, cpu, relative_cpu, max_rss, "
      "main_to_exit, region, code-size, compile-time, 'region-NAME-ns' or "
      "'region-NAME-count', an event of 'measure.counters' or 'measure.rotate', a count of "
      "'measure.simulate', or the name of a measure, not wal, did you mean 'wall'?\n"
      "p:8:1: 'analysis.log' must be true or false, not 1\n"
      "p:9:1: 'analysis.alpha' must be a number from 0.0001 to 0.5, not 0.6\n"
      "p:10:1: 'analysis.equivalence' must be a percentage above 0 and at most 100, for example "
      "\"1%\", not "
      "\"0%\"\n");
  for (const std::string wrong : {"'1'", "'101%'", "'-1%'", "'nan%'", "1", "0.01"})
    EXPECT_NE(more("[analysis]\nequivalence = " + wrong), "") << wrong;
  EXPECT_NE(more("[analysis]\nalpha = nan\n"), "");
  EXPECT_EQ(more("[analysis]\nequivalence = '100%'\n"), "");
  EXPECT_NE(more("[analysis]\nsums_of_squares = 1\n"), "");
  EXPECT_EQ(more("[analysis]\nsums_of_squares = 3\n"), "");
}

const std::string two_programs =
    "[[benchmark]]\nname = 'c'\nrun = ['/bin/false']\n[factor.aslr]\nlevels = [false, true]\n";

TEST(ReadPlanAnalysis, ChoicesHaveTwoWords) {
  EXPECT_EQ(more("[analysis]\nerror = 'pool'\npairs = true\nbetter = 'more'\n"),
            "p:7:1: 'analysis.error' must be \"own\" or \"pooled\", not \"pool\", did you mean "
            "'pooled'?\n"
            "p:8:1: 'analysis.pairs' must be \"baseline\" or \"all\", not true\n"
            "p:9:1: 'analysis.better' must be \"lower\" or \"higher\", not \"more\"\n");
  EXPECT_EQ(
      more(two_programs + "[design]\nkind = 'within-subjects'\n[analysis]\nprograms = 'all'\n"),
      "p:14:1: 'analysis.programs' must be \"these\" or \"like-these\", not \"all\"\n");
}

TEST(ReadPlanAnalysis, KeepsWhatItIsTold) {
  const Analysis told =
      good_plan(smallest + "[analysis]\nerror = 'pooled'\npairs = 'all'\nbetter = 'higher'\n")
          .analysis;
  EXPECT_TRUE(told.pooled && told.all_pairs && told.higher_is_better);
  const Analysis defaults =
      good_plan(smallest + "[analysis]\nerror = 'own'\npairs = 'baseline'\nbetter = 'lower'\n")
          .analysis;
  EXPECT_FALSE(defaults.pooled || defaults.all_pairs || defaults.higher_is_better);
  const std::string within = smallest + two_programs + "[design]\nkind = 'within-subjects'\n";
  EXPECT_TRUE(good_plan(within + "[analysis]\nprograms = 'these'\n").analysis.these_programs);
  EXPECT_FALSE(good_plan(within + "[analysis]\nprograms = 'like-these'\n").analysis.these_programs);
}

TEST(ReadPlanAnalysis, OnlyAnAnswerOverProgramsIsAboutTheseOrSuchOnes) {
  EXPECT_EQ(more("[analysis]\nprograms = 'these'\n"),
            "p:7:1: 'analysis.programs' chooses the scope of an overall answer, but a "
            "full-factorial design gives an answer for each benchmark: remove this key, or set "
            "design.kind = \"within-subjects\"\n");
}

TEST(ReadPlanAnalysis, OnlyBlocksHaveAnErrorThatCanBePooled) {
  EXPECT_EQ(
      more(two_programs + "[design]\nkind = 'within-subjects'\n[analysis]\nerror = 'pooled'\n"),
      "p:14:1: 'analysis.error' cannot be \"pooled\", because in a within-subjects design, each "
      "effect has its own error: remove this key\n");
  EXPECT_EQ(more(two_programs + "[design]\nkind = 'within-subjects'\n[analysis]\nerror = "
                                "'pooled'\nmethod = 'stabilizer'\n"),
            "p:14:1: 'analysis.error' cannot be \"pooled\", because method = \"stabilizer\" has "
            "tests of its own: remove this key\n");
  EXPECT_EQ(more("[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n[design]\nkind = "
                 "'nested'\n[analysis]\nerror = 'pooled'\n"),
            "p:11:1: 'analysis.error' cannot be \"pooled\", because a nested design compares the "
            "means of seeds: remove this key\n");
  EXPECT_EQ(more("[design]\nkind = 'nested'\n[analysis]\nerror = 'own'\n"),
            more("[design]\nkind = 'nested'\n"));
}

TEST(ReadPlanAnalysis, OnlyBlocksAndProgramsHaveAMedian) {
  EXPECT_EQ(
      more("[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n[design]\nkind = "
           "'nested'\n[analysis]\nestimand = 'median'\n"),
      "p:11:1: 'analysis.estimand' cannot be \"median\", because a nested design compares the "
      "means of seeds: remove this key\n");
  EXPECT_EQ(
      more("[analysis]\nestimand = 'p90'\n"),
      "p:7:1: 'analysis.estimand' must be \"mean\" or \"typical\" or \"median\", not \"p90\"\n");
  const std::string within = smallest + two_programs + "[design]\nkind = 'within-subjects'\n";
  EXPECT_EQ(good_plan(within + "[analysis]\nestimand = 'median'\n").analysis.estimand, "median");
  EXPECT_EQ(good_plan(within).analysis.estimand, "mean");
}

TEST(ReadPlanAnalysis, OnlyBlocksAndProgramsHaveATypicalRun) {
  const std::string within = smallest + two_programs + "[design]\nkind = 'within-subjects'\n";
  const std::string seeds = smallest + "[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n";
  for (const std::string estimand : {"typical", "median"}) {
    const std::string other = "[analysis]\nestimand = '" + estimand + "'\n";
    EXPECT_EQ(why_only_means(good_plan(within + other)), "");
    EXPECT_EQ(why_only_means(good_plan(smallest + two_programs + other)), "");
    EXPECT_EQ(why_only_means(good_plan(smallest + two_programs + other + "error = 'pooled'\n")),
              "error = \"pooled\" compares only means");
  }
  EXPECT_EQ(why_only_means(
                good_plan(seeds + "[design]\nkind = 'nested'\n[analysis]\nestimand = 'typical'\n")),
            "a nested design compares the means of seeds");
}

TEST(ReadPlanAnalysis, OnlySomethingRandomHasACost) {
  const std::string cost = "[analysis]\ncost = true\n";
  EXPECT_FALSE(good_plan(smallest).analysis.cost);
  EXPECT_TRUE(good_plan(smallest + cost).analysis.cost) << "szc may have built the program";
  EXPECT_TRUE(good_plan(smallest + two_programs + cost).analysis.cost);
  EXPECT_TRUE(good_plan(smallest + "[by_default]\ncost = true\n").analysis.cost);
  EXPECT_FALSE(
      good_plan(smallest + "[by_default]\ncost = true\n[analysis]\ncost = false\n").analysis.cost);
  const auto why = [](const std::string& because) {
    return "'analysis.cost' is not possible, because " + because +
           ": change the plan, or remove this key\n";
  };
  const std::string nothing = "[randomize]\ncode = false\nheap = false\n";
  EXPECT_EQ(more(nothing + cost),
            "p:10:1: " + why("nothing in the layouts of its programs is random"));
  EXPECT_EQ(more("[factor.heap]\nlevels = [false, true]\n" + cost),
            "p:9:1: " + why("the factor 'heap' already changes what is random"));
  EXPECT_EQ(more("[factor.layout]\nlevels = [1, 2]\n" + cost),
            "p:9:1: " + why("the factor 'layout' already changes what is random"));
  EXPECT_EQ(
      more("[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n[design]\nkind = 'nested'\n" + cost),
      "p:11:1: " + why("a nested design does not compare the cells of a block"));
  EXPECT_EQ(more("[measure]\nsimulate = true\n[analysis]\nresponse = 'simulated-instructions'\n"
                 "cost = true\n"),
            "p:10:1: " + why("its trials run under a simulator and have no times"));
  // A default that does not fit is no mistake.
  EXPECT_FALSE(good_plan(smallest + nothing + "[by_default]\ncost = true\n").analysis.cost);
}

TEST(ReadPlanAnalysis, ThePapersMethodIsWithinSubjectsAndOnRawNumbers) {
  EXPECT_EQ(more("[analysis]\nlog = true\nmethod = 'stabilizer'\n"),
            "p:7:1: 'analysis.log' must be false with method = \"stabilizer\", which compares raw "
            "values: leave 'log' out\np:8:1: 'analysis.method' \"stabilizer\" needs design.kind = "
            "\"within-subjects\"\n");
}

TEST(ReadPlan, TakesTheBetterNameOfAKeyBesideTheOldOne) {
  const Plan plan =
      good_plan(with_build +
                "[factor.opt]\nlevels = { a = { CFLAGS = '-O1' }, b = { CFLAGS = '-O2' "
                "} }\n[analysis]\nmetric = 'cpu'\nmargin = '2%'\naverage = 'typical'\n[machine]\n"
                "quiet = 'best-effort'\n");
  EXPECT_EQ(plan.analysis.response, "cpu");
  EXPECT_EQ(plan.analysis.equivalence, 0.02);
  EXPECT_EQ(plan.analysis.estimand, "typical");
  EXPECT_EQ(plan.quiesce, Quiesce::best_effort);
  EXPECT_EQ(problems_of(smallest + "[analysis]\nmetric = 'cpu'\nresponse = 'wall'\n"),
            "p:7:1: 'analysis.metric' is another name for 'analysis.response': use only one of "
            "them\n");
  EXPECT_THAT(problems_of(smallest + "[machine]\nquiet = 'loud'\n"),
              testing::HasSubstr("'machine.quiesce' must be"));
}

}  // namespace
}  // namespace stab::plan
