// SPDX-License-Identifier: MIT
#include "worker/builder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "base/base64.h"
#include "base/fd.h"
#include "base/testing.h"
#include "base/time.h"
#include "machine/measured_run.h"
#include "worker/binary.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using namespace std::string_literals;
using store::BuildStatus;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* compile = "clang-22 -O1 -o ${OUT} hello.c";

class BuilderTest : public ::testing::Test {
 protected:
  BuilderTest() {
    folder_.write("plan/hello.c", "int puts(const char*);\nint main(void) { puts(\"hello\"); }\n");
  }
  void SetUp() override { ASSERT_TRUE(machine::adopt_orphans()); }

  // Each is as fresh as that of another experiment.
  static Builder fresh(int stop_fd = -1, std::string marker = "",
                       std::function<bool()> bind = nullptr) {
    return {machine::Containment::process_tree, stop_fd, std::move(marker), std::move(bind)};
  }
  [[nodiscard]] protocol::BuildRequest request(const std::string& command) const {
    return {.command = command,
            .directory = folder_ / "plan",
            .sources = {},
            .cache = folder_ / "cache",
            .timeout = 60s};
  }
  [[nodiscard]] protocol::BuildReply build(const std::string& command) const {
    return fresh().build(request(command));
  }
  // How often a command with this at its start has run.
  [[nodiscard]] std::string counted(const std::string& command) const {
    return "echo >>" + (folder_ / "runs") + "; " + command;
  }
  [[nodiscard]] std::size_t runs() const {
    const std::string lines = folder_.read("runs");
    return static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  }

  test::Folder folder_;
};

std::string text_of(const std::string& path) {
  return read_file(path, std::size_t{1} << 30).value_or("");
}

std::string output_of(const std::string& program) {
  machine::Launch launch;
  launch.argv = {program};
  launch.directory = "/";
  launch.timeout = 30s;
  launch.output_limit = 1000;
  return machine::run(launch).out;
}

// A descriptor that says: stop.
Fd stopping() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Fd();
  const Fd write_end(ends[1]);
  return Fd(ends[0]);
}

TEST_F(BuilderTest, AProgramIsBuiltOnceAndThenComesFromTheCache) {
  const auto first = build(counted(compile));
  ASSERT_EQ(first.status, BuildStatus::built) << first.output;
  EXPECT_EQ(output_of(first.out), "hello\n");
  EXPECT_EQ(first.binary_sha256.size(), 64U);
  EXPECT_GT(first.duration_ns, 0);

  const auto second = build(counted(compile));
  EXPECT_EQ(second.status, BuildStatus::cached);
  EXPECT_EQ(second.key, first.key);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.binary_sha256, first.binary_sha256);
  EXPECT_EQ(second.duration_ns, first.duration_ns);
  EXPECT_EQ(runs(), 1U);
}

const counters::Reading& reading_of(const protocol::BuildReply& reply, std::string_view name) {
  return *std::ranges::find(reply.readings, name, &counters::Reading::name);
}

TEST_F(BuilderTest, TheCacheKeepsWhatABuildTook) {
  const auto first = build(compile);
  ASSERT_EQ(first.status, BuildStatus::built) << first.output;
  ASSERT_EQ(first.readings.size(), 2U);
  EXPECT_GT(counters::to_double(reading_of(first, "compile-time").value), 0);
  EXPECT_EQ(reading_of(first, "code-size").value,
            counters::Number(code_size_of(first.out).value_or(0)));
  EXPECT_EQ(build(compile).readings, first.readings);

  // As an older one wrote it.
  const std::string complete = first.out.substr(0, first.out.rfind('/')) + "/complete";
  std::string record = text_of(complete);
  const std::size_t cpu = record.find("\"cpu_ns\"");
  ASSERT_NE(cpu, std::string::npos) << record;
  record.replace(cpu, 8, "\"of_old\"");
  ASSERT_TRUE(write_file_atomically(complete, record));
  const auto old = build(compile);
  EXPECT_EQ(old.status, BuildStatus::cached);
  EXPECT_EQ(reading_of(old, "compile-time").status, counters::Status::absent);
  EXPECT_THAT(reading_of(old, "compile-time").reason,
              HasSubstr("did not store the CPU time of builds"));
  EXPECT_EQ(reading_of(old, "code-size"), reading_of(first, "code-size"));
}

