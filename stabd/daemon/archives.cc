// SPDX-License-Identifier: MIT
// Imports of experiments: a client sends an archive in pieces, a reader verifies it and splits it
// into parts, and the store takes the parts while no trial runs.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/text.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/reading.h"

namespace stab::daemon {

Result<std::optional<protocol::ImportReply>> Daemon::import(
    Connection& client, const protocol::ImportRequest& request) {
  const auto piece = from_base64(request.piece);
  if (!piece) return std::unexpected(piece.error());
  if (auto may = clients_.may_send(client, piece->size()); !may) {
    client.spool.reset();
    return std::unexpected(may.error());
  }
  if (!client.spool) {
    auto made = archive::Spool::make(options_.state_directory, leavings_.take());
    if (!made) return std::unexpected(made.error());
    client.spool = std::move(*made);
  }
  if (auto kept = client.spool->add(*piece); !kept) {
    client.spool.reset();
    return std::unexpected(kept.error());
  }
  if (!request.last) return protocol::ImportReply{};
  verify_import(client, request.file);
  return std::nullopt;
}

void Daemon::verify_import(Connection& client, std::string name) {
  const Peer& peer = client.peer();
  const archive::Spool* const spool = client.spool.get();
  const protocol::ReadRequest request{.reading = protocol::Reading::import,
                                      .file = spool->file(),
                                      .parts = spool->parts(),
                                      .name = std::move(name),
                                      .uid = peer.uid,
                                      .gid = peer.gid,
                                      .believed = queue_.is_trusted(peer.uid)};
  const auto ticket = readers_->ask(
      accounts_.of(peer.uid), protocol::encode(request), [this, &client](const Result<Fd>& answer) {
        const auto found = findings_in(answer);
        if (auto begun = found ? begin_import(client) : fail(found.error().message); !begun)
          end_import(client, protocol::encode_refusal(begun.error().message));
        after_session_step();
      });
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

Result<void> Daemon::begin_import(Connection& client) {
  if (auto may = may_store(client.peer().uid, client.spool->bytes()); !may) return may;
  auto intake = archive::Intake::open(client.spool->parts());
  if (!intake) return fail(intake.error().message);
  imports_.add(client.peer().uid, {.client = &client, .intake = std::move(*intake)});
  client.await_answer([this, &client] { give_up_import(client); });
  allow_upkeep();
  return {};
}

void Daemon::end_import(Connection& client, std::string answer) {
  client.spool.reset();
  client.answer(std::move(answer));
}

void Daemon::give_up_import(const Connection& client) {
  if (const store::Id begun = forget_import(client); begun != 0)
    upkeep_->give_up(begun, client.peer().uid);
  allow_upkeep();
}

// Returns the id of the experiment that the import had begun, or 0.
store::Id Daemon::forget_import(const Connection& client) {
  const auto is_it = [&client](const Import& each) { return each.client == &client; };
  const Import* const import = imports_.find(is_it);
  const store::Id id = import == nullptr ? 0 : import->intake.id();
  imports_.remove_if(is_it);
  return id;
}

// Returns only errors that may pass with time; all others are the answer to the client.
store::Outcome<void> Daemon::go_on_with_import() {
  Import& import = imports_.front();
  const auto more = import.intake.step(*store_);
  if (!more && more.error().temporary) {
    imports_.pass();  // other imports may still succeed
    return std::unexpected(more.error());
  }
  Connection& client = *import.client;
  const store::Id id = import.intake.id();
  const std::string name = one_line(import.intake.name(), 100);
  imports_.pass();
  if (more && *more) return {};
  if (more) {
    spdlog::info("user {} imported experiment {} ({})", client.peer().uid, id, name);
    forget_import(client);
    end_import(client, protocol::encode(protocol::ImportReply{.id = id}));
  } else {
    const std::string why = more.error().message;
    give_up_import(client);
    end_import(client, protocol::encode_refusal(why));
  }
  return {};
}

}  // namespace stab::daemon
