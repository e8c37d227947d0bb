// SPDX-License-Identifier: MIT
// The main of programs of tests. A folder's tests are one program, and ctest runs those of each file by themselves:
//   build/tests/tests_of_store --file=store/fault_test.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

bool is_of(const testing::TestInfo& test, std::string_view file) {
  const std::string_view path = test.file();
  return path.ends_with(file) &&
         (path.size() == file.size() || path[path.size() - file.size() - 1] == '/');
}

// Keeps the tests of the file, or of those that the user asked for the ones that are in the file.
// False if the file has no tests.
bool keep_tests_of(std::string_view file) {
  std::string its_own;
  std::string others;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      std::string& names = is_of(test, file) ? its_own : others;
      names += std::string(":") + suite.name() + '.' + test.name();
    }
  }
  const std::string asked = GTEST_FLAG_GET(filter);
  if (asked == "*")
    GTEST_FLAG_SET(filter, its_own);
  else
    GTEST_FLAG_SET(filter, asked + (asked.contains('-') ? "" : "-") + others);
  return !its_own.empty();
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleMock(&count, arguments);
  for (int i = 1; i < count; ++i) {
    constexpr std::string_view option = "--file=";
    std::string_view argument = arguments[i];
    if (!argument.starts_with(option)) continue;
    argument.remove_prefix(option.size());
    if (!keep_tests_of(argument)) {
      std::fprintf(stderr, "%s has no tests of %s\n", arguments[0], arguments[i] + option.size());
      return 1;
    }
  }
  return RUN_ALL_TESTS();
}
