// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "client/verbs.h"
#include "store/test_support.h"

namespace stab::client {
namespace {

// The mean over all benchmarks varies less than one benchmark, so its noise floor is no answer for
// a single benchmark. A calibration stores it last.
TEST(MachineList, ItHasTheNoiseFloorOfAnyBenchmarkAndTheLastCompilers) {
  const store::TemporaryDirectory folder;
  {
    const std::unique_ptr<store::Store> database = store::open_or_fail(folder / "stabd.db");
    const store::Id machine = database->add_machine(store::example_machine()).value();
    store::Experiment experiment = store::example_experiment();
    experiment.machine = machine;
    const store::Id id = database->add_experiment(experiment).value();
    store::Trial trial = store::example_trial(id, 0);
    trial.node = "";
    ASSERT_TRUE(database->add_trial(trial));
    store::Calibration any = store::example_calibration(machine, id);
    any.scope = store::CalibrationScope::any;
    any.benchmark = "";
    any.margin = 0.02;
    store::Calibration suite = any;
    suite.scope = store::CalibrationScope::suite;
    suite.margin = 0.005;
    ASSERT_TRUE(database->add_calibrations({any, suite}));
    for (const char* text : {"stabd 0.1.0", "stabd 0.1.0; built by clang 19"})
      ASSERT_TRUE(
          database->add_event({.experiment = id, .at_ns = 1, .kind = "versions", .text = text}));
  }
  Common common;
  common.state = folder / "stabd.db";
  common.json = true;
  ::testing::internal::CaptureStdout();
  const auto code = machines(common);
  const std::string shown = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(code) << code.error().message;
  const auto list = nlohmann::json::parse(shown);
  ASSERT_EQ(list.size(), 1U) << shown;
  EXPECT_EQ(list.at(0).at("noise_floor").at("margin").get<double>(), 0.02);
  EXPECT_EQ(list.at(0).at("versions"), "stabd 0.1.0; built by clang 19") << "the last start's";
}

}  // namespace
}  // namespace stab::client
