// SPDX-License-Identifier: MIT
// What one user may take of the memory and the disk of root's daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fd.h"
#include "stabd/protocol/messages.h"
#include "tests/system/users.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Shares : public Users {};

TEST_F(Shares, AnswersThatOneDoesNotReadHaveABound) {
  restart("[limits]\nunread_of_user = \"3MiB\"\n");
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  // Most of the answer to 'status' is the plan.
  const std::string large = "61234/large.toml";
  lab_.write(large, "# " + std::string(900'000, 'x') +
                        "\n[experiment]\nname = \"large\"\n[[benchmark]]\nname = \"b\"\n"
                        "run = [\"true\"]\nrepetitions = 1\n");
  ASSERT_EQ(as(ada, {"submit", lab_.path(large)}).code, 0);
  std::string says = R"({"verb":"hello","protocol":)" + std::to_string(protocol::version) +
                     R"(,"version":"x"})" + "\n";
  for (int i = 0; i < 4; ++i)
    says += R"({"verb":"status","id":1})"
            "\n";
  {
    // Each alone has less than the bound, and its next question waits until it has read.
    const Idle one(ada, 1, says);
    EXPECT_EQ(as(ada, {"status", "1", "--json"}).code, 0);
    EXPECT_EQ(read_file(log(), 1 << 20)->find("hung up"), std::string::npos);
  }
  const Idle many(ada, 8, says);
  EXPECT_TRUE(many.is_hung_up_on());
  EXPECT_TRUE(wait_for_text(log(), "of user 61234 is hung up on: "));
  for (const uid_t user : {bob, uid_t{0}}) EXPECT_EQ(as(user, {"list"}).code, 0);
  EXPECT_EQ(as(0, {"status", "1"}).code, 0);
}

// Archives go through the daemon; files are their users' own.
class Archives : public Users {
 protected:
  void SetUp() override {
    Users::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const uid_t user : {ada, bob})
      ASSERT_EQ(chown(lab_.path(std::to_string(user)).c_str(), user, user), 0);
    restart("[limits]\nimport_bytes_of_user = \"1GiB\"\n");
    ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  }
  std::string file_of(uid_t user) const { return lab_.path(std::to_string(user) + "/kept.stab"); }
  static bool nothing_is_on_its_way() { return spools() == 0; }
  static int spools() {
    int count = 0;
    std::error_code none;
    for ([[maybe_unused]] const auto& each : fs::directory_iterator("/var/lib/stabd/spool", none))
      ++count;
    return count;
  }
  // But for its number.
  json report(uid_t user, const std::string& id) const {
    json shown = json::parse(as(user, {"report", "--json", id}).out);
    shown.erase("id");
    return shown;
  }
};

TEST_F(Archives, OfUsersGoThroughTheDaemonAndComeBackAsTheirOwn) {
  const Output written = as(ada, {"export", "1", "--archive", file_of(ada)});
  ASSERT_EQ(written.code, 0) << written.err;
  struct stat status{};
  ASSERT_EQ(stat(file_of(ada).c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, ada);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_THAT(as(bob, {"export", "1", "--archive", file_of(bob)}).err,
              HasSubstr("there is no experiment 1"));
  EXPECT_THAT(as(bob, {"import", file_of(ada)}).err, HasSubstr("Permission denied"));
  // What is there is not replaced, and what somebody may not write is not written for them.
  EXPECT_THAT(as(ada, {"export", "1", "--archive", file_of(ada)}).err,
              HasSubstr("is there already"));
  EXPECT_EQ(as(ada, {"export", "1", "--archive", file_of(bob)}).code, 1);
  EXPECT_FALSE(fs::exists(file_of(bob)));

  ASSERT_EQ(chmod(file_of(ada).c_str(), 0644), 0);
  const Output imported = as(bob, {"import", "--json", file_of(ada)});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(json::parse(imported.out)["id"], 2);
  EXPECT_THAT(as(bob, {"list"}).out, HasSubstr("done              3 trials"));
  EXPECT_THAT(as(ada, {"status", "2"}).err, HasSubstr("there is no experiment 2"));
  EXPECT_EQ(report(bob, "2"), report(ada, "1"));
  EXPECT_EQ(as(bob, {"export", "2"}).out, as(ada, {"export", "1"}).out);
  EXPECT_THAT(as(bob, {"logs", "2"}).out, HasSubstr("imported from " + file_of(ada) + " by user"));
  EXPECT_TRUE(nothing_is_on_its_way());
}

TEST_F(Archives, ThatAreNoneAreRefusedAndNothingStays) {
  lab_.write("61235/none.stab", "this is no database at all, but a text of some length\n");
  lab_.write("61235/empty.stab", "");
  for (const char* name : {"61235/none.stab", "61235/empty.stab"}) {
    const Output refused = as(bob, {"import", lab_.path(name)});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr(lab_.path(name) + " is not imported: "));
  }
  ASSERT_EQ(as(ada, {"export", "1", "--archive", file_of(ada)}).code, 0);
  const auto forge = [&](const std::string& sql) {
    fs::copy_file(file_of(ada), lab_.path("forged.stab"), fs::copy_options::overwrite_existing);
    EXPECT_EQ(run_program({"/usr/bin/sqlite3", lab_.path("forged.stab"), sql}, "/").code, 0);
    const Output refused = as(0, {"import", lab_.path("forged.stab")});
    EXPECT_EQ(refused.code, 1);
    return refused.err;
  };
  EXPECT_THAT(forge("UPDATE trial SET wall_ns = 1 WHERE position = 1"), HasSubstr("it is damaged"));
  EXPECT_THAT(forge("CREATE VIEW v AS SELECT 1"), HasSubstr("views or triggers"));
  EXPECT_THAT(forge("CREATE TRIGGER t AFTER INSERT ON trial BEGIN SELECT 1; END"),
              HasSubstr("views or triggers"));
  EXPECT_THAT(as(0, {"list", "--json"}).out, Not(HasSubstr("\"id\": 2")));
  EXPECT_TRUE(nothing_is_on_its_way());
}

