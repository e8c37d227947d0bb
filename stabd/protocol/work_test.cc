// SPDX-License-Identifier: MIT
#include "stabd/protocol/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "design/resolve.h"

namespace stab::protocol {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using store::BuildStatus;
using store::TrialStatus;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string awkward = std::string("\0\n\r\t\"\\", 6) + "\x1b \xc3\xa4 \xe2\x82\xac";
constexpr const char* bad_bytes = "a\xff\xc3(\xed\xa0\x80z";

BuildRequest full_build() {
  return {.command = "cc -o ${OUT} 'x y.c'\n" + awkward,
          .directory = "/home/ada/plan",
          .sources = {"x y.c", "lib"},
          .cache = "/var/cache",
          .keep_tree = true,
          .known_key = "k0",
          .timeout = 1800s,
          .cache_limit = std::uint64_t{1} << 40};
}

BuildReply full_build_reply() {
  return {.status = BuildStatus::cached,
          .key = "k1",
          .directory = "/c/k1/tree",
          .out = "/c/k1/out",
          .binary_sha256 = "e3b0",
          .compilers = "clang 19",
          .output = awkward,
          .duration_ns = std::numeric_limits<std::int64_t>::max(),
          .tidied = "3 builds",
          .readings = {counters::counted("code-size", "bytes", 5),
                       counters::absent("compile-time", "ns", awkward)}};
}

RunRequest full_run() {
  return {
      .argv = {"./a b", "", awkward},
      .env = {{"A", "1"}, {"B", awkward}},
      .env_bytes = std::numeric_limits<std::uint64_t>::max(),
      .directory = "/d",
      .stdin_path = "/d/in",
      .aslr = true,
      .timeout = 1500ms,
      .output_limit = 1 << 20,
      .check = {.exit = 3, .stdout_sha256 = "ab", .stdout_file = "out", .command = "grep x"},
      .options = {{"code", "1"}, {"seed", "5"}},
      .needs = plan::Needs::randomized,
      .response = "region",
      .outputs = {{.name = "ops",
                   .unit = "1/s",
                   .regex = awkward,
                   .pick = plan::Pick::sum,
                   .from_stderr = true},
                  {.name = "time", .json = "/a/0"},
                  {.name = "each", .google_benchmark = "cpu_time", .pick = plan::Pick::samples}},
      .derived = {{.name = "ipc", .formula = "'a' / b"}},
      .built = {counters::counted("code-size", "bytes", 5)},
      .causal = CausalRequest{.seed = std::numeric_limits<std::uint64_t>::max(),
                              .scope = {awkward, "b"},
                              .binaries = {"/c/out"},
                              .progress = {"a.c:3"},
                              .line = "b.c:4",
                              .experiment = 20ms,
                              .sample_period = 2ms,
                              .arrival_speedup = 3us,
                              .speedup = 250,
                              .end_to_end = true,
                              .tree = "/c/tree"}};
}

SetupReply full_setup_reply() {
  return {.error = awkward,
          .other_cpus = {0, 1, 77},
          .trial_cpus = "2-3",
          .notes = {"one", awkward},
          .machine_key = "cafe",
          .machine_host = "lab",
          .machine_facts = R"({"cpu":"x"})",
          .simulator = "valgrind-3.19.0"};
}

// The fields that a run decides.
RunReply full_run_reply() {
  return {
      .status = TrialStatus::check_failed,
      .reason = awkward,
      .exit_code = -1,
      .signal = 9,
      .started_ns = 1'700'000'000'000'000'001,
      .wall_ns = 0,
      .user_ns = 1,
      .system_ns = std::numeric_limits<std::int64_t>::max(),
      .max_rss_bytes = 4096,
      .stdout_sha256 = "e3b0",
      .stderr_tail = awkward,
      .layout = {.randomized = false,
                 .kind = "code once",
                 .note = awkward,
                 .seed = std::numeric_limits<std::uint64_t>::max(),
                 .epochs = 1,
                 .given_up = 9,
                 .epochs_ns = 10,
                 .longest_pause_ns = 11,
                 .functions = 2,
                 .moved_functions = 3,
                 .text_bytes = 4,
                 .moved_bytes = 5,
                 .setup_ns = 6,
                 .main_to_exit_ns = 7,
                 .region_ns = 8,
                 .regions = std::numeric_limits<std::int64_t>::max(),
                 .heap_operations = 12,
                 .heap_bytes = 13,
                 .heap_fixed_bytes = 14},
      .readings = {{.name = "a",
                    .unit = "ns",
                    .status = counters::Status::counted,
                    .value = std::numeric_limits<std::int64_t>::min()},
                   {.name = "r", .status = counters::Status::counted, .value = 3.0},
                   {.name = "s", .status = counters::Status::counted, .value = 1.0 / 3},
                   {.name = "b", .status = counters::Status::scaled, .value = 1, .coverage = .3},
                   {.name = "c", .coverage = 0, .reason = awkward}},
      .samples = {{.measure = "m", .subject = awkward, .unit = "ns", .values = {1.0 / 3, 2}},
                  {.measure = "m", .reason = awkward}},
      .profile = {.event = "cycles",
                  .unit = "ns",
                  .hz = 7,
                  .reason = awkward,
                  .lost = std::numeric_limits<std::uint64_t>::max(),
                  .functions = {{awkward, "o", 3, std::numeric_limits<std::uint64_t>::max()}}},
      .causal = awkward};
}

void expect_equal(const BuildRequest& a, const BuildRequest& b) {
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.directory, b.directory);
  EXPECT_EQ(a.sources, b.sources);
  EXPECT_EQ(a.cache, b.cache);
  EXPECT_EQ(a.keep_tree, b.keep_tree);
  EXPECT_EQ(a.known_key, b.known_key);
  EXPECT_EQ(a.timeout, b.timeout);
  EXPECT_EQ(a.cache_limit, b.cache_limit);
}

