// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/base64.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "client/client.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "cluster/settings.h"
#include "machine/facts.h"
#include "protocol/paths.h"
#include "report/csv.h"
#include "results/document.h"
#include "stabd/archive.h"
#include "stabd/upkeep.h"
#include "store/copy.h"
#include "store/recover.h"
#include "store/user_query.h"

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
    return fail_errno(fmt::format(
        "cannot read {}; only root and stabd's own user may copy this database", *database));
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
      "stabctl: the original database is damaged, and so is the copy: 'stabctl recover' makes a "
      "new database from the readable parts");
  return exit_failed;
}

// Exports and imports archives. With a daemon, only the bytes pass through it, and stabctl opens
// the files as its user; with --folder, stabctl does everything itself.

namespace {

// Removes what an unfinished import left. Returns "", or text that says why it could not.
std::string remove_unfinished(store::Store& store) {
  upkeep::Upkeep upkeep(store);
  auto done = upkeep.load();
  while (done && upkeep.has_work()) done = upkeep.step();
  return done ? "" : "; stabd removes its parts when it starts: " + done.error().message;
}

Result<void> fetch_archive(const Common& common, std::int64_t id, const std::string& file) {
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask(protocol::ExportRequest{.id = id, .format = "archive"});
  if (!reply) return std::unexpected(reply.error());
  const auto bytes = from_base64(reply->text);
  if (!bytes) return std::unexpected(bytes.error());
  const auto kept = store::keep_database(*bytes, file);
  return kept ? Result<void>() : fail(kept.error().message);
}

Result<std::int64_t> send_archive(const Common& common, const std::string& file) {
  const Fd opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail_errno(fmt::format("cannot read {}", file));
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  std::error_code error;
  const std::string name = fs::absolute(file, error).lexically_normal().string();
  for (;;) {
    const auto piece = read_piece(opened, protocol::bytes_of_piece);
    if (!piece) return std::unexpected(piece.error());
    const bool last = piece->size() < protocol::bytes_of_piece;
    const auto reply = client->ask(
        protocol::ImportRequest{.piece = to_base64(*piece), .last = last, .file = name});
    if (!reply) return std::unexpected(reply.error());
    if (last) return reply->id;
  }
}

Result<std::int64_t> take_in(const std::string& file, const std::string& state) {
  umask(077);  // only its user may read a new database
  std::error_code error;
  const fs::path folder(state);
  if (folder.filename() == "stabd.db" ||
      (fs::exists(folder, error) && !fs::is_directory(folder, error)))
    return wrong_call(
        fmt::format("{} is not a folder: --folder needs the folder of a database", state));
  fs::create_directories(folder, error);
  if (error) return fail(fmt::format("cannot make the folder {}: {}", state, error.message()));
  auto store = store::Store::open(database_named(state));
  if (!store) return fail(store.error().message);
  // Removes what a killed import or removal left. No daemon has this database open.
  remove_unfinished(**store);
  archive::Spool::remove_left(state);
  const auto spool = archive::Spool::make(state);
  if (!spool) return std::unexpected(spool.error());
  const archive::Receiver receiver{
      .uid = geteuid(), .gid = getegid(), .believed = true, .name = file};
  auto apart = archive::take_apart(file, receiver, (*spool)->parts());
  if (!apart) return std::unexpected(apart.error());
  auto intake = archive::Intake::open((*spool)->parts(), receiver);
  if (!intake) return fail(intake.error().message);
  for (;;) {
    const auto more = intake->step(**store);
    if (!more)
      return fail(fmt::format("{} is not imported: {}{}", file, more.error().message,
                              remove_unfinished(**store)));
    if (!*more) return intake->id();
  }
}

}  // namespace

Result<int> export_archive(const Common& common, std::int64_t id, const std::string& file) {
  if (common.state.empty() && id == 0)
    return fail("name an experiment by its number ('stabctl list' shows the numbers)");
  if (!common.state.empty()) {
    const auto found = experiment_in(common.state, id);
    if (!found) return std::unexpected(found.error());
    id = *found;
  }
  auto written = common.state.empty() ? fetch_archive(common, id, file)
                                      : archive::write(database_named(common.state), id, file);
  if (!written) return std::unexpected(written.error());
  if (common.json)
    fmt::print("{{\"id\":{}}}\n", id);
  else
    fmt::print("{} holds experiment {}; 'stabctl import' reads it\n", for_terminal(file), id);
  return exit_ok;
}

Result<int> import_archive(const Common& common, const std::string& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    return fail(fmt::format(
        "there is no file {}: name an archive written by 'stabctl export ID --archive FILE'",
        file));
  const auto id = common.state.empty() ? send_archive(common, file) : take_in(file, common.state);
  if (!id) return std::unexpected(id.error());
  if (common.json)
    fmt::print("{{\"id\":{}}}\n", *id);
  else if (common.state.empty())
    fmt::print("imported as experiment {}\n", *id);
  else
    fmt::print("imported as experiment {} in {}\n", *id, for_terminal(common.state));
  return exit_ok;
}

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

