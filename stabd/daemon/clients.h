// SPDX-License-Identifier: MIT
// The clients on the socket. Requests and answers are lines.
#pragma once

#include <uv.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "protocol/lines.h"
#include "stabd/archive.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/part.h"
#include "stabd/settings.h"

namespace stab::daemon {

// A plan has at most 1 MiB; as a JSON string it may take six times that.
inline constexpr std::size_t max_request_line = std::size_t{8} << 20;
// If more bytes than this are unread, the client's next request waits until it has read some.
inline constexpr std::size_t enough_waiting = std::size_t{1} << 20;

struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
};

class Connection final : public Asker {
 public:
  using OnLine = std::function<void(Connection&, const std::string& line)>;
  using OnClosed = std::function<void(Connection&)>;
  // Whether `bytes` more may wait for this client.
  using MayWait = std::function<bool(const Connection&, std::size_t bytes)>;

  // Accepts a connection from `server`; nullptr if that fails. The connection owns itself until it
  // is closed, and calls `on_closed` last. If `may_wait` refuses an answer, the client is dropped.
  static Connection* accept(uv_stream_t* server, const Clock& clock, OnLine on_line,
                            OnClosed on_closed, MayWait may_wait);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] const Peer& peer() const { return peer_; }
  void send(std::string line);
  void await_answer(std::function<void()> gone) override;
  [[nodiscard]] bool awaits_answer() const { return awaiting_; }
  void answer(std::string line) override;
  // Answers with a file, which is sent in pieces as the client takes them.
  void answer(Fd file);
  // Bytes of answers that the client has not taken yet, without those that are still in a file.
  [[nodiscard]] std::size_t unread() const;
  // Bytes that are still in the answer's file.
  [[nodiscard]] std::uint64_t unread_in_file() const;
  // The time since the client last sent something or took a part of an answer.
  [[nodiscard]] std::chrono::milliseconds idle() const;
  // Closes after everything has been written.
  void close_when_sent();
  [[nodiscard]] bool closes() const;
  // Whether the client has hung up. The loop hears of that only after it has read the remaining
  // requests.
  [[nodiscard]] bool is_left() const;
  void close();

  // Whether the client speaks our version of the protocol.
  bool greeted = false;
  // The experiment whose progress this client watches, or 0.
  std::int64_t watched = 0;
  // The archive that the client is sending, or nullptr.
  std::shared_ptr<archive::Spool> spool;

 private:
  explicit Connection(const Clock& clock) : clock_(clock), active_(clock.turn_began()) {}
  ~Connection() override = default;
  void listen();
  void received(ssize_t count, const char* bytes);
  void serve();
  void written(int failed);
  void write(std::string text);
  void write_some();
  void answered();

  const Clock& clock_;
  uv_pipe_t pipe_{};
  Peer peer_;
  protocol::LineBuffer lines_{max_request_line};
  OnLine on_line_;
  OnClosed on_closed_;
  MayWait may_wait_;
  std::size_t writes_ = 0;
  bool closing_when_sent_ = false;
  bool resting_ = false;  // requests wait until the client has read enough
  std::chrono::milliseconds active_;
  bool awaiting_ = false;
  bool waiting_ = false;      // we don't read from the client until it has its answer
  std::size_t unserved_ = 0;  // bytes that came while it awaits an answer
  std::function<void()> gone_;
  Fd file_;  // the answer that is being sent
  std::int64_t file_bytes_ = 0;
  std::int64_t sent_ = 0;  // bytes of file_ that have been sent
};

// The connected clients. Users share the connections. Root and the daemon's own user, who could end
// the daemon anyway, are never refused.
class Clients {
 public:
  // All users of one account share the limits of one user.
  Clients(Clock& clock, const settings::Limits& limits, std::chrono::nanoseconds idle_limit,
          Accounts& accounts);

  // From now on clients come from `server`, which calls accept() for each of them.
  void serve(uv_stream_t* server, Connection::OnLine on_line);
  void accept();
  // Applies to clients that connect from now on.
  void use_limits(const settings::Limits& limits) { limits_ = limits; }
  void close_all();
  // Connections that have been idle for this long are closed, except those of trusted users; 0 means
  // no limit.
  void use_idle_limit(std::chrono::nanoseconds limit);

  [[nodiscard]] bool anyone_watches() const;
  // Whether this client may send `bytes` more of an archive.
  [[nodiscard]] Result<void> may_send(const Connection& client, std::size_t bytes) const;
  // Whether a reader may write another answer for this user: not if too much waits unread in files.
  [[nodiscard]] bool may_be_answered(std::uint32_t uid) const;
  // `visit` may close the connection.
  void for_each_watcher(const std::function<void(Connection&)>& visit);

 private:
  void accept_one();
  void end_idle_in_time();
  void end_idle();
  void refuse_if_too_many(Connection& client) const;
  // Whether `bytes` more may wait for this client, counting everything that waits for its user.
  [[nodiscard]] bool may_wait(const Connection& client, std::size_t bytes) const;

  [[nodiscard]] bool is_same(const Connection& client, std::uint32_t uid) const {
    return accounts_.is_same(client.peer().uid, uid);
  }

  Clock& clock_;
  settings::Limits limits_;
  std::chrono::milliseconds idle_limit_;
  Accounts& accounts_;
  std::set<Connection*> connected_;
  uv_stream_t* server_ = nullptr;
  Connection::OnLine on_line_;
  int accepted_ = 0;  // clients accepted since the loop last served everybody else
  std::unique_ptr<Timer> accept_timer_;  // runs while many clients connect at once
  std::unique_ptr<Timer> idle_timer_;    // runs while there are clients
};

}  // namespace stab::daemon
