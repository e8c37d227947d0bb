// SPDX-License-Identifier: MIT
// What happens with a manager that is there: tests/system/service_test.cc.
#include "stabd/daemon/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace stab::service {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ManagerTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : names) unsetenv(name);
  }
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  static std::string us() { return std::to_string(getpid()); }
  static std::string another() { return std::to_string(getppid()); }

  static constexpr const char* names[] = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                          "LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES"};
};

TEST_F(ManagerTest, WithoutOneNothingIsWanted) {
  auto manager = Manager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->watchdog(), 0us);
  EXPECT_FALSE(manager->take_socket());
  manager->tell("READY=1");
}

TEST_F(ManagerTest, WhatIsForAnotherProcessIsNotTaken) {
  set("WATCHDOG_USEC", "1000000");
  set("WATCHDOG_PID", another());
  set("LISTEN_FDS", "1");
  set("LISTEN_PID", another());
  auto manager = Manager::from_environment();
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->watchdog(), 0us);
  EXPECT_FALSE(manager->take_socket());
}

TEST_F(ManagerTest, TheWatchdogsTimeIsReadAndNonsenseIsNot) {
  set("WATCHDOG_USEC", "1000000");
  EXPECT_EQ(Manager::from_environment()->watchdog(), 1s);
  set("WATCHDOG_USEC", "1000000");
  set("WATCHDOG_PID", us());
  EXPECT_EQ(Manager::from_environment()->watchdog(), 1s);
  for (const char* nonsense : {"", "-1", "1s", "99999999999999999999999"}) {
    set("WATCHDOG_USEC", nonsense);
    EXPECT_EQ(Manager::from_environment()->watchdog(), 0us) << nonsense;
  }
}

TEST_F(ManagerTest, SeveralSocketsAreRefused) {
  set("LISTEN_FDS", "2");
  set("LISTEN_PID", us());
  const auto manager = Manager::from_environment();
  ASSERT_FALSE(manager);
  EXPECT_THAT(manager.error().message,
              HasSubstr("2 sockets were passed to stabd, but it serves only one"));
}

TEST_F(ManagerTest, NoChildInheritsTheVariables) {
  for (const char* name : names) set(name, "0");
  ASSERT_TRUE(Manager::from_environment());
  for (const char* name : names) EXPECT_EQ(std::getenv(name), nullptr) << name;
}

}  // namespace
}  // namespace stab::service