namespace {

Result<void> print(const Common& common, const protocol::RemoveReply& gone, bool dry) {
  if (common.json)
    fmt::print("{}\n", protocol::to_text(gone, -1));
  else
    fmt::print("experiment {} ({}) {}: {} trials, {} builds, {} events\n", gone.id,
               one_line(gone.name, 100), dry ? "would be removed" : "is removed", gone.trials,
               gone.builds, gone.events);
  return flush_output();
}

// Fails if the experiment has not ended. The database's name is for messages.
Result<protocol::RemoveReply> what_would_go(store::Reader& store, const std::string& database,
                                            std::int64_t id) {
  const auto found = store.experiment(id);
  if (!found) return fail(found.error().message);
  if (!*found) {
    const auto ids = ids_in(store);
    return ids ? no_experiment(id, database, *ids) : std::unexpected(ids.error());
  }
  if ((*found)->ended_ns == 0)
    return fail(fmt::format(
        "experiment {} cannot be removed, because it has not ended: to continue the experiment, "
        "repeat the command that started it ('stabctl run' or 'stabctl ab')",
        id));
  const auto content = store.content(id);
  if (!content) return fail(content.error().message);
  return protocol::RemoveReply{.id = id,
                               .name = (*found)->name,
                               .trials = content->trials,
                               .builds = content->builds,
                               .events = content->events};
}

Result<protocol::RemoveReply> remove_stored(store::Store& store, const std::string& database,
                                            std::int64_t id) {
  auto gone = what_would_go(store, database, id);
  if (!gone) return gone;
  const auto found = store.experiment(id);
  upkeep::Upkeep upkeep(store);
  if (auto begun = upkeep.remove(**found, fmt::format("by user {}", geteuid())); !begun)
    return fail(begun.error().message);
  while (upkeep.has_work())
    if (auto done = upkeep.step(); !done) return fail(done.error().message);
  return gone;
}

using Remover = std::function<Result<protocol::RemoveReply>(std::int64_t id)>;

Result<int> remove_each(const Common& common, const std::vector<std::int64_t>& ids, bool dry,
                        const Remover& remove_one) {
  for (const std::int64_t id : ids) {
    const auto gone = remove_one(id);
    if (!gone) return std::unexpected(gone.error());
    if (auto printed = print(common, *gone, dry); !printed) return std::unexpected(printed.error());
  }
  return exit_ok;
}

}  // namespace

Result<int> remove(const Common& common, const std::vector<std::int64_t>& ids, bool dry) {
  if (common.state.empty()) {
    auto client = Client::connect(common.sockets);
    if (!client) return std::unexpected(client.error());
    return remove_each(common, ids, dry, [&](std::int64_t id) {
      return client->ask(protocol::RemoveRequest{.id = id, .dry = dry});
    });
  }
  const std::string database = database_named(common.state);
  if (auto there = is_there(database); !there) return std::unexpected(there.error());
  if (dry) {
    auto reader = store::Reader::open(database);
    if (!reader) return fail(reader.error().message);
    return remove_each(common, ids, dry,
                       [&](std::int64_t id) { return what_would_go(**reader, database, id); });
  }
  auto store = store::Store::open(database);
  if (!store) return fail(store.error().message);
  return remove_each(common, ids, dry,
                     [&](std::int64_t id) { return remove_stored(**store, database, id); });
}

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
      "stabctl: the query takes longer than its time limit: ask for less data, or raise "
      "--time-limit\n";
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

