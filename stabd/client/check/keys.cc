// SPDX-License-Identifier: MIT
#include "plan/reading/keys.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stabd/client/verbs.h"

namespace stab::client {

Result<int> keys(const Common& common) {
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