void expect_equal(const BuildReply& a, const BuildReply& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.directory, b.directory);
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.binary_sha256, b.binary_sha256);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.duration_ns, b.duration_ns);
  EXPECT_EQ(a.compilers, b.compilers);
  EXPECT_EQ(a.tidied, b.tidied);
  EXPECT_EQ(a.readings, b.readings);
}

void expect_equal(const RunRequest& a, const RunRequest& b) {
  EXPECT_EQ(a.built, b.built);
  EXPECT_EQ(a.argv, b.argv);
  EXPECT_EQ(a.env, b.env);
  EXPECT_EQ(a.env_bytes, b.env_bytes);
  EXPECT_EQ(a.directory, b.directory);
  EXPECT_EQ(a.stdin_path, b.stdin_path);
  EXPECT_EQ(a.aslr, b.aslr);
  EXPECT_EQ(a.timeout, b.timeout);
  EXPECT_EQ(a.output_limit, b.output_limit);
  EXPECT_EQ(a.check.exit, b.check.exit);
  EXPECT_EQ(a.check.stdout_sha256, b.check.stdout_sha256);
  EXPECT_EQ(a.check.stdout_file, b.check.stdout_file);
  EXPECT_EQ(a.check.command, b.check.command);
  EXPECT_EQ(a.options, b.options);
  EXPECT_EQ(a.needs, b.needs);
  EXPECT_EQ(a.response, b.response);
  EXPECT_EQ(a.set, b.set);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.derived, b.derived);
  EXPECT_EQ(a.causal, b.causal);
}

void expect_equal(const SetupReply& a, const SetupReply& b) {
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.other_cpus, b.other_cpus);
  EXPECT_EQ(a.trial_cpus, b.trial_cpus);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.machine_key, b.machine_key);
  EXPECT_EQ(a.machine_host, b.machine_host);
  EXPECT_EQ(a.machine_facts, b.machine_facts);
  EXPECT_EQ(a.simulator, b.simulator);
}

// One of the six messages: a line that is one, and whether a line reads as one.
struct Message {
  std::string kind;
  std::string line;
  std::function<bool(std::string_view)> reads;
};

std::vector<Message> messages() {
  return {
      {"setup", encode(SetupRequest{.cpus = 2}),
       [](auto line) { return !!decode<SetupRequest>(line); }},
      {"setup", encode(full_setup_reply()), [](auto line) { return !!decode<SetupReply>(line); }},
      {"build", encode(full_build()), [](auto line) { return !!decode<BuildRequest>(line); }},
      {"build", encode(full_build_reply()), [](auto line) { return !!decode<BuildReply>(line); }},
      {"run", encode(full_run()), [](auto line) { return !!decode<RunRequest>(line); }},
      {"run", encode(full_run_reply()), [](auto line) { return !!decode<RunReply>(line); }},
  };
}

