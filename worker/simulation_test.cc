// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "plan/measures/names.h"
#include "plan/reading/key_list.h"
#include "worker/trial.h"
#include "worker/wrappers.h"

namespace stab::worker {
namespace {

using testing::SizeIs;

protocol::RunReply with_all_numbers() {
  protocol::RunReply reply;
  reply.wall_ns = reply.user_ns = reply.system_ns = reply.max_rss_bytes = 7;
  store::for_each_layout_column([&](const store::LayoutColumn& /*column*/, auto member) {
    if constexpr (std::is_same_v<decltype(reply.layout.*member), std::optional<std::int64_t>&>)
      reply.layout.*member = 7;
  });
  reply.readings = {counters::counted("region-a-ns", "ns", 1),
                    counters::absent("region-b-ns", "ns", "it was not entered"),
                    counters::counted("region-a-count", "", 1),
                    counters::counted("simulated-instructions", "", 1)};
  return reply;
}

TEST(Simulation, LeavesNothingThatAClockOrTheKernelMeasured) {  // S1
  protocol::RunReply reply = with_all_numbers();
  forget_real_runs(reply);
  for (const std::string_view response : plan::words::responses) {
    const auto number = store::number_of(reply, response);
    EXPECT_FALSE(number && counters::comparable(*number)) << response;
  }
  store::for_each_layout_column([&](const store::LayoutColumn& column, auto member) {
    if constexpr (std::is_same_v<decltype(reply.layout.*member), std::optional<std::int64_t>&>)
      EXPECT_NE((reply.layout.*member).has_value(), column.name.ends_with("_ns")) << column.name;
  });
  ASSERT_THAT(reply.readings, SizeIs(2));
  EXPECT_EQ(reply.readings[0].name, "region-a-count");
  EXPECT_EQ(reply.readings[1].name, "simulated-instructions");
}

protocol::RunRequest running(const std::string& script) {
  protocol::RunRequest request;
  request.argv = {"/bin/sh", "-c", script};
  request.directory = "/";
  request.timeout = std::chrono::minutes(2);
  request.output_limit = 1000;
  request.simulate = true;
  return request;
}

TrialContext under_valgrind() {
  TrialContext context;
  context.simulator = "/usr/bin/valgrind";
  return context;
}

TEST(Simulation, ATrialHasCountsAndRunsAsItWouldWithout) {
  protocol::RunRequest request = running("echo it works; echo well >&2; exit 3");
  request.check.exit = 3;
  const protocol::RunReply reply = run_trial(request, under_valgrind());
  EXPECT_EQ(reply.status, store::TrialStatus::ok) << reply.reason;
  EXPECT_EQ(reply.stderr_tail, "well\n");
  EXPECT_EQ(reply.exit_code, 3);
  EXPECT_EQ(reply.wall_ns, std::nullopt);
  for (const std::string_view name : plan::simulated_names) {
    const auto number = store::number_of(reply, name);
    ASSERT_TRUE(number) << name;
    EXPECT_EQ(number->status, counters::Status::counted) << name;
  }
}

TEST(Simulation, AProgramThatIsNotThereIsSaidAsWithout) {
  protocol::RunRequest request = running("");
  request.argv = {"/nowhere/program"};
  const protocol::RunReply simulated = run_trial(request, under_valgrind());
  const protocol::RunReply real = run_trial(request, TrialContext());
  EXPECT_EQ(simulated.status, store::TrialStatus::not_started);
  EXPECT_EQ(simulated.reason, real.reason);
}

TEST(Simulation, AProgramThatIsEndedHasNoCounts) {
  protocol::RunRequest request = running("while :; do :; done");
  request.timeout = std::chrono::milliseconds(500);
  const protocol::RunReply reply = run_trial(request, under_valgrind());
  EXPECT_EQ(reply.status, store::TrialStatus::timeout);
  const auto number = store::number_of(reply, "simulated-instructions");
  ASSERT_TRUE(number);
  EXPECT_EQ(number->status, counters::Status::absent);
}

}  // namespace
}  // namespace stab::worker
