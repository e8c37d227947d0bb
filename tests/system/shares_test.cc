// SPDX-License-Identifier: MIT
// What one user may take of the memory and the disk of root's daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "base/fd.h"
#include "protocol/messages.h"
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
    // Each alone has less than the bound, and its next question waits until it has read. The daemon
    // has taken all its questions in one turn before it answers another client.
    const Idle one(ada, 1, says);
    EXPECT_EQ(as(ada, {"status", "1", "--json"}).code, 0);
    EXPECT_EQ(read_file(log(), 1 << 20)->find("hung up"), std::string::npos);
  }
  {
    // The same questions where the bound is lower than what one may leave unread.
    restart("[limits]\nunread_of_user = \"1MiB\"\n");
    const Idle one(ada, 1, says);
    EXPECT_TRUE(one.is_hung_up_on());
    EXPECT_TRUE(wait_for_text(log(), "of user 61234 is closed, because"));
  }
  restart("[limits]\nunread_of_user = \"3MiB\"\n");
  const Idle many(ada, 8, says);
  EXPECT_TRUE(many.is_hung_up_on());
  EXPECT_TRUE(wait_for_text(log(), "of user 61234 is closed, because"));
  for (const uid_t user : {bob, uid_t{0}}) EXPECT_EQ(as(user, {"list"}).code, 0);
  EXPECT_EQ(as(0, {"status", "1"}).code, 0);
}

// A descriptor of that number would not be closed with its connection.
TEST_F(Shares, NoConnectionIsAStandardStream) {
  const Idle several(ada, 4, "\n");
  for (const char* number : {"0", "1", "2"})
    EXPECT_THAT(fs::read_symlink("/proc/" + std::to_string(daemon_) + "/fd/" + number).string(),
                Not(HasSubstr("socket:")));
}

