// SPDX-License-Identifier: MIT
#include "protocol/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace stab {
namespace {

constexpr const char* system_socket = "/run/stabd/stabd.sock";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  // The XDG rules say to ignore a relative path.
  return value != nullptr && *value == '/' ? value : "";
}

std::string user_directory(const char* name, const char* below_home) {
  const std::string set = variable(name);
  if (!set.empty()) return set + "/stabd";
  std::string home = variable("HOME");
  // Everybody can create folders in /tmp, so it is the last resort.
  if (const passwd* const known = home.empty() ? getpwuid(geteuid()) : nullptr)
    if (known->pw_dir != nullptr && *known->pw_dir == '/') home = known->pw_dir;
  return (home.empty() ? "/tmp" : home) + below_home + "/stabd";
}

}  // namespace

Whose own() {
  return geteuid() == 0 ? Whose::system : Whose::user;
}

std::string default_state_directory(Whose whose) {
  return whose == Whose::system ? "/var/lib/stabd"
                                : user_directory("XDG_STATE_HOME", "/.local/state");
}

std::string default_cache_directory(Whose whose) {
  return whose == Whose::system ? "/var/cache/stabd" : user_directory("XDG_CACHE_HOME", "/.cache");
}

std::string default_settings_file(Whose whose) {
  return (whose == Whose::system ? "/etc/stabd" : user_directory("XDG_CONFIG_HOME", "/.config")) +
         "/stabd.toml";
}

std::string default_socket_path(Whose whose) {
  if (whose == Whose::system) return system_socket;
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  return (runtime.empty() ? default_state_directory(whose) : runtime + "/stabd") + "/stabd.sock";
}

std::vector<std::string> sockets_of_daemons() {
  std::vector<std::string> all{default_socket_path()};
  if (all.front() != system_socket) all.emplace_back(system_socket);
  return all;
}

std::string companion(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

}  // namespace stab