TEST_F(Archives, OfAPlanWithRootsRightsHaveNoneOfThem) {
  lab_.write("rights.toml",
             "[experiment]\nname = \"rights\"\nprivileges = true\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"sh\", \"-c\", \"grep CapEff /proc/self/status >&2; exit 1\"]\n"
             "repetitions = 1\n");
  ASSERT_EQ(as(0, {"submit", "--wait", lab_.path("rights.toml")}).code, 5);
  EXPECT_THAT(as(0, {"logs", "2"}).out, Not(HasSubstr("CapEff:\t0000000000000000")));
  ASSERT_EQ(as(0, {"export", "2", "--archive", lab_.path("rights.stab")}).code, 0);
  ASSERT_EQ(chmod(lab_.path("rights.stab").c_str(), 0644), 0);
  ASSERT_EQ(as(bob, {"import", lab_.path("rights.stab")}).code, 0);
  ASSERT_EQ(as(bob, {"retry", "3"}).code, 0);
  EXPECT_EQ(as(bob, {"watch", "3"}).code, 5);
  EXPECT_THAT(as(bob, {"logs", "3"}).out, HasSubstr("CapEff: 0000000000000000"));
}

TEST_F(Archives, ThatWereSentInPartLeaveNothingWhenTheirSenderGoes) {
  const std::string says = R"({"verb":"hello","protocol":)" + std::to_string(protocol::version) +
                           R"(,"version":"x"})"
                           "\n"
                           R"({"verb":"import","piece":"U1FMaXRl","last":false})"
                           "\n";
  {
    const Idle sender(ada, 3, says);
    for (int i = 0; i < 600 && spools() < 3; ++i) usleep(100'000);
    EXPECT_EQ(spools(), 3);
  }
  for (int i = 0; i < 600 && spools() > 0; ++i) usleep(100'000);
  EXPECT_EQ(spools(), 0);
  // What a killed daemon leaves goes with the next one's start.
  const Idle sender(ada, 3, says);
  for (int i = 0; i < 600 && spools() < 3; ++i) usleep(100'000);
  kill(daemon_, SIGKILL);
  EXPECT_EQ(end_of(daemon_), -SIGKILL);
  EXPECT_EQ(spools(), 3);
  start_daemon({});
  EXPECT_EQ(as(ada, {"list"}).code, 0);
  EXPECT_EQ(spools(), 0);
}

TEST_F(Archives, OnTheirWayHaveABound) {
  ASSERT_EQ(as(ada, {"export", "1", "--archive", file_of(ada)}).code, 0);
  restart("[limits]\nimport_bytes_of_user = \"50KiB\"\n");
  const Output refused = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("of archives at once, and 50 KiB are allowed"));
  EXPECT_EQ(as(0, {"import", file_of(ada)}).code, 0);
  restart("");
  const Output none = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("only root and the user of stabd may import an archive"));
  EXPECT_TRUE(nothing_is_on_its_way());
}

}  // namespace
}  // namespace stab::test
