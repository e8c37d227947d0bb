// SPDX-License-Identifier: MIT
#include "store/rows/sizes.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "store/recover.h"
#include "store/schema.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

class SizesTest : public WithStore {
 protected:
  std::uint64_t size() const { return store_->bytes_of_experiment(experiment_); }
  std::uint64_t of_user(std::uint32_t uid) const { return store_->bytes_of_account(uid).all; }
  void fill(int trials) {
    for (std::uint32_t position = 0; std::cmp_less(position, trials); ++position) {
      Trial trial = example_trial(experiment_, position);
      trial.stderr_tail = std::string(1000, 'x');
      ASSERT_TRUE(store_->add_trial(trial));
    }
  }
};

TEST_F(SizesTest, GrowWithWhatIsStoredAndAreThereAfterwards) {
  const std::uint64_t empty = size();
  EXPECT_GE(empty, example_experiment().plan.size());
  fill(10);
  EXPECT_GT(size(), empty + 10'000);
  EXPECT_LT(size(), empty + 30'000);
  const std::uint64_t before = size();
  ASSERT_TRUE(store_->add_event({.experiment = experiment_, .kind = "k", .text = "1234567890"}));
  EXPECT_GT(size(), before + 10);
  const Build build{.experiment = experiment_, .key = "k", .benchmark = "b", .output = "a warning"};
  ASSERT_TRUE(store_->add_build(build));
  const std::uint64_t all = size();
  ASSERT_TRUE(store_->add_build(build));
  EXPECT_EQ(size(), all) << "it replaces the first one";
  Build longer = build;
  longer.output += std::string(5000, 'x');
  ASSERT_TRUE(store_->add_build(longer));
  EXPECT_EQ(size(), all + 5000);
  ASSERT_TRUE(store_->add_build(build));
  reopen();
  EXPECT_EQ(size(), all);
  EXPECT_TRUE(store_->verify()->empty());
}

// An import adds a row with all of its texts, which are not only the plan.
TEST_F(SizesTest, OfAnExperimentHaveAllTextsOfItsRowAndItsMachine) {
  constexpr std::size_t large = 100'000;
  Experiment row = example_experiment();
  row.reason.clear();
  row.heap_layer.clear();
  row.nodes.clear();
  const std::uint64_t small = store_->bytes_of_experiment(store_->add_experiment(row).value());
  row.reason.assign(large, 'r');
  row.heap_layer.assign(large, 'h');
  row.nodes = {{.name = "n1", .hardware = std::string(large, 'n')}};
  const Id id = store_->add_experiment(row).value();
  EXPECT_GE(store_->bytes_of_experiment(id), small + 3 * large);
  EXPECT_LT(store_->bytes_of_experiment(id), small + 3 * large + 100);
  const std::uint64_t without_machine = store_->bytes_of_experiment(id);
  row.machine =
      store_->add_machine({.key = "k", .host = "lab", .facts = std::string(large, 'f')}).value();
  const Id imported = store_->add_experiment(row).value();
  EXPECT_EQ(store_->bytes_of_experiment(imported), without_machine + large + 4);
}

TEST_F(SizesTest, AreThoseOfUsers) {
  Experiment theirs = example_experiment();
  theirs.uid = example_experiment().uid + 1;
  const Id other = store_->add_experiment(theirs).value();
  fill(3);
  EXPECT_EQ(of_user(example_experiment().uid), size());
  EXPECT_EQ(of_user(theirs.uid), store_->bytes_of_experiment(other));
  EXPECT_EQ(of_user(theirs.uid + 1), 0U);
  // Rows that nobody sees, because they are not complete or are being removed, take up space, too.
  ASSERT_TRUE(store_->begin_removal(other, "somebody removed it"));
  EXPECT_GT(of_user(theirs.uid), 0U);
}

// Users with odd numbers below 100 are one account, and those with even numbers are another one.
TEST_F(SizesTest, OfAnAccountAreASumThatFollowsEachChange) {
  std::vector<Id> ids;
  for (std::uint32_t uid = 1; uid <= 6; ++uid) {
    Experiment each = example_experiment();
    each.uid = uid;
    ids.push_back(store_->add_experiment(each).value());
    ASSERT_TRUE(store_->add_trial(example_trial(ids.back(), uid)));
  }
  const auto of_all = [&](const std::vector<std::size_t>& which) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : which) bytes += store_->bytes_of_experiment(ids.at(i));
    return bytes;
  };
  const auto odd = [](std::uint32_t uid) { return uid < 100 ? uid % 2 : uid; };
  EXPECT_EQ(of_user(3), of_all({2}));
  store_->use_accounts(odd);
  EXPECT_EQ(of_user(3), of_all({0, 2, 4}));
  EXPECT_EQ(of_user(77), of_user(1)) << "an account has users without experiments, too";
  const std::uint64_t even = of_user(2);
  ASSERT_TRUE(store_->add_event({.experiment = ids.at(2), .text = std::string(5000, 'x')}));
  EXPECT_EQ(of_user(1), of_all({0, 2, 4}));
  EXPECT_EQ(of_user(2), even);
  EXPECT_FALSE(store_->add_trial(example_trial(ids.at(2), 3))) << "it is there already";
  EXPECT_EQ(of_user(1), of_all({0, 2, 4}));
  ASSERT_TRUE(store_->begin_removal(ids.at(0), "somebody removed it"));
  while (store_->go_on_with_removal(ids.at(0)).value()) {
  }
  EXPECT_EQ(of_user(1), of_all({2, 4}));
  reopen();
  EXPECT_EQ(of_user(3), of_all({2})) << "a new store knows no accounts";
  store_->use_accounts(odd);
  EXPECT_EQ(of_user(1), of_all({2, 4}));
}