TEST_F(BuilderTest, WhatIsNoProgramHasNoSizeOfCode) {
  const auto script = build("printf '#!/bin/sh\\n' >${OUT}");
  ASSERT_EQ(script.status, BuildStatus::built) << script.output;
  EXPECT_THAT(reading_of(script, "code-size").reason, HasSubstr("not a 64-bit ELF program"));
  const auto nothing = build("true");
  ASSERT_EQ(nothing.status, BuildStatus::built) << nothing.output;
  EXPECT_EQ(nothing.readings.size(), 1U);
}

TEST_F(BuilderTest, ChangedSourcesAreAnotherBuild) {
  const auto before = build(compile);
  folder_.write("plan/hello.c", "int main(void) { return 3; }\n");
  const auto after = build(compile);
  ASSERT_EQ(after.status, BuildStatus::built) << after.output;
  EXPECT_NE(after.key, before.key);
  EXPECT_NE(after.binary_sha256, before.binary_sha256);
  EXPECT_EQ(output_of(before.out), "hello\n");
}

TEST_F(BuilderTest, OneExperimentSeesTheSourcesAsTheyWereAtItsFirstBuild) {
  Builder builder = fresh();
  const auto first = builder.build(request(compile));
  folder_.write("plan/hello.c", "#error changed in the meantime\n");
  EXPECT_EQ(builder.build(request(compile)).key, first.key);
  const auto other = builder.build(request("clang-22 -O2 -o ${OUT} hello.c"));
  EXPECT_EQ(other.status, BuildStatus::built) << other.output;
}

TEST_F(BuilderTest, AnExperimentThatGoesOnUsesWhatItBeganWith) {
  const auto first = build(compile);
  folder_.write("plan/hello.c", "#error changed in the meantime\n");
  protocol::BuildRequest again = request(compile);
  again.known_key = first.key;
  const auto resumed = fresh().build(again);
  EXPECT_EQ(resumed.status, BuildStatus::cached) << resumed.output;
  EXPECT_EQ(resumed.key, first.key);
  EXPECT_EQ(resumed.out, first.out);
  EXPECT_EQ(resumed.binary_sha256, first.binary_sha256);
}

TEST_F(BuilderTest, AnEarlierBuildThatIsDamagedOrGoneIsNotUsed) {
  const auto first = build(compile);
  protocol::BuildRequest again = request(compile);
  again.known_key = first.key;
  std::ofstream(first.out, std::ios::app) << "x";
  EXPECT_EQ(fresh().build(again).status, BuildStatus::built);
  again.known_key = std::string(32, '0');
  EXPECT_EQ(fresh().build(again).key, first.key);
}

TEST_F(BuilderTest, WhatIsNoKeyIsNotLookedFor) {
  const auto first = build(compile);
  folder_.write("cache/plan/complete", folder_.read("cache/" + first.key + "/complete"));
  fs::copy_file(first.out, folder_ / "cache/plan/out");
  protocol::BuildRequest again = request(compile);
  for (const std::string& key :
       {"plan"s, "../cache/plan"s, "./" + first.key.substr(2), first.key + "/"}) {
    again.known_key = key;
    EXPECT_EQ(fresh().build(again).out, first.out) << key;
  }
}

