// SPDX-License-Identifier: MIT
// Plans whose levels are revisions of a git repository, through the real command.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Versions : public ::testing::Test {
 protected:
  // The program prints what its revision says; a submodule has a part of it.
  void SetUp() override {
    const std::string made = git(R"(mkdir part && cd part && git init -q -b main .
echo 'echo part 1' >part.sh && git add -A && git commit -qm part && cd ..
mkdir repo && cd repo && git init -q -b main . && mkdir bench
git -c protocol.file.allow=always submodule --quiet add ../part bench/part
echo 'echo first' >bench/say.sh && echo '*.o' >.gitignore
git add -A && git commit -qm one && git tag first
echo 'echo second' >bench/say.sh && git commit -qam two
echo 'echo third' >bench/say.sh && touch bench/stale.o)");
    ASSERT_EQ(made, "");
    lab_.write("repo/bench/plan.toml", plan(R"(["first", "main", "."])"));
  }
  static std::string plan(const std::string& revisions) {
    return "[experiment]\nname = \"versions\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 2\n"
           "build = \"{ echo '#!/bin/sh'; cat say.sh part/part.sh; ls | sed 's/^/echo /'; } "
           ">${OUT}; chmod +x "
           "${OUT}\"\n"
           "run = [\"/bin/sh\", \"${OUT}\"]\n[factor.version]\nrevisions = " +
           revisions + "\n";
  }
  // Its error; "" if there was none.
  std::string git(const std::string& script) const {
    const Output ran =
        run_program({"/bin/bash", "-ec",
                     "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
                     "GIT_COMMITTER_EMAIL=a@b\n" +
                         script},
                    lab_.folder());
    return ran.code == 0 ? "" : ran.err + "exit code " + std::to_string(ran.code);
  }
  std::string commit(const std::string& revision) const {
    std::string name =
        run_program({"/usr/bin/git", "-C", lab_.path("repo"), "rev-parse", revision}, lab_.folder())
            .out;
    if (!name.empty()) name.pop_back();
    return name;
  }
  // What the builds of each level were made of.
  std::map<std::string, std::string> commands(const std::string& state) const {
    const Output rows = lab_.ctl(
        {"sql", "--state", state, "--json", "SELECT command, status FROM build ORDER BY id"});
    std::map<std::string, std::string> found;
    for (const json& row : json::parse(rows.out)["rows"]) {
      const std::string command = row[0];
      found[command.substr(0, command.find('\n'))] = row[1].dump();
    }
    return found;
  }

  Lab lab_;
};

TEST_F(Versions, AreBuiltFromTheirOwnFilesAndStoredAsCommits) {
  const Output ran =
      lab_.ctl({"run", "--state", lab_.path("state"), "--full", lab_.path("repo/bench/plan.toml")});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("version: first is commit " + commit("first").substr(0, 12)));
  EXPECT_THAT(ran.out, HasSubstr("working-tree is the working tree"));
  const auto built = commands(lab_.path("state"));
  EXPECT_EQ(built.size(), 3U);
  EXPECT_TRUE(built.contains("# sources: " + commit("first")));
  EXPECT_TRUE(built.contains("# sources: " + commit("main")));
  EXPECT_TRUE(built.contains("# sources: working-tree"));

  // Each prints its own words, and no build saw what git ignores.
  const json trials =
      json::parse(lab_.ctl({"export", "--state", lab_.path("state"), "--format", "json"}).out);
  std::map<std::string, std::set<std::string>> printed;
  for (const json& trial : trials)
    printed[trial["version"]].insert(trial["stdout_sha256"].get<std::string>());
  ASSERT_EQ(printed.size(), 3U) << trials.dump(1).substr(0, 2000);
  std::set<std::string> all;
  for (const auto& [level, digests] : printed) {
    EXPECT_EQ(digests.size(), 1U) << level;
    all.insert(digests.begin(), digests.end());
  }
  EXPECT_EQ(all.size(), 3U);
  // Nothing of the repository has changed.
  EXPECT_EQ(
      git("cd repo; test \"$(git status --porcelain)\" = ' M bench/say.sh\n?? bench/plan.toml'"),
      "");
}

