// SPDX-License-Identifier: MIT
// Events that a plan asks for, counted in each trial, whatever this machine can count: what it cannot has a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string subject = STAB_SUBJECT;

class Counters : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  // What the status of an event is to a trial here: "counted" or "absent".
  json event(const std::string& name) const {
    const Output out = lab_.ctl({"counters", "--json", name});
    EXPECT_EQ(out.code, 0) << out.err;
    for (const json& each : json::parse(out.out)["events"])
      if (each["name"] == name) return each;
    ADD_FAILURE() << "no event " << name;
    return {};
  }

  // A trial of the program touches so many pages as the level says.
  void write_plan(const std::string& measure, const std::string& analysis = "",
                  int blocks = 5) const {
    lab_.write("plan.toml",
               "[experiment]\nname = \"counts\"\n"
               "[[benchmark]]\nname = \"pages\"\nrepetitions = " +
                   std::to_string(blocks) + "\nrun = [\"" + subject +
                   "\", \"pages\", \"${PAGES}\"]\n"
                   "[factor.pages]\n"
                   "levels = { few = { PAGES = \"1000\" }, many = { PAGES = \"3000\" } }\n"
                   "[measure]\n" +
                   measure + "[analysis]\n" + analysis);
  }
  int run_to_end() {
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    if (id > 0) EXPECT_TRUE(lab_.wait_until_final(id));
    return id;
  }

  Lab lab_;
};

TEST_F(Counters, AreReadingsOfEachTrialAndOneOfThemIsTheResponse) {
  if (event("minor-faults")["status"] == "absent") GTEST_SKIP() << event("minor-faults")["reason"];
  write_plan("counters = [[\"minor-faults:u\", \"page-faults:u\"], \"task-clock\", \"cycles\"]\n",
             "response = \"minor-faults:u\"\nlog = false\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  const std::string hardware = event("branches")["status"];
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 10U);
  for (const json& trial : trials) {
    EXPECT_EQ(trial["minor-faults:u.status"], "counted")
        << lab_.ctl({"logs", std::to_string(id)}).out;
    EXPECT_GE(trial["minor-faults:u"], trial["pages"] == "few" ? 1000 : 3000);
    EXPECT_LT(trial["minor-faults:u"], trial["pages"] == "few" ? 1500 : 3500);
    EXPECT_EQ(trial["task-clock.status"], "counted");
    EXPECT_GT(trial["task-clock"], 0);
    if (hardware == "absent") {
      EXPECT_EQ(trial["cycles.status"], "absent");
      EXPECT_TRUE(trial["cycles"].is_null());
    }
  }
  const Output report = lab_.ctl({"report", std::to_string(id), "--format", "json"});
  const json document = json::parse(report.out);
  EXPECT_EQ(document["analysis"]["response"], "minor-faults:u") << report.out.substr(0, 2000);
  const json& counters = document["counters"];
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[0]["counted"], 10);
  EXPECT_TRUE(counters[0]["reason"].is_null());
  EXPECT_EQ(counters[3]["absent"], hardware == "absent" ? 10 : 0);
  EXPECT_EQ(counters[3]["reason"].is_null(), hardware != "absent");
  const Output text = lab_.ctl({"report", std::to_string(id)});
  EXPECT_THAT(text.out, HasSubstr("minor-faults:u"));
  // What is absent is said once for the experiment, with the reason.
  if (hardware == "absent") {
    const Output log = lab_.ctl({"logs", std::to_string(id)});
    EXPECT_THAT(log.out, HasSubstr("cycles cannot be counted here: "));
  }
}

TEST_F(Counters, APlanThatRefusesWhatIsAbsentMeasuresNothing) {
  // Switches happen in the kernel, so that nobody counts them there.
  write_plan("counters = [\"context-switches:u\"]\non_absent = \"refuse\"\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_EQ(lab_.trials(id).size(), 0U);
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("context-switches:u cannot be counted here: it happens in the kernel"));
}

TEST_F(Counters, AHardwareCounterThatIsNotThereIsRefusedWithItsReason) {
  const json cycles = event("cycles");
  write_plan("counters = [\"cycles:u\", \"task-clock\"]\non_absent = \"refuse\"\n", "", 2);
  const int id = run_to_end();
  if (cycles["status"] != "absent") {
    EXPECT_EQ(lab_.state(id), "done");
    return;
  }
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_EQ(lab_.trials(id).size(), 0U);
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("cycles:u cannot be counted here: " + cycles["reason"].get<std::string>()));
}

