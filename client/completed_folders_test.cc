// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "client/verbs.h"
#include "store/test_support.h"

namespace stab::client {
namespace {

using ::testing::ElementsAre;

// Counts the columns of trials that new statements read, on all connections that open meanwhile.
int columns_of_trials = 0;

int note_column(void*, int action, const char* table, const char*, const char*, const char*) {
  if (action == SQLITE_READ && table != nullptr && std::string_view(table) == "trial")
    ++columns_of_trials;
  return SQLITE_OK;
}

struct WatchedConnections {
  WatchedConnections() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  WatchedConnections(const WatchedConnections&) = delete;
  WatchedConnections& operator=(const WatchedConnections&) = delete;
  ~WatchedConnections() { sqlite3_reset_auto_extension(); }
  static int watch(sqlite3* database, char**, const sqlite3_api_routines*) {
    return sqlite3_set_authorizer(database, note_column, nullptr);
  }
};

// A shell waits less than a second, and a folder may have a million trials.
TEST(CompletedFolders, AreListedWithoutTheirTrials) {
  const store::TemporaryDirectory folder;
  const std::string runs = folder / "runs";
  const std::string run = runs + "/one";
  std::filesystem::create_directories(run);
  {
    const auto database = store::open_or_fail(run + "/stabd.db");
    const store::Id id = database->add_experiment(store::example_experiment()).value();
    ASSERT_TRUE(database->add_trial(store::example_trial(id, 0)));
  }
  const WatchedConnections watched;
  EXPECT_THAT(completed_folders(runs, ""), ElementsAre(run + "\tsort (running)"));
  EXPECT_THAT(completed_folders(runs, runs + "/t"), ElementsAre());
  EXPECT_EQ(columns_of_trials, 0);
  auto reader = store::Reader::open(run + "/stabd.db");
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_TRUE((*reader)->progress(1));
  EXPECT_GT(columns_of_trials, 0) << "the test would not notice";
}

}  // namespace
}  // namespace stab::client
