// SPDX-License-Identifier: MIT
#include "client/calibrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "base/fd.h"
#include "protocol/paths.h"

namespace stab::client {
namespace {

using protocol::KnownMachine;

constexpr std::size_t max_file_bytes = std::size_t{4} << 20;

Result<std::vector<KnownMachine>> read_known(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::vector<KnownMachine>();
  const auto text = read_file(path, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  auto known = protocol::from_text<std::vector<KnownMachine>>(*text);
  if (!known)
    return fail(
        fmt::format("{} does not hold calibrations: remove it ({})", path, known.error().message));
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
  // A request must be short (protocol::most_decoded), so each has a few calibrations. stabd adds
  // them to the ones that it has.
  constexpr std::size_t at_once = 32;
  for (const KnownMachine& machine : *known) {
    for (std::size_t i = 0; i < machine.calibrations.size(); i += at_once) {
      KnownMachine part{.key = machine.key, .host = machine.host, .facts = machine.facts};
      const auto rest = std::span(machine.calibrations).subspan(i);
      const auto some = rest.first(std::min(at_once, rest.size()));
      part.calibrations.assign(some.begin(), some.end());
      const auto answer = client.ask(protocol::LearnRequest{.machines = {std::move(part)}});
      if (!answer) return fail(fmt::format("{}: {}", path, answer.error().message));
    }
  }
  return {};
}

Result<void> keep_calibrations(Client& client, const std::string& path) {
  const auto known = read_known(path);
  if (!known) return std::unexpected(known.error());
  auto answer = client.ask(protocol::CalibrationsRequest{});
  if (!answer) return std::unexpected(answer.error());
  std::vector<KnownMachine> all = std::move(answer->machines);
  for (const KnownMachine& machine : *known)
    if (std::ranges::find(all, machine.key, &KnownMachine::key) == all.end())
      all.push_back(machine);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return write_file_atomically(path, protocol::to_text(all, 1) + "\n");
}

}  // namespace stab::client