TEST(Work, ARequestToSetUpGoesThereAndBack) {
  EXPECT_EQ(decode<SetupRequest>(encode(SetupRequest{.cpus = 7})).value().cpus, 7U);
  const SetupRequest sets{
      .counters = {{"a"}}, .rotated = {{"b", "c"}, {"d"}}, .profile = "p", .profile_hz = 5};
  EXPECT_EQ(decode<SetupRequest>(encode(sets)).value().rotated, sets.rotated);
  EXPECT_EQ(decode<SetupRequest>(encode(sets)).value().profile, "p");
  EXPECT_EQ(decode<SetupRequest>(encode(sets)).value().profile_hz, 5U);
}

TEST(Work, AnAnswerToASetupGoesThereAndBack) {
  for (const SetupReply& reply : {full_setup_reply(), SetupReply()})
    expect_equal(decode<SetupReply>(encode(reply)).value(), reply);
}

TEST(Work, ARequestToBuildGoesThereAndBack) {
  for (const BuildRequest& request : {full_build(), BuildRequest()})
    expect_equal(decode<BuildRequest>(encode(request)).value(), request);
}

TEST(Work, AnAnswerToABuildGoesThereAndBack) {
  for (const BuildStatus status : {BuildStatus::built, BuildStatus::cached, BuildStatus::failed}) {
    BuildReply reply = full_build_reply();
    reply.status = status;
    expect_equal(decode<BuildReply>(encode(reply)).value(), reply);
  }
  expect_equal(decode<BuildReply>(encode(BuildReply())).value(), BuildReply());
}

TEST(Work, ARequestToRunGoesThereAndBack) {
  for (const RunRequest& request : {full_run(), RunRequest()})
    expect_equal(decode<RunRequest>(encode(request)).value(), request);
}

TEST(Work, EachOptionalPartOfACheckIsSetOrNotByItself) {
  for (const auto member :
       {&plan::Check::stdout_sha256, &plan::Check::stdout_file, &plan::Check::command}) {
    RunRequest request;
    request.check.exit = 255;
    request.check.*member = "";
    expect_equal(decode<RunRequest>(encode(request)).value(), request);
  }
}

TEST(Work, AnAnswerToARunGoesThereAndBack) {
  for (const RunReply& reply : {full_run_reply(), RunReply()})
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
}

TEST(Work, EachOptionalNumberOfARunIsSetOrNotByItself) {
  for (const auto member :
       {&RunReply::wall_ns, &RunReply::user_ns, &RunReply::system_ns, &RunReply::max_rss_bytes}) {
    RunReply reply;
    reply.*member = 0;
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
  }
  for (const auto member : {&RunReply::exit_code, &RunReply::signal}) {
    RunReply reply;
    reply.*member = 0;
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
  }
}

TEST(Work, EveryStatusOfATrialGoesThereAndBack) {
  for (int i = 0; i <= static_cast<int>(TrialStatus::skipped); ++i) {
    RunReply reply;
    reply.status = static_cast<TrialStatus>(i);
    EXPECT_EQ(decode<RunReply>(encode(reply)).value().status, reply.status);
  }
}

TEST(Work, AMessageIsOneLineAndSaysItsKind) {
  for (const Message& message : messages()) {
    EXPECT_THAT(message.line, Not(HasSubstr("\n")));
    EXPECT_EQ(json::parse(message.line)["kind"], message.kind);
    EXPECT_TRUE(message.reads(message.line));
  }
}