// The time stamp counter, which needs the rights of root.
TEST_F(Counters, AnEventOfADeviceOfTheKernelIsOneOfAPlan) {
  if (access("/sys/bus/event_source/devices/msr/events/tsc", F_OK) != 0 || geteuid() != 0)
    GTEST_SKIP() << "there is no device msr, or this is not root";
  EXPECT_THAT(lab_.ctl({"counters", "msr/"}).out, HasSubstr("msr/tsc/"));
  write_plan("counters = [\"msr/tsc/\"]\n[measure.derived]\nrate = \"'msr/tsc/' / wall\"\n", "", 3);
  std::string text = read_file(lab_.path("plan.toml"), 10'000).value();
  text.insert(text.find("name ="), "privileges = true\n");
  lab_.write("plan.toml", text);
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done") << lab_.ctl({"status", std::to_string(id)}).out;
  if (lab_.trials(id)[0]["msr/tsc/.status"] == "absent")
    GTEST_SKIP() << lab_.ctl({"logs", std::to_string(id)}).out;
  for (const json& trial : lab_.trials(id)) {
    EXPECT_GT(trial["msr/tsc/"], 0) << trial;
    EXPECT_GT(trial["rate"], 0) << trial;
  }
  write_plan("counters = [\"msr/tsk/\"]\n");
  EXPECT_THAT(lab_.ctl({"submit", lab_.path("plan.toml")}).err,
              HasSubstr("'msr' has no 'tsk'; it has the terms event, config, and the events tsc"));
}

TEST_F(Counters, AResponseThatIsAbsentMeasuresNothing) {
  write_plan("counters = [\"context-switches:u\"]\n", "response = \"context-switches:u\"\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("'analysis.response': context-switches:u cannot be counted"));
}

TEST_F(Counters, ARecordOfWhatIsAbsentIsTheStandard) {
  write_plan("counters = [\"context-switches:u\"]\n");
  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  for (const json& trial : lab_.trials(id)) {
    EXPECT_EQ(trial["status"], "ok");
    EXPECT_EQ(trial["context-switches:u.status"], "absent");
  }
}

TEST_F(Counters, AMisspeltNameIsRefusedBeforeItIsQueued) {
  for (const char* key : {"counters = [\"task-clok\"]\n", "rotate = [[\"task-clok\"], [\"cs\"]]\n"})
    for (const char* verb : {"submit", "check"}) {
      write_plan(key);
      const Output out = lab_.ctl({verb, lab_.path("plan.toml")});
      EXPECT_EQ(out.code, 1) << verb << ": " << out.out;
      EXPECT_THAT(out.err, AllOf(HasSubstr("task-clok"), HasSubstr("did you mean 'task-clock'?")))
          << verb;
    }
}

// The sets that the trials of a block have counted, by block: "minor-faults:u", "task-clock" or both.
std::map<int, std::set<std::string>> sets_of(const json& trials) {
  std::map<int, std::set<std::string>> sets;
  for (const json& trial : trials) {
    std::string set;
    for (const char* name : {"minor-faults:u", "task-clock"})
      if (!trial[std::string(name) + ".status"].is_null()) set += name;
    sets[trial["block"]].insert(set);
  }
  return sets;
}

const std::string turns =
    "rotate = [[\"minor-faults:u\", \"page-faults:u\"], [\"task-clock\"]]\n"
    "[measure.derived]\nthousands = \"'minor-faults:u' / 1000\"\n";

// Its tables would be relocated at each start of a program of ours, and copied at each trial's fork.
TEST_F(Counters, TheLibraryOfNamesIsLoadedByWhoNeedsAName) {
  const auto has_loaded_it = [&](pid_t process) {
    const auto maps = read_file("/proc/" + std::to_string(process) + "/maps", 1 << 20);
    EXPECT_TRUE(maps && maps->contains("libc.so"));
    return maps.value_or("").contains("libpfm");
  };
  lab_.write("long.toml",
             "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\n"
             "repetitions = 2\nrun = [\"sleep\", \"1000\"]\n");
  const int id = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  EXPECT_FALSE(has_loaded_it(lab_.daemon()));
  EXPECT_FALSE(has_loaded_it(lab_.worker()));
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);

  if (geteuid() != 0) GTEST_SKIP() << "to hide the library takes root";
  const std::string hidden =
      "for file in /usr/lib/*/libpfm.so.4*; do mount --bind /dev/null $file || exit 9; done; "
      "exec " +
      std::string(STAB_BIN_DIR) + "/stabctl counters";
  const Output unnamed =
      run_program({"/usr/bin/unshare", "-m", "/bin/sh", "-c", hidden}, lab_.folder());
  if (unnamed.code == 9 || unnamed.err.contains("unshare"))
    GTEST_SKIP() << "mounts of our own are not allowed here";
  EXPECT_THAT(unnamed.out, HasSubstr("install libpfm4")) << unnamed.err;
}

TEST_F(Counters, SetsTakeTurnsOverTheBlocks) {
  if (event("minor-faults")["status"] == "absent") GTEST_SKIP() << event("minor-faults")["reason"];
  write_plan(turns, "response = [\"wall\", \"minor-faults:u\", \"thousands\"]\n", 12);
  const Output check = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_THAT(
      check.out,
      AllOf(HasSubstr("counts by turns, one of these sets a block:\n"
                      "  set 1, in 6 blocks: minor-faults:u with page-faults:u\n"
                      "  set 2, in 6 blocks: task-clock\n"
                      "with 6 blocks of a set only large changes of its events are found: more "
                      "repetitions, or fewer sets, show smaller ones\n"),
            HasSubstr("compares minor-faults:u, too, by verdicts of its own (less is better), in "
                      "the blocks of its turns\n")));
  const json sets =
      json::parse(lab_.ctl({"check", "--json", lab_.path("plan.toml")}).out)["rotate"];
  EXPECT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[1]["fewest_blocks"], 6);
  EXPECT_EQ(sets[1]["fits"], true);

  const int id = run_to_end();
  EXPECT_EQ(lab_.state(id), "done");
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 24U);
  std::map<std::string, int> blocks;
  for (const auto& [block, found] : sets_of(trials)) {
    ASSERT_EQ(found.size(), 1U) << "block " << block;
    ++blocks[*found.begin()];
  }
  EXPECT_EQ(blocks, (std::map<std::string, int>{{"minor-faults:u", 6}, {"task-clock", 6}}));
  for (const json& trial : trials) {
    EXPECT_EQ(trial["status"], "ok") << trial["reason"];
    const bool has = !trial["minor-faults:u"].is_null();
    EXPECT_EQ(trial["page-faults:u.status"].is_null(), !has);
    EXPECT_EQ(trial["thousands.status"].is_null(), !has);
    if (!has) continue;
    EXPECT_EQ(trial["minor-faults:u.status"], "counted");
    EXPECT_GE(trial["minor-faults:u"], trial["pages"] == "few" ? 1000 : 3000);
    EXPECT_EQ(trial["thousands"], trial["minor-faults:u"].get<double>() / 1000);
  }
  const json report = json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out);
  EXPECT_EQ(report["trials"]["ok"], 24);
  EXPECT_EQ(report["effects"][0]["units"], 12);
  for (const json& other : report["responses"]) {
    EXPECT_EQ(other["effects"][0]["units"], 6) << other["response"];
    EXPECT_EQ(other["effects"][0]["verdict"], "slower") << other["effects"];
  }
  for (const json& counter : report["counters"]) {
    EXPECT_EQ(counter["blocks"], 6);
    EXPECT_EQ(counter["of_blocks"], 12);
    EXPECT_EQ(counter["absent"], 0);
  }
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id), "--full"}).out,
              AllOf(HasSubstr("minor-faults:u was counted in 6 of 12 blocks"),
                    HasSubstr("task-clock: counted in 6 of 12 blocks, by turns")));
}

