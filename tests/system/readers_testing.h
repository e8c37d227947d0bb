// SPDX-License-Identifier: MIT
// A daemon that stores 100,000 trials, who reads them for it, and conversations with it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "stabd/protocol/lines.h"
#include "stabd/protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {

inline constexpr std::size_t many = 100'000;

// "" of what is not there any more.
inline std::string text_of(const std::string& path) {
  return read_file(path, std::size_t{1} << 30U).value_or("");
}

template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Of a daemon, by what their command lines say.
inline std::vector<pid_t> readers_of(pid_t daemon) {
  std::vector<pid_t> found;
  const std::string task = "/proc/" + std::to_string(daemon) + "/task/" + std::to_string(daemon);
  std::istringstream children(text_of(task + "/children"));
  for (pid_t child = 0; children >> child;)
    if (text_of("/proc/" + std::to_string(child) + "/cmdline").contains("--reader"))
      found.push_back(child);
  return found;
}

inline bool is_there(pid_t process) {
  const std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
  return !stat.empty() && !stat.contains(") Z ");
}

inline bool has_open(pid_t process, const std::string& name) {
  std::error_code error;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", error))
    if (std::filesystem::read_symlink(each.path(), error).filename() == name) return true;
  return false;
}

// A conversation that has been greeted.
class Talk {
 public:
  explicit Talk(const Lab& lab) : socket_(lab.connect()), channel_(socket_.get(), 1U << 30U) {
    say(protocol::encode(
        protocol::HelloRequest{.protocol = protocol::version, .version = STAB_VERSION}));
    EXPECT_TRUE(answer());
  }
  void say(const std::string& line) { EXPECT_TRUE(channel_.send(line)); }
  std::optional<std::string> answer() { return channel_.receive().value_or(std::nullopt); }
  [[nodiscard]] bool has_answer() const {
    pollfd waiting{socket_.get(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }
  void hang_up() { socket_.reset(); }

 private:
  Fd socket_;
  protocol::Channel channel_;
};

inline std::string report_of(int id) {
  return protocol::encode(protocol::ReportRequest{.id = id, .format = "json"});
}

class Readers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = "/tmp/stabd-many-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    kept_ = folder;
    const Output made = run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials",
                                     kept_ + "/state", std::to_string(many)},
                                    "/");
    ASSERT_EQ(made.out, "1\n") << made.err;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(kept_); }

  Readers() { std::filesystem::copy(kept_ + "/state", lab_.path("state")); }

  // Waits until the reader that verifies the trials after the start has ended, well or not.
  bool start(std::vector<std::string> extra = {}) {
    unlink(lab_.path("stabd.log").c_str());
    extra.insert(extra.end(), {"--log", "debug"});
    return lab_.start_daemon(extra) && wait_for_text(lab_.path("stabd.log"), "verified");
  }
  // Asks for a report and stops its reader before it can answer.
  pid_t ask_and_stop(Talk& talk) {
    talk.say(report_of(1));
    EXPECT_TRUE(eventually([&] { return !readers_of(lab_.daemon()).empty(); }));
    const auto readers = readers_of(lab_.daemon());
    if (readers.empty()) return 0;
    kill(readers.front(), SIGSTOP);
    EXPECT_FALSE(talk.has_answer());
    return readers.front();
  }
  void expect_version(Talk& talk) {
    talk.say(protocol::encode(protocol::VersionRequest()));
    EXPECT_THAT(talk.answer().value_or("").substr(0, 200), ::testing::HasSubstr("\"version\""));
  }
  static bool is_report(const std::optional<std::string>& line) {
    const auto reply = protocol::decode_reply<protocol::ReportReply>(line.value_or(""));
    return reply && nlohmann::json::parse(reply->text)["trials"]["ok"] == many;
  }

  inline static std::string kept_;
  Lab lab_;
};

}  // namespace stab::test
