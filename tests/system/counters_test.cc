// SPDX-License-Identifier: MIT
// Events that a plan asks for, counted in each trial, whatever this machine can count: what it cannot has a reason.
#include <gmock/gmock.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/system/counters_testing.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

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
  const Output text = lab_.ctl({"report", std::to_string(id), "--full"});
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
  EXPECT_THAT(
      lab_.ctl({"status", std::to_string(id)}).out,
      HasSubstr("context-switches:u cannot be counted here: the event happens in the kernel"));
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
  EXPECT_THAT(
      lab_.ctl({"submit", lab_.path("plan.toml")}).err,
      AllOf(HasSubstr("'msr' has no 'tsk'; it has the terms event, config, and the events "),
            HasSubstr("tsc")));
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
  EXPECT_THAT(none.err, HasSubstr("no trial of experiment 1 has the response 'page-fault-minor' "
                                  "(did you mean 'page-faults-minor'?)"));
  EXPECT_EQ(lab_.ctl({"report", std::to_string(id), "--better", "higher"}).code, 1);
  // A database answers the same without its daemon.
  const json stored = report({"--response", "page-faults-minor", "--state", lab_.path("state")});
  EXPECT_EQ(stored["effects"], faults["effects"]);
}

TEST_F(Counters, CheckSaysWhatWillBeAbsent) {
  write_plan("counters = [\"context-switches:u\", \"task-clock\"]\n");
  const Output out = lab_.ctl({"check", lab_.path("plan.toml")});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_THAT(
      out.out,
      HasSubstr("context-switches:u cannot be counted here: the event happens in the kernel"));
}

}  // namespace
}  // namespace stab::test