TEST_F(Counters, WhoGoesOnCountsTheSameSets) {
  write_plan(turns, "", 20);
  const int first = run_to_end();
  ASSERT_EQ(lab_.state(first), "done");
  const int second = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(second, "running"));
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(second));
  EXPECT_EQ(sets_of(lab_.trials(first)), sets_of(lab_.trials(second)));
}

TEST_F(Counters, ASetThatIsAbsentIsRecordedOrRefused) {
  const std::string sets = "rotate = [[\"context-switches:u\"], [\"task-clock\"]]\n";
  write_plan(sets, "", 4);
  const int recorded = run_to_end();
  EXPECT_EQ(lab_.state(recorded), "done");
  int absent = 0;
  for (const json& trial : lab_.trials(recorded)) {
    EXPECT_EQ(trial["status"], "ok");
    absent += trial["context-switches:u.status"] == "absent" ? 1 : 0;
  }
  EXPECT_EQ(absent, 4);
  EXPECT_THAT(lab_.ctl({"logs", std::to_string(recorded)}).out,
              HasSubstr("context-switches:u cannot be counted here: it happens in the kernel"));
  write_plan(sets + "on_absent = \"refuse\"\n", "", 4);
  EXPECT_THAT(lab_.ctl({"check", lab_.path("plan.toml")}).out,
              HasSubstr("so that this plan would measure nothing on this machine"));
  const int refused = run_to_end();
  EXPECT_EQ(lab_.state(refused), "failed");
  EXPECT_EQ(lab_.trials(refused).size(), 0U);
  write_plan(sets, "response = \"context-switches:u\"\n", 4);
  const int response = run_to_end();
  EXPECT_THAT(lab_.ctl({"status", std::to_string(response)}).out,
              HasSubstr("'analysis.response': context-switches:u cannot be counted"));
}