// Lets the program of a build travel from one cache to another one, as between two machines.
// `change` changes the pieces on their way.
protocol::KeepReply travel(const Builder& from, const std::string& cache,
                           const protocol::BuildReply& built, Builder& to,
                           const std::string& other_cache,
                           const std::function<void(protocol::KeepRequest&)>& change = nullptr) {
  protocol::KeepRequest keep{
      .cache = other_cache, .key = built.key, .binary_sha256 = built.binary_sha256};
  protocol::KeepReply kept = to.keep(keep);
  while (kept.error.empty() && !kept.is_there) {
    const auto piece = from.fetch({.cache = cache, .key = built.key, .offset = kept.arrived});
    if (!piece.error.empty()) return {.error = piece.error};
    keep.offset = kept.arrived;
    keep.size = piece.size;
    keep.mode = piece.mode;
    keep.complete = piece.complete;
    keep.bytes = piece.bytes;
    if (change) change(keep);
    kept = to.keep(keep);
  }
  return kept;
}

// More than two pieces.
const std::string large = std::string(compile) + " && head -c 500000 /dev/zero >>${OUT}";

TEST_F(BuilderTest, AProgramTravelsToAnotherMachineAndIsFoundThereByItsKey) {
  Builder from = fresh();
  const auto built = from.build(request(counted(large)));
  ASSERT_EQ(built.status, BuildStatus::built) << built.output;
  const std::string other = folder_ / "other";
  Builder to = fresh();
  const auto kept = travel(from, folder_ / "cache", built, to, other);
  EXPECT_EQ(kept.error, "");
  EXPECT_TRUE(kept.is_there);
  // Neither its sources nor a compiler are needed there.
  protocol::BuildRequest there = request("false");
  there.directory = folder_ / "nowhere";
  there.cache = other;
  there.known_key = built.key;
  const auto found = to.build(there);
  EXPECT_EQ(found.status, BuildStatus::cached) << found.output;
  EXPECT_EQ(found.key, built.key);
  EXPECT_EQ(found.binary_sha256, built.binary_sha256);
  EXPECT_EQ(found.duration_ns, built.duration_ns);
  EXPECT_EQ(found.readings.size(), built.readings.size());
  EXPECT_EQ(text_of(found.out), text_of(built.out));
  EXPECT_EQ(output_of(found.out), "hello\n");
  EXPECT_EQ(runs(), 1U);
  // The next worker there has it, too.
  Builder next = fresh();
  EXPECT_TRUE(
      next.keep({.cache = other, .key = built.key, .binary_sha256 = built.binary_sha256}).is_there);
}

TEST_F(BuilderTest, AProgramThatArrivesDamagedIsNotKept) {
  Builder from = fresh();
  const auto built = from.build(request(large));
  ASSERT_EQ(built.status, BuildStatus::built) << built.output;
  const std::string cache = folder_ / "cache";
  const std::string other = folder_ / "other";
  const auto flip = [](protocol::KeepRequest& keep) {
    std::string bytes = from_base64(keep.bytes).value();
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    keep.bytes = to_base64(bytes);
  };
  {
    Builder to = fresh();
    EXPECT_EQ(travel(from, cache, built, to, other, flip).error,
              "the program that arrived has another digest");
    EXPECT_FALSE(fs::exists(other + "/" + built.key));
    EXPECT_EQ(
        travel(from, cache, built, to, other, [](protocol::KeepRequest& keep) { keep.offset += 3; })
            .error,
        "the pieces of the program do not come in their order");
    EXPECT_NE(
        travel(from, cache, built, to, other, [](protocol::KeepRequest& keep) { keep.bytes = "?"; })
            .error,
        "");
    EXPECT_NE(to.keep({.cache = other, .key = "../x"}).error, "");
    EXPECT_TRUE(travel(from, cache, built, to, other).is_there);
  }
  // Nothing is left of what did not arrive.
  for (const auto& each : fs::directory_iterator(other))
    EXPECT_TRUE(each.path().filename().string().starts_with(built.key)) << each.path();
}

