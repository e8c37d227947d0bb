// SPDX-License-Identifier: MIT
// Programs whose allocator is not libc's, under 'stabctl causal'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <tuple>

#include "tests/system/causal_testing.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using ::testing::Combine;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::Values;

// A compiler, and an allocator: "own" is the program's, others are preloaded.
using Made = std::tuple<const char*, const char*>;

class CausalAllocatorTest : public CausalSubjectTest, public ::testing::WithParamInterface<Made> {
 protected:
  static std::string library() {
    const std::string name = std::get<1>(GetParam());
    return name == "own" ? "" : "/usr/lib/x86_64-linux-gnu/" + name;
  }
  Output profile(const std::string& program, const char* code) const {
    return run_program(
        {"/bin/sh", "-c",
         "LD_PRELOAD=" + library() + " exec " STAB_BIN_DIR "/stabctl causal --runs 1 " +
             "--experiment 20ms --timeout 2min --scope '*/causal_allocator.c' -- " + program +
             " 6000 " + code},
        lab_.folder());
  }
};

TEST_P(CausalAllocatorTest, APreloadedOneOrTheProgramsOwnStaysAndIsProfiled) {
  if (!library().empty() && !fs::exists(library())) GTEST_SKIP() << library() + " is not there";
#ifdef STAB_SANITIZED
  if (library().contains("tcmalloc")) GTEST_SKIP() << "the sanitizer has an allocator, too";
#endif
  const std::string compiler = std::get<0>(GetParam());
  const std::string program =
      compile("allocator", compiler + " -g " + (library().empty() ? "-DOWN " : "") +
                               STAB_SOURCE_DIR "/tests/system/causal_allocator.c");
  const std::string output = "sum 720000, failed 0\n";
  const Output made = profile(program, "0");
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, StartsWith(output + "Progress point item: "));
  EXPECT_THAT(made.err, HasSubstr(" 6000 visits in "));
  const Output failed = profile(program, "3");
  EXPECT_EQ(failed.out, output);
  EXPECT_THAT(failed.err, HasSubstr("run 1 of 1: the program exited with 3; the run is left out"));
}

INSTANTIATE_TEST_SUITE_P(All, CausalAllocatorTest,
                         Combine(Values("clang-22", STAB_BIN_DIR "/szc"),
                                 Values("own", "libjemalloc.so.2", "libmimalloc.so.2",
                                        "libtcmalloc_minimal.so.4")),
                         [](const auto& each) {
                           const std::string compiler = std::get<0>(each.param);
                           const std::string name = std::get<1>(each.param);
                           return (compiler.ends_with("szc") ? "szc_" : "clang_") +
                                  name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace stab::test
