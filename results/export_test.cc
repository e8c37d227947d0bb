// SPDX-License-Identifier: MIT
#include "results/export.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "plan/measures/names.h"
#include "store/test_support.h"

namespace stab::results {
namespace {

using nlohmann::json;
using store::Trial;
using store::TrialStatus;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExportTest : public store::WithStore {
 protected:
  [[nodiscard]] store::Experiment experiment() { return store_->experiment(experiment_)->value(); }
  Result<std::string> whole(Export* write) {
    std::string text;
    const auto written = write(*store_, experiment(), [&](std::string_view piece) -> Result<void> {
      text += piece;
      return {};
    });
    if (!written) return std::unexpected(written.error());
    return text;
  }
  std::string csv() {
    const auto text = whole(export_csv);
    if (!text) ADD_FAILURE() << text.error().message;
    return text.value_or("");
  }
  json rows() {
    const auto text = whole(export_json);
    if (!text) ADD_FAILURE() << text.error().message;
    return json::parse(text.value_or("[]"));
  }
  void set_state(const std::string& state, std::optional<store::StopCause> stopped_by = {}) {
    store::Experiment changed = experiment();
    changed.state = state;
    changed.reason = "stopped after 1 of 300 blocks: reasons are for people";
    changed.stopped_by = stopped_by;
    ASSERT_TRUE(store_->update_experiment(changed));
  }
  [[nodiscard]] Trial plain(std::uint32_t position) const {
    return {.experiment = experiment_,
            .position = position,
            .benchmark = "sort",
            .levels = {{"opt", "O2"}},
            .seed = 5,
            .status = TrialStatus::ok,
            .exit_code = 0,
            .started_ns = 1000,
            .wall_ns = 7,
            .user_ns = 0,
            .system_ns = 1,
            .max_rss_bytes = 4096,
            .stdout_sha256 = "e3b0"};
  }
};

const std::string before = "position,attempt,last,block,warmup,benchmark";
const std::string after =
    ",seed,status,reason,exit_code,signal,started_ns,wall_ns,user_ns,system_ns,max_rss_bytes,"
    "stdout_sha256,build,randomized,randomization,layout_note,layout_seed,epochs,given_up,"
    "epochs_ns,longest_pause_ns,functions,"
    "moved_functions,text_bytes,moved_bytes,setup_ns,main_to_exit_ns,region_ns,regions,"
    "heap_operations,heap_bytes,heap_fixed_bytes";
const std::string no_layout = ",,,,,,,,,,,,,,,,,,,";

TEST_F(ExportTest, AnExperimentWithoutTrialsIsAHeaderAndAnEmptyArray) {
  EXPECT_EQ(csv(), before + after + "\r\n");
  EXPECT_EQ(rows(), json::array());
}

TEST_F(ExportTest, NoMeasureOfAPlanHasTheNameOfAColumn) {
  std::stringstream columns(before + after);
  int count = 0;
  for (std::string column; std::getline(columns, column, ','); ++count)
    EXPECT_TRUE(plan::is_own_name(column)) << column;
  EXPECT_GT(count, 30);
  EXPECT_TRUE(plan::is_own_name("ops.status"));
}

TEST_F(ExportTest, AGapIsRefusedUnlessTheExperimentFailedOrWaits) {
  Trial behind_a_gap = plain(2);
  behind_a_gap.attempt = 1;
  add(plain(0));
  add(behind_a_gap);
  for (const char* state : {"done", "running", "analysing"}) {
    set_state(state);
    const auto refused = whole(export_json);
    ASSERT_FALSE(refused) << state;
    EXPECT_THAT(refused.error().message, HasSubstr("a trial of experiment 1 is missing"));
    EXPECT_FALSE(whole(export_csv)) << state;
  }
  for (const char* state : {"failed", "cancelled", "paused", "queued"}) {
    set_state(state);
    const json all = rows();
    ASSERT_EQ(all.size(), 2U) << state;
    EXPECT_EQ(all[1]["position"], 2);
  }
}

TEST_F(ExportTest, OfOneThatRanToItsEndTheLastTrialsMayNotBeMissing) {
  add(plain(0));
  set_state("done");
  EXPECT_FALSE(whole(export_csv));
  set_state("done", store::StopCause::rule);
  EXPECT_TRUE(whole(export_csv));
  set_state("failed");
  EXPECT_TRUE(whole(export_csv));
}

TEST_F(ExportTest, ATrialIsARowWithItsFactorsInTheMiddleAndItsReadingsAtTheEnd) {
  Trial trial = plain(0);
  trial.levels = {{"opt", "O2"}, {"aslr", "true"}};
  trial.readings = {{.name = "page-faults", .status = counters::Status::counted, .value = 12}};
  add(trial);
  EXPECT_EQ(csv(), before + ",aslr,opt" + after + ",page-faults,page-faults.status\r\n" +
                       "0,0,true,0,false,sort,true,O2,5,ok,,0,,1000,7,0,1,4096,e3b0," + no_layout +
                       ",12,counted\r\n");
}

TEST_F(ExportTest, AnAbsentReadingIsAnEmptyCellAndAZeroIsAZero) {
  Trial trial = plain(0);
  trial.readings = {
      {.name = "cycles", .status = counters::Status::absent, .value = 0, .reason = "-"},
      {.name = "faults", .status = counters::Status::counted, .value = 0},
      {.name = "misses", .status = counters::Status::scaled, .value = 3}};
  add(trial);
  EXPECT_THAT(csv(), HasSubstr(",,absent,0,counted,3,scaled\r\n"));
  const json row = rows()[0];
  EXPECT_TRUE(row["cycles"].is_null());
  EXPECT_EQ(row["cycles.status"], "absent");
  EXPECT_EQ(row["faults"], 0);
  EXPECT_EQ(row["misses.status"], "scaled");
}

TEST_F(ExportTest, AReadingMayBeARealNumberOrAnIntegerOf64Bits) {
  Trial trial = plain(0);
  trial.readings = {counters::counted("share", "", 0.1), counters::counted("huge", "", 1e300),
                    counters::counted("most", "ns", 9223372036854775807)};
  add(trial);
  EXPECT_THAT(csv(), HasSubstr(",0.1,counted,1e+300,counted,9223372036854775807,counted\r\n"));
  const json row = rows()[0];
  EXPECT_EQ(row["share"], 0.1);
  EXPECT_EQ(row["huge"], 1e300);
  EXPECT_EQ(row["most"], std::numeric_limits<std::int64_t>::max());
}

TEST_F(ExportTest, AReadingThatOnlySomeTrialsHaveIsEmptyForTheOthers) {
  add(plain(0));
  Trial second = plain(1);
  second.readings = {{.name = "late", .status = counters::Status::counted, .value = 9}};
  add(second);
  const json all = rows();
  EXPECT_TRUE(all[0]["late"].is_null());
  EXPECT_TRUE(all[0]["late.status"].is_null());
  EXPECT_EQ(all[1]["late"], 9);
  EXPECT_THAT(csv(), HasSubstr("4096,e3b0," + no_layout + ",,\r\n"));
}

TEST_F(ExportTest, ALayoutIsInItsColumns) {
  Trial trial = plain(0);
  trial.layout = {.randomized = true,
                  .kind = "code once",
                  .note = "",
                  .seed = 18446744073709551615U,
                  .epochs = 1,
                  .given_up = 0,
                  .epochs_ns = 3,
                  .longest_pause_ns = 2,
                  .functions = 9,
                  .moved_functions = 8,
                  .text_bytes = 100,
                  .moved_bytes = 90,
                  .setup_ns = 5,
                  .main_to_exit_ns = 6,
                  .region_ns = std::nullopt,
                  .regions = 0,
                  .heap_operations = 7,
                  .heap_bytes = 70,
                  .heap_fixed_bytes = 10,
                  .random_code = true,
                  .random_stack = false,
                  .random_heap = true,
                  .repeated = false};
  add(trial);
  EXPECT_THAT(
      csv(),
      HasSubstr(",true,code once,,18446744073709551615,1,0,3,2,9,8,100,90,5,6,,0,7,70,10\r\n"));
  EXPECT_EQ(rows()[0]["layout_seed"], "18446744073709551615");
  EXPECT_TRUE(rows()[0]["region_ns"].is_null());
}

TEST_F(ExportTest, NumbersThatWereNotMeasuredAreEmptyAndNotZero) {
  add({.experiment = experiment_,
       .position = 0,
       .benchmark = "sort",
       .levels = {{"opt", "O2"}},
       .status = TrialStatus::not_started,
       .reason = "no program"});
  EXPECT_THAT(csv(), HasSubstr(",not_started,no program,,,0,,,,,," + no_layout + "\r\n"));
  const json row = rows()[0];
  for (const char* name :
       {"exit_code", "signal", "wall_ns", "user_ns", "system_ns", "max_rss_bytes"})
    EXPECT_TRUE(row[name].is_null()) << name;
}

TEST_F(ExportTest, EveryAttemptIsARowAndOneOfThemStands) {
  Trial first = plain(0);
  first.last = false;
  first.status = TrialStatus::timeout;
  add(first);
  Trial second = plain(0);
  second.attempt = 1;
  add(second);
  Trial warmup = plain(1);
  warmup.warmup = true;
  add(warmup);
  const json all = rows();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["last"], false);
  EXPECT_EQ(all[0]["status"], "timeout");
  EXPECT_EQ(all[1]["last"], true);
  EXPECT_EQ(all[1]["attempt"], 1);
  EXPECT_EQ(all[2]["warmup"], true);
}

TEST_F(ExportTest, ASeedKeepsAllOfItsDigits) {
  add(store::example_trial(experiment_, 0));
  EXPECT_EQ(rows()[0]["seed"], "18364758544493064720");
  EXPECT_THAT(csv(), HasSubstr(",18364758544493064720,"));
}

TEST_F(ExportTest, ATextWithCommasAndQuotesStaysOneCell) {
  Trial trial = plain(0);
  trial.reason = "said \"no\",\nthen died";
  add(trial);
  EXPECT_THAT(csv(), HasSubstr(",\"said \"\"no\"\",\nthen died\","));
  EXPECT_EQ(rows()[0]["reason"], trial.reason);
}

TEST_F(ExportTest, BothFormsHaveTheSameColumnsInTheSameOrder) {
  add(store::example_trial(experiment_, 0));
  const std::string text = whole(export_json).value();
  const auto row = nlohmann::ordered_json::parse(text)[0];
  std::string header;
  for (const auto& [name, value] : row.items())
    header += (header.empty() ? "" : ",") +
              (name == "quoted \"name\"" ? std::string("\"quoted \"\"name\"\"\"") : name);
  EXPECT_THAT(csv(), StartsWith(header + "\r\n"));
}

TEST_F(ExportTest, SamplesHaveARowEachAndThoseThatAreAbsentOneWithTheReason) {
  Trial trial = plain(0);
  trial.samples = store::example_samples();
  add(trial);
  add(plain(1));
  EXPECT_EQ(whole(export_samples_csv).value(),
            "position,attempt,last,block,warmup,benchmark,opt,trial_status,measure,subject,unit,"
            "ordinal,value,reason\r\n"
            "0,0,true,0,false,sort,O2,ok,time,BM_sort/8,ns,0,12.5,\r\n"
            "0,0,true,0,false,sort,O2,ok,time,BM_sort/8,ns,1,13,\r\n"
            "0,0,true,0,false,sort,O2,ok,time,BM_sort/8,ns,2,12,\r\n"
            "0,0,true,0,false,sort,O2,ok,time,BM_find,ns,,,no keys\r\n"
            "0,0,true,0,false,sort,O2,ok,latency,,,0,1,\r\n");
  const json list = json::parse(whole(export_samples_json).value());
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0]["value"], 12.5);
  EXPECT_EQ(list[2]["ordinal"], 2);
  EXPECT_TRUE(list[3]["value"].is_null());
  EXPECT_EQ(list[3]["reason"], "no keys");
}

