// SPDX-License-Identifier: MIT
#include "store/recovery/recover.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "client/database/database_verbs.h"
#include "client/output.h"

namespace stab::client {
namespace {

std::string as_json(const std::string& from, const std::string& to, const store::Recovered& found) {
  using nlohmann::json;
  json tables = json::array();
  for (const auto& each : found.tables)
    tables.push_back({{"table", each.name},
                      {"kept", each.kept},
                      {"lost", each.lost},
                      {"more_may_be_lost", each.more}});
  json experiments = json::array();
  for (const auto& each : found.experiments)
    experiments.push_back({{"id", each.id}, {"name", each.name}, {"problem", each.problem}});
  const json all{{"from", from},
                 {"to", to},
                 {"lost_nothing", found.lost_nothing()},
                 {"tables", tables},
                 {"experiments", experiments}};
  return json_text(all, 2);
}

void print(const std::string& to, const store::Recovered& found) {
  for (const auto& each : found.tables)
    fmt::print("{:<12} {:>8} kept {:>8} lost{}\n", each.name, each.kept, each.lost,
               each.more ? ", and more may be lost" : "");
  for (const auto& each : found.experiments)
    fmt::print("experiment {}{}{}: {}\n", each.id, each.name.empty() ? "" : " ",
               one_line(each.name, 100), each.problem);
  fmt::print("{} is complete{}\n", for_terminal(to),
             found.lost_nothing() ? ", and nothing was lost" : "");
}

}  // namespace

Result<int> recover(const Common& common, const std::string& from, const std::string& to) {
  const std::string source = database_named(from);
  const std::string target = database_named(to);
  const auto found = store::recover(source, target);
  if (!found) return fail(found.error().message);
  if (common.json) {
    if (auto printed = write_json(as_json(source, target, *found)); !printed)
      return std::unexpected(printed.error());
  } else {
    print(target, *found);
  }
  return found->lost_nothing() ? exit_ok : exit_failed;
}

}  // namespace stab::client