// An import adds a hidden experiment and shows it at its end.
TEST_F(SizesTest, OfWhatNobodySeesAreASumOfTheirOwn) {
  const auto hidden = [&] { return store_->bytes_of_account(example_experiment().uid).hidden; };
  fill(2);
  EXPECT_EQ(hidden(), 0U);
  Experiment row = example_experiment();
  row.state = being_removed;
  row.id = store_->add_experiment(row).value();
  ASSERT_TRUE(store_->add_trial(example_trial(row.id, 0)));
  EXPECT_EQ(hidden(), store_->bytes_of_experiment(row.id));
  reopen();
  EXPECT_EQ(hidden(), store_->bytes_of_experiment(row.id));
  EXPECT_EQ(of_user(row.uid), size() + hidden());
  row.state = "done";
  ASSERT_TRUE(store_->update_experiment(row));
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(of_user(row.uid), size() + store_->bytes_of_experiment(row.id));
  ASSERT_TRUE(store_->begin_removal(row.id, "somebody removed it"));
  EXPECT_EQ(hidden(), store_->bytes_of_experiment(row.id));
  while (store_->go_on_with_removal(row.id).value()) {
  }
  EXPECT_EQ(hidden(), 0U);
  EXPECT_EQ(of_user(row.uid), size());
}

TEST_F(SizesTest, DoNotCountWhatWasNotStored) {
  fill(1);
  const std::uint64_t before = size();
  EXPECT_FALSE(store_->add_trial(example_trial(experiment_, 0))) << "it is there already";
  EXPECT_EQ(size(), before);
  ASSERT_TRUE(store_->add_event({.experiment = experiment_, .kind = "k", .text = ""}));
  EXPECT_LT(size(), before + 300);
}

TEST_F(SizesTest, ShrinkWithOutputAndEndWithTheExperiment) {
  fill(20);
  const std::uint64_t before = size();
  std::optional<Store::Place> place = Store::Place();
  while (place) place = store_->forget_output(experiment_, *place, "it is old").value();
  EXPECT_LT(size() + 19'000, before);
  ASSERT_TRUE(store_->begin_removal(experiment_, "somebody removed it"));
  EXPECT_GT(size(), 0U);
  while (store_->go_on_with_removal(experiment_).value()) {
  }
  EXPECT_EQ(size(), 0U);
  reopen();
  EXPECT_EQ(of_user(example_experiment().uid), 0U);
}

TEST_F(SizesTest, AreCountedAnewWhereTheirRowIsDamagedOrGone) {
  fill(20);
  const std::uint64_t right = size();
  std::uint64_t added = 0;  // events
  for (const char* change :
       {"UPDATE size SET bytes = 1", "UPDATE size SET uid = 77", "DELETE FROM size"}) {
    store_.reset();
    cheat(path_, change);
    store_ = open_or_fail(path_);
    EXPECT_EQ(size(), right + 201 * added) << change;
    EXPECT_EQ(of_user(example_experiment().uid), size()) << change;
    // From the next change on it is stored again.
    ASSERT_TRUE(store_->add_event({.experiment = experiment_, .kind = "k", .text = ""}));
    ++added;
    EXPECT_TRUE(store_->verify()->empty()) << change;
  }
}

// Otherwise each start would count the sizes of experiments that have ended.
TEST_F(SizesTest, ThatWereCountedAreStoredByTheNextChangeOfAnyExperiment) {
  Experiment second = example_experiment();
  second.uid = example_experiment().uid - 1;
  const Id other = store_->add_experiment(second).value();
  ASSERT_TRUE(store_->add_trial(example_trial(other, 0)));
  const std::uint64_t right = store_->bytes_of_experiment(other);
  store_.reset();
  cheat(path_, "DELETE FROM size");
  store_ = open_or_fail(path_);
  EXPECT_FALSE(store_->update_experiment({.id = 77})) << "a transaction that fails stores nothing";
  ASSERT_TRUE(store_->add_event({.experiment = experiment_, .kind = "k", .text = ""}));
  EXPECT_EQ(SQLite::Database(path_).execAndGet("SELECT count(*) FROM size").getInt64(), 2);
  EXPECT_EQ(store_->bytes_of_experiment(other), right);
  EXPECT_TRUE(store_->verify()->empty());
}

TEST_F(SizesTest, OfADamagedRowCostNoExperimentItsResults) {
  fill(2);
  cheat(path_, "UPDATE size SET bytes = 1");
  EXPECT_EQ(store_->verify()->size(), 1U);
  EXPECT_TRUE(store_->verify(experiment_)->empty());
}

TEST_F(SizesTest, AreCountedByRecovery) {
  fill(20);
  const std::uint64_t right = size();
  store_.reset();
  const std::string whole = directory_ / "whole.db";
  ASSERT_TRUE(recover(path_, whole));
  const auto copy = open_or_fail(whole);
  EXPECT_EQ(copy->bytes_of_experiment(experiment_), right);
}

TEST(Sizes, OfAnEarlierVersionAreCounted) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  make_version_6(path, 30);
  std::uint64_t counted = 0;
  {
    const auto store = open_or_fail(path);
    counted = store->bytes_of_experiment(1);
    std::uint64_t least = 0;
    for (const Trial& trial : trials_of(*store, 1)) least += bytes_of(trial) / 2;
    EXPECT_GT(counted, least);
    EXPECT_TRUE(store->verify()->empty());
  }
  cheat(path, "UPDATE trial SET stderr_tail = ''");  // it was stored: nothing is counted any more
  EXPECT_EQ(open_or_fail(path)->bytes_of_experiment(1), counted);
}

}  // namespace
}  // namespace stab::store