TEST(Work, BytesThatAreNotTextAreReplacedAndTheRestArrives) {
  RunReply reply;
  reply.stderr_tail = bad_bytes;
  reply.reason = bad_bytes;
  const auto run = decode<RunReply>(encode(reply));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->stderr_tail, testing::StartsWith("a\xef\xbf\xbd"));
  EXPECT_THAT(run->reason, testing::EndsWith("z"));

  BuildReply build = full_build_reply();
  build.output = bad_bytes;
  EXPECT_EQ(decode<BuildReply>(encode(build)).value().key, "k1");
  SetupReply setup;
  setup.notes = {bad_bytes};
  EXPECT_EQ(decode<SetupReply>(encode(setup)).value().notes.size(), 1U);
  RunRequest request = full_run();
  request.env["C"] = bad_bytes;
  EXPECT_EQ(decode<RunRequest>(encode(request)).value().argv, request.argv);
  BuildRequest wanted = full_build();
  wanted.command = bad_bytes;
  EXPECT_EQ(decode<BuildRequest>(encode(wanted)).value().cache, wanted.cache);
}

TEST(Work, TheLargestOutputsFitIntoALine) {
  RunReply reply;
  reply.stderr_tail = std::string(kept_output, '\x01');
  EXPECT_LT(encode(reply).size(), max_work_line);
}

TEST(Work, NonsenseIsAnErrorForEveryReader) {
  const std::string deep(100'000, '[');
  for (const std::string& line :
       {std::string(), std::string("hello"), std::string("null"), std::string("7"),
        std::string("[]"), std::string("{}"), std::string("\"run\""), std::string("{\"kind\":7}"),
        std::string("{\"kind\":\"\xff\"}"), std::string(3, '\0'), deep}) {
    EXPECT_FALSE(decode_work(line));
    EXPECT_FALSE(decode_work_reply(line));
    for (const Message& message : messages()) EXPECT_FALSE(message.reads(line)) << line;
  }
}

TEST(Work, AnErrorSaysThatTheLineIsNoMessage) {
  EXPECT_THAT(decode<RunRequest>("{").error().message, HasSubstr("not a message of stabd"));
}

TEST(Work, AMessageThatLacksAFieldOrHasOneOfAnotherTypeIsAnError) {
  for (const Message& message : messages()) {
    const json whole = json::parse(message.line);
    for (const auto& [key, value] : whole.items()) {
      if (key == "kind") continue;
      json changed = whole;
      changed.erase(key);
      EXPECT_FALSE(message.reads(changed.dump())) << message.line << " without " << key;
      // A list of lists is what some fields are.
      changed[key] = json::array({json::array({json::array()})});
      EXPECT_FALSE(message.reads(changed.dump())) << changed.dump();
    }
  }
}

TEST(Work, AReadingWithoutAFieldIsAnErrorAndNeverAZero) {
  const json whole = json::parse(encode(full_run_reply()));
  for (const auto& [key, value] : whole["readings"][0].items()) {
    json changed = whole;
    changed["readings"][0].erase(key);
    EXPECT_FALSE(decode<RunReply>(changed.dump())) << key;
  }
}

TEST(Work, AnUnknownStatusIsTakenForTheWorst) {
  json run = json::parse(encode(full_run_reply()));
  run["status"] = "splendid";
  run["readings"][0]["status"] = 99;
  run["readings"][1]["status"] = -1;
  const auto read = decode<RunReply>(run.dump()).value();
  EXPECT_EQ(read.status, TrialStatus::not_started);
  EXPECT_EQ(read.readings[0].status, counters::Status::absent);
  EXPECT_EQ(read.readings[1].status, counters::Status::absent);
  json build = json::parse(encode(full_build_reply()));
  build["status"] = 99;
  EXPECT_EQ(decode<BuildReply>(build.dump()).value().status, BuildStatus::failed);
}

TEST(Work, ACutMessageIsAnError) {
  for (const Message& message : messages())
    for (std::size_t length = 0; length < message.line.size(); ++length)
      ASSERT_FALSE(message.reads(message.line.substr(0, length))) << length;
}

TEST(Work, NoDamagedMessageBringsAReaderDown) {
  Random random(1);
  for (const Message& message : messages())
    for (int i = 0; i < 3000; ++i) {
      std::string line = message.line;
      for (std::uint64_t n = 0; n <= random.below(3); ++n)
        line[random.below(line.size())] = static_cast<char>(random.below(256));
      static_cast<void>(decode_work(line));
      static_cast<void>(decode_work_reply(line));
      static_cast<void>(message.reads(line));
    }
}

}  // namespace
}  // namespace stab::protocol
