// SPDX-License-Identifier: MIT
// A call goes through the program, szc's runtime, the library and what is preloaded behind it to libc: once
// through each, in this order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "causal/preload/testing.h"

namespace stab::causal::testing {
namespace {

using ::testing::Combine;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr int calls = 200;
constexpr size_t functions = 10;  // in layers.inc
const std::string programs = STAB_SOURCE_DIR "/causal/preload/programs/";

// A compiler, and whether the program stands before the functions itself.
class Layers : public ::testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Layers() {
    std::string name = ::testing::TempDir() + "layers-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Layers() override { output_of("rm -r '" + folder_ + "'"); }

  [[nodiscard]] std::string compile(const std::string& name, const std::string& command) const {
    std::string path = folder_ + "/" + name;
    EXPECT_EQ(output_of(command + " -O1 -I " STAB_SOURCE_DIR " -o " + path + " 2>&1"), "");
    return path;
  }
  static bool is_own() { return std::get<1>(GetParam()); }
  static bool has_runtime() { return std::string(std::get<0>(GetParam())).ends_with("szc"); }

  // By its first word what the program and the library behind print, without that word.
  static std::map<std::string, std::vector<std::string>> lines_of(const std::string& output) {
    std::map<std::string, std::vector<std::string>> lines;
    std::istringstream text(output);
    for (std::string word, rest; text >> word && std::getline(text >> std::ws, rest);)
      lines[word].push_back(rest);
    return lines;
  }

  std::string folder_;
};

TEST_P(Layers, EachCallIsOneInEachOfThemInTheirOrder) {
  const std::string program =
      compile("layers", std::string(std::get<0>(GetParam())) + (is_own() ? " -DOWN " : " ") +
                            programs + "layers.c");
  const std::string behind =
      compile("behind.so", "clang-22 -shared -fPIC " + programs + "behind.c");
  Session session({"main"}, program);
  session.head().is_end_to_end = 1;
  const Ran ran = session.run_command(program + " " + std::to_string(calls), "", ":" + behind);
  ASSERT_EQ(exit_code(ran), 0) << ran.output;

  auto lines = lines_of(ran.output);
  const std::string count = " " + std::to_string(calls);
  const auto created =
      std::ranges::find(lines["libc:"], "pthread_create " + std::to_string(calls + 1));
  ASSERT_NE(created, lines["libc:"].end()) << "the library has a thread of its own\n" << ran.output;
  lines["libc:"].erase(created);
  EXPECT_THAT(lines["libc:"], SizeIs(functions - 1));
  EXPECT_THAT(lines["libc:"], Each(EndsWith(count)));
  EXPECT_THAT(lines["program:"], SizeIs(is_own() ? functions : 0));
  EXPECT_THAT(lines["program:"], Each(EndsWith(count)));
  EXPECT_THAT(lines["uncalled:"], SizeIs(is_own() ? 2 : 0));
  EXPECT_THAT(lines["uncalled:"], Each(EndsWith(" 0")));
  EXPECT_THAT(lines["next:"], SizeIs(functions));
  EXPECT_THAT(lines["next:"], Each(EndsWith(" libstabcausal.so")));
  const std::string first = is_own() || has_runtime() ? "layers" : "libstabcausal.so";
  EXPECT_THAT(lines["first:"], Contains("pthread_create " + first));
  EXPECT_THAT(lines["first:"], Contains(is_own() ? "pthread_mutex_lock layers"
                                                 : "pthread_mutex_lock libstabcausal.so"));

  EXPECT_EQ(session.head().threads, 1 + 2 * calls);
  std::map<std::string, uint64_t> visits;
  for (uint32_t i = 0; i < session.head().counter_count; ++i)
    visits[session.counter(i).name] = session.counter(i).count;
  EXPECT_THAT(visits, ::testing::IsSupersetOf({Pair("call", calls), Pair("thread", 2 * calls)}));
}

INSTANTIATE_TEST_SUITE_P(All, Layers,
                         Combine(::testing::Values("clang-22", STAB_BIN_DIR "/szc"),
                                 ::testing::Bool()),
                         [](const auto& each) {
                           const std::string compiler = std::get<0>(each.param);
                           return std::string(compiler.ends_with("szc") ? "szc" : "clang") +
                                  (std::get<1>(each.param) ? "_own" : "");
                         });

}  // namespace
}  // namespace stab::causal::testing
