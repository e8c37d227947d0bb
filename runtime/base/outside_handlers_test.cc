// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "runtime/base/handlers.h"

namespace stab::rt {
namespace {

TEST(BeforeStart, GivesNoProofOnceTheProgramHasStarted) {
  BeforeStart::outside();
  EXPECT_DEATH(
      {
        BeforeStart::end();
        BeforeStart::outside();
      },
      "handlers.cc:[0-9]+: Handlers 2 does not hold");
  BeforeStart();
  EXPECT_DEATH(
      {
        BeforeStart::end();
        BeforeStart();
      },
      "handlers.cc:[0-9]+: Handlers 3 does not hold");
}

}  // namespace
}  // namespace stab::rt
