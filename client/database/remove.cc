// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/text.h"
#include "client/client.h"
#include "client/database/database_verbs.h"
#include "client/output.h"
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

// Fails if the experiment has not ended.
Result<protocol::RemoveReply> what_would_go(store::Reader& store, std::int64_t id) {
  const auto found = store.experiment(id);
  if (!found) return fail(found.error().message);
  if (!*found) return fail(fmt::format("there is no experiment {}", id));
  if ((*found)->ended_ns == 0)
    return fail(fmt::format(
        "experiment {} has not ended: the 'stabctl run' that started it can continue it", id));
  const auto content = store.content(id);
  if (!content) return fail(content.error().message);
  return protocol::RemoveReply{.id = id,
                               .name = (*found)->name,
                               .trials = content->trials,
                               .builds = content->builds,
                               .events = content->events};
}

Result<protocol::RemoveReply> remove_stored(store::Store& store, std::int64_t id) {
  auto gone = what_would_go(store, id);
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
  std::error_code error;
  if (!std::filesystem::is_regular_file(database, error))
    return fail(fmt::format("there is no database {}", database));
  if (dry) {
    auto reader = store::Reader::open(database);
    if (!reader) return fail(reader.error().message);
    return remove_each(common, ids, dry,
                       [&](std::int64_t id) { return what_would_go(**reader, id); });
  }
  auto store = store::Store::open(database);
  if (!store) return fail(store.error().message);
  return remove_each(common, ids, dry, [&](std::int64_t id) { return remove_stored(**store, id); });
}

}  // namespace stab::client
