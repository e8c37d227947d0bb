// SPDX-License-Identifier: MIT
// The system's allocator with some sizes raised.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "runtime/malloc/interface/testing.h"
#include "runtime/malloc/memory/cache.h"

namespace stab::heap {
namespace {

using rt::Base;

constexpr std::size_t requests = 2000;
constexpr std::size_t size = 1000;

// Which of many requests were raised: a character for each.
std::string raised(const Allocator& a) {
  std::string text(requests, '0');
  for (char& one : text) one = a.usable(a.allocate(size)) > size + 8 ? '1' : '0';
  return text;
}

// What it says in a child; short enough to be written at once.
std::string in_child(const std::function<std::string()>& say) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = say();
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text(requests, ' ');
  const ssize_t got = read(ends[0], text.data(), requests);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text.substr(0, got < 0 ? 0 : static_cast<std::size_t>(got));
}

std::string of_seed(std::uint64_t seed) {
  return in_child([=] { return raised(open(Base::stretched, seed)); });
}

TEST(StretchedHeap, RaisesOneRequestIn32AsTheSeedSays) {
  const std::string text = of_seed(3);
  ASSERT_EQ(text.size(), requests);
  EXPECT_GT(std::ranges::count(text, '1'), 30);
  EXPECT_LT(std::ranges::count(text, '1'), 110);
  EXPECT_EQ(of_seed(3), text);
  EXPECT_NE(of_seed(4), text);
}

TEST(StretchedHeap, HasAStreamOfItsOwnInAForkedChild) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::stretched, 3);
    const std::string first = in_child([&] { return raised(a); });
    const std::string second = in_child([&] { return raised(a); });
    const std::string own = raised(a);
    return own.size() == first.size() && first != own && second != own && first != second;
  }));
  const auto of_a_child = [] {
    return in_child([] {
      const Allocator& a = open(Base::stretched, 3);
      return in_child([&] { return raised(a); });
    });
  };
  EXPECT_EQ(of_a_child(), of_a_child());
}

TEST(StretchedHeap, CountsBlocksWithTheBytesThatWereAskedFor) {
  EXPECT_TRUE(holds([] {
    const Allocator& a = open(Base::stretched);
    const auto is = [](std::uint64_t taken, std::uint64_t given, std::uint64_t bytes) {
      const CacheCounts counts = cache_counts();
      return counts.taken == taken && counts.given == given && counts.bytes == bytes;
    };
    void* block = nullptr;
    for (int i = 0; i < 100; ++i) a.release(block = a.allocate(size));
    if (!is(100, 100, 100 * size) || cache_counts().in_order != 0) return false;
    // Not in place: what follows is in use.
    block = a.allocate(size);
    void* next = a.allocate(size);
    void* moved = a.resize(block, 50 * size);
    if (moved == block || !is(103, 101, 152 * size)) return false;
    a.release(next);
    a.release(nullptr);
    void* mapped = a.allocate_zeroed(1000 * size);
    return mapped != nullptr && is(104, 102, 1152 * size) && cache_counts().in_order == 1000 * size;
  }));
}

}  // namespace
}  // namespace stab::heap
