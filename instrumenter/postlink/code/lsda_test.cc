// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/elf/elf_file.h"

namespace stab::instrumenter {
namespace {

Exceptions two_sites(std::span<const std::uint8_t> actions) {
  Exceptions exceptions;
  exceptions.call_sites = {{4, 8, std::nullopt, 0}, {16, 300, 5, 3}};
  exceptions.types_encoding = 0x9b;
  exceptions.types = 0x5000;
  exceptions.actions = actions;
  return exceptions;
}

TEST(ExceptionTables, LeadToTheStubsOfTheirLabels) {
  const std::array<std::uint8_t, 4> actions = {1, 0, 0x7f, 0};
  const auto table =
      write_exceptions(two_sites(actions), [](std::uint32_t label) { return label + 10; });
  ByteReader reader(table);
  EXPECT_EQ(reader.byte(), 0);
  reader.skip(8);
  EXPECT_EQ(reader.byte(), 0x9b);
  EXPECT_EQ(reader.position(), abi::exception_types_field);
  reader.skip(abi::exception_types_bytes);
  EXPECT_EQ(reader.byte(), 3);
  const std::uint64_t length = reader.uleb();
  const std::size_t begin = reader.position();
  EXPECT_EQ(reader.word(), 4u);
  EXPECT_EQ(reader.word(), 8u);
  EXPECT_EQ(reader.word(), 0u);
  EXPECT_EQ(reader.uleb(), 0u);
  EXPECT_EQ(reader.word(), 16u);
  EXPECT_EQ(reader.word(), 300u);
  EXPECT_EQ(reader.word(), 8u * 16);
  EXPECT_EQ(reader.uleb(), 3u);
  EXPECT_EQ(reader.position() - begin, length);
  for (const std::uint8_t action : actions) EXPECT_EQ(reader.byte(), action);
  EXPECT_TRUE(reader.ok() && reader.at_end());
}

TEST(ExceptionTables, WithoutTypesHaveNoPlaceForThem) {
  Exceptions exceptions;
  exceptions.call_sites = {{0, 5, 1, 0}};
  const auto table = write_exceptions(exceptions, [](std::uint32_t label) { return label; });
  EXPECT_EQ(table[9], 0xff);
  EXPECT_EQ(table[10], 3);
  EXPECT_GE(table.size(), sizeof(abi::ExceptionTable));
}

TEST(ByteReaders, RememberThatTheyRanOut) {
  const std::array<std::uint8_t, 3> bytes = {0x80, 0x01, 0x7f};
  ByteReader reader(bytes);
  EXPECT_EQ(reader.uleb(), 128u);
  EXPECT_EQ(reader.sleb(), -1);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.byte(), 0);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace stab::instrumenter