TEST_F(BuilderTest, OnlyAProgramThatIsAllOfItsBuildTravels) {
  Builder from = fresh();
  Builder to = fresh();
  const auto error_of = [&](const std::string& command) {
    const auto built = from.build(request(command));
    EXPECT_EQ(built.status, BuildStatus::built) << built.output;
    return travel(from, folder_ / "cache", built, to, folder_ / "other").error;
  };
  EXPECT_EQ(error_of(std::string(compile) + " && echo more >${OUT}.data"),
            "the build has made out.data beside ${OUT}");
  EXPECT_EQ(error_of("true"), "${OUT} is not a file that can be read");
  EXPECT_EQ(
      from.fetch({.cache = folder_ / "cache", .key = "0123456789abcdef0123456789abcdef"}).error,
      "this worker has no such build");
}

TEST_F(BuilderTest, AnotherCommandIsAnotherBuild) {
  const auto one = build(compile);
  const auto two = build("clang-22 -O1 -DX=2 -o ${OUT} hello.c");
  ASSERT_EQ(two.status, BuildStatus::built) << two.output;
  EXPECT_NE(two.key, one.key);
}

TEST_F(BuilderTest, AReplacedCompilerIsAnotherBuild) {
  folder_.write("tools/mycc", "#!/bin/sh\nexec clang-22 \"$@\"\n");
  folder_.make_executable("tools/mycc");
  const std::string command = (folder_ / "tools/mycc") + " -o ${OUT} hello.c";
  const auto before = build(command);
  ASSERT_EQ(before.status, BuildStatus::built) << before.output;
  folder_.write("tools/mycc", "#!/bin/sh\nexec clang-22 -O3 \"$@\"\n");
  EXPECT_NE(build(command).key, before.key);
}

TEST_F(BuilderTest, ADamagedBinaryIsBuiltAnew) {
  const auto good = build(compile);
  std::ofstream(good.out, std::ios::app) << "x";
  const auto again = build(compile);
  EXPECT_EQ(again.status, BuildStatus::built) << again.output;
  EXPECT_EQ(again.key, good.key);
  EXPECT_EQ(again.binary_sha256, good.binary_sha256);
  EXPECT_EQ(output_of(again.out), "hello\n");
  fs::remove(good.out);
  EXPECT_EQ(build(compile).status, BuildStatus::built);
}

TEST_F(BuilderTest, ABuildThatDidNotCompleteIsBuiltAnew) {
  const auto good = build(compile);
  const std::string complete = fs::path(good.out).parent_path() / "complete";
  for (const char* record : {"", "[]", "null", "{}", R"({"binary_sha256": 7, "duration_ns": 1})"}) {
    std::ofstream(complete) << record;
    EXPECT_EQ(build(compile).status, BuildStatus::built) << record;
  }
  fs::remove(complete);
  EXPECT_EQ(build(compile).status, BuildStatus::built);
  EXPECT_EQ(build(compile).status, BuildStatus::cached);
}

TEST_F(BuilderTest, ACommandThatDoesNotWriteItsOutputFails) {
  const auto reply = build("echo thinking >&2; true ${OUT}");
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("thinking"));
  EXPECT_THAT(reply.output, HasSubstr("did not write ${OUT}"));
  EXPECT_EQ(reply.error, "thinking");
}

TEST_F(BuilderTest, ACommandWithoutOutputHasNoBinaryAndIsCachedToo) {
  EXPECT_EQ(build(counted("true")).status, BuildStatus::built);
  const auto again = build(counted("true"));
  EXPECT_EQ(again.status, BuildStatus::cached);
  EXPECT_EQ(again.binary_sha256, "");
  EXPECT_EQ(runs(), 1U);
}

TEST_F(BuilderTest, AFailingCommandShowsItsOutputAndItsExitCode) {
  const auto reply = build("echo to out; echo to err >&2; exit 7; echo ${OUT}");
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("to out\nto err\n"));
  EXPECT_THAT(reply.output, HasSubstr("ended with exit code 7"));
  EXPECT_NE(reply.key, "");
  EXPECT_EQ(reply.error, "to err");
}

TEST_F(BuilderTest, OfACommandThatPrintsNothingTheErrorSaysHowItEnded) {
  const auto reply = build("exit 7; echo ${OUT}");
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_EQ(reply.error, "the build command ended with exit code 7");
  EXPECT_EQ(build("echo error: all is well; echo x > ${OUT}").error, "");
}

