// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "runtime/arch/stacks.h"

namespace stab::rt {
namespace {

// Of /proc/thread-self/status, where the kernel says it in words.
bool status_says_so() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("x86_Thread_features:")) return line.contains("shstk");
  return false;
}

TEST(ShadowStack, OfThisThreadIsWhatItsStatusSays) {
  EXPECT_EQ(has_shadow_stack(), status_says_so());
  EXPECT_EQ(has_shadow_stack(), status_says_so());
}

}  // namespace
}  // namespace stab::rt
