// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "causal/preload/sampler.h"

namespace stab::causal {
namespace {

using File = KnownObjects::File;

// All of these have the same place of their own.
File colliding(uint64_t number) {
  return {.record = 0x5000 + number * 16 * KnownObjects::room, .start = 0x7000 * (number + 1)};
}

class KnownObjectsTest : public ::testing::Test {
 protected:
  bool finds(const File& file, uint32_t object) const {
    uint32_t found = object + 1;
    return known_->find(known_->now(), file, found) && found == object;
  }
  bool misses(const File& file) const {
    uint32_t found = 0;
    return !known_->find(known_->now(), file, found);
  }
  void add(const File& file, uint32_t object) { known_->add(known_->now(), file, object); }

  std::unique_ptr<KnownObjects> known_ = std::make_unique<KnownObjects>();
};

TEST_F(KnownObjectsTest, AreAllKeptAlsoWhereTheirPlacesAreTheSame) {
  EXPECT_TRUE(misses(colliding(0))) << "it is empty";
  for (uint32_t i = 0; i < KnownObjects::room; ++i) {
    EXPECT_TRUE(misses(colliding(i)));
    add(colliding(i), 3 * i);
  }
  for (uint32_t i = 0; i < KnownObjects::room; ++i) EXPECT_TRUE(finds(colliding(i), 3 * i)) << i;
}

TEST_F(KnownObjectsTest, OneWithoutRoomIsNotKeptAndChangesNoOther) {
  for (uint32_t i = 0; i <= KnownObjects::room; ++i) add(colliding(i), i);
  EXPECT_TRUE(misses(colliding(KnownObjects::room)));
  for (uint32_t i = 0; i < KnownObjects::room; ++i) EXPECT_TRUE(finds(colliding(i), i)) << i;
}

TEST_F(KnownObjectsTest, ARecordAtAnotherAddressIsAnotherFile) {
  const File before = colliding(0);
  const File after = {.record = before.record, .start = before.start + 0x1000};
  add(before, 1);
  EXPECT_TRUE(misses(after));
  add(after, 2);
  EXPECT_TRUE(finds(before, 1));
  EXPECT_TRUE(finds(after, 2));
}

TEST_F(KnownObjectsTest, NothingIsKnownAfterForgettingAndAllRoomIsFree) {
  for (uint32_t i = 0; i < KnownObjects::room; ++i) add(colliding(i), i);
  known_->forget();
  for (uint32_t i = 0; i < KnownObjects::room; ++i) EXPECT_TRUE(misses(colliding(i))) << i;
  for (uint32_t i = 0; i < KnownObjects::room; ++i) add(colliding(i), i + 7);
  for (uint32_t i = 0; i < KnownObjects::room; ++i) EXPECT_TRUE(finds(colliding(i), i + 7)) << i;
}

TEST_F(KnownObjectsTest, WhatWasLookedAtBeforeForgettingIsNotKnownAfterIt) {
  const uint64_t generation = known_->now();
  known_->forget();
  known_->add(generation, colliding(0), 1);
  EXPECT_TRUE(misses(colliding(0)));
  add(colliding(0), 2);
  EXPECT_TRUE(finds(colliding(0), 2));
}

TEST_F(KnownObjectsTest, ThreadsThatAddAndForgetFindNothingWrong) {
  std::atomic<int> wrong = 0;
  const auto work = [&](uint32_t seed) {
    for (uint32_t i = 0; i < 100'000; ++i) {
      if (i % 1000 == 999) known_->forget();
      const uint32_t number = (i * 7 + seed) % 40;
      const uint64_t generation = known_->now();
      uint32_t object = number;
      if (!known_->find(generation, colliding(number), object))
        known_->add(generation, colliding(number), number);
      if (object != number) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace stab::causal
