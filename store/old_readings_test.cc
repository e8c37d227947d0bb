// SPDX-License-Identifier: MIT
// Version 6 had a row for each reading of a trial: what becomes of them.
#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "store/copy.h"
#include "store/recover.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

class OldReadings : public testing::Test {
 protected:
  OldReadings() {
    make_version_6(path_, 1200);  // more than are moved at once
  }

  // The same of the copy that was made before.
  [[nodiscard]] std::string before() const { return path_ + ".before-v7"; }

  std::string damage() {
    std::string text;
    for (const Damage& each : store_->verify().value())
      text += each.table + " " + std::to_string(each.row) + ": " + each.problem + "\n";
    return text;
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::unique_ptr<Store> store_;
};

TEST_F(OldReadings, BecomePartOfTheirTrials) {
  ASSERT_EQ(back_up(path_, directory_ / "copy.db").value().size(), 0U);
  store_ = open_or_fail(path_);
  EXPECT_EQ(damage(), "");
  std::uint32_t position = 0;
  for (const Trial& trial : trials_of(*store_, 1)) {
    Trial expected = example_trial(1, position++);
    for (auto& reading : expected.readings) reading.unit = "";  // nobody wrote one
    expected.profile = {};
    expected.causal = "";
    expected.node = "";
    expected.samples.clear();  // nor any of these
    ASSERT_EQ(trial, expected);
  }
  EXPECT_EQ(position, 1200U);
  EXPECT_TRUE(store_->add_trial(example_trial(1, position)));
  store_.reset();
  // What was there is in the copy, as it was.
  EXPECT_EQ(back_up(before(), directory_ / "again.db").value().size(), 0U);
  for (const std::string& copy : {directory_ / "copy.db", before()}) {
    SQLite::Database old(copy);
    EXPECT_EQ(old.execAndGet("PRAGMA user_version").getInt(), 6);
    EXPECT_EQ(old.execAndGet("SELECT count(*) FROM reading").getInt64(), 1200 * 5);
  }
}

TEST_F(OldReadings, TheRestOfThatDatabaseIsAsItWas) {
  store_ = open_or_fail(path_);
  EXPECT_EQ(store_->machine(1).value(), example_machine());
  Experiment experiment = example_experiment();
  experiment.id = 1;
  EXPECT_EQ(store_->experiment(1).value(), experiment);
  EXPECT_EQ(store_->builds(1)->size(), 1U);
  EXPECT_EQ(store_->events(1)->size(), 1U);
  EXPECT_EQ(store_->progress(1)->size(), 1200U);
}

TEST_F(OldReadings, ATrialThatIsDamagedOrLacksOneStaysDamaged) {
  cheat(path_,
        "UPDATE reading SET value = 1 WHERE trial = 2 AND ordinal = 0; DELETE FROM reading WHERE "
        "trial = 600 AND ordinal = 4; UPDATE trial SET wall_ns = 1 WHERE id = 700");
  store_ = open_or_fail(path_);
  const std::string none = ": the trial has 0 readings instead of 5\n";
  EXPECT_EQ(damage(), "trial 700: the row's content does not match its checksum\ntrial 2" + none +
                          "trial 600" + none);
  const auto read = store_->for_each_trial(1, [](const Trial&) { return true; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("row 2 of table trial is damaged"));
}

TEST_F(OldReadings, AFileThatCannotBeReadIsLeftAsItIsAndCanBeRecovered) {
  std::string bytes = read_file(path_, 1 << 26).value();
  const std::int64_t root =
      SQLite::Database(path_)
          .execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'reading'")
          .getInt64();
  bytes.replace(static_cast<std::size_t>(root - 1) * 4096, 4096, std::string(4096, '\x5a'));
  write_text(path_, bytes);
  const auto refused = Store::open(path_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'stabctl recover'"));
  EXPECT_EQ(SQLite::Database(path_).execAndGet("PRAGMA user_version").getInt(), 6);
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1200U);  // the root holds no rows
}

TEST_F(OldReadings, OfAWholeOldDatabaseRecoveryLosesNothing) {
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->lost_nothing());
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1200U);
}

TEST_F(OldReadings, WithOneThatIsDamagedRecoveryLosesItsTrial) {
  cheat(path_, "UPDATE reading SET value = 1 WHERE trial = 7 AND ordinal = 0");
  const auto found = recover(path_, directory_ / "whole.db");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->lost_nothing());
  store_ = open_or_fail(directory_ / "whole.db");
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(trials_of(*store_, 1).size(), 1199U);
}

}  // namespace
}  // namespace stab::store
