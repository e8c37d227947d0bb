// SPDX-License-Identifier: MIT
#include "machine/environment.h"

#include <pwd.h>

#include <cstring>

namespace stab::machine {

std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes) {
  variables[padding_variable] = "";
  std::size_t used = 0;
  for (const auto& [name, value] : variables) used += name.size() + 1 + value.size() + 1;
  const std::size_t rounded = (used + environment_unit - 1) / environment_unit * environment_unit;
  variables[padding_variable] = std::string(rounded - used + extra_bytes, 'x');

  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

std::map<std::string, std::string> base_variables(std::uint32_t uid) {
  std::map<std::string, std::string> variables{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      {"HOME", "/"},
      {"USER", "nobody"},
  };
  if (const passwd* user = getpwuid(uid)) {
    variables["HOME"] = user->pw_dir;
    variables["USER"] = user->pw_name;
  }
  return variables;
}

}  // namespace stab::machine
