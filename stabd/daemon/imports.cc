// SPDX-License-Identifier: MIT
#include "stabd/daemon/imports.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "protocol/messages.h"

namespace stab::daemon {

Result<void> Imports::begin(Asker& client, std::uint32_t uid,
                            std::shared_ptr<archive::Spool>& spool) {
  auto intake = archive::Intake::open(spool->parts());
  if (!intake) return fail(intake.error().message);
  imports_.add(uid, {.client = &client, .uid = uid, .spool = &spool, .intake = std::move(*intake)});
  return {};
}

void Imports::give_up(const Asker& client) {
  const auto is_it = [&client](const Import& each) { return each.client == &client; };
  const Import* const import = imports_.find(is_it);
  if (import != nullptr && import->intake.id() != 0)
    upkeep_.give_up(import->intake.id(), import->uid);
  imports_.remove_if(is_it);
}

store::Outcome<void> Imports::go_on() {
  Import& import = imports_.front();
  const auto more = import.intake.step(store_);
  if (!more && more.error().temporary) {
    imports_.pass();  // other imports may still succeed
    return std::unexpected(more.error());
  }
  Asker& client = *import.client;
  std::shared_ptr<archive::Spool>& spool = *import.spool;
  const std::uint32_t uid = import.uid;
  const store::Id id = import.intake.id();
  const std::string name = one_line(import.intake.name(), 100);
  imports_.pass();
  if (more && *more) return {};
  std::string answer;
  if (more) {
    spdlog::info("user {} imported experiment {} ({})", uid, id, name);
    imports_.remove_if([&client](const Import& each) { return each.client == &client; });
    answer = protocol::encode(protocol::ImportReply{.id = id});
  } else {
    give_up(client);
    answer = protocol::encode_refusal(more.error().message);
  }
  spool.reset();
  client.answer(std::move(answer));
  return {};
}

}  // namespace stab::daemon
