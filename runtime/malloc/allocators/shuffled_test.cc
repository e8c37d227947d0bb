// SPDX-License-Identifier: MIT
// What the default allocator promises beyond what all do.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "runtime/malloc/interface/testing.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"

namespace stab::heap {
namespace {

using rt::Base;

constexpr std::size_t cell = 24;  // bytes of a small object, in a slot of 32
constexpr std::uint64_t cell_slot = 32;

std::vector<void*> allocate_many(const Allocator& a, std::size_t count, std::size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = a.allocate(size);
  return blocks;
}

// In MB.
unsigned long resident() {
  unsigned long pages = 0;
  unsigned long total = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu %lu", &total, &pages) != 2) return 0;
  std::fclose(file);
  return pages / 256;
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(ShuffledHeap, GivesMemoryBackToTheSystem) {
  if (watches_threads) GTEST_SKIP() << "the memory that counts is mostly the sanitizer's";
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    std::vector<void*> blocks;
    const auto before = resident();
    for (std::size_t i = 0; i < 60000; ++i) {
      blocks.push_back(a.allocate(1000 + i % 4000));
      std::memset(blocks.back(), 1, 1000 + i % 4000);
    }
    const auto full = resident();
    for (void* block : blocks) a.release(block);
    const auto shadow = shadowed_bytes > 0 ? full / shadowed_bytes : 0;
    return full > before + 100 && resident() < before + shadow + 60;
  }));
}

TEST(ShuffledHeap, GivesRoomToABlockThatGrowsBySmallSteps) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    unsigned moves = 0;
    auto* block = static_cast<unsigned char*>(a.allocate(100));
    std::memset(block, 1, 100);
    for (std::size_t size = 200; size <= 60'000; size += 100) {
      auto* grown = static_cast<unsigned char*>(a.resize(block, size));
      if (grown == nullptr || a.usable(grown) < size) return false;
      if (grown != block) ++moves;
      block = grown;
      if (std::count(block, block + size - 100, 1) != static_cast<std::ptrdiff_t>(size - 100))
        return false;
      std::memset(block + size - 100, 1, 100);
    }
    return moves < 18;
  }));
}

TEST(ShuffledHeap, GivesNoRoomToABlockThatDoublesOrShrinks) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    for (const std::size_t size : {std::size_t{1500}, std::size_t{3000}, std::size_t{12'000}}) {
      void* block = a.resize(a.allocate(size), 2 * size);
      if (a.usable(block) > 3 * size) return false;
      block = a.resize(block, size / 2);
      if (a.usable(block) > size) return false;
      a.release(block);
    }
    return true;
  }));
}

constexpr std::size_t large_size = 100'000;  // in a span of 3 units

TEST(ShuffledHeap, UsesThePagesOfAFreedLargeBlockAgain) {
  if (shadowed_bytes > 0 || watches_threads) GTEST_SKIP() << "the sanitizer's own pages count";
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto use = [&](int times) {
      for (int i = 0; i < times; ++i)
        for (const std::size_t size : {large_size, 3 * large_size, 10 * large_size}) {
          void* block = a.allocate(size);
          std::memset(block, 1, size);
          a.release(block);
        }
    };
    use(200);
    const long before = page_faults();
    use(1000);
    return page_faults() - before < 100;
  }));
}

// The pages of blocks of up to 32 MB stay from the second block on, as with libc's heap. The pages
// of larger blocks go back at once.
TEST(ShuffledHeap, KeepsThePagesOfHugeBlocksAsLibcDoes) {
  if (shadowed_bytes > 0 || watches_threads) GTEST_SKIP() << "the sanitizer's own pages count";
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto use = [&](std::size_t megabytes, int times) {
      for (int i = 0; i < times; ++i) {
        auto* block = static_cast<unsigned char*>(a.allocate(megabytes << 20));
        for (std::size_t at = 0; at < megabytes << 20; at += 4096) block[at] = 1;
        a.release(block);
      }
    };
    for (const std::size_t megabytes : {std::size_t{5}, std::size_t{16}, std::size_t{32}}) {
      use(megabytes, 3);
      const long before = page_faults();
      use(megabytes, 10);
      // The place of a block in its span is another one each time.
      if (page_faults() - before > 300) return false;
    }
    const auto before = resident();
    use(100, 1);
    return resident() < before + 10;
  }));
}