namespace {

// One machine: facts from the database, and its state in the cluster.
struct MachineRow {
  std::int64_t last_ns = 0;  // when its last trial began
  std::int64_t trials = 0;
  std::int64_t experiments = 0;
  std::string summary{};
  std::string versions{};  // of stabd and of the compilers, in the last experiment here
  std::string state{};     // in the cluster
  std::optional<double> floor{};
  std::string floor_response{};
  std::int64_t floor_ns = 0;
};

// The value in a row of a query that this file makes.
template <class T>
T value_of(const std::vector<store::Value>& row, std::size_t i) {
  const T* value = std::get_if<T>(&row.at(i));
  return value == nullptr ? T() : *value;
}

Result<store::Table> ask_for(const std::string& path, const std::string& statement) {
  constexpr std::chrono::minutes patience{5};  // all trials are read
  auto table = store::query(path, statement, {.time = patience});
  if (!table) return fail(table.error().message);
  return std::move(*table);
}

Result<std::map<std::string, MachineRow>> machines_in(const std::string& path) {
  std::map<std::string, MachineRow> rows;
  const auto experiments = ask_for(
      path,
      "SELECT experiment.id, machine.host, machine.key FROM experiment LEFT JOIN machine ON "
      "machine.id = experiment.machine ORDER BY experiment.id");
  if (!experiments) return std::unexpected(experiments.error());
  // SQLite sorts in memory, which suffices for the trials of one experiment.
  for (const auto& experiment : experiments->rows) {
    const auto trials = ask_for(
        path, fmt::format("SELECT node, max(started_ns), count(*) FROM trial WHERE experiment = {} "
                          "GROUP BY node",
                          value_of<std::int64_t>(experiment, 0)));
    if (!trials) return std::unexpected(trials.error());
    // Anybody may have made the rows of archives.
    const bool is_imported = value_of<std::string>(experiment, 2).contains("-imported-by-");
    // All nodes of an experiment have the same compilers.
    const auto versions = ask_for(
        path, fmt::format("SELECT text FROM event WHERE experiment = {} AND kind = '{}' ORDER BY "
                          "id DESC LIMIT 1",
                          value_of<std::int64_t>(experiment, 0), results::versions_event));
    if (!versions) return std::unexpected(versions.error());
    for (const auto& row : trials->rows) {
      const auto node = value_of<std::string>(row, 0);
      MachineRow& machine = rows[node.empty() ? value_of<std::string>(experiment, 1) : node];
      if (!is_imported && !versions->rows.empty() &&
          value_of<std::int64_t>(row, 1) >= machine.last_ns)
        machine.versions = one_line(value_of<std::string>(versions->rows.front(), 0), 500);
      machine.last_ns = std::max(machine.last_ns, value_of<std::int64_t>(row, 1));
      machine.trials += value_of<std::int64_t>(row, 2);
      ++machine.experiments;
    }
  }
  // Anybody may have made the rows of archives.
  const auto facts = ask_for(
      path, "SELECT host, facts FROM machine WHERE key NOT LIKE '%-imported-by-%' ORDER BY id");
  if (!facts) return std::unexpected(facts.error());
  for (const auto& row : facts->rows)
    if (const auto found = rows.find(value_of<std::string>(row, 0)); found != rows.end())
      found->second.summary = machine::stored_facts(value_of<std::string>(row, 1)).summary;
  const auto floors = ask_for(
      path,
      "SELECT machine.host, calibration.margin, calibration.response, calibration.at_ns FROM "
      "calibration JOIN machine ON machine.id = calibration.machine WHERE calibration.scope = "
      "'any' AND calibration.margin NOT NULL ORDER BY calibration.at_ns, calibration.id");
  if (!floors) return std::unexpected(floors.error());
  for (const auto& row : floors->rows)
    if (const auto found = rows.find(value_of<std::string>(row, 0)); found != rows.end()) {
      found->second.floor = value_of<double>(row, 1);
      found->second.floor_response = value_of<std::string>(row, 2);
      found->second.floor_ns = value_of<std::int64_t>(row, 3);
    }
  // Without a cluster there are no states.
  if (const auto states = cluster::all_node_states())
    for (auto& [host, row] : rows)
      if (const auto found = states->find(host); found != states->end()) row.state = found->second;
  return rows;
}

std::string as_text(const std::map<std::string, MachineRow>& rows) {
  std::string text;
  for (const auto& [host, row] : rows) {
    text += fmt::format("{}\n    last used {}, {} trial{} in {} experiment{}; ",
                        row.summary.empty() ? host + ": nothing is known about it" : row.summary,
                        local_time(row.last_ns), row.trials, row.trials == 1 ? "" : "s",
                        row.experiments, row.experiments == 1 ? "" : "s");
    text += row.floor ? fmt::format("noise floor {:.2g} % in {} ({})\n", 100 * *row.floor,
                                    row.floor_response, local_time(row.floor_ns))
                      : std::string("no calibration\n");
    if (!row.versions.empty()) text += fmt::format("    {}\n", row.versions);
    if (!row.state.empty()) text += fmt::format("    Slurm: {}\n", row.state);
  }
  return text.empty() ? "no trial has run yet\n" : text;
}

std::string as_json(const std::map<std::string, MachineRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [host, row] : rows) {
    nlohmann::json floor;
    if (row.floor)
      floor = {{"margin", *row.floor}, {"response", row.floor_response}, {"at_ns", row.floor_ns}};
    list.push_back({{"machine", host},
                    {"summary", row.summary},
                    {"versions", row.versions},
                    {"last_ns", row.last_ns},
                    {"trials", row.trials},
                    {"experiments", row.experiments},
                    {"noise_floor", floor},
                    {"state", row.state.empty() ? nlohmann::json() : nlohmann::json(row.state)}});
  }
  return json_text(list, 2) + "\n";
}

}  // namespace

Result<int> machines(const Common& common) {
  const auto path = database_of(common);
  if (!path) return std::unexpected(path.error());
  if (auto there = is_there(*path); !there) return std::unexpected(there.error());
  const auto rows = machines_in(*path);
  if (!rows) return std::unexpected(rows.error());
  const std::string text = common.json ? as_json(*rows) : as_text(*rows);
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