TEST_F(ExportTest, OtherExperimentsTrialsAreNotInIt) {
  const auto other = store_->add_experiment(store::example_experiment()).value();
  Trial trial = plain(0);
  trial.experiment = other;
  trial.levels = {{"theirs", "x"}};
  add(trial);
  EXPECT_EQ(csv(), before + after + "\r\n");
}

TEST_F(ExportTest, ADamagedRowIsAnErrorAndNotAShorterTable) {
  add(plain(0));
  add(plain(1));
  store::cheat(path_, "UPDATE trial SET wall_ns = 6 WHERE position = 1");
  EXPECT_FALSE(whole(export_csv));
  EXPECT_FALSE(whole(export_json));
}

TEST_F(ExportTest, ASinkThatFailsEndsTheExportWithItsReason) {
  for (std::uint32_t i = 0; i < 3; ++i) add(plain(i));
  for (Export* const write : {export_csv, export_json}) {
    int pieces = 0;
    const auto written = write(*store_, experiment(), [&](std::string_view) -> Result<void> {
      if (++pieces == 2) return fail("full");
      return {};
    });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().message, "full");
    EXPECT_EQ(pieces, 2);
  }
}

constexpr const char* on_nodes =
    "[experiment]\nname = 'e'\n[[benchmark]]\nname = 'sort'\nrun = ['true', '${X}']\n"
    "[factor.opt]\nlevels = { O2 = { X = '1' }, O3 = { X = '2' } }\n"
    "[machines]\nengine = 'slurm'\nnodes = 2\n";

TEST_F(ExportTest, TrialsOnNodesHaveTheirNode) {
  store::Experiment row = store::example_experiment();
  row.plan = on_nodes;
  experiment_ = store_->add_experiment(row).value();
  Trial trial = plain(0);
  trial.node = "n2";
  add(trial);
  EXPECT_THAT(csv(), HasSubstr(",heap_fixed_bytes,node\r\n"));
  EXPECT_THAT(csv(), HasSubstr(",n2\r\n"));
  EXPECT_EQ(rows()[0]["node"], "n2");
}

TEST_F(ExportTest, SeveralMachinesMayFinishLaterBlocksFirst) {
  store::Experiment row = store::example_experiment();
  row.plan = on_nodes;
  experiment_ = store_->add_experiment(row).value();
  add(plain(0));
  add(plain(2));
  set_state("running");
  EXPECT_EQ(rows().size(), 2U);
  for (const char* state : {"done", "analysing"}) {
    set_state(state);
    EXPECT_FALSE(whole(export_csv)) << state;
  }
}

}  // namespace
}  // namespace stab::results
