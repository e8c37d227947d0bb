// SPDX-License-Identifier: MIT
// The layer above libc's allocator. A process has one allocator for its whole life, so each test
// runs in a child.
#include "runtime/malloc/allocators/layer.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/testing.h"

namespace stab::heap {
namespace {

constexpr std::uint64_t free_of_all = 65536;
constexpr std::uint64_t free_of_class = 4096;
constexpr std::uint64_t most_of_class = 16384;

// Layer 1: a request gets what libc makes for its own size. Libc leaves no rest of 16 bytes.
TEST(Layer, ABlockIsAsLargeAsLibcsOwnForThisRequest) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    for (int round = 0; round < 20; ++round)
      for (std::size_t size = 0; size <= 1100; ++size) {
        const std::size_t usable = a.usable(a.allocate(size));
        const std::size_t least = size <= 24 ? 24 : (size + 7) / 16 * 16 + 8;
        if (usable != least && usable != least + 16) return false;
      }
    return true;
  }));
}

TEST(Layer, ABagHoldsAtMost16KilobytesHoweverManyBlocksLive) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    for (int i = 0; i < 100000; ++i)
      if (a.allocate(100) == nullptr) return false;
    const LayerHolds now = layer_holds();
    return now.bytes <= most_of_class && now.bytes > most_of_class - 200 && now.blocks <= 256;
  }));
}

// Layer 2.
TEST(Layer, WhereFewBlocksLiveLittleIsHeld) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    std::uint64_t classes = 0;
    for (std::size_t size = 24; size <= 1032; size += 16) {
      ++classes;
      for (int i = 0; i < 3000; ++i) a.release(a.allocate(size < 1024 ? size : 1024));
      if (layer_holds().bytes > free_of_all + classes * free_of_class) return false;
    }
    return layer_holds().bytes > free_of_all;
  }));
}

TEST(Layer, WhereManyBlocksLiveAtMostOneInEightIsHeld) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    std::uint64_t live = 0;
    for (std::size_t size = 24; size <= 1024; size += 16)
      for (int i = 0; i < 400; ++i, ++live) {
        a.allocate(size);
        const LayerHolds now = layer_holds();
        if (now.bytes > free_of_all + free_of_class * 64 && now.blocks > live / 8 + 1) return false;
      }
    return true;
  }));
}

// Layer 3.
TEST(Layer, WhatIsHeldGoesBackWhereAProgramOnlyFreesAndAtTrimming) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    std::vector<void*> blocks;
    const auto take = [&] {
      for (int i = 0; i < 2000; ++i) blocks.push_back(a.allocate(64));
    };
    const auto give = [&](int count) {
      for (int i = 0; i < count; ++i, blocks.pop_back()) a.release(blocks.back());
    };
    take();
    give(999);
    if (layer_holds().blocks == 0) return false;
    errno = E2BIG;
    give(1);
    if (layer_holds().blocks != 0 || layer_holds().bytes != 0 || errno != E2BIG) return false;
    take();
    if (layer_holds().blocks == 0) return false;
    flush_layer();
    return layer_holds().blocks == 0;
  }));
}

TEST(Layer, AThreadThatEndsHoldsNothingAndItsBagsServeTheNextOne) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer forgets a thread before the last of its destructors has run";
#elif __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer keeps memory for threads that have ended";
#endif
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    struct rusage before{};
    struct rusage after{};
    const auto work = [&] {
      a.release(a.allocate(48));
      if (layer_holds().blocks > 1) _exit(1);
      for (int i = 0; i < 500; ++i) a.release(a.allocate(48));
      if (layer_holds().blocks == 0) _exit(1);
    };
    for (int i = 0; i < 20; ++i) std::thread(work).join();
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 500; ++i) std::thread(work).join();
    getrusage(RUSAGE_SELF, &after);
    return after.ru_maxrss - before.ru_maxrss < 2000;
  }));
}

// A child gets libc's heap as its parent left it, so only the draws differ.
bool draw(std::uint64_t seed, std::vector<void*>& found) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const Allocator& a = open(rt::Base::layer, seed);
    for (void*& each : found) each = a.allocate(64);
    const auto bytes = static_cast<ssize_t>(found.size() * sizeof(void*));
    _exit(write(ends[1], found.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1);
  }
  close(ends[1]);
  std::size_t got = 0;
  const std::size_t all = found.size() * sizeof(void*);
  for (ssize_t n = 1; got < all && n > 0; got += static_cast<std::size_t>(n > 0 ? n : 0))
    n = read(ends[0], reinterpret_cast<char*>(found.data()) + got, all - got);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return got == all;
}

TEST(Layer, DrawsFollowFromTheSeed) {
  std::vector<void*> first(1000);
  std::vector<void*> again(1000);
  std::vector<void*> other(1000);
  ASSERT_TRUE(draw(5, first) && draw(5, again) && draw(6, other));
  EXPECT_EQ(std::set<void*>(first.begin(), first.end()).size(), 1000U);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

// Thresholds, mappings and trimming are libc's.
TEST(Layer, LargeBlocksAreLibcsOwn) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(rt::Base::layer);
    a.release(a.allocate(64));
    const LayerHolds before = layer_holds();
    for (std::size_t size = 1025; size < (std::size_t{1} << 20); size *= 2) {
      void* block = a.allocate(size);
      a.release(block);
      void* again = system_heap.allocate(size);
      if (again != block && size < 100000) return false;
      system_heap.release(again);
    }
    return layer_holds().blocks == before.blocks;
  }));
}

}  // namespace
}  // namespace stab::heap
