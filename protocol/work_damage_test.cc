// SPDX-License-Identifier: MIT
// What is no message of daemon and worker is an error, however near it comes.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "protocol/work_testing.h"

namespace stab::protocol {
namespace {

using nlohmann::json;
using store::BuildStatus;
using store::TrialStatus;
using ::testing::HasSubstr;

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
#if __has_feature(address_sanitizer)
  constexpr int lines = 1000;
#else
  constexpr int lines = 3000;
#endif
  Random random(1);
  for (const Message& message : messages())
    for (int i = 0; i < lines; ++i) {
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
