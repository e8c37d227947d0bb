// SPDX-License-Identifier: MIT
// A daemon that stores 100,000 trials, who reads them for it, and conversations with it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {

inline constexpr std::size_t many = 100'000;

// "" of what is not there any more.
inline std::string content_of(const std::string& path) {
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
  std::istringstream children(content_of(task + "/children"));
  for (pid_t child = 0; children >> child;)
    if (content_of("/proc/" + std::to_string(child) + "/cmdline").contains("--reader"))
      found.push_back(child);
  return found;
}

inline bool is_there(pid_t process) {
  const std::string stat = content_of("/proc/" + std::to_string(process) + "/stat");
  return !stat.empty() && !stat.contains(") Z ");
}

inline bool is_stopped(pid_t process) {
  return content_of("/proc/" + std::to_string(process) + "/stat").contains(") T ");
}

// Whether it has the database as it was at one moment: the lock by which SQLite keeps the log from
// beginning anew is one of the bytes 123 to 127 of its file stabd.db-shm.
inline bool reads_a_moment(pid_t process) {
  std::istringstream lines(content_of("/proc/locks"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    pid_t holder = 0;
    std::uint64_t first = 0;
    // "7: POSIX  ADVISORY  READ 31453 fe:00:10952763 124 124"
    words >> word >> word >> word >> word >> holder >> word >> first;
    if (words && holder == process && first >= 123 && first <= 127) return true;
  }
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

  // Waits until the reader that verifies the trials after the start has ended, well or not. The
  // daemon is a copy; what it starts later goes through a script.
  bool start(std::vector<std::string> extra = {}) {
    const std::string program = lab_.path("stabd");
    const std::string copy = lab_.path("copy-of-stabd");
    if (std::filesystem::exists(copy))
      std::filesystem::rename(copy, program);
    else
      lab_.copy_stabd();
    unlink(lab_.path("stabd.log").c_str());
    extra.insert(extra.end(), {"--log", "debug"});
    if (!lab_.start_daemon(extra) ||
        !wait_for_text(lab_.path("stabd.log"), "verified", std::chrono::minutes(5)))
      return false;
    std::filesystem::rename(program, copy);
    lab_.write("stabd",
               "#!/bin/sh\n[ \"$1\" = --reader ] && [ -e " + lab_.path("stop") +
                   " ] && kill -STOP $$\nexec " + copy + " \"$@\"\n",
               true);
    return true;
  }
  // Readers that start from here on stop themselves before they read, until stopped_reader() has
  // one.
  void stop_readers() const { lab_.write("stop", ""); }
  pid_t stopped_reader() const {
    pid_t stopped = 0;
    EXPECT_TRUE(eventually([&] {
      for (const pid_t reader : readers_of(lab_.daemon()))
        if (is_stopped(reader)) stopped = reader;
      return stopped != 0;
    }));
    unlink(lab_.path("stop").c_str());
    return stopped;
  }
  // Asks for a report, whose reader is stopped before it reads. Its process, or that of nobody.
  pid_t ask_and_stop(Talk& talk) const {
    stop_readers();
    talk.say(report_of(1));
    const pid_t reader = stopped_reader();
    EXPECT_FALSE(talk.has_answer());
    return reader != 0 ? reader : std::numeric_limits<pid_t>::max();
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