TEST(ShuffledHeap, DrawsALargeBlockAmongTheFreedOnes) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    std::set<std::uint64_t> ranks;
    std::set<std::uint64_t> places;
    for (int round = 0; round < 100; ++round) {
      auto blocks = allocate_many(a, 6, large_size);
      std::vector<std::uint64_t> starts;
      for (void* block : blocks) starts.push_back(span_of(block)->start);
      for (void* block : blocks) a.release(block);
      void* next = a.allocate(large_size);
      const auto found = std::ranges::find(starts, span_of(next)->start);
      if (found == starts.end()) return false;
      ranks.insert(static_cast<std::uint64_t>(found - starts.begin()));
      places.insert(reinterpret_cast<std::uint64_t>(next) % unit_size / 64);
      a.release(next);
    }
    return ranks.size() == 6 && places.size() > 80;
  }));
}

TEST(ShuffledHeap, DrawsTheSameLargeBlocksForTheSameSeed) {
  const auto digest = [](std::uint64_t seed) {
    const pid_t child = fork();
    if (child == 0) {
      const Allocator& a = open(Base::shuffled, seed);
      std::uint64_t sum = 0;
      std::vector<void*> blocks = allocate_many(a, 20, large_size);
      const auto origin = reinterpret_cast<std::uint64_t>(blocks[0]);
      for (unsigned i = 0; i < 2000; ++i) {
        void*& block = blocks[i * 7 % blocks.size()];
        a.release(block);
        block = a.allocate(large_size * (1 + i % 5));
        sum = sum * 31 + (reinterpret_cast<std::uint64_t>(block) - origin) / 64;
      }
      _exit(static_cast<int>(sum % 251));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  std::set<int> digests;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const int first = digest(seed);
    EXPECT_GE(first, 0);
    EXPECT_EQ(digest(seed), first) << "seed " << seed;
    digests.insert(first);
  }
  EXPECT_GT(digests.size(), 1U);
}

TEST(ShuffledHeap, GrowsALargeBlockOverItsFreedNeighbour) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto blocks = allocate_many(a, 20, large_size);
    for (void* block : blocks)
      for (void* other : blocks) {
        if (span_of(block)->end() != span_of(other)->start) continue;
        std::memset(block, 7, large_size);
        a.release(other);
        const auto* grown = static_cast<unsigned char*>(a.resize(block, 2 * large_size));
        return grown == block &&
               std::count(grown, grown + large_size, 7) == static_cast<std::ptrdiff_t>(large_size);
      }
    return false;
  }));
}

TEST(ShuffledHeap, ReturnsAllUnusedPagesWhenItIsTrimmed) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    for (void* block : allocate_many(a, 20, large_size)) {
      std::memset(block, 1, large_size);
      a.release(block);
    }
    if (!arena.trim() || arena.trim()) return false;
    for (const std::size_t size : {large_size, 20 * large_size}) {
      bool zeroed = false;
      const auto* block = static_cast<char*>(take_large(size, 16, zeroed));
      if (!zeroed || std::count(block, block + size, 0) != static_cast<std::ptrdiff_t>(size))
        return false;
    }
    return true;
  }));
}

// Spans 5: other threads and other sizes find the kept spans full, and everything is merged at the
// end.
TEST(ShuffledHeap, LosesNoMemoryByKeepingSpans) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto use = [&](unsigned start) {
      std::vector<void*> blocks(40);
      for (unsigned i = start; i < start + 4000; ++i) {
        void*& block = blocks[i * 11 % blocks.size()];
        if (block != nullptr) a.release(block);
        block = a.allocate(50'000 + i * 7919 % 2'000'000);
      }
      for (void* block : blocks) a.release(block);
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) threads.emplace_back(use, 1000 * t);
    for (auto& thread : threads) thread.join();
    use(5);
    return arena.used() == 0;
  }));
}

TEST(ShuffledHeap, EndsTheProgramWhenABlockIsFreedTwiceAndReachesItsSlabTwice) {
  EXPECT_FALSE(holds([] {
    const Allocator& a = open(Base::shuffled);
    void* block = a.allocate(100);
    for (int i = 0; i < 2000; ++i) a.release(block);
    return true;
  }));
}

TEST(ShuffledHeap, TakesBackTheBagsOfThreadsThatEnd) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto use = [&] {
      std::vector<void*> blocks;
      for (int i = 0; i < 3000; ++i) blocks.push_back(a.allocate(64));
      for (void* block : blocks) a.release(block);
    };
    const auto bytes = [&] {
      std::thread(use).join();
      return slabs.bytes(fine_classes.of(64));
    };
    const std::uint64_t first = bytes();
    for (int i = 0; i < 50; ++i) bytes();
    return slabs.bytes(fine_classes.of(64)) <= first + 65536 && slabs.is_valid();
  }));
}