// Such memory is mapped by no process and lies in no file.
TEST_F(Shares, MemoryInPipesCountsForTheLimitOfMemory) {
  ASSERT_EQ(as(ada, {"submit", "--wait", "--fail-on", "trials", plan_of(ada)}).code, 0);
  if (as(ada, {"logs", "1"}).out.contains("trials have no cgroup"))
    GTEST_SKIP() << "this machine gives stabd no cgroups";
  if (read_file("/proc/cmdline", 1 << 16).value_or("").contains("nokmem"))
    GTEST_SKIP() << "this kernel does not count its own memory";
  const auto setting = [](const char* name) {
    return std::atoi(read_file(std::string("/proc/sys/fs/") + name, 100).value_or("").c_str());
  };
  const int pages = setting("pipe-user-pages-soft");
  if (setting("pipe-max-size") < 1 << 20 || (pages != 0 && pages < 16384))
    GTEST_SKIP() << "users may not have pipes with so much memory here";
  // 1031 is F_SETPIPE_SZ.
  const std::string fill =
      "my $x = 'x' x 1048576; my @pipes; for (1..$ARGV[0]) { pipe(my $r, my $w) or die; "
      "fcntl($w, 1031, 1048576) or die; syswrite($w, $x) == 1048576 or die; "
      "push @pipes, $r, $w }";
  lab_.write("61234/fill.pl", fill + "\n");
  lab_.write("61234/pipes.toml",
             "[experiment]\nname = \"pipes\"\n[defaults]\nrepetitions = 2\n"
             "memory_limit = \"32MiB\"\noutput_limit = \"64KiB\"\n"
             "[[benchmark]]\nname = \"many\"\nrun = [\"perl\", \"fill.pl\", \"56\"]\n"
             "[[benchmark]]\nname = \"few\"\nrun = [\"perl\", \"fill.pl\", \"2\"]\n");
  as(ada, {"submit", "--wait", lab_.path("61234/pipes.toml")});
  const json trials = json::parse(as(ada, {"export", "--format", "json", "2"}).out);
  EXPECT_FALSE(trials.empty());
  for (const json& trial : trials)
    EXPECT_EQ(trial["status"], trial["benchmark"] == "few" ? "ok" : "over_limit") << trial;
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
  EXPECT_THAT(as(ada, {"export", "1", "--archive", file_of(ada)}).err, HasSubstr("already exists"));
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
  EXPECT_THAT(forge("UPDATE trial SET wall_ns = 1 WHERE position = 1"),
              HasSubstr("the archive is damaged"));
  // What would run in a schema, or is not there by right.
  for (const char* sql :
       {"CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON trial BEGIN SELECT 1; END",
        "ALTER TABLE trial ADD COLUMN x INTEGER AS (abs(id))",
        "ALTER TABLE event ADD COLUMN x TEXT DEFAULT 'y'", "CREATE INDEX i ON trial (abs(seed))",
        "CREATE TABLE more (id)", "DROP INDEX event_of_experiment", "ANALYZE",
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'kind TEXT NOT "
        "NULL', 'kind TEXT NOT NULL CHECK (kind > 0)') WHERE name = 'event'",
        "PRAGMA user_version = 1000"})
    EXPECT_THAT(forge(sql), HasSubstr("the database's schema ")) << sql;
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

// Root's daemon would wait for Slurm, and nobody else's experiment would run meanwhile.
TEST_F(Archives, OfAPlanForAClusterDoNotRunForUsers) {
  lab_.write("cluster.toml",
             "[experiment]\nname = \"cluster\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
             "repetitions = 1\n[machines]\nengine = \"slurm\"\n");
  ASSERT_EQ(as(0, {"pause", "--queue"}).code, 0);
  ASSERT_EQ(as(0, {"submit", lab_.path("cluster.toml")}).code, 0);
  ASSERT_EQ(as(0, {"cancel", "2"}).code, 0);
  ASSERT_EQ(as(0, {"resume", "--queue"}).code, 0);
  ASSERT_EQ(as(0, {"export", "2", "--archive", lab_.path("cluster.stab")}).code, 0);
  ASSERT_EQ(chmod(lab_.path("cluster.stab").c_str(), 0644), 0);
  ASSERT_EQ(as(bob, {"import", lab_.path("cluster.stab")}).code, 0);
  ASSERT_EQ(as(bob, {"retry", "3"}).code, 0);
  EXPECT_EQ(as(bob, {"watch", "3"}).code, 5);
  EXPECT_THAT(joined(as(bob, {"status", "3"}).out),
              HasSubstr("only root and stabd's own user may run experiments on a cluster"));
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
  EXPECT_THAT(refused.err, HasSubstr("but the limit is 50 KiB"));
  EXPECT_EQ(as(0, {"import", file_of(ada)}).code, 0);
  restart("");
  const Output none = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("only root and stabd's own user may import an archive"));
  EXPECT_TRUE(nothing_is_on_its_way());
}

