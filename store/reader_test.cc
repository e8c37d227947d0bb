// SPDX-License-Identifier: MIT
// Reading beside the process that writes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::HasSubstr;

std::unique_ptr<Reader> reader_or_fail(const std::string& path) {
  auto reader = Reader::open(path);
  if (reader) return std::move(*reader);
  ADD_FAILURE() << reader.error().message;
  std::abort();
}

using ReaderTest = WithStore;

TEST_F(ReaderTest, SeesWhatTheWriterStoredAlsoWhileItWrites) {
  add(example_trial(experiment_, 0));
  const auto reader = reader_or_fail(path_);
  std::vector<Trial> seen;
  const auto read = reader->for_each_trial(experiment_, [&](const Trial& trial) {
    if (seen.empty()) add(example_trial(experiment_, 1));  // the reader does not keep it out
    seen.push_back(trial);
    return true;
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(seen, std::vector{example_trial(experiment_, 0)});
  EXPECT_EQ(trials_of(*store_, experiment_).size(), 2U);
}

TEST_F(ReaderTest, TrialsWithoutReadingsOrSamplesStandBetweenOthers) {
  std::vector<Trial> trials;
  for (std::uint32_t i = 0; i < 7; ++i) {
    trials.push_back(example_trial(experiment_, i));
    trials.back().readings.resize(i % 3);
    trials.back().samples.resize(i % 4 % 3);
  }
  ASSERT_TRUE(store_->add_trials(trials));
  EXPECT_EQ(trials_of(*store_, experiment_), trials);
}

TEST_F(ReaderTest, TheOrderIsThatOfThePositionsWhateverWasStoredFirst) {
  const Id other = store_->add_experiment(example_experiment()).value();
  for (const std::uint32_t position : {4U, 1U, 3U}) {
    add(example_trial(experiment_, position));
    add(example_trial(other, position));
  }
  add(example_trial(experiment_, 1, 1));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const Trial& trial : trials_of(*store_, experiment_)) {
    order.emplace_back(trial.position, trial.attempt);
    EXPECT_EQ(trial.readings, example_readings());
  }
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected{
      {1, 0}, {1, 1}, {3, 0}, {4, 0}};
  EXPECT_EQ(order, expected);
}

TEST_F(ReaderTest, OfManyTrialsAllAreStoredOrNone) {
  const std::vector<Trial> twice{example_trial(experiment_, 0), example_trial(experiment_, 1),
                                 example_trial(experiment_, 0)};
  EXPECT_FALSE(store_->add_trials(twice));
  EXPECT_TRUE(trials_of(*store_, experiment_).empty());
}

TEST_F(ReaderTest, ADatabaseThatIsNotThereOrOfAnotherVersionIsRefused) {
  EXPECT_FALSE(Reader::open(directory_ / "none.db"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "none.db"));
  store_.reset();
  cheat(path_, "PRAGMA user_version = 6");
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_THAT(
      reader.error().message,
      HasSubstr(fmt::format("the database's schema has version 6, not {}", schema_version)));
}

TEST_F(ReaderTest, TheSmallTablesAreVerifiedByThemselves) {
  add(example_trial(experiment_, 0));
  cheat(path_, "UPDATE trial SET wall_ns = 1");
  EXPECT_TRUE(store_->verify_small_tables().value().empty());
  cheat(path_, "UPDATE experiment SET plan = ''");
  const auto damage = store_->verify_small_tables().value();
  ASSERT_EQ(damage.size(), 1U);
  EXPECT_EQ(damage[0].table, "experiment");
  EXPECT_EQ(store_->verify().value().size(), 2U);
}

}  // namespace
}  // namespace stab::store