// The CPU has four registers for addresses: what does not fit at once is counted by turns.
TEST_F(Counters, ByTurnsMoreIsCountedThanTheCpuCountsAtOnce) {
  const Output places = run_program({subject}, lab_.folder());
  std::string called;
  std::string written;
  std::istringstream(places.out) >> called >> written;
  std::vector<std::string> names;
  for (const char* access : {"/4:w", "/2:w", "/1:w"}) names.push_back("mem:" + written + access);
  const std::string calls = "mem:" + called + ":x";
  const auto plan = [&](const std::string& measure) {
    lab_.write("plan.toml",
               "[experiment]\nname = \"calls\"\n[[benchmark]]\nname = \"calls\"\n"
               "repetitions = 4\nrun = [\"" +
                   subject + "\", \"calls\", \"${N}\"]\n[factor.n]\n" +
                   "levels = { few = { N = \"100\" }, many = { N = \"250\" } }\n[measure]\n" +
                   measure);
  };
  const auto quoted = [](const std::string& name) { return "\"" + name + "\""; };
  const std::string three = quoted(names[0]) + ", " + quoted(names[1]) + ", " + quoted(names[2]);
  const std::string reads = quoted("mem:" + written + "/4:rw");
  plan("counters = [" + three + ", " + reads + ", " + quoted(calls) + "]\n");
  const int at_once = run_to_end();
  const json first = lab_.trials(at_once)[0];
  if (first[names[0] + ".status"] != "counted") GTEST_SKIP() << "no registers for addresses here";
  EXPECT_EQ(first[calls + ".status"], "absent");
  plan("rotate = [[" + three + ", " + reads + "], [" + quoted(calls) + "]]\n");
  const int by_turns = run_to_end();
  int counted = 0;
  for (const json& trial : lab_.trials(by_turns)) {
    if (trial[calls + ".status"].is_null()) continue;
    EXPECT_EQ(trial[calls + ".status"], "counted");
    EXPECT_EQ(trial[calls], trial["n"] == "few" ? 100 : 250);
    ++counted;
  }
  EXPECT_EQ(counted, 4);
}

TEST_F(Counters, TheExampleRuns) {
  const Output out =
      lab_.ctl({"submit", "--wait", std::string(STAB_SOURCE_DIR) + "/plans/counters.toml"});
  EXPECT_EQ(lab_.state(1), "done") << out.err;
  const json document = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  EXPECT_EQ(document["trials"]["ok"], 48) << document["failures"];
  ASSERT_EQ(document["counters"].size(), 9U);
  EXPECT_TRUE(document["counters"][0]["blocks"].is_null());
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(document["counters"][i]["blocks"], 6);
}

TEST_F(Counters, AReportMayBeOfAnotherNumber) {
  write_plan("counters = [\"task-clock\"]\n", "", 6);
  const int id = run_to_end();
  ASSERT_EQ(lab_.state(id), "done");
  const auto report = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"report", std::to_string(id), "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(lab_.ctl(arguments).out);
  };
  const json faults = report({"--response", "page-faults-minor"});
  EXPECT_EQ(faults["analysis"]["response"], "page-faults-minor");
  EXPECT_EQ(faults["effects"][0]["verdict"], "slower");
  EXPECT_GT(faults["effects"][0]["ratio"], 1.5);
  EXPECT_EQ(
      report({"--response", "page-faults-minor", "--better", "higher"})["effects"][0]["verdict"],
      "faster");
  EXPECT_EQ(report({"--response", "cpu"})["analysis"]["unit"], "ns");
  const Output compared = lab_.ctl({"compare", std::to_string(id), "--response",
                                    "page-faults-minor", "--json", "--fail-on", "regressed"});
  EXPECT_EQ(json::parse(compared.out)["analysis"]["response"], "page-faults-minor");
  EXPECT_EQ(compared.code, 2) << "it regressed";
  const Output none = lab_.ctl({"report", std::to_string(id), "--response", "page-fault-minor"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("no trial of experiment 1 has the number 'page-fault-minor', did "
                                  "you mean 'page-faults-minor'?"));
  EXPECT_EQ(lab_.ctl({"report", std::to_string(id), "--better", "higher"}).code, 1);
  // A database answers the same without its daemon.
  const json stored = report({"--response", "page-faults-minor", "--state", lab_.path("state")});
  EXPECT_EQ(stored["effects"], faults["effects"]);
}

TEST_F(Counters, CheckSaysWhatWillBeAbsent) {
  write_plan("counters = [\"context-switches:u\", \"task-clock\"]\n");
  const Output out = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(out.out,
              HasSubstr("context-switches:u cannot be counted here: it happens in the kernel"));
}

}  // namespace
}  // namespace stab::test
