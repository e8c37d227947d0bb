// SPDX-License-Identifier: MIT
// For tests: plans that build the program b.c, run to their end.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {

class BuiltProgram : public ::testing::Test {
 protected:
  explicit BuiltProgram(const char* text) { lab_.write("b.c", text); }
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  int run(const std::string& plan) {
    lab_.write("plan.toml", plan);
    const int id = lab_.submit("plan.toml");
    EXPECT_GT(id, 0);
    EXPECT_TRUE(id > 0 && lab_.wait_until_final(id));
    return id;
  }
  [[nodiscard]] nlohmann::json report(int id, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"report", std::to_string(id), "--json"});
    return nlohmann::json::parse(lab_.ctl(more).out, nullptr, false);
  }

  Lab lab_;
};

}  // namespace stab::test