// With archives of some megabytes.
class LargeArchives : public Archives {
 protected:
  void SetUp() override {
    Archives::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    lab_.write(
        "61234/large.toml",
        "[experiment]\nname = \"large\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", "
        "\"head -c 16000 /dev/zero | tr '\\\\0' x >&2\"]\nrepetitions = 300\n");
    ASSERT_EQ(as(ada, {"submit", "--wait", lab_.path("61234/large.toml")}).code, 0);
  }
  static std::string stored(const std::string& sql) {
    return run_program({"/usr/bin/sqlite3", "-readonly", "/var/lib/stabd/stabd.db", sql}, "/").out;
  }
  static bool comes_to_be(const std::string& sql, const std::string& wanted) {
    for (int i = 0; i < 3000; ++i, usleep(20'000))
      if (stored(sql) == wanted + "\n") return true;
    return false;
  }
  static bool runs(pid_t child) { return waitpid(child, nullptr, WNOHANG) == 0; }
};

TEST_F(LargeArchives, OfOneUserAreRemovedAndImportedBesideThoseOfAnother) {
  ASSERT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
  const std::string small = lab_.path("61235/small.stab");
  ASSERT_EQ(as(bob, {"submit", "--wait", plan_of(bob)}).code, 0);
  ASSERT_EQ(as(bob, {"export", "3", "--archive", small}).code, 0);
  // Pieces go between trials, of which there is one in a while.
  lab_.write("slow.toml",
             "[experiment]\nname = \"slow\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.3\"]\nrepetitions = 100000\n");
  ASSERT_EQ(as(0, {"submit", lab_.path("slow.toml")}).code, 0);
  ASSERT_TRUE(comes_to_be("SELECT count(*) FROM trial WHERE experiment = 4 AND position = 1", "1"));
  const std::string on_its_way = "SELECT count(*) FROM experiment WHERE state = 'removing'";
  // Whether `work` of another user was done before a large import had ended.
  const auto beside = [&](const auto& work) {
    EXPECT_TRUE(comes_to_be(on_its_way, "0"));
    const pid_t large = start_program(command(ada, {"import", file_of(ada)}), lab_.folder(),
                                      lab_.path("import.log"));
    EXPECT_TRUE(comes_to_be(on_its_way, "1"));
    work();
    if (!runs(large)) return false;
    kill(large, SIGKILL);
    EXPECT_EQ(end_of(large), -SIGKILL);
    return true;
  };
  std::string id;
  const auto import_small = [&] {
    const Output imported = as(bob, {"import", small, "--json"});
    ASSERT_EQ(imported.code, 0) << imported.err;
    id = std::to_string(json::parse(imported.out).at("id").get<int>());
  };
  const auto remove_small = [&] {
    ASSERT_EQ(as(bob, {"rm", id}).code, 0);
    EXPECT_TRUE(comes_to_be("SELECT count(*) FROM experiment WHERE id = " + id, "0"));
  };
  // After some seconds the large import no longer waits for trials, so a slow machine may need more
  // than one attempt to be quicker than it.
  bool imported_beside = false;
  for (int attempt = 0; attempt < 10 && !imported_beside; ++attempt)
    imported_beside = beside(import_small);
  EXPECT_TRUE(imported_beside);
  bool removed_beside = false;
  for (int attempt = 0; attempt < 10 && !removed_beside; ++attempt) {
    import_small();
    removed_beside = beside(remove_small);
  }
  EXPECT_TRUE(removed_beside);
}

TEST_F(LargeArchives, ThatAreNotReadHaveABoundOnTheDisk) {
  ASSERT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
  const auto answer = fs::file_size(file_of(ada)) / 3 * 4;
  ASSERT_GT(answer, std::uintmax_t{4} << 20);
  restart("[limits]\nunread_of_user = \"1MiB\"\n");
  ASSERT_EQ(as(bob, {"submit", "--wait", plan_of(bob)}).code, 0);
  const auto taken = [] { return fs::space("/var/lib").capacity - fs::space("/var/lib").free; };
  const auto before = taken();
  {
    const std::string says = R"({"verb":"hello","protocol":)" + std::to_string(protocol::version) +
                             R"(,"version":"x"})"
                             "\n"
                             R"({"verb":"export","id":2,"format":"archive"})"
                             "\n";
    const Idle many(ada, 8, says);
    // The first answer is there when this is: readers of one user are one after another. What is
    // asked behind it is answered in the time that the others would take.
    const auto enough = [&] { return taken() - before > answer; };
    for (int i = 0; i < 600 && !enough(); ++i) usleep(10'000);
    for (int i = 0; i < 15; ++i) EXPECT_EQ(as(bob, {"export", "3", "--format", "csv"}).code, 0);
    EXPECT_LT(taken() - before, 2 * answer);
  }
  // Others of hers are answered when those are gone.
  fs::remove(file_of(ada));
  EXPECT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
}

// The experiment would take far more than the limit, although the archive alone has room enough.
TEST_F(LargeArchives, LeaveRoomForTheRunningExperimentOfTheirUser) {
  ASSERT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
  ASSERT_EQ(as(ada, {"rm", "2"}).code, 0);
  ASSERT_TRUE(comes_to_be("SELECT count(*) FROM experiment WHERE id = 2", "0"));
  restart("[limits]\nimport_bytes_of_user = \"1GiB\"\nstored_bytes_of_user = \"16MiB\"\n");
  lab_.write("61234/long.toml",
             "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.1\"]\nrepetitions = 100000\n");
  ASSERT_EQ(as(ada, {"submit", lab_.path("61234/long.toml")}).code, 0);
  ASSERT_TRUE(comes_to_be("SELECT count(*) > 3 FROM trial WHERE experiment = 3", "1"));
  const Output refused = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("and the one that is running will take about"));
  EXPECT_THAT(refused.err, HasSubstr("limits.stored_bytes_of_user allows 16 MiB: import the "
                                     "archive when it has ended"));
  EXPECT_EQ(stored("SELECT state FROM experiment WHERE id = 3"), "running\n");
  ASSERT_EQ(as(ada, {"cancel", "3"}).code, 0);
  const Output imported = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(imported.code, 0) << imported.err;
}

// The process that reads what a client sent.
TEST_F(LargeArchives, AreReadWithinBounds) {
  ASSERT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
  // Of a reader: its limits and what the kernel ends first; "": there is none now.
  const auto bounds = [] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/proc", none)) {
      const std::string folder = entry.path().string();
      if (!read_file(folder + "/cmdline", 4096).value_or("").contains("--reader")) continue;
      const auto limits = read_file(folder + "/limits", 1 << 14);
      const auto first = read_file(folder + "/oom_score_adj", 100);
      if (limits && first) return *limits + "first to go: " + *first;
    }
    return std::string();
  };
  const std::string written =
      std::to_string(8 * fs::file_size(file_of(ada)) + (std::uintmax_t{64} << 20));
  std::string seen;
  for (int i = 0; i < 20 && !seen.contains(written); ++i) {
    const pid_t import = start_program(command(ada, {"import", file_of(ada)}), lab_.folder(),
                                       lab_.path("import.log"));
    while (runs(import) && !seen.contains(written)) seen = bounds();
    // Readers have the lowest priority, so a busy machine may take long to end it.
    if (!runs(import)) continue;
    kill(import, SIGKILL);
    EXPECT_EQ(end_of(import), -SIGKILL);
  }
  EXPECT_TRUE(std::regex_search(seen, std::regex("Max file size +" + written + " "))) << seen;
  EXPECT_TRUE(std::regex_search(seen, std::regex("Max cpu time +[0-9]+ "))) << seen;
#ifndef STAB_SANITIZED
  EXPECT_TRUE(std::regex_search(seen, std::regex("Max address space +536870912 "))) << seen;
#endif
  EXPECT_THAT(seen, HasSubstr("first to go: 1000"));
}

