// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using testing::ElementsAre;

// Four functions: `first` calls `second`, which calls by a pointer.
class Recursion : public testing::Test {
 protected:
  Recursion() {
    program_.functions.resize(4);
    first().callees_by_name = {1};
    second().decoded.calls_anywhere = true;
  }
  Function& first() { return program_.functions[0]; }
  Function& second() { return program_.functions[1]; }
  Function& other() { return program_.functions[2]; }

  Program program_;
};

TEST_F(Recursion, MayGoThroughACallThatNobodyNoted) {
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::all),
              ElementsAre(false, false, false, false));
  first().address_taken = true;
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::all),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::noted),
              ElementsAre(false, false, false, false));
}

TEST_F(Recursion, MayGoThroughAJumpByARegister) {
  second().decoded = {};
  second().decoded.jumps_anywhere = true;
  first().address_taken = true;
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::all),
              ElementsAre(true, true, false, false));
}

TEST_F(Recursion, OfNotedFunctionsGoesByTypes) {
  second().is_typed = true;
  second().called_types = {7};
  first().address_taken = true;
  first().is_typed = true;
  first().type = 9;
  for (const CallsByPointer calls : {CallsByPointer::noted, CallsByPointer::all})
    EXPECT_THAT(recursive_functions(program_, calls), ElementsAre(false, false, false, false));
  first().type = 7;
  for (const CallsByPointer calls : {CallsByPointer::noted, CallsByPointer::all})
    EXPECT_THAT(recursive_functions(program_, calls), ElementsAre(true, true, false, false));
}

// A pointer of any type may lead to a function whose type nobody noted.
TEST_F(Recursion, MayGoThroughAFunctionWithoutAType) {
  second().is_typed = true;
  second().called_types = {7};
  other().address_taken = true;
  other().callees_by_name = {0};
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::all),
              ElementsAre(true, true, true, false));
  EXPECT_THAT(recursive_functions(program_, CallsByPointer::noted),
              ElementsAre(false, false, false, false));
}

}  // namespace
}  // namespace stab::instrumenter