TEST_F(BuilderTest, ACompilersErrorIsShown) {
  folder_.write("plan/hello.c", "int main(void) { return undeclared; }\n");
  const auto reply = build(compile);
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("hello.c:1:25"));
  EXPECT_THAT(reply.output, HasSubstr("undeclared"));
  EXPECT_THAT(reply.error, ContainsRegex("hello.c:1:25: .*error: .*undeclared"));
}

TEST_F(BuilderTest, AFailureIsNotCached) {
  const std::string command = "test -e " + (folder_ / "repaired") + " && echo x > ${OUT}";
  EXPECT_EQ(build(command).status, BuildStatus::failed);
  folder_.write("repaired", "");
  EXPECT_EQ(build(command).status, BuildStatus::built);
}

TEST_F(BuilderTest, ABuildAfterAFailureBeginsInACleanTree) {
  if (geteuid() == 0) GTEST_SKIP() << "root can remove a file from any folder";
  const std::string command =
      "[ ! -e locked/left ] || { echo stale; exit 2; }; mkdir locked; touch locked/left; "
      "chmod 555 locked; exit 1";
  for (int i = 0; i < 2; ++i) {
    const auto reply = build(command);
    EXPECT_EQ(reply.status, BuildStatus::failed);
    EXPECT_THAT(reply.output, HasSubstr("exit code 1"));
    EXPECT_TRUE(fs::exists(reply.directory + "/locked/left"));
    if (i == 1) fs::permissions(reply.directory + "/locked", fs::perms::owner_all);
  }
}

TEST_F(BuilderTest, ASignalIsAFailureThatNamesIt) {
  const auto reply = build("kill -SEGV $$$$; echo > ${OUT}");
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("signal 11"));
}

TEST_F(BuilderTest, ATimeoutEndsTheCommandAndItsChildren) {
  protocol::BuildRequest slow =
      request("echo started; setsid sleep 1000 & sleep 1000; echo > ${OUT}");
  // Long enough for it to begin, on a busy machine, too.
  protocol::BuildReply reply;
  for (slow.timeout = 300ms; !reply.output.contains("started") && slow.timeout < 100s;
       slow.timeout *= 5) {
    reply = fresh().build(slow);
    EXPECT_EQ(reply.status, BuildStatus::failed);
    EXPECT_THAT(reply.output, HasSubstr("timeout of " + format_duration(slow.timeout)));
  }
  EXPECT_THAT(reply.output, HasSubstr("started"));
  EXPECT_TRUE(machine::descendants().empty());
}

TEST_F(BuilderTest, EndlessOutputIsAFailureAndOnlyItsEndIsKept) {
  const auto reply = build("yes; echo > ${OUT}");
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("output limit"));
  EXPECT_LT(reply.output.size(), protocol::kept_output + 500);
}

TEST_F(BuilderTest, TheEndOfALongOutputIsKept) {
  const auto reply = build("head -c 100000 /dev/zero | tr '\\0' x; echo the end; echo > ${OUT}");
  ASSERT_EQ(reply.status, BuildStatus::built);
  EXPECT_THAT(reply.output, HasSubstr("the end"));
  EXPECT_LT(reply.output.size(), protocol::kept_output + 500);
}

TEST_F(BuilderTest, ARequestToStopEndsTheBuild) {
  const Fd stop = stopping();
  const auto reply = fresh(stop.get()).build(request("sleep 1000; echo > ${OUT}"));
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("was stopped"));
  EXPECT_TRUE(machine::descendants().empty());
}