TEST_F(LargeArchives, AreReadWithTheRightsOfTheirSender) {
  ASSERT_EQ(as(ada, {"export", "2", "--archive", file_of(ada)}).code, 0);
  // Returns the status of a reader that has taken the sender's rights, or "" if there is none now.
  const auto status = [] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/proc", none)) {
      const std::string folder = entry.path().string();
      if (!read_file(folder + "/cmdline", 4096).value_or("").contains("--reader")) continue;
      const std::string text = read_file(folder + "/status", 1 << 14).value_or("");
      if (text.contains("\nUid:\t61234\t61234\t61234\t61234\n")) return text;
    }
    return std::string();
  };
  // It takes the rights first and the filter last.
#ifdef STAB_SANITIZED
  constexpr const char* last = "\nNoNewPrivs:\t1\n";
#else
  constexpr const char* last = "\nSeccomp:\t2\n";
#endif
  const auto complete = [](const std::string& text) { return text.contains(last); };
  std::string seen;
  for (int i = 0; i < 20 && !complete(seen); ++i) {
    const pid_t import = start_program(command(ada, {"import", file_of(ada)}), lab_.folder(),
                                       lab_.path("import.log"));
    while (runs(import) && !complete(seen)) seen = status();
    if (!runs(import)) continue;
    kill(import, SIGKILL);
    EXPECT_EQ(end_of(import), -SIGKILL);
  }
  EXPECT_TRUE(complete(seen)) << seen;
  for (const char* line : {"\nGid:\t61234\t61234\t61234\t61234\n", "\nNoNewPrivs:\t1\n",
                           "\nCapPrm:\t0000000000000000\n", "\nCapEff:\t0000000000000000\n"})
    EXPECT_THAT(seen, HasSubstr(line));
  EXPECT_FALSE(std::regex_search(seen, std::regex("\nGroups:\t[0-9]")));
  // And it is enough.
  const Output imported = as(ada, {"import", file_of(ada)});
  EXPECT_EQ(imported.code, 0) << imported.err;
}

}  // namespace
}  // namespace stab::test
