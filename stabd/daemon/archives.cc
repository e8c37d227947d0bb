// SPDX-License-Identifier: MIT
// Archives that clients send: they come in pieces, a reader verifies them and splits them into parts,
// and the store takes the parts (maintenance.h).

#include "base/base64.h"
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
        if (auto begun = found ? begin_import(client) : fail(found.error().message); !begun) {
          client.spool.reset();
          client.answer(protocol::encode_refusal(begun.error().message));
        }
        after_session_step();
      });
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

Result<void> Daemon::begin_import(Connection& client) {
  const std::uint32_t uid = client.peer().uid;
  if (auto may = may_store(uid, client.spool->bytes()); !may) return may;
  return maintenance_.import(client, uid, client.spool);
}

}  // namespace stab::daemon
