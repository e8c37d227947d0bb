// SPDX-License-Identifier: MIT
#include "machine/environment.h"

#include <fmt/format.h>
#include <pwd.h>

namespace stab::machine {
namespace {

constexpr std::uint64_t padding_piece = 65536;

}  // namespace

std::vector<std::string> make_environment(std::map<std::string, std::string> variables,
                                          std::uint64_t extra_bytes) {
  const auto add = [&](std::size_t index, std::size_t bytes) {
    variables[index == 0 ? padding_variable : fmt::format("{}_{}", padding_variable, index)] =
        std::string(bytes, 'x');
  };
  const auto size = [&] {
    std::size_t bytes = 0;
    for (const auto& [name, value] : variables) bytes += name.size() + 1 + value.size() + 1;
    return bytes;
  };
  // The kernel refuses strings of more than 128 KiB, so the padding is split into pieces.
  const std::uint64_t pieces = extra_bytes / padding_piece;
  for (std::size_t i = 0; i <= pieces; ++i) add(i, 0);
  const std::size_t used = size();
  const std::size_t rounded = (used + environment_unit - 1) / environment_unit * environment_unit;
  for (std::size_t i = 1; i <= pieces; ++i) add(i, padding_piece);
  add(0, rounded - used + extra_bytes % padding_piece);

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