TEST(ShuffledHeap, CountsOperationsBytesAndWhatItCouldNotShuffle) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    for (int i = 0; i < 100; ++i) a.release(a.allocate(100));
    const CacheCounts few = cache_counts();
    if (few.taken < 100 || few.given < 100 || few.bytes < 100 * 100 || few.in_order != 0)
      return false;
    for (int i = 0; i < 100000; ++i)
      if (a.allocate(64) == nullptr) return false;
    const CacheCounts many = cache_counts();
    return many.in_order > std::uint64_t{4} << 20 && many.in_order < std::uint64_t{64} * 100000;
  }));
}

// The locks are taken in another way as soon as there is a second thread.
TEST(ShuffledHeap, CountsEachLargeBlockOfOneThreadAndThenOfMany) {
  EXPECT_TRUE(holds([] {
    constexpr std::size_t size = 100'000;
    constexpr std::uint64_t blocks = 2000;
    const Allocator& a = open(Base::shuffled);
    const auto use = [&] {
      for (std::uint64_t i = 0; i < blocks; ++i) a.release(a.allocate(size));
    };
    use();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(use);
    for (auto& thread : threads) thread.join();
    use();
    const LargeCounts counts = large_counts();
    return counts.taken == 6 * blocks && counts.given == 6 * blocks &&
           counts.bytes == 6 * blocks * size && arena.used() == 0;
  }));
}

TEST(ShuffledHeap, KeepsTheBlocksOfALargeClassNearThoseThatAreMadeWithThem) {
  EXPECT_TRUE(holds([] {
    const auto blocks = allocate_many(open(Base::shuffled), 100000, cell);
    // A slab of 2047 slots: from one to the next, and from its end to its beginning.
    std::vector<std::uint64_t> jumps;
    for (std::size_t i = 50000; i < blocks.size(); ++i) {
      const auto before = reinterpret_cast<std::uint64_t>(blocks[i - 1]);
      const auto here = reinterpret_cast<std::uint64_t>(blocks[i]);
      if (here - before != cell_slot) jumps.push_back(here % 65536);
    }
    std::set<std::uint64_t> beginnings;
    for (const std::uint64_t jump : jumps)
      if (jump >= 64) beginnings.insert(jump);
    return jumps.size() > 40 && jumps.size() < 60 && beginnings.size() > 20;
  }));
}

TEST(ShuffledHeap, UsesTheNewestFreeSlotsOfALargeClassFirst) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    auto blocks = allocate_many(a, 100000, cell);
    std::set<std::ptrdiff_t> chosen;
    for (int round = 0; round < 100; ++round) {
      const auto freed = blocks.end() - 10;
      for (auto block = freed; block != blocks.end(); ++block) a.release(*block);
      void* first = a.allocate(cell);
      const auto found = std::find(freed, blocks.end(), first);
      if (found == blocks.end()) return false;
      chosen.insert(blocks.end() - found);
      std::iter_swap(freed, found);
      for (auto block = freed + 1; block != blocks.end(); ++block) *block = a.allocate(cell);
    }
    return chosen == std::set<std::ptrdiff_t>{1, 2, 3, 4};
  }));
}

TEST(ShuffledHeap, KeepsOnlyClassesTogetherThatAreLargerThanTheirLimit) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    const auto in_order_after = [&](std::size_t count, std::size_t size) {
      const std::uint64_t before = cache_counts().in_order;
      allocate_many(a, count, size);
      return cache_counts().in_order - before;
    };
    return in_order_after(200000 / cell_slot, cell) == 0 && in_order_after(4000, 200) == 0 &&
           in_order_after(10000, 200) != 0 && in_order_after(4000, 1000) == 0 &&
           in_order_after(10000, cell) != 0;
  }));
}

TEST(ShuffledHeap, CountsWhatItKeptTogetherOnceAndForAll) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    for (void* block : allocate_many(a, 100000, cell)) a.release(block);
    const CacheCounts large = cache_counts();
    for (void* block : allocate_many(a, 3000, cell)) a.release(block);
    const std::uint64_t fixed = cache_counts().in_order;
    for (void* block : allocate_many(a, 3000, cell)) a.release(block);
    // A few slots are left from the time when it was large.
    return large.in_order > 80000 * cell_slot && large.in_order < large.bytes &&
           fixed < large.in_order + 1100 * cell_slot && cache_counts().in_order == fixed;
  }));
}

TEST(ShuffledHeap, TakesBackTheSlotsThatAnEndedThreadHadInLine) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::shuffled);
    allocate_many(a, 100000, cell);
    const std::uint64_t bytes = slabs.bytes(fine_classes.of(cell));
    for (int i = 0; i < 200; ++i) std::thread([&] { a.allocate(cell); }).join();
    return slabs.bytes(fine_classes.of(cell)) <= bytes + 65536 && slabs.is_valid();
  }));
}

}  // namespace
}  // namespace stab::heap
