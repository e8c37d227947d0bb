// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "client/client.h"
#include "client/database/database_verbs.h"
#include "client/output.h"
#include "store/copy.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

std::string as_json(const std::string& database, const std::string& file,
                    const std::vector<store::Damage>& damage) {
  nlohmann::json rows = nlohmann::json::array();
  for (const store::Damage& each : damage)
    rows.push_back({{"table", each.table}, {"row", each.row}, {"problem", each.problem}});
  const nlohmann::json all{{"database", database}, {"file", file}, {"damage", rows}};
  return json_text(all, 2);
}

}  // namespace

Result<std::string> database_of(const Common& common) {
  if (!common.state.empty()) return database_named(common.state);
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  const auto answer = client->ask(protocol::VersionRequest{});
  if (!answer) return std::unexpected(answer.error());
  return answer->state + "/stabd.db";
}

std::string database_named(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? (fs::path(path) / "stabd.db").string() : path;
}

Result<int> backup(const Common& common, const std::string& file) {
  const auto database = database_of(common);
  if (!database) return std::unexpected(database.error());
  if (access(database->c_str(), R_OK) != 0)
    return fail_errno(
        fmt::format("cannot read {}, which only root and stabd's own user may copy", *database));
  const auto damage = store::back_up(*database, file);
  if (!damage) return fail(damage.error().message);
  if (common.json) {
    if (auto printed = write_json(as_json(*database, file, *damage)); !printed)
      return std::unexpected(printed.error());
  } else {
    fmt::print("{} is a copy of {}\n", file, *database);
    for (const store::Damage& each : *damage)
      fmt::print("row {} of {}: {}\n", each.row, each.table, for_terminal(each.problem));
  }
  if (damage->empty()) return exit_ok;
  tell(
      "stabctl: the copy is damaged like the original: 'stabctl recover' makes a new database from "
      "what is readable");
  return exit_failed;
}

}  // namespace stab::client
