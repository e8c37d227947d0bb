// SPDX-License-Identifier: MIT
#include "protocol/paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

namespace stab {
namespace {

constexpr uid_t somebody = 65534;

// Root for a test's body only if `as_root` says so; what cannot be is skipped.
class PathsTest : public ::testing::Test {
 protected:
  PathsTest() {
    for (const char* name :
         {"HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"}) {
      const char* value = std::getenv(name);
      saved_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
  }
  ~PathsTest() override {
    if (dropped_ && seteuid(0) != 0) std::abort();
    for (const auto& [name, value] : saved_)
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
  }
  // False if this process may not become an ordinary user.
  bool become_user() {
    if (geteuid() != 0) return true;
    dropped_ = seteuid(somebody) == 0;
    return dropped_;
  }

 private:
  std::map<std::string, std::optional<std::string>> saved_;
  bool dropped_ = false;
};

TEST_F(PathsTest, ForRootTheyAreTheSystems) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  setenv("HOME", "/home/ada", 1);
  setenv("XDG_STATE_HOME", "/x", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  setenv("XDG_RUNTIME_DIR", "/x", 1);
  EXPECT_EQ(default_state_directory(), "/var/lib/stabd");
  EXPECT_EQ(default_cache_directory(), "/var/cache/stabd");
  EXPECT_EQ(default_settings_file(), "/etc/stabd/stabd.toml");
  EXPECT_EQ(default_socket_path(), "/run/stabd/stabd.sock");
  EXPECT_EQ(sockets_of_daemons(), std::vector<std::string>{"/run/stabd/stabd.sock"});
}

TEST_F(PathsTest, ForAUserTheyAreBelowTheHome) {
  if (!become_user()) GTEST_SKIP() << "this root may not become another user";
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(default_state_directory(), "/home/ada/.local/state/stabd");
  EXPECT_EQ(default_settings_file(), "/home/ada/.config/stabd/stabd.toml");
  EXPECT_EQ(default_cache_directory(), "/home/ada/.cache/stabd");
  EXPECT_EQ(default_socket_path(), "/home/ada/.local/state/stabd/stabd.sock");
}

TEST_F(PathsTest, TheUsersVariablesGoFirst) {
  if (!become_user()) GTEST_SKIP() << "this root may not become another user";
  setenv("HOME", "/home/ada", 1);
  setenv("XDG_STATE_HOME", "/s", 1);
  setenv("XDG_CACHE_HOME", "/c", 1);
  setenv("XDG_RUNTIME_DIR", "/r", 1);
  EXPECT_EQ(default_state_directory(), "/s/stabd");
  EXPECT_EQ(default_cache_directory(), "/c/stabd");
  EXPECT_EQ(default_socket_path(), "/r/stabd/stabd.sock");
  EXPECT_EQ(sockets_of_daemons(),
            (std::vector<std::string>{"/r/stabd/stabd.sock", "/run/stabd/stabd.sock"}));
}

TEST_F(PathsTest, ARelativeOrEmptyVariableIsIgnored) {
  if (!become_user()) GTEST_SKIP() << "this root may not become another user";
  setenv("HOME", "/home/ada", 1);
  setenv("XDG_STATE_HOME", "state", 1);
  setenv("XDG_CACHE_HOME", "", 1);
  setenv("XDG_RUNTIME_DIR", "./run", 1);
  EXPECT_EQ(default_state_directory(), "/home/ada/.local/state/stabd");
  EXPECT_EQ(default_cache_directory(), "/home/ada/.cache/stabd");
  EXPECT_EQ(default_socket_path(), "/home/ada/.local/state/stabd/stabd.sock");
}

TEST_F(PathsTest, ACompanionIsBesideThisProgram) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(companion(self.filename()), self);
  EXPECT_EQ(std::filesystem::path(companion("stabd")).parent_path(), self.parent_path());
}

}  // namespace
}  // namespace stab
