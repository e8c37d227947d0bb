// SPDX-License-Identifier: MIT
#include "store/rows/row.h"

#include <gtest/gtest.h>

#include "store/exceptions.h"

namespace stab::store {
namespace {

Row row_with(std::string_view column, Value value) {
  Row row;
  row.set_value(column, std::move(value));
  return row;
}

TEST(Checksum, NullEmptyAndZeroAllDiffer) {
  const auto null = row_with("a", {}).checksum("t");
  const auto empty = row_with("a", "").checksum("t");
  const auto zero = row_with("a", std::int64_t{0}).checksum("t");
  const auto real = row_with("a", 0.0).checksum("t");
  const auto text = row_with("a", "0").checksum("t");
  EXPECT_NE(null, empty);
  EXPECT_NE(zero, real);
  EXPECT_NE(zero, text);
  EXPECT_NE(zero, null);
  EXPECT_NE(real, text);
}

TEST(Checksum, DependsOnTableAndColumn) {
  EXPECT_NE(row_with("a", "x").checksum("t"), row_with("a", "x").checksum("u"));
  EXPECT_NE(row_with("a", "x").checksum("t"), row_with("b", "x").checksum("t"));
}

TEST(Checksum, SeesWhereOneValueEndsAndTheNextBegins) {
  Row one = row_with("a", "xy");
  one.set("b", "z");
  Row other = row_with("a", "x");
  other.set("b", "yz");
  EXPECT_NE(one.checksum("t"), other.checksum("t"));
}

TEST(Checksum, DoesNotDependOnTheOrderOfColumns) {
  Row one = row_with("a", "x");
  one.set("b", std::int64_t{1});
  Row other = row_with("b", std::int64_t{1});
  other.set("a", "x");
  EXPECT_EQ(one.checksum("t"), other.checksum("t"));
}

TEST(Checksum, IsUnchangedByAColumnThatALaterVersionAddsAsNull) {
  Row row = row_with("a", "x");
  const auto before = row.checksum("t");
  row.set_value("added_later", {});
  EXPECT_EQ(row.checksum("t"), before);
}

// The rule of doc/store.md, computed with another implementation:
// printf '1:t1:a1:i2:421:b1:t2:xy' | sha256sum
TEST(Checksum, FollowsTheWrittenRule) {
  Row row = row_with("a", std::int64_t{42});
  row.set("b", "xy");
  EXPECT_EQ(static_cast<std::uint64_t>(row.checksum("t")), 0xb04aabde7f4a1cd2);
}

TEST(Row, RefusesColumnsThatAreMissingOrOfAnotherType) {
  const Row row = row_with("a", "x");
  EXPECT_EQ(row.text("a"), "x");
  EXPECT_THROW(static_cast<void>(row.text("b")), Failure);
  EXPECT_THROW(static_cast<void>(row.integer("a")), Failure);
  EXPECT_THROW(static_cast<void>(row.real("a")), Failure);
  EXPECT_THROW(static_cast<void>(row_with("a", {}).integer("a")), Failure);
}

}  // namespace
}  // namespace stab::store
