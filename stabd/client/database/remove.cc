// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/text.h"
#include "stabd/client/client.h"
#include "stabd/client/database/database_verbs.h"
#include "stabd/client/output.h"
#include "stabd/upkeep/upkeep.h"

namespace stab::client {
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

Result<protocol::RemoveReply> remove_stored(store::Store& store, std::int64_t id, bool dry) {
  const auto found = store.experiment(id);
  if (!found) return fail(found.error().message);
  if (!*found) return fail(fmt::format("there is no experiment {} in it", id));
  const store::Experiment& experiment = **found;
  if (experiment.ended_ns == 0)
    return fail(fmt::format(
        "experiment {} has not ended: the 'stabctl run' that began it goes on with it", id));
  const auto content = store.content(id);
  if (!content) return fail(content.error().message);
  upkeep::Upkeep upkeep(store);
  if (!dry) {
    if (auto begun = upkeep.remove(experiment, fmt::format("by user {}", geteuid())); !begun)
      return fail(begun.error().message);
  }
  while (upkeep.has_work())
    if (auto done = upkeep.step(); !done) return fail(done.error().message);
  return protocol::RemoveReply{.id = id,
                               .name = experiment.name,
                               .trials = content->trials,
                               .builds = content->builds,
                               .events = content->events};
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
  std::error_code error;
  if (!std::filesystem::is_regular_file(database, error))
    return fail(fmt::format("there is no database {}", database));
  auto store = store::Store::open(database);
  if (!store) return fail(store.error().message);
  return remove_each(common, ids, dry,
                     [&](std::int64_t id) { return remove_stored(**store, id, dry); });
}

}  // namespace stab::client
