// SPDX-License-Identifier: MIT
#include "runtime/image/switchboard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "runtime/abi/sample_table.h"
#include "runtime/base/os.h"

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
    board = measure_switchboard(table());
    void* memory =
        mmap(nullptr, board.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board.start = static_cast<std::uint8_t*>(memory);
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

TEST_F(SwitchboardTest, StubsLeadToTheirTargets) {
  const auto stub = reinterpret_cast<int (*)()>(board.stub(0));
  *board.label_target(0) = reinterpret_cast<std::uint64_t>(one);
  EXPECT_EQ(stub(), 1);
  *board.label_target(0) = reinterpret_cast<std::uint64_t>(two);
  EXPECT_EQ(stub(), 2);
}

TEST_F(SwitchboardTest, MarksAndTargetsDoNotOverlap) {
  *board.called(0) = 1;
  *board.called(1) = 1;
  EXPECT_EQ(*board.label_target(0), 0u);
  EXPECT_EQ(*board.target(1), 0u);
  EXPECT_LT(board.called(1), board.stub(0));
}

// Threads write marks, and all read the number at each virtual call.
TEST_F(SwitchboardTest, TheNumberOfThePresentLayoutHasACacheLineOfItsOwn) {
  constexpr std::uint64_t line = 64;
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(board.present()) % line, 0u);
  EXPECT_GT(board.present(), board.called(board.functions - 1));
  EXPECT_LE(board.present() + line, board.stub(0));
  EXPECT_EQ(*board.present(), 0);
}

TEST_F(SwitchboardTest, KnowsTheLabelOfAStub) {
  std::uint32_t label = 7;
  const auto first = reinterpret_cast<std::uint64_t>(board.stub(0));
  EXPECT_TRUE(board.label_of_stub(first, label));
  EXPECT_EQ(label, 0u);
  EXPECT_FALSE(board.label_of_stub(first + 1, label));
  EXPECT_FALSE(board.label_of_stub(first + 8, label));
  EXPECT_FALSE(Switchboard{}.label_of_stub(0, label));
}

// Read as an unwinder would.
TEST_F(SwitchboardTest, ExceptionTablesPointAtStubsAndAtTheTypes) {
  const std::uint8_t* at = board.exceptions();
  std::uint64_t start = 0;
  std::memcpy(&start, at + 1, sizeof start);
  EXPECT_EQ(start + 8, reinterpret_cast<std::uint64_t>(board.stub(0)));
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