TEST_F(Versions, StayThoseThatTheyWereWhenABranchGoesOn) {
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  const int id = lab_.submit("repo/bench/plan.toml");
  ASSERT_GT(id, 0);
  const std::string before = commit("main");
  ASSERT_EQ(git("cd repo; echo 'echo fourth' >bench/say.sh; git commit -qam four"), "");
  ASSERT_EQ(lab_.ctl({"resume", "--queue"}).code, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
  const auto built = commands(lab_.path("state"));
  EXPECT_TRUE(built.contains("# sources: " + before));
  EXPECT_FALSE(built.contains("# sources: " + commit("main")));
}

TEST_F(Versions, CheckSaysWhichCommitsTheyAre) {
  const Output text = lab_.ctl({"check", lab_.path("repo/bench/plan.toml")});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("version first: commit " + commit("first") + "\n"),
                    HasSubstr("version main: commit " + commit("main") + "\n"),
                    HasSubstr("version working-tree: the working tree"), HasSubstr("3 builds")));
  const json data =
      json::parse(lab_.ctl({"check", "--json", lab_.path("repo/bench/plan.toml")}).out);
  ASSERT_EQ(data["revisions"].size(), 3U);
  EXPECT_EQ(data["revisions"][0]["commit"], commit("first"));
  EXPECT_TRUE(data["revisions"][2]["commit"].is_null());
}

TEST_F(Versions, ThatAreNoneAreRefusedBeforeAnythingIsMeasured) {
  const auto refused = [&](const std::string& revisions, const std::string& file) {
    lab_.write(file, plan(revisions));
    const Output ran = lab_.ctl({"run", "--state", lab_.path("never"), lab_.path(file)});
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_FALSE(fs::exists(lab_.path("never")));
    return ran.err;
  };
  EXPECT_THAT(refused(R"(["main", "mian"])", "repo/bench/plan.toml"),
              HasSubstr("'factor.version': mian is not a revision of the repository in "));
  EXPECT_THAT(refused(R"(["main", "HEAD"])", "repo/bench/plan.toml"),
              HasSubstr("are the same revision"));
  EXPECT_THAT(refused(R"(["main", "."])", "plan.toml"), HasSubstr("must be in a git repository"));
  EXPECT_THAT(refused(R"(["first", "."])", "repo/later/plan.toml"),
              HasSubstr("the revision first does not contain later"));
}

// A client of somebody else's may send any plan.
TEST_F(Versions, ADaemonTakesCommitsOnly) {
  ASSERT_TRUE(lab_.start_daemon());
  const Fd socket = lab_.connect();
  const auto say = [&](const json& request) {
    EXPECT_TRUE(write_all(socket.get(), request.dump() + "\n"));
    std::string line;
    for (char c = 0; read(socket.get(), &c, 1) == 1 && c != '\n';) line += c;
    return json::parse(line);
  };
  const json hello = say({{"verb", "hello"}, {"protocol", protocol::version}});
  ASSERT_TRUE(hello["ok"].get<bool>()) << hello;
  const json answer = say({{"verb", "submit"},
                           {"plan", plan(R"(["main", "--upload-pack=x"])")},
                           {"directory", lab_.path("repo/bench")}});
  EXPECT_FALSE(answer["ok"].get<bool>());
  const json other = say({{"verb", "submit"},
                          {"plan", plan(R"(["main", "."])")},
                          {"directory", lab_.path("repo/bench")}});
  EXPECT_FALSE(other["ok"].get<bool>());
  EXPECT_THAT(other["error"].get<std::string>(),
              HasSubstr("'main' of factor.version has not been resolved to a commit"));
}

