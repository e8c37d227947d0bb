// SPDX-License-Identifier: MIT
#include "store/user_query.h"

#include <gmock/gmock.h>

#include <iterator>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Query : public WithStore {
 protected:
  std::string refusal(const std::string& sql, QueryLimits limits = {}) const {
    const auto table = query(path_, sql, limits);
    return table ? "" : table.error().message;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Query, SeesWhatTheWriterStoredAlsoThroughViews) {
  add(example_trial(experiment_, 0));
  const auto table = query(path_, "SELECT name, trials AS t FROM experiment", {});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_THAT(table->columns, ElementsAre("name", "t"));
  ASSERT_EQ(table->rows.size(), 1U);
  EXPECT_THAT(table->rows[0], ElementsAre(Value("sort"), Value(std::int64_t{300})));
  const auto readings = query(path_, "SELECT name FROM reading ORDER BY ordinal", {});
  ASSERT_TRUE(readings) << readings.error().message;
  EXPECT_EQ(readings->rows.size(), example_trial(experiment_, 0).readings.size());
  add(example_trial(experiment_, 1));  // the writer is not kept out
}

// Q1
TEST_F(Query, ChangesNothingWhateverItIsGiven) {
  add(example_trial(experiment_, 0));
  cheat(path_, "PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string before = bytes();
  for (const char* sql : {"DELETE FROM trial",
                          "UPDATE experiment SET name = 'x'",
                          "DROP TABLE trial",
                          "INSERT INTO meta (key, value) VALUES ('a', 'b') RETURNING id",
                          "CREATE TABLE a (b)",
                          "CREATE TEMP TABLE a (b)",
                          "ATTACH 'other.db' AS other",
                          "VACUUM INTO 'other.db'",
                          "PRAGMA user_version = 3",
                          "PRAGMA query_only = OFF",
                          "PRAGMA writable_schema = ON",
                          "REINDEX",
                          "ANALYZE",
                          "BEGIN",
                          "COMMIT",
                          "SAVEPOINT s",
                          "SELECT 1; DELETE FROM trial",
                          "SELECT load_extension('x')",
                          "SELECT * FROM pragma_table_info('trial')",
                          "",
                          ";",
                          "-- SELECT 1"})
    EXPECT_NE(refusal(sql), "") << sql;
  EXPECT_THAT(refusal("DELETE FROM trial"), HasSubstr("only reading is allowed"));
  EXPECT_NE(refusal(std::string("SELECT 1\0; DELETE FROM trial", 28)), "");
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(trials_of(*store_, experiment_).size(), 1U);
}

// Q2
TEST_F(Query, EndsInTimeAndWithinItsMemory) {
  const std::string endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) ";
  EXPECT_THAT(refusal(endless + "SELECT sum(i) FROM c", {.time = std::chrono::milliseconds(50)}),
              HasSubstr("the query took longer than 0.05 s"));
  EXPECT_THAT(refusal(endless + "SELECT i FROM c", {.bytes = 1 << 20}),
              HasSubstr("the rows of the result take more than 1 MiB"));
  EXPECT_THAT(refusal(endless + "SELECT hex(zeroblob(4000000)) AS a FROM c ORDER BY a"),
              AnyOf(HasSubstr("more than 256 MiB of memory"), HasSubstr("the query took longer")));
  EXPECT_THAT(refusal("SELECT zeroblob(100000000)"), HasSubstr("too big"));
  EXPECT_EQ(refusal("SELECT 1"), "") << "the limits are gone again";
}

TEST_F(Query, OfASchemaThatOthersChangedIsRefused) {
  cheat(path_, "CREATE TABLE other (a, b AS (upper(a)))");
  EXPECT_THAT(refusal("SELECT 1"),
              HasSubstr("the database's schema differs from stabd's schema at the table other"));
}

}  // namespace
}  // namespace stab::store
