// SPDX-License-Identifier: MIT
// What Store::open refuses, and that it leaves it as it was.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OpenTest : public testing::Test {
 protected:
  std::string error(const std::string& path) {
    const auto store = Store::open(path);
    return store ? "opened" : store.error().message;
  }
  std::string content(const std::string& path) { return read_file(path, 1 << 24).value(); }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
};

TEST_F(OpenTest, RefusesAFileThatIsNotADatabase) {
  for (const std::string& text : {std::string("hello"), std::string(100000, 'x')}) {
    write_text(path_, text);
    EXPECT_THAT(error(path_), AllOf(HasSubstr(path_), HasSubstr("not a database")));
    EXPECT_EQ(content(path_), text);
  }
}

TEST_F(OpenTest, RefusesADatabaseOfAnotherProgram) {
  {
    SQLite::Database other(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE bookmarks (url)");
  }
  const std::string before = content(path_);
  EXPECT_THAT(error(path_), HasSubstr("the database belongs to another program"));
  EXPECT_EQ(content(path_), before);
}

TEST_F(OpenTest, RefusesADirectoryAndAnEmptyName) {
  EXPECT_THAT(error(directory_ / ""), HasSubstr("must be a file"));
  EXPECT_THAT(error(""), HasSubstr("must be a file"));
}

TEST_F(OpenTest, RefusesAPathInADirectoryThatDoesNotExist) {
  EXPECT_THAT(error(directory_ / "no/such/stab.db"),
              AllOf(HasSubstr("no/such/stab.db.lock"), HasSubstr("No such file or directory")));
}

TEST_F(OpenTest, RefusesATruncatedDatabase) {
  {
    const auto store = open_or_fail(path_);
    const Id id = store->add_experiment(example_experiment()).value();
    for (std::uint32_t i = 0; i < 50; ++i) ASSERT_TRUE(store->add_trial(example_trial(id, i)));
  }
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  ASSERT_EQ(truncate(path_.c_str(), status.st_size / 2), 0);
  EXPECT_THAT(error(path_), HasSubstr("the file is damaged"));
  ASSERT_EQ(truncate(path_.c_str(), 50), 0);
  EXPECT_THAT(error(path_), HasSubstr("the file is damaged"));
}

TEST_F(OpenTest, TreatsAnEmptyFileAsNew) {
  write_text(path_, "");
  EXPECT_EQ(error(path_), "opened");
}

TEST_F(OpenTest, GivesNoMeaningToNamesThatAreSpecialToSQLite) {
  const std::string memory = directory_ / ":memory:";
  ASSERT_TRUE(open_or_fail(memory)->add_experiment(example_experiment()));
  EXPECT_EQ(open_or_fail(memory)->experiments().value().intact.size(), 1U);
}

// Runs `check` in a child without root's power to ignore permissions; its result is what the child
// exits with.
template <class F>
int without_root(F&& check) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0)) _exit(99);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(OpenTest, RefusesAnUnwritableDirectory) {
  ASSERT_EQ(chmod((directory_ / "").c_str(), 0555), 0);
  EXPECT_EQ(without_root([&] {
              const std::string text = error(path_);
              return text.find("cannot create the lock file") != std::string::npos &&
                     text.find("Permission denied") != std::string::npos;
            }),
            0);
  ASSERT_EQ(chmod((directory_ / "").c_str(), 0755), 0);
}

TEST_F(OpenTest, RefusesAnUnwritableFile) {
  open_or_fail(path_).reset();
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod((directory_ / "").c_str(), 0777), 0);
  ASSERT_EQ(chmod((path_ + ".lock").c_str(), 0666), 0);
  EXPECT_EQ(without_root([&] { return error(path_).find("not writable") != std::string::npos; }),
            0);
}

TEST_F(OpenTest, SetsWhatDurabilityNeeds) {  // S1
  const auto store = open_or_fail(path_);
  SQLite::Database raw(path_, SQLite::OPEN_READONLY);
  EXPECT_EQ(raw.execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(raw.execAndGet("PRAGMA application_id").getInt(), 0x73746162);
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), schema_version);
}

}  // namespace
}  // namespace stab::store
