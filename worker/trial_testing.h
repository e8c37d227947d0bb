// SPDX-License-Identifier: MIT
// For tests: trials of the shell in a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/testing.h"
#include "worker/trial.h"

namespace stab::worker {

class TrialTest : public ::testing::Test {
 protected:
  TrialTest() { folder_.write("expected.txt", "hello\n"); }
  void SetUp() override { ASSERT_TRUE(machine::adopt_orphans()); }

  [[nodiscard]] protocol::RunRequest request(const std::string& script) const {
    protocol::RunRequest request;
    request.argv = {"/bin/sh", "-c", script};
    request.directory = folder_ / "";
    request.timeout = std::chrono::seconds(30);
    request.output_limit = 1 << 20;
    return request;
  }
  // A trial that says hello, with a check that `judge` makes.
  [[nodiscard]] protocol::RunReply hello(const std::function<void(plan::Check&)>& judge) const {
    protocol::RunRequest trial = request("echo hello");
    judge(trial.check);
    return run_trial(trial, {});
  }
  [[nodiscard]] protocol::RunReply by_digest(const std::string& digest) const {
    return hello([&](plan::Check& check) { check.stdout_sha256 = digest; });
  }
  [[nodiscard]] protocol::RunReply by_file(const std::string& file) const {
    return hello([&](plan::Check& check) { check.stdout_file = file; });
  }
  [[nodiscard]] protocol::RunReply by_command(const std::string& command) const {
    return hello([&](plan::Check& check) { check.command = command; });
  }

  test::Folder folder_;
};

inline std::optional<std::int64_t> reading(const protocol::RunReply& reply,
                                           const std::string& name) {
  for (const auto& reading : reply.readings)
    if (reading.name == name && reading.status == counters::Status::counted)
      return std::get<std::int64_t>(reading.value);
  return std::nullopt;
}

}  // namespace stab::worker
