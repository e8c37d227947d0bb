// SPDX-License-Identifier: MIT
// Exports and imports archives. With a daemon, only the bytes pass through it, and stabctl opens
// the files as its user; with --folder, stabctl does everything itself.
#include "stabd/archive/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/base64.h"
#include "base/fd.h"
#include "client/client.h"
#include "client/database/database_verbs.h"
#include "client/output.h"
#include "stabd/archive/intake.h"
#include "stabd/archive/spool.h"
#include "stabd/upkeep/upkeep.h"
#include "store/copy.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

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
    return fail(fmt::format("{} is not a folder: --folder needs the folder of a database", state));
  fs::create_directories(folder, error);
  if (error) return fail(fmt::format("cannot make the folder {}: {}", state, error.message()));
  auto store = store::Store::open(database_named(state));
  if (!store) return fail(store.error().message);
  // Removes what a killed import or removal left. No daemon has this database open.
  remove_unfinished(**store);
  archive::Spool::remove_left(state);
  const auto spool = archive::Spool::make(state);
  if (!spool) return std::unexpected(spool.error());
  auto apart = archive::take_apart(
      file, {.uid = geteuid(), .gid = getegid(), .believed = true, .name = file},
      (*spool)->parts());
  if (!apart) return std::unexpected(apart.error());
  auto intake = archive::Intake::open((*spool)->parts());
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
    fmt::print("it is now experiment {}\n", *id);
  else
    fmt::print("it is now experiment {} of {}\n", *id, for_terminal(common.state));
  return exit_ok;
}

}  // namespace stab::client
