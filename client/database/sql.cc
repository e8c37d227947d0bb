// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "client/database/database_verbs.h"
#include "client/output.h"
#include "protocol/paths.h"
#include "report/csv.h"
#include "store/query/query.h"

namespace stab::client {
namespace {

constexpr std::size_t widest_cell = 200;

struct AsText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const std::string& text) const { return text; }
};

struct AsJson {
  nlohmann::json operator()(std::monostate) const { return nullptr; }
  template <class T>
  nlohmann::json operator()(const T& value) const {
    return value;
  }
};

std::vector<std::string> cells_of(const std::vector<store::Value>& row) {
  std::vector<std::string> cells;
  for (const store::Value& each : row) cells.push_back(std::visit(AsText(), each));
  return cells;
}

std::string as_json(const store::Table& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : table.rows) {
    nlohmann::json cells = nlohmann::json::array();
    for (const store::Value& each : row) cells.push_back(std::visit(AsJson(), each));
    rows.push_back(std::move(cells));
  }
  const nlohmann::json all{{"columns", table.columns}, {"rows", std::move(rows)}};
  return json_text(all) + "\n";
}

std::string as_csv(const store::Table& table) {
  std::string text = report::csv_line(table.columns);
  for (const auto& row : table.rows) text += report::csv_line(cells_of(row));
  return text;
}

// Aligns the columns, with two spaces between them; each cell becomes one line.
std::string as_table(const store::Table& table) {
  std::vector<std::vector<std::string>> lines{table.columns};
  for (const auto& row : table.rows) lines.push_back(cells_of(row));
  std::vector<std::size_t> widths(table.columns.size());
  for (auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = one_line(line[i], widest_cell);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string text;
  for (const auto& line : lines) {
    std::string shown;
    for (std::size_t i = 0; i < line.size(); ++i)
      shown += fmt::format("{}{:<{}}", i == 0 ? "" : "  ", line[i], widths[i]);
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

// One of SQLite's functions can run almost forever on a long text without checking the query's
// limit, so this handler ends the process.
void end_at_once(int /*signal*/) {
  constexpr std::string_view words =
      "stabctl: the query takes longer than its time limit: ask for less, or raise --time-limit\n";
  const auto ignored = write(STDERR_FILENO, words.data(), words.size());
  static_cast<void>(ignored);
  _exit(exit_error);
}

// Ends the process soon after the query's own limit. The query writes nothing, so nothing is left
// half done.
void end_after(std::chrono::seconds time) {
  struct sigaction action{};
  action.sa_handler = end_at_once;
  sigaction(SIGALRM, &action, nullptr);
  alarm(static_cast<unsigned>(std::min<std::int64_t>(time.count() + 1, INT32_MAX)));
}

}  // namespace

Result<int> sql(const Common& common, const SqlOptions& options) {
  const std::string folder = common.state.empty() ? default_state_directory() : common.state;
  const std::string path = options.database.empty() ? folder + "/stabd.db" : options.database;
  if (access(path.c_str(), R_OK) != 0)
    return fail(fmt::format(
        "cannot read {} ({}): name the folder of a database with --folder ('stabctl runs' lists "
        "some), or a file with --database",
        path, std::strerror(errno)));
  end_after(std::chrono::seconds(options.seconds));
  const auto table =
      store::query(path, options.statement, {.time = std::chrono::seconds(options.seconds)});
  if (!table) return fail(table.error().message);
  const std::string text = common.json   ? as_json(*table)
                           : options.csv ? as_csv(*table)
                                         : as_table(*table);
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
