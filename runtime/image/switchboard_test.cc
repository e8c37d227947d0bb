// SPDX-License-Identifier: MIT
#include "runtime/image/switchboard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/abi/sample_table.h"
#include "runtime/base/os.h"
#include "runtime/image/place.h"

namespace stab::rt {
namespace {

int one() {
  return 1;
}
int two() {
  return 2;
}

class SwitchboardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sample.exceptions[9] = 0x9b;
    bytes = sample.build();
    board = measure_switchboard(table(), 0);
    // Within reach of the functions below.
    Random random(1);
    Side side = Side::either;
    const auto code = reinterpret_cast<std::uint64_t>(&one) & -os::page_size;
    board.start = reserve_near(board.size(), code, code + os::page_size, random, side);
    ASSERT_NE(board.start, nullptr);
    write_switchboard(board, table(), base);
    ASSERT_TRUE(seal(board));
  }
  void TearDown() override { munmap(board.start, board.size()); }

  [[nodiscard]] const abi::Header& table() const {
    return *reinterpret_cast<const abi::Header*>(bytes.data());
  }

  testing::SampleTable sample;
  std::vector<std::uint64_t> bytes;
  Switchboard board;
  const std::uint8_t* base = reinterpret_cast<const std::uint8_t*>(0x10000);
};

void lead_all(const Switchboard& board, int (*target)()) {
  StubsDraft stubs(board);
  ASSERT_TRUE(stubs.has_memory());
  for (std::uint32_t f = 0; f < board.functions; ++f)
    stubs.lead(board.function_stub(f), reinterpret_cast<std::uint64_t>(target));
  stubs.lead(board.label_stub(0), reinterpret_cast<std::uint64_t>(target));
  ASSERT_TRUE(stubs.put_in_place());
}

int call(const std::uint8_t* stub) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<std::uintptr_t>(stub))();
}

TEST_F(SwitchboardTest, StubsLeadToTheirTargets) {
  lead_all(board, one);
  EXPECT_EQ(call(board.function_stub(1)), 1);
  EXPECT_EQ(call(board.label_stub(0)), 1);
  lead_all(board, two);
  EXPECT_EQ(call(board.function_stub(1)), 2);
  EXPECT_EQ(call(board.label_stub(0)), 2);
}

TEST_F(SwitchboardTest, AStubThatIsGivenNoTargetKeepsTheOldOne) {
  lead_all(board, one);
  StubsDraft stubs(board);
  stubs.lead(board.function_stub(0), reinterpret_cast<std::uint64_t>(two));
  EXPECT_EQ(call(board.function_stub(0)), 1);  // not yet
  ASSERT_TRUE(stubs.put_in_place());
  EXPECT_EQ(call(board.function_stub(0)), 2);
  EXPECT_EQ(call(board.function_stub(1)), 1);
}

TEST_F(SwitchboardTest, AStubThatLeadsNowhereTraps) {
  EXPECT_EXIT(
      {
        StubsDraft stubs(board);
        if (stubs.put_in_place()) call(board.function_stub(1));
      },
      ::testing::KilledBySignal(SIGTRAP), "");
}

// Threads call a stub that is put in place again and again.
TEST_F(SwitchboardTest, NobodySeesAStubThatIsNotThere) {
  lead_all(board, one);
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!over) {
        const int got = call(board.function_stub(1));
        wrong += got == 1 || got == 2 ? 0 : 1;
      }
    });
  for (int i = 0; i < 2000; ++i) lead_all(board, i % 2 == 0 ? two : one);
  over = true;
  threads.clear();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(SwitchboardTest, MarksAreNotStubs) {
  *board.called(0) = 1;
  *board.called(1) = 1;
  EXPECT_LT(board.called(1), board.function_stub(0));
}

TEST_F(SwitchboardTest, KnowsWhoseAStubIs) {
  std::uint32_t which = 7;
  const auto label = reinterpret_cast<std::uint64_t>(board.label_stub(0));
  EXPECT_TRUE(board.label_of_stub(label, which));
  EXPECT_EQ(which, 0u);
  EXPECT_FALSE(board.label_of_stub(label + 1, which));
  EXPECT_FALSE(board.label_of_stub(label + 8 * board.labels, which));
  EXPECT_FALSE(board.function_of_stub(label, which));
  const auto function = reinterpret_cast<std::uint64_t>(board.function_stub(1));
  EXPECT_TRUE(board.function_of_stub(function, which));
  EXPECT_EQ(which, 1u);
  EXPECT_FALSE(board.function_of_stub(function + 1, which));
  EXPECT_FALSE(board.label_of_stub(function, which));
  EXPECT_FALSE(Switchboard{}.label_of_stub(0, which));
  EXPECT_FALSE(Switchboard{}.function_of_stub(0, which));
}

// Read as an unwinder would.
TEST_F(SwitchboardTest, ExceptionTablesPointAtStubsAndAtTheTypes) {
  const std::uint8_t* at = board.exceptions();
  std::uint64_t start = 0;
  std::memcpy(&start, at + 1, sizeof start);
  EXPECT_EQ(start + 8, reinterpret_cast<std::uint64_t>(board.label_stub(0)));
  const std::uint8_t* field = at + abi::exception_types_field;
  std::uint64_t distance = 0;
  for (unsigned i = 0; i < abi::exception_types_bytes; ++i) {
    EXPECT_EQ((field[i] & 0x80) != 0, i + 1 < abi::exception_types_bytes);
    distance |= static_cast<std::uint64_t>(field[i] & 0x7f) << (7 * i);
  }
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(field + abi::exception_types_bytes) + distance,
            reinterpret_cast<std::uint64_t>(base + sample.functions[0].exception_types));
}

}  // namespace
}  // namespace stab::rt
