// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <vector>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;

class LogTest : public WithStore {
 protected:
  // One that ends at this time; it says its position.
  void add_trial_at(std::uint32_t position, std::int64_t at_ns) {
    Trial trial = example_trial(experiment_, position);
    trial.started_ns = at_ns - *trial.wall_ns;
    trial.reason = "";
    trial.stderr_tail = std::to_string(position);
    add(trial);
  }
  void add_event_at(std::int64_t at_ns, const std::string& text) {
    ASSERT_TRUE(store_->add_event(
        {.experiment = experiment_, .at_ns = at_ns, .kind = "state", .text = text}));
  }
  std::vector<std::string> texts(Reader::LogPlace& place, int* pieces = nullptr) {
    std::vector<std::string> found;
    for (bool more = true; more;) {
      const auto log = store_->log(experiment_, place);
      EXPECT_TRUE(log) << log.error().message;
      if (!log) break;
      for (const Reader::LogRow& row : log->rows) found.push_back(row.text);
      place = log->next;
      more = log->more;
      if (pieces != nullptr) ++*pieces;
    }
    return found;
  }
  static constexpr std::int64_t start = 1'800'000'000'000'000'000;
};

TEST_F(LogTest, ThreeTablesAreOneListByTimeAndEachRowIsThereOnce) {
  add_event_at(start, "began");
  ASSERT_TRUE(
      store_->add_build({.experiment = experiment_, .benchmark = "b", .output = "a warning"}));
  add_trial_at(0, start + 10);
  add_event_at(start + 15, "paused");
  add_trial_at(1, start + 20);
  Reader::LogPlace place;
  EXPECT_THAT(texts(place), ElementsAre("a warning", "began", "0", "paused", "1"));
  EXPECT_THAT(texts(place), ElementsAre());
  add_trial_at(2, start + 30);
  EXPECT_THAT(texts(place), ElementsAre("2"));
}

TEST_F(LogTest, ALongOneComesInPiecesThatKeepTheOrder) {
  std::vector<std::string> expected;
  for (std::uint32_t i = 0; i < 450; ++i) {
    add_trial_at(i, start + (10 * i));
    expected.push_back(std::to_string(i));
    if (i % 100 != 99) continue;
    expected.push_back("event after " + std::to_string(i));
    add_event_at(start + (10 * i) + 5, expected.back());
  }
  Reader::LogPlace place;
  int pieces = 0;
  EXPECT_EQ(texts(place, &pieces), expected);
  EXPECT_EQ(pieces, 3);
}

TEST_F(LogTest, TwoLongTablesComeInPiecesThatKeepTheOrder) {
  std::vector<std::string> expected;
  for (std::uint32_t i = 0; i < 450; ++i) {
    add_trial_at(i, start + (10 * i));
    expected.push_back(std::to_string(i));
    // More than one event for some trials, so that either table is the one that is cut earlier.
    for (int j = 0; j < (i < 150 ? 2 : 1); ++j) {
      expected.push_back("event " + std::to_string(j) + " after " + std::to_string(i));
      add_event_at(start + (10 * i) + 5 + j, expected.back());
    }
  }
  Reader::LogPlace place;
  EXPECT_EQ(texts(place), expected);
}

// Counts the store's own steps, a hundred at a time.
int count_steps(void* hundreds) {
  ++*static_cast<int*>(hundreds);
  return 0;
}

TEST_F(LogTest, RowsOfEarlierExperimentsAreNotRead) {
  const Id other = store_->add_experiment(example_experiment()).value();
  std::vector<Trial> trials;
  for (std::uint32_t position = 0; position < 3000; ++position)
    trials.push_back({.experiment = other, .position = position});
  ASSERT_TRUE(store_->add_trials(trials));
  add_trial_at(0, start);
  const Remembering remembering;
  reopen();
  int hundreds = 0;
  sqlite3_progress_handler(opened_last, 100, count_steps, &hundreds);
  Reader::LogPlace place;
  EXPECT_THAT(texts(place), ElementsAre("0"));
  sqlite3_progress_handler(opened_last, 0, nullptr, nullptr);
  EXPECT_LT(hundreds, 30);
}

TEST_F(LogTest, OfOtherExperimentsAndOfSilentTrialsNothingIsSaid) {
  const Id other = store_->add_experiment(example_experiment()).value();
  add(example_trial(other, 0));
  Trial silent = example_trial(experiment_, 0);
  silent.reason = silent.stderr_tail = "";
  add(silent);
  ASSERT_TRUE(store_->add_event({.experiment = other, .kind = "state", .text = "not this"}));
  Reader::LogPlace place;
  EXPECT_THAT(texts(place), ElementsAre());
}

// The store gives the ids of removed rows to new rows.
TEST_F(LogTest, AfterARemovalOfAnotherExperimentEachRowIsStillThereOnce) {
  const Id other = store_->add_experiment(example_experiment()).value();
  add_trial_at(0, start);
  for (std::uint32_t position = 0; position < 5; ++position) add(example_trial(other, position));
  for (const char* key : {"k1", "k2"})
    ASSERT_TRUE(store_->add_build({.experiment = other, .key = key, .benchmark = "b"}));
  Reader::LogPlace place;
  EXPECT_THAT(texts(place), ElementsAre("0"));
  ASSERT_TRUE(store_->begin_removal(other, "somebody removed it"));
  while (store_->go_on_with_removal(other).value()) {
  }
  ASSERT_TRUE(
      store_->add_build({.experiment = experiment_, .benchmark = "b", .output = "a warning"}));
  add_trial_at(1, start + 10);
  EXPECT_THAT(texts(place), ElementsAre("a warning", "1"));
  EXPECT_THAT(texts(place), ElementsAre());
}

TEST_F(LogTest, AReasonStandsBeforeWhatWasPrinted) {
  add(example_trial(experiment_, 0));
  Reader::LogPlace place;
  EXPECT_THAT(texts(place), ElementsAre("it exited with 3\noh\nno"));
}

}  // namespace
}  // namespace stab::store