TEST_F(BuilderTest, ARequestToStopEndsTheWaitForSomebodyElsesBuild) {
  const auto first = build(compile);
  const std::string lock = (folder_ / "cache/") + first.key + ".lock";
  const Fd held(open(lock.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0);
  const Fd stop = stopping();
  EXPECT_EQ(fresh(stop.get()).build(request(compile)).status, BuildStatus::failed);
}

TEST_F(BuilderTest, TheTreeIsKeptOnlyForTrialsThatUseIt) {
  const auto without = build(compile);
  EXPECT_FALSE(fs::exists(without.directory));
  protocol::BuildRequest keeping = request(compile);
  keeping.keep_tree = true;
  const auto with = fresh().build(keeping);
  EXPECT_EQ(with.status, BuildStatus::built);  // what the cache had does not do
  EXPECT_NE(with.key, without.key);            // so that neither takes the other's folder away
  EXPECT_TRUE(fs::is_regular_file(with.directory + "/hello.c"));
  EXPECT_EQ(fresh().build(keeping).status, BuildStatus::cached);
  EXPECT_EQ(build(compile).status, BuildStatus::cached);
}

TEST_F(BuilderTest, ABuildChangesOnlyItsPrivateCopy) {
  Builder builder = fresh();
  const auto scribbler = builder.build(request("echo new > hello.c; cp hello.c ${OUT}"));
  EXPECT_EQ(text_of(scribbler.out), "new\n");
  const auto reader = builder.build(request("cp hello.c ${OUT}"));
  EXPECT_THAT(text_of(reader.out), HasSubstr("puts"));
  EXPECT_THAT(folder_.read("plan/hello.c"), HasSubstr("puts"));
}

TEST_F(BuilderTest, TheCommandKnowsItsPlacesAndRunsInItsTree) {
  const auto reply = build("pwd > ${OUT}; echo ${DIR} ${SRC} '$${OUT}' >> ${OUT}");
  ASSERT_EQ(reply.status, BuildStatus::built) << reply.output;
  EXPECT_EQ(text_of(reply.out),
            reply.directory + "\n" + reply.directory + " " + (folder_ / "plan") + " ${OUT}\n");
}

TEST_F(BuilderTest, MissingSourcesAreAFailureThatNamesThem) {
  protocol::BuildRequest wrong = request(compile);
  wrong.sources = {"hell.c"};
  const auto reply = fresh().build(wrong);
  EXPECT_EQ(reply.status, BuildStatus::failed);
  EXPECT_THAT(reply.output, HasSubstr("hell.c does not exist"));
  EXPECT_THAT(reply.error, HasSubstr("hell.c does not exist"));
}

TEST_F(BuilderTest, OnlyTheNamedSourcesAreThere) {
  folder_.write("plan/notes.txt", "x");
  protocol::BuildRequest some = request("ls > ${OUT}");
  some.sources = {"hello.c"};
  EXPECT_EQ(text_of(fresh().build(some).out), "hello.c\n");
}

TEST_F(BuilderTest, ABuildIsMarkedAndBoundAsItsWorkerSays) {
  const auto marked =
      fresh(-1, "MARK=here", [] { return true; }).build(request("echo $MARK > ${OUT}"));
  EXPECT_EQ(text_of(marked.out), "here\n");
  const auto unbound = fresh(-1, "", [] { return false; }).build(request("echo unbound > ${OUT}"));
  EXPECT_EQ(unbound.status, BuildStatus::failed);
  EXPECT_THAT(unbound.output, HasSubstr("CPUs"));
}

TEST_F(BuilderTest, BinariesThatDifferOnlyInTheirFoldersNameAreEqual) {
  folder_.write("plan/hello.c", "int puts(const char*);\nint main(void) { puts(PATH); }\n");
  const std::string with_path = R"(clang-22 -DPATH=\"${OUT}\" -o ${OUT} hello.c)";
  // The linkers' build ids, digests that take the folder's name in, are of several lengths.
  for (const char* linker : {" -g", " -fuse-ld=lld", " -fuse-ld=lld -Wl,--build-id=fast"}) {
    const auto one = build(with_path + linker);
    const auto two = build(with_path + linker + " -DUNUSED=2");
    ASSERT_EQ(one.status, BuildStatus::built) << one.output;
    ASSERT_EQ(two.status, BuildStatus::built) << two.output;
    EXPECT_NE(one.out, two.out);
    EXPECT_EQ(output_of(one.out), one.out + "\n");
    EXPECT_NE(text_of(one.out), text_of(two.out));
    EXPECT_EQ(one.binary_sha256, two.binary_sha256) << linker;
  }
}

TEST_F(BuilderTest, BinariesThatDifferInTheirCodeDiffer) {
  folder_.write("plan/hello.c", "int main(void) { return CODE; }\n");
  EXPECT_NE(build("clang-22 -DCODE=1 -o ${OUT} hello.c").binary_sha256,
            build("clang-22 -DCODE=2 -o ${OUT} hello.c").binary_sha256);
}

// The first two wait until both have begun.
TEST_F(BuilderTest, BuildsThatComeNextRunAtTheSameTime) {
  const auto meeting = [&](const std::string& own, const std::string& other) {
    return "touch " + (folder_ / own) + "; for i in $(seq 600); do [ ! -e " + (folder_ / other) +
           " ] || { " + compile + "; exit; }; sleep 0.1; done; exit 1";
  };
  const std::vector<std::string> commands{meeting("a", "b"), meeting("b", "a"), counted("false"),
                                          counted(compile)};
  Builder builder = fresh();
  builder.run_at_once(2);
  std::vector<protocol::BuildReply> replies;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    protocol::BuildRequest wanted = request(commands[i]);
    for (std::size_t next = i + 1; next < commands.size(); ++next)
      wanted.next.push_back({.command = commands[next], .timeout = wanted.timeout});
    replies.push_back(builder.build(wanted));
  }
  EXPECT_EQ(replies[0].status, BuildStatus::built) << replies[0].output;
  EXPECT_EQ(replies[1].status, BuildStatus::built) << replies[1].output;
  EXPECT_FALSE(replies[1].binary_sha256.empty());
  EXPECT_EQ(replies[2].status, BuildStatus::failed);
  EXPECT_THAT(replies[2].output, HasSubstr("exit code 1"));
  EXPECT_EQ(replies[3].status, BuildStatus::built);
  EXPECT_EQ(runs(), 2U) << "each once";
  for (std::size_t i : {0, 1, 3})
    EXPECT_EQ(fresh().build(request(commands[i])).status, BuildStatus::cached);
}

