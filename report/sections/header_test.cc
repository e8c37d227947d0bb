// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/sections/sections.h"

namespace stab::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadText, OfNothingSaysNothing) {
  EXPECT_EQ(load_text({}), "");
}

TEST(LoadText, OfAQuietMachineWarnsOfNothing) {
  EXPECT_EQ(load_text({.others = 0.02, .stolen = 0.0004, .known = 160, .kept_waiting = 16}),
            "0.02 other CPUs busy on average; the host took 0.04 % of the time; 16 of 160 trials "
            "waited for their CPU");
}

TEST(LoadText, OfABusyOneWarns) {
  EXPECT_THAT(load_text({.others = 0.25}), HasSubstr("warning: the machine was busy"));
  EXPECT_THAT(load_text({.stolen = 0.01}), HasSubstr("warning: the machine was busy"));
  EXPECT_THAT(load_text({.known = 160, .kept_waiting = 17}),
              HasSubstr("17 of 160 trials waited for their CPU; warning: the machine was busy"));
  EXPECT_THAT(load_text({.others = 0.24, .stolen = 0.009}), Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace stab::report
