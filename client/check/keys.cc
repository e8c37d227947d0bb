// SPDX-License-Identifier: MIT
#include "plan/reading/keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "client/verbs.h"
#include "plan/quantities.h"

namespace stab::client {

namespace {

Result<int> print_quantities(bool as_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string table = "| quantity | unit | reading | meaning |\n|---|---|---|---|\n";
  for (const plan::Quantity& each : plan::quantities()) {
    const std::string reading = each.before.empty()
                                    ? std::string(each.reading)
                                    : fmt::format("{}, {}", each.before, each.reading);
    list.push_back({{"quantity", each.name},
                    {"unit", each.unit},
                    {"reading", reading},
                    {"meaning", each.meaning}});
    table +=
        fmt::format("| `{}` | {} | `{}` | {} |\n", each.name, each.unit, reading, each.meaning);
  }
  fmt::print("{}", as_json ? list.dump(2) + "\n" : table);
  return exit_ok;
}

}  // namespace

Result<int> keys(const Common& common, bool quantities) {
  if (quantities) return print_quantities(common.json);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const plan::KeyWords& key : plan::describe_keys())
    list.push_back({{"key", key.path},
                    {"value", key.value},
                    {"meaning", key.meaning},
                    {"default", key.standard}});
  if (common.json)
    fmt::print("{}\n", list.dump(2));
  else
    fmt::print("{}", toml::table_of_keys(plan::describe_keys()));
  return exit_ok;
}

}  // namespace stab::client
