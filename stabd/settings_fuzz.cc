// SPDX-License-Identifier: MIT
// Whatever the bytes are, the reader returns problems, or settings that stay the same when they are
// printed and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stabd/settings.h"
#include "toml/value.h"

namespace stab::settings {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const std::expected<Settings, std::vector<toml::Problem>>& settings) {
  if (settings) {
    const std::string printed = print(*settings);
    const auto again = read(printed, standard());
    require(again && print(*again) == printed);
    return;
  }
  require(!settings.error().empty() && settings.error().size() <= toml::max_problems + 1);
  for (const toml::Problem& problem : settings.error()) require(!problem.message.empty());
  for (const char c : toml::describe(settings.error(), "s"))
    require(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace stab::settings

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stab::settings::Settings base = stab::settings::standard();
  base.state_directory = base.socket_path = base.cache_directory = "/x";
  stab::settings::check(
      stab::settings::read({reinterpret_cast<const char*>(data), size}, std::move(base)));
  return 0;
}
