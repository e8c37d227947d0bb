// SPDX-License-Identifier: MIT
// Root's daemon in its default folders, and two users that have a number and nothing else: no
// account, no home, no groups.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {

inline constexpr uid_t ada = 61234;
inline constexpr uid_t bob = 61235;
inline constexpr const char* socket_path = "/run/stabd/stabd.sock";

class Users : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  void start_daemon(std::vector<std::string> more);
  // Another one, with these settings.
  void restart(const std::string& settings);

  static std::vector<std::string> command(uid_t user, const std::vector<std::string>& arguments,
                                          const std::string& socket = socket_path);
  Output as(uid_t user, const std::vector<std::string>& arguments) const;
  std::string plan_of(uid_t user) const { return lab_.path(std::to_string(user) + "/plan.toml"); }
  // What the daemon that was started last said.
  std::string log() const { return lab_.path("stabd" + std::to_string(daemons_) + ".log"); }

  Lab lab_;
  pid_t daemon_ = 0;
  int daemons_ = 0;
};

// Connections of a user in a process of that user's, which lives until its end and reads nothing.
class Idle {
 public:
  // Those that say this, or nothing. What each says is in the daemon's hands when this returns: it has
  // begun to answer.
  Idle(uid_t user, int count, const std::string& says = "");
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle();
  // Whether the daemon ends one of them.
  [[nodiscard]] bool is_hung_up_on() const;

 private:
  [[noreturn]] void connect_and_wait(uid_t user, int count, const std::string& says) const;

  // A '+' when they are connected and what they said has begun to be answered, another one when one
  // was ended.
  Fd told_;
  Fd tells_;
  pid_t child_ = 0;
};

}  // namespace stab::test
