// SPDX-License-Identifier: MIT
// Copies: of a store at work, and before a migration.
#include "store/copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/fd.h"
#include "store/connection.h"
#include "store/rows/row.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace {
bool knows_no_flags = false;
}

// In place of libc's: a file system that knows no flags of renames.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  if (knows_no_flags && flags != 0) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

namespace stab::store {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
namespace fs = std::filesystem;

std::vector<std::string> names_in(const TemporaryDirectory& directory) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(directory / ""))
    names.push_back(each.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class CopyTest : public WithStore {
 protected:
  std::string copy_ = directory_ / "copy.db";
};

TEST_F(CopyTest, HasWhatIsInTheLogAndIsOneFileThatItsOwnerReads) {
  for (std::uint32_t i = 0; i < 20; ++i) add(example_trial(experiment_, i));
  ASSERT_GT(fs::file_size(path_ + "-wal"), 0U);
  const auto damage = back_up(path_, copy_);
  ASSERT_TRUE(damage) << damage.error().message;
  EXPECT_THAT(*damage, IsEmpty());
  EXPECT_THAT(names_in(directory_),
              ElementsAre("copy.db", "stab.db", "stab.db-shm", "stab.db-wal", "stab.db.lock"));
  struct stat status{};
  ASSERT_EQ(stat(copy_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const auto opened = open_or_fail(copy_);
  EXPECT_EQ(trials_of(*opened, experiment_), trials_of(*store_, experiment_));
  EXPECT_THAT(opened->verify().value(), IsEmpty());
}

TEST_F(CopyTest, IsOfOneMomentWhileTheStoreIsWritten) {
  for (std::uint32_t i = 0; i < 20; ++i) add(example_trial(experiment_, i));
  std::vector<Trial> before = trials_of(*store_, experiment_);
  ASSERT_TRUE(back_up(path_, copy_));
  add(example_trial(experiment_, 20));
  EXPECT_EQ(trials_of(*open_or_fail(copy_), experiment_), before);
}

TEST_F(CopyTest, NothingIsOverwritten) {
  for (const char* name : {"copy.db", "stab.db"}) {
    write_text(directory_ / "copy.db", "somebody's");
    const auto refused = back_up(path_, directory_ / name);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("already exists: choose another name"));
  }
  EXPECT_EQ(read_file(copy_, 100).value(), "somebody's");
}

TEST_F(CopyTest, AFileSystemThatKnowsNoFlagsOfRenamesGetsACopyAndOverwritesNothing) {
  add(example_trial(experiment_, 0));
  knows_no_flags = true;
  const auto copied = back_up(path_, copy_);
  {
    // It came while the copy was made.
    Unfinished late(directory_ / "late.db");
    write_text(directory_ / "late.db", "somebody's");
    EXPECT_THROW(late.finish(false), std::exception);
  }
  knows_no_flags = false;
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_THAT(trials_of(*open_or_fail(copy_), experiment_), testing::SizeIs(1));
  EXPECT_EQ(read_file(directory_ / "late.db", 100).value(), "somebody's");
  for (const std::string& name : names_in(directory_))
    EXPECT_THAT(name, testing::Not(HasSubstr(".partial")));
}

TEST_F(CopyTest, AnOldLogBesideItIsRefused) {
  for (const char* suffix : {"-wal", "-journal"}) {
    const std::string log = copy_ + suffix;
    write_text(log, "somebody's");
    const auto refused = back_up(path_, copy_);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(log + " belongs to another database"));
    EXPECT_THAT(refused.error().message, HasSubstr("move the log away"));
    EXPECT_FALSE(fs::exists(copy_));
    EXPECT_EQ(read_file(log, 100).value(), "somebody's");
    fs::remove(log);
  }
  EXPECT_TRUE(back_up(path_, copy_));
}

TEST_F(CopyTest, WhatIsDamagedIsCopiedAndNamed) {
  add(example_trial(experiment_, 0));
  cheat(path_, "UPDATE trial SET wall_ns = 1");
  const auto damage = back_up(path_, copy_);
  ASSERT_TRUE(damage) << damage.error().message;
  ASSERT_EQ(damage->size(), 1U);
  EXPECT_EQ(damage->front().table, "trial");
}

TEST_F(CopyTest, AFileThatIsNoDatabaseOfOursIsRefusedAndLeavesNoCopy) {
  write_text(directory_ / "other", std::string(5000, 'x'));
  EXPECT_FALSE(back_up(directory_ / "other", copy_));
  EXPECT_FALSE(back_up(directory_ / "none", copy_));
  EXPECT_FALSE(fs::exists(copy_));
}

// A database of the first version with an experiment.
void make_first_version(const std::string& path) {
  Connection connection(path);
  migrate(connection, schema_steps().first(1));
  const Row row = as_of(1, to_row(example_experiment()));
  connection.transaction([&] { connection.insert("experiment", row); });
}

TEST(CopyOfAnEarlierVersion, IsMadeAndVerified) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  make_first_version(path);
  const auto damage = back_up(path, directory / "copy.db");
  ASSERT_TRUE(damage) << damage.error().message;
  EXPECT_THAT(*damage, IsEmpty());
  EXPECT_EQ(open_or_fail(directory / "copy.db")->experiment(1).value()->name,
            example_experiment().name);
  cheat(path, "UPDATE experiment SET plan = ''");
  EXPECT_EQ(back_up(path, directory / "second.db").value().size(), 1U);
}

