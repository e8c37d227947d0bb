// SPDX-License-Identifier: MIT
#include "stabd/client/calibrations.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "stabd/paths.h"

namespace stab::client {
namespace {

using nlohmann::json;

constexpr std::size_t max_file_bytes = std::size_t{4} << 20;

Result<json> read_known(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return json::array();
  const auto text = read_file(path, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  json known = json::parse(*text, nullptr, false);
  if (!known.is_array()) return fail(fmt::format("{} does not hold calibrations: remove it", path));
  return known;
}

}  // namespace

std::string calibrations_file() {
  return default_state_directory() + "/calibrations.json";
}

Result<void> tell_calibrations(Client& client, const std::string& path) {
  const auto known = read_known(path);
  if (!known) return std::unexpected(known.error());
  if (known->empty()) return {};
  const auto answer = client.ask({{"verb", "learn"}, {"machines", *known}});
  if (!answer) return fail(fmt::format("{}: {}", path, answer.error().message));
  return {};
}

Result<void> keep_calibrations(Client& client, const std::string& path) {
  const auto known = read_known(path);
  if (!known) return std::unexpected(known.error());
  const auto answer = client.ask({{"verb", "calibrations"}});
  if (!answer) return std::unexpected(answer.error());
  json all = answer->at("machines");
  for (const json& machine : *known) {
    const auto same = [&](const json& each) {
      return each.value("key", "") == machine.value("key", "");
    };
    if (std::ranges::none_of(all, same)) all.push_back(machine);
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return write_file_atomically(path, all.dump(1) + "\n");
}

}  // namespace stab::client
