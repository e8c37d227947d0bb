// SPDX-License-Identifier: MIT
// The JSON that a command prints.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace stab::bench {

// A discarded value if the command prints no JSON.
inline nlohmann::json told_by(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return nullptr;
  std::string text;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    text.append(buffer.data(), n);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace stab::bench
