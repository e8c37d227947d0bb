// SPDX-License-Identifier: MIT
// Plans for the tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plan/plan.h"
#include "plan/reading/read_plan.h"

namespace stab::plan {

// The smallest plan, of five lines; more tables can follow.
inline const std::string smallest = R"([experiment]
name = "t"
[[benchmark]]
name = "b"
run = ["/bin/true"]
)";

// Six lines. The benchmark's build uses ${CFLAGS} and ${LDFLAGS}.
inline const std::string with_build = R"([experiment]
name = "t"
[[benchmark]]
name = "b"
build = "cc ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}"
run = ["${OUT}"]
)";

// The problems, as the user sees them, or "" if there are none.
inline std::string problems_of(std::string_view text) {
  const auto plan = read_plan(text);
  return plan ? "" : toml::describe(plan.error(), "p");
}

// The plan. If the text is wrong, the test fails.
inline Plan good_plan(std::string_view text) {
  const auto plan = read_plan(text);
  if (plan) return *plan;
  ADD_FAILURE() << toml::describe(plan.error(), "p");
  return {};
}

}  // namespace stab::plan
