// SPDX-License-Identifier: MIT
// An experiment's life as users see it: run, submit, watch, cancel, report, export.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* plan_text = R"(
[experiment]
name = "life"
question = "does it work?"
[variables]
CFLAGS = "-O1"
[defaults]
repetitions = 4
[[benchmark]]
name = "one"
build = "${CC} ${CFLAGS} ${LDFLAGS} -DWORK=${WORK} -o ${OUT} work.c"
sources = ["work.c"]
run = ["${OUT}"]
check = { stdout_file = "expected.txt" }
[[benchmark]]
name = "two"
build = "${CC} ${CFLAGS} ${LDFLAGS} -DWORK=${WORK}+1 -o ${OUT} work.c"
sources = ["work.c"]
run = ["${OUT}"]
[factor.work]
levels = { little = { WORK = "1000" }, much = { WORK = "3000" } }
[factor.link_order]
random = { per = "block" }
[factor.env_bytes]
levels = [0, 1000]
[design]
kind = "within-subjects"
)";

constexpr const char* work_c = R"(
#include <stdio.h>
static volatile unsigned sink;
unsigned first(unsigned x) { return x * 3 + 1; }
unsigned second(unsigned x) { return x ^ (x >> 3); }
unsigned third(unsigned x) { return first(second(x)); }
int main(void) {
  for (int i = 0; i < WORK * 100; ++i) sink += third((unsigned)i);
  puts("right");
}
)";

class Life : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("plan.toml", plan_text);
    lab_.write("work.c", work_c);
    lab_.write("expected.txt", "right\n");
    lab_.write("long.toml",
               "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
               "\"0.05\"]\nrepetitions = 5000\n");
  }

  std::string stabctl() const { return std::string(STAB_BIN_DIR) + "/stabctl"; }

  Lab lab_;
};

TEST_F(Life, RunEndsWithAnAnswerAndLeavesItsDatabase) {
  const Output output = run_program({stabctl(), "run", "--full", "--fail-on", "trials", "--state",
                                     lab_.path("run"), lab_.path("plan.toml")},
                                    lab_.folder());
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("Error(benchmark/(work * env_bytes))"));
  EXPECT_THAT(output.out, HasSubstr("Answer"));
  EXPECT_THAT(output.err, HasSubstr("stabctl report --full 1 --folder '" + lab_.path("run") + "'"));
  EXPECT_TRUE(std::filesystem::exists(lab_.path("run") + "/stabd.db"));
}

TEST_F(Life, FromTheQueueToTheExport) {
  ASSERT_TRUE(lab_.start_daemon());
  const Output submitted =
      lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("plan.toml")});
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  const json list = json::parse(lab_.ctl({"list", "--json"}).out);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["id"], 1);
  EXPECT_EQ(list[0]["state"], "done");

  const json rows = lab_.trials(1);
  EXPECT_EQ(rows.size(), 2U * 2 * 2 * 4);
  for (const json& row : rows) {
    EXPECT_EQ(row["status"], "ok");
    EXPECT_GT(row["wall_ns"].get<std::int64_t>(), 0);
    EXPECT_TRUE(row.contains("work") && row.contains("link_order") && row.contains("env_bytes"));
    EXPECT_EQ(row["page-faults-minor.status"], "counted");
  }
  const json report = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  EXPECT_FALSE(report["anova"].empty());
  EXPECT_NE(report["answer"], "");

  ASSERT_EQ(lab_.ctl({"export", "1", "-o", lab_.path("rows.csv")}).code, 0);
  const auto csv = read_file(lab_.path("rows.csv"), 1 << 20);
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->substr(0, 9), "position,");
  EXPECT_EQ(std::ranges::count(*csv, '\n'), 33);
}

TEST_F(Life, AOneWayDesignComparesWithinBlocks) {
  lab_.write("took.sh", took_script(), true);
  lab_.write("one-way.toml",
             printing_plan("w", R"({ short = { NS = "100" }, long = { NS = "1000" } })", 4,
                           "[design]\nkind = \"one-way\"\n"));
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("one-way.toml")}).code,
            0);
  const json report = json::parse(lab_.ctl({"report", "1", "--json"}).out);
  ASSERT_EQ(report["effects"].size(), 1U);
  EXPECT_EQ(report["effects"][0]["error"], "block:t");
  EXPECT_EQ(report["effects"][0]["verdict"], "slower");
  EXPECT_EQ(report["effects"][0]["units"], 4);
  EXPECT_EQ(report["anova"].size(), 3U);  // blocks; the treatment and its own residuals
}

TEST_F(Life, BlocksShareTheirRandomLevelsAndCellsDoNotDependOnThem) {
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("plan.toml")}).code, 0);
  std::map<int, std::set<std::string>> orders;
  for (const json& row : lab_.trials(1))
    orders[row["block"].get<int>()].insert(row["link_order"].get<std::string>());
  ASSERT_EQ(orders.size(), 4U);
  for (const auto& [block, values] : orders) EXPECT_EQ(values.size(), 1U) << block;
}

