// SPDX-License-Identifier: MIT
#include "plan/reading/keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stabd/client/verbs.h"

namespace stab::client {

Result<int> keys(const Common& common) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!common.json) fmt::print("| key | value | meaning | default |\n|---|---|---|---|\n");
  for (const plan::KeyWords& key : plan::describe_keys()) {
    if (common.json)
      list.push_back({{"key", key.path},
                      {"value", key.value},
                      {"meaning", key.meaning},
                      {"default", key.standard}});
    else
      fmt::print("| `{}` | {} | {} | {} |\n", key.path, key.value, key.meaning, key.standard);
  }
  if (common.json) fmt::print("{}\n", list.dump(2));
  return exit_ok;
}

}  // namespace stab::client
