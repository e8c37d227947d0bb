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

// Leaves out the tests of other files, beside what GoogleTest's own filter leaves out. False if
// the file has no tests.
bool keep_tests_of(std::string_view file) {
  std::string others;
  bool found = false;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (is_of(test, file))
        found = true;
      else
        others += std::string(":") + suite.name() + '.' + test.name();
    }
  }
  std::string filter = GTEST_FLAG_GET(filter);
  if (!filter.contains('-')) filter += '-';
  GTEST_FLAG_SET(filter, filter + others);
  return found;
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
