// SPDX-License-Identifier: MIT
// For tests: plans that count events of a program, and what of them this machine has.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {

inline const std::string counted = STAB_SUBJECT;

class Counters : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }

  // What the status of an event is to a trial here: "counted" or "absent".
  nlohmann::json event(const std::string& name) const {
    const Output out = lab_.ctl({"counters", "--json", name});
    EXPECT_EQ(out.code, 0) << out.err;
    for (const nlohmann::json& each : nlohmann::json::parse(out.out)["events"])
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
                   std::to_string(blocks) + "\nrun = [\"" + counted +
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

}  // namespace stab::test