TEST_F(Life, ASecondRunFindsItsBuildsInTheCache) {
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("plan.toml")}).code, 0);
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("plan.toml")}).code, 0);
  const Output query =
      run_program({"/usr/bin/sqlite3", lab_.path("state/stabd.db"),
                   "select status, count(*) from build where experiment = 2 group by status"},
                  lab_.folder());
  EXPECT_EQ(query.out, "cached|16\n") << query.err;
  // Another source is another build.
  lab_.write("work.c", std::string(work_c) + "int more;\n");
  ASSERT_EQ(lab_.ctl({"submit", "--wait", "--fail-on", "trials", lab_.path("plan.toml")}).code, 0);
  const Output again =
      run_program({"/usr/bin/sqlite3", lab_.path("state/stabd.db"),
                   "select status, count(*) from build where experiment = 3 group by status"},
                  lab_.folder());
  EXPECT_EQ(again.out, "built|16\n") << again.err;
}

TEST_F(Life, CancelKeepsWhatWasMeasured) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for_trials(id, 1));
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "cancelled");
  EXPECT_GT(lab_.trials(id).size(), 0U);
  EXPECT_EQ(lab_.ctl({"report", std::to_string(id)}).code, 0);
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 1);
}

TEST_F(Life, AQueuedExperimentWaitsAndCanBeCancelled) {
  ASSERT_TRUE(lab_.start_daemon());
  const int first = lab_.submit("long.toml");
  const int second = lab_.submit("long.toml");
  ASSERT_TRUE(lab_.wait_for(first, "running"));
  EXPECT_EQ(lab_.state(second), "queued");
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(second)}).code, 0);
  EXPECT_EQ(lab_.state(second), "cancelled");
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(first)}).code, 0);
  EXPECT_TRUE(lab_.wait_until_final(first));
}

TEST_F(Life, ASecondDaemonOnTheSameDatabaseNamesTheFirst) {
  ASSERT_TRUE(lab_.start_daemon());
  const Output second = run_program({std::string(STAB_BIN_DIR) + "/stabd", "--state",
                                     lab_.path("state"), "--socket", lab_.path("t.sock")},
                                    lab_.folder());
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr(std::to_string(lab_.daemon())));
}

TEST_F(Life, ADaemonThatIsStoppedGoesOnLater) {
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("short.toml", waiting_plan("s", 40, 10));
  const int id = lab_.submit("short.toml");
  ASSERT_TRUE(lab_.wait_for_trials(id, 10));
  lab_.end_daemon(SIGTERM);
  lab_.write("go", "");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
  EXPECT_EQ(lab_.trials(id).size(), 40U);
}

// All trials but the first wait.
const std::string slow_plan =
    "[experiment]\nname = \"slow\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 30\n"
    "timeout = \"1h\"\nprepare = \"" +
    until_go(1) +
    "\"\nbuild = \"${CC} -DWORK=10 -o ${OUT} work.c\"\nsources = [\"work.c\"]\nrun = "
    "[\"${OUT}\"]\n";

TEST_F(Life, AnInterruptedExperimentGoesOnWithTheBinariesThatItBeganWith) {
  lab_.write("slow.toml", slow_plan);
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("slow.toml");
  ASSERT_TRUE(lab_.wait_for_trials(id, 1));
  lab_.end_daemon(SIGTERM);
  lab_.write("go", "");
  lab_.write("work.c", "this is no C");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
  EXPECT_EQ(lab_.trials(id).size(), 30U);
}

TEST_F(Life, ChangedSourcesWithoutTheBinariesEndAnInterruptedExperiment) {
  lab_.write("slow.toml", slow_plan);
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("slow.toml");
  ASSERT_TRUE(lab_.wait_for_trials(id, 1));
  lab_.end_daemon(SIGTERM);
  lab_.write("work.c", std::string(work_c) + "int changed;\n");
  std::filesystem::remove_all(lab_.path("cache"));
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out, HasSubstr("have changed since"));
}

TEST_F(Life, CheckPrintsTheDesignWithoutADaemon) {
  const Output output = run_program({stabctl(), "check", lab_.path("plan.toml")}, lab_.folder());
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("32 trials"));
  EXPECT_THAT(output.out, HasSubstr("16 builds"));
  EXPECT_THAT(output.out, HasSubstr("benchmark:work"));
  const json design = json::parse(
      run_program({stabctl(), "check", "--json", lab_.path("plan.toml")}, lab_.folder()).out);
  EXPECT_EQ(design["trials"], 32);
}

TEST_F(Life, WithoutADaemonTheErrorSaysHowToGetOne) {
  const Output output = lab_.ctl({"list"});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("stabctl run"));
}

TEST_F(Life, AGroupThatDoesNotFitTheSocketIsRefused) {
  const auto refusal = [this](const std::string& group, const std::string& mode) {
    const Output refused =
        run_program({std::string(STAB_BIN_DIR) + "/stabd", "--config", "/dev/null", "--state",
                     lab_.path("other"), "--cache", lab_.path("cache"), "--socket",
                     lab_.path("other.sock"), "--socket-group", group, "--socket-mode", mode},
                    lab_.folder());
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(access(lab_.path("other.sock").c_str(), F_OK), 0) << "none is left";
    return refused.err;
  };
  EXPECT_THAT(refusal("no-group-of-this-name", "0660"),
              HasSubstr("there is no group 'no-group-of-this-name' for the socket"));
  EXPECT_THAT(refusal("4294967295", "0660"), HasSubstr("there is no group '4294967295'"));
  EXPECT_THAT(refusal("0", "0600"), HasSubstr("has no effect with the socket's mode 0600"));
}

}  // namespace
}  // namespace stab::test