// A commit that the plan names itself is looked for, too.
TEST_F(Versions, WhoseCommitIsNotThereAreRefused) {
  lab_.write("repo/bench/plan.toml",
             plan(R"(["gone", "."])") + "[revisions]\ngone = \"" + std::string(40, 'a') + "\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  const Output submitted = lab_.ctl({"submit", lab_.path("repo/bench/plan.toml")});
  EXPECT_EQ(submitted.code, 1);
  EXPECT_THAT(submitted.err, HasSubstr("is not a revision of the repository"));
}

// A tracked folder that looks like a repository, which would fetch what it lacks by a command.
TEST_F(Versions, CheckRunsNothingThatAForeignRepositoryNames) {
  ASSERT_EQ(git(R"(mkdir -p repo/evil/objects repo/evil/refs/heads && cd repo/evil
commit=1111111111111111111111111111111111111111
echo $commit >HEAD; echo $commit >refs/heads/main
cat >config <<END
[core]
  repositoryformatversion = 1
  bare = false
  worktree = .
  fsmonitor = touch $PWD/../../ran #
[extensions]
  partialClone = origin
[remote "origin"]
  url = ext::sh -c touch% $PWD/../../ran
  promisor = true
[protocol "ext"]
  allow = always
END
)"),
            "");
  const auto is_trap = [&](const std::string& commands) {
    EXPECT_EQ(git("cd repo; { " + commands + "; } >said 2>&1 || true; rm said"), "");
    return fs::remove(lab_.path("ran"));
  };
  ASSERT_TRUE(is_trap("git -C evil rev-parse HEAD^{commit}"));
  lab_.write("repo/evil/plan.toml", plan(R"(["main", "HEAD"])"));
  const Output bare = lab_.ctl({"check", lab_.path("repo/evil/plan.toml")});
  EXPECT_EQ(bare.code, 1);
  EXPECT_THAT(bare.err, HasSubstr("bare repository"));
  EXPECT_FALSE(fs::exists(lab_.path("ran")));

  // And a whole one that was unpacked.
  ASSERT_EQ(git(R"(cd repo && commit=1111111111111111111111111111111111111111
git config core.fsmonitor "touch $PWD/../ran #" && git config filter.x.clean "touch $PWD/../ran; cat"
mkdir -p .git/hooks && printf '#!/bin/sh\ntouch %s/../ran\n' "$PWD" >.git/hooks/post-index-change
chmod +x .git/hooks/*; echo '* filter=x' >.git/info/attributes
git config remote.origin.url "ext::sh -c touch% $PWD/../ran" && git config remote.origin.promisor true
git config extensions.partialClone origin && git config protocol.ext.allow always
git config core.repositoryFormatVersion 1; touch bench/say.sh)"),
            "");
  ASSERT_TRUE(is_trap("git cat-file -e 1111111111111111111111111111111111111111"));
  ASSERT_TRUE(is_trap("git status"));
  lab_.write("repo/bench/plan.toml", plan(R"(["first", "gone", "."])") + "[revisions]\ngone = \"" +
                                         std::string(40, '1') + "\"\n");
  const Output whole = lab_.ctl({"check", lab_.path("repo/bench/plan.toml")});
  EXPECT_EQ(whole.code, 1) << whole.out;
  EXPECT_FALSE(fs::exists(lab_.path("ran"))) << whole.err;
  lab_.write("repo/bench/plan.toml", plan(R"(["first", "main", "."])"));
  const Output good = lab_.ctl({"check", lab_.path("repo/bench/plan.toml")});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_FALSE(fs::exists(lab_.path("ran")));
}

TEST_F(Versions, MayHaveTheirSourcesInASubmodule) {
  std::string text = plan(R"(["first", "main", "."])");
  text.insert(text.find("build ="), "sources = [\"say.sh\", \"part\"]\n");
  lab_.write("repo/bench/plan.toml", text);
  const Output ran =
      lab_.ctl({"run", "--state", lab_.path("state"), lab_.path("repo/bench/plan.toml")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(commands(lab_.path("state")).size(), 3U);
}

// Plans are read as the git of builds will see the repository, not as the caller's does.
TEST_F(Versions, AreReadWithoutTheCallersVariables) {
  ASSERT_EQ(git("git init -q --bare other"), "");
  const auto check_with = [&](std::vector<std::string> variables) {
    variables.insert(variables.begin(), "/usr/bin/env");
    variables.insert(variables.end(), {std::string(STAB_BIN_DIR) + "/stabctl", "check",
                                       lab_.path("repo/bench/plan.toml")});
    return run_program(variables, lab_.folder());
  };
  const Output ran = check_with({"GIT_DIR=" + lab_.path("other"), "GIT_CONFIG_COUNT=1",
                                 "GIT_CONFIG_KEY_0=core.bare", "GIT_CONFIG_VALUE_0=true"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("version first: commit " + commit("first")));
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody's sudo";
  // With sudo git takes the caller's own repositories; builds do not run with it.
  constexpr unsigned somebody = 61234;
  ASSERT_EQ(chown(lab_.path("repo").c_str(), somebody, somebody), 0);
  const Output sudo = check_with({fmt::format("SUDO_UID={}", somebody)});
  EXPECT_EQ(sudo.code, 1);
  EXPECT_THAT(sudo.err, AllOf(HasSubstr("dubious ownership"), HasSubstr("safe.directory"),
                              HasSubstr("root does the building")));
}

}  // namespace
}  // namespace stab::test