TEST(CopyOfAnEmptyFile, IsMade) {
  const TemporaryDirectory directory;
  write_text(directory / "stab.db", "");
  const auto damage = back_up(directory / "stab.db", directory / "copy.db");
  ASSERT_TRUE(damage) << damage.error().message;
  EXPECT_THAT(*damage, IsEmpty());
  EXPECT_TRUE(open_or_fail(directory / "copy.db"));
}

TEST(CopyOfAFileThatWasCutShort, IsRefusedAndLeavesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  open_or_fail(path);
  fs::resize_file(path, fs::file_size(path) / 2);
  const auto refused = back_up(path, directory / "copy.db");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'stabctl recover'"));
  EXPECT_THAT(names_in(directory), Each(StartsWith("stab.db")));
}

TEST(CopyOfADamagedSchema, IsRefusedAndLeavesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  open_or_fail(path);
  cheat(path,
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'x' WHERE name = 'trial'");
  const auto refused = back_up(path, directory / "copy.db");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'stabctl recover'"));
  EXPECT_THAT(names_in(directory), Each(StartsWith("stab.db")));
}

TEST(CopyBeforeMigration, StandsBesideTheDatabaseAndIsKept) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  make_first_version(path);
  open_or_fail(path);
  const std::string copy = path + ".before-v2";
  {
    Connection old(copy, Connection::ReadOnly(), Connection::AnyVersion());
    EXPECT_EQ(old.number("PRAGMA user_version"), 1);
    EXPECT_EQ(old.number("SELECT count(*) FROM experiment"), 1);
  }
  // It is a database that the same release can begin with again.
  fs::copy_file(copy, directory / "again.db");
  EXPECT_EQ(open_or_fail(directory / "again.db")->experiment(1).value()->name,
            example_experiment().name);
  open_or_fail(path);
  EXPECT_TRUE(fs::exists(copy));
  EXPECT_THAT(names_in(directory), ElementsAre("again.db", "again.db.before-v2", "again.db.lock",
                                               "stab.db", "stab.db.before-v2", "stab.db.lock"));
}

TEST(CopyBeforeMigration, ANewDatabaseAndOneOfThisVersionHaveNone) {
  const TemporaryDirectory directory;
  open_or_fail(directory / "stab.db");
  open_or_fail(directory / "stab.db");
  EXPECT_THAT(names_in(directory), ElementsAre("stab.db", "stab.db.lock"));
}

TEST(CopyBeforeMigration, WithoutItTheSchemaStaysAsItIs) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  make_first_version(path);
  // Where the copy's name is a folder it cannot be made, whoever we are.
  fs::create_directories(path + ".before-v2/in the way");
  const auto refused = Store::open(path);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr(fmt::format("before its schema changes from version 1 to {}", schema_version)));
  EXPECT_THAT(refused.error().message, HasSubstr(".before-v2"));
  Connection old(path, Connection::ReadOnly(), Connection::AnyVersion());
  EXPECT_EQ(old.number("PRAGMA user_version"), 1);
}

