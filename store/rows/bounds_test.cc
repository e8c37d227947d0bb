// SPDX-License-Identifier: MIT
#include "store/rows/bounds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "store/exceptions.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

using ::testing::HasSubstr;

class BoundsTest : public WithStore {
 protected:
  void SetUp() override {
    const Id machine = store_->add_machine(example_machine()).value();
    add(example_trial(experiment_, 0));
    ASSERT_TRUE(store_->add_build({.experiment = experiment_, .key = "k", .benchmark = "sort"}));
    ASSERT_TRUE(store_->add_event({.experiment = experiment_, .kind = "e", .text = "t"}));
    ASSERT_TRUE(store_->add_calibrations({example_calibration(machine, experiment_)}));
    store_.reset();
  }
  // Why the file is refused; "": it is not.
  std::string refusal() const {
    const auto reader = Reader::open_of_others(path_);
    return reader ? "" : reader.error().message;
  }
};

TEST_F(BoundsTest, WhatIsStoredIsBelowThem) {
  EXPECT_EQ(refusal(), "");
}

TEST_F(BoundsTest, EveryColumnOfTextsHasOne) {
  std::set<std::pair<std::string, std::string>> bounded;
  for (const TextBound& each : text_bounds())
    bounded.emplace(std::string(each.table), std::string(each.column));
  std::set<std::pair<std::string, std::string>> columns;
  SQLite::Database database(path_, SQLite::OPEN_READWRITE);
  SQLite::Statement all(database,
                        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_xinfo(m.name) c "
                        "WHERE m.type = 'table' AND c.type = 'TEXT'");
  while (all.executeStep())
    columns.emplace(all.getColumn(0).getString(), all.getColumn(1).getString());
  EXPECT_EQ(bounded, columns);
}

TEST_F(BoundsTest, AByteMoreIsRefusedWithTableColumnAndBound) {
  for (const TextBound& each : text_bounds()) {
    const auto set = [&](std::int64_t bytes) {
      // A text that SQL takes for short: it has a NUL.
      cheat(path_, fmt::format("UPDATE {} SET {} = 'x' || char(0) || printf('%.*c', {}, 'y')",
                               each.table, each.column, bytes - 2));
    };
    if (each.table == "meta" && each.column == "key") continue;  // is one of a kind
    set(each.most);
    EXPECT_EQ(refusal(), "");
    set(each.most + 1);
    EXPECT_THAT(refusal(), HasSubstr(fmt::format("the column {} of row 1 of table {} holds",
                                                 each.column, each.table)));
    EXPECT_THAT(refusal(),
                HasSubstr(fmt::format("at most {} are allowed", format_bytes(each.most))));
    set(2);
  }
}

TEST_F(BoundsTest, TablesThatAreReadAsAWholeHaveThem) {
  for (const TableBound& each : table_bounds()) EXPECT_LT(each.bytes / each.rows, 1 << 10);
  cheat(path_,
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 100010) INSERT "
        "INTO event SELECT i, 1, 0, 'e', 't', 0 FROM n");
  EXPECT_THAT(refusal(), HasSubstr("the table event has more than 100000 rows"));
  cheat(path_,
        "DELETE FROM event WHERE id > 300; UPDATE event SET text = printf('%.*c', 200000, 'x')");
  EXPECT_THAT(refusal(), HasSubstr("the texts of table event are larger than 32 MiB in total"));
}

}  // namespace
}  // namespace stab::store
