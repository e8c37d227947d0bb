// SPDX-License-Identifier: MIT
#include "runtime/base/outside_handlers.h"

#include <gtest/gtest.h>

namespace stab::rt {
namespace {

TEST(BeforeStart, GivesNoProofOnceTheProgramHasStarted) {
  BeforeStart::outside();
  EXPECT_DEATH(
      {
        BeforeStart::end();
        BeforeStart::outside();
      },
      "outside_handlers.cc:[0-9]+: Handlers 2 does not hold");
  BeforeStart();
  EXPECT_DEATH(
      {
        BeforeStart::end();
        BeforeStart();
      },
      "outside_handlers.cc:[0-9]+: Handlers 3 does not hold");
}

}  // namespace
}  // namespace stab::rt