// The daemon's next request makes that descriptor readable, and ends no build that it is about.
TEST_F(BuilderTest, ABuildThatWasBegunAheadGoesOnWhenTheNextRequestComes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd from(ends[0]);
  const Fd to(ends[1]);
  Builder builder = fresh(from.get());
  builder.run_at_once(2);
  const std::string waiting =
      "until [ -e " + (folder_ / "go") + " ]; do sleep 0.1; done; " + compile;
  protocol::BuildRequest first = request(compile);
  first.next.push_back({.command = waiting, .timeout = first.timeout});
  EXPECT_EQ(builder.build(first).status, BuildStatus::built);
  EXPECT_TRUE(builder.runs_ahead());
  ASSERT_EQ(write(to.get(), "x", 1), 1);
  std::this_thread::sleep_for(200ms);
  char byte = 0;
  ASSERT_EQ(read(from.get(), &byte, 1), 1);
  folder_.write("go", "");
  EXPECT_EQ(builder.build(request(waiting)).status, BuildStatus::built);
  EXPECT_FALSE(builder.runs_ahead());
}

TEST_F(BuilderTest, ABuildThatNobodyAsksForEndsWithItsBuilder) {
  {
    Builder builder = fresh();
    builder.run_at_once(2);
    protocol::BuildRequest first = request(compile);
    first.next.push_back(
        {.command = "sleep 1000 & sleep 1000; echo >${OUT}", .timeout = first.timeout});
    EXPECT_EQ(builder.build(first).status, BuildStatus::built);
    EXPECT_TRUE(builder.runs_ahead());
  }
  EXPECT_TRUE(machine::descendants().empty());
}

}  // namespace
}  // namespace stab::worker