TEST(FileOfOthers, AnEarlierVersionIsConvertedInMemoryAndTheFileStaysAsItIs) {
  const TemporaryDirectory directory;
  const std::string old = directory / "old.db";
  make_version_6(old, 3);
  const std::string before = read_file(old, 1 << 26).value();
  const auto reader = Reader::open_of_others(old);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->verify()->size(), 0U);
  EXPECT_EQ((*reader)->names(1)->readings.size(), example_readings().size());
  EXPECT_EQ(read_file(old, 1 << 26).value(), before);
}

TEST(FileOfOthers, WhatWouldRunInItIsRefused) {
  const TemporaryDirectory directory;
  const std::string old = directory / "old.db";
  make_version_6(old, 3);
  cheat(old, "CREATE TRIGGER t AFTER UPDATE ON trial BEGIN DELETE FROM meta; END");
  const auto reader = Reader::open_of_others(old);
  ASSERT_FALSE(reader);
  EXPECT_THAT(
      reader.error().message,
      testing::HasSubstr("the database's schema differs from stabd's schema at the trigger t"));
  cheat(old, "DROP TRIGGER t; DROP TABLE reading; " + std::string(known_views().front()));
  EXPECT_FALSE(Reader::open_of_others(old));
}

// In a process that may not open files any more.
TEST(FileOfOthers, IsReadThroughOneDescriptorEvenIfItsNameIsStrange) {
  const TemporaryDirectory directory;
  for (const bool earlier : {false, true}) {
    const std::string named = directory / (earlier ? "a?b=c#%41 1.db" : "a?b=c#%41 2.db");
    if (earlier)
      make_version_6(named, 3);
    else
      ASSERT_TRUE(Store::open(named));
    bool confined = false;
    // Whatever is opened by its name from now on is not there.
    const auto confine = [&]() -> Result<void> {
      confined = true;
      for (const std::string& each : names_in(directory)) fs::remove(directory / each);
      return {};
    };
    const auto reader = Reader::open_of_others(named, confine);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(confined);
    EXPECT_EQ((*reader)->experiments()->intact.size(), earlier ? 1U : 0U);
    EXPECT_THAT(names_in(directory), IsEmpty()) << "nothing was made, either";
  }
}

TEST(FileOfOthers, IsNotReadIfItsReaderCannotBeConfined) {
  const TemporaryDirectory directory;
  const std::string path = directory / "some.db";
  make_version_6(path, 3);
  const auto reader =
      Reader::open_of_others(path, []() -> Result<void> { return fail("cannot do that"); });
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, testing::HasSubstr("cannot do that"));
}

TEST_F(CopyTest, WhatAKilledOneLeftGoesWithTheNextAndWhatIsBeingMadeStays) {
  const std::string folder = copy_ + ".4000001.partial-folder";
  fs::create_directory(folder);
  write_text(folder + "/stabd.db", "some");
  const std::string left = copy_ + ".4000002.partial";
  write_text(left, "some");
  write_text(left + "-journal", "some");
  // Of somebody who lives, and names that are not of that kind.
  const std::string alive = copy_ + ".4000003.partial";
  write_text(alive, "some");
  const Fd held(open(alive.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
  const std::set<std::string> strangers{copy_ + ".x.partial", copy_ + ".12.partial2",
                                        copy_ + "2.12.partial", copy_ + ".partial"};
  for (const std::string& each : strangers) write_text(each, "somebody's");
  ASSERT_TRUE(back_up(path_, copy_));
  for (const std::string& each : {folder, left, left + "-journal"}) EXPECT_FALSE(fs::exists(each));
  EXPECT_TRUE(fs::exists(alive));
  for (const std::string& each : strangers) EXPECT_TRUE(fs::exists(each)) << each;
}

TEST_F(CopyTest, WhatWasSentIsKeptAsItIsOrNotAtAll) {
  ASSERT_TRUE(keep_database("all of it", copy_));
  EXPECT_EQ(read_file(copy_, 100).value(), "all of it");
  EXPECT_EQ(fs::status(copy_).permissions() & fs::perms(077), fs::perms::none);
  const auto refused = keep_database("another", copy_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("already exists"));
  EXPECT_EQ(read_file(copy_, 100).value(), "all of it");
}

}  // namespace
}  // namespace stab::store
