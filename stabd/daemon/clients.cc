// SPDX-License-Identifier: MIT
#include "stabd/daemon/clients.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "protocol/messages.h"

namespace stab::daemon {
namespace {

constexpr std::size_t piece_size = std::size_t{256} << 10;
constexpr std::size_t enough_unserved = std::size_t{64} << 10;

struct Write {
  uv_write_t request{};
  std::string text;
};

Connection* owner(uv_handle_t* handle) {
  return static_cast<Connection*>(handle->data);
}

Peer peer_of(uv_pipe_t& pipe) {
  uv_os_fd_t fd = -1;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  // If the kernel doesn't say who it is, it is nobody, and accept() refuses it.
  if (uv_fileno(reinterpret_cast<uv_handle_t*>(&pipe), &fd) != 0 ||
      getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return {.uid = ~0U, .gid = ~0U, .pid = 0};
  return {.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
}

}  // namespace

Connection* Connection::accept(uv_stream_t* server, const Clock& clock, OnLine on_line,
                               OnClosed on_closed, MayWait may_wait) {
  auto* connection = new Connection(clock);
  connection->on_line_ = std::move(on_line);
  connection->on_closed_ = std::move(on_closed);
  connection->may_wait_ = std::move(may_wait);
  uv_pipe_init(server->loop, &connection->pipe_, 0);
  connection->pipe_.data = connection;
  auto* stream = reinterpret_cast<uv_stream_t*>(&connection->pipe_);
  if (uv_accept(server, stream) != 0) {
    connection->on_closed_ = nullptr;
    connection->close();
    return nullptr;
  }
  connection->peer_ = peer_of(connection->pipe_);
  if (connection->peer_.uid == ~0U) {
    connection->on_closed_ = nullptr;
    connection->close();
    return nullptr;
  }
  connection->listen();
  return connection;
}

std::chrono::milliseconds Connection::idle() const {
  if (awaiting_ && !file_) return {};
  return clock_.turn_began() - active_;
}

bool Connection::closes() const {
  return closing_when_sent_ || uv_is_closing(reinterpret_cast<const uv_handle_t*>(&pipe_)) != 0;
}

bool Connection::is_left() const {
  // While we don't read, the loop doesn't hear of a hang-up and the connection stays, so it counts.
  if (waiting_ || resting_) return false;
  pollfd end{.fd = -1, .events = 0, .revents = 0};
  return uv_fileno(reinterpret_cast<const uv_handle_t*>(&pipe_), &end.fd) == 0 &&
         poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

void Connection::listen() {
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(&pipe_),
      [](uv_handle_t*, size_t wanted, uv_buf_t* buffer) {
        *buffer = uv_buf_init(new char[wanted], static_cast<unsigned>(wanted));
      },
      [](uv_stream_t* handle, ssize_t count, const uv_buf_t* buffer) {
        const std::unique_ptr<char[]> bytes(buffer->base);
        if (count != 0) owner(reinterpret_cast<uv_handle_t*>(handle))->received(count, bytes.get());
      });
}

void Connection::received(ssize_t count, const char* bytes) {
  if (count < 0) return close();
  active_ = clock_.turn_began();
  unserved_ = awaiting_ ? unserved_ + static_cast<std::size_t>(count) : 0;
  if (!lines_.add(std::string_view(bytes, static_cast<std::size_t>(count)))) {
    send(protocol::encode_refusal("the request is too long"));
    return close_when_sent();
  }
  // The rest waits in the kernel, and so does its sender.
  if (unserved_ > enough_unserved) {
    waiting_ = true;
    uv_read_stop(reinterpret_cast<uv_stream_t*>(&pipe_));
  }
  serve();
}

void Connection::serve() {
  auto* stream = reinterpret_cast<uv_stream_t*>(&pipe_);
  for (;;) {
    if (closing_when_sent_ || uv_is_closing(reinterpret_cast<uv_handle_t*>(&pipe_)) != 0) return;
    if (awaiting_) return;
    if (unread() > enough_waiting) {
      resting_ = true;
      uv_read_stop(stream);
      return;
    }
    const auto line = lines_.next();
    if (!line) return;
    on_line_(*this, *line);
  }
}

std::size_t Connection::unread() const {
  return uv_stream_get_write_queue_size(reinterpret_cast<const uv_stream_t*>(&pipe_));
}

std::uint64_t Connection::unread_in_file() const {
  return file_ ? static_cast<std::uint64_t>(file_bytes_ - sent_) : 0;
}

// Answers in files don't come through here: they wait in their file, so may_wait_ doesn't count
// them.
void Connection::send(std::string line) {
  if (!may_wait_(*this, line.size())) return close();
  write(std::move(line) + "\n");
}

void Connection::await_answer(std::function<void()> gone) {
  awaiting_ = true;
  gone_ = std::move(gone);
}

void Connection::answer(std::string line) {
  send(std::move(line));
  answered();
}

void Connection::answer(Fd file) {
  gone_ = nullptr;
  file_ = std::move(file);
  file_bytes_ = lseek(file_.get(), 0, SEEK_END);
  sent_ = 0;
  active_ = clock_.turn_began();
  write_some();
}

void Connection::write_some() {
  while (file_ && uv_is_closing(reinterpret_cast<uv_handle_t*>(&pipe_)) == 0 &&
         unread() < enough_waiting) {
    std::string piece(piece_size, '\0');
    const ssize_t n = pread(file_.get(), piece.data(), piece.size(), sent_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return close();
    if (n == 0) {
      file_.reset();
      return answered();
    }
    sent_ += n;
    piece.resize(static_cast<std::size_t>(n));
    write(std::move(piece));
  }
}

void Connection::answered() {
  awaiting_ = false;
  unserved_ = 0;
  gone_ = nullptr;
  if (std::exchange(waiting_, false) && !resting_ && !closing_when_sent_ &&
      uv_is_closing(reinterpret_cast<uv_handle_t*>(&pipe_)) == 0)
    listen();
  serve();
}

void Connection::write(std::string text) {
  auto* stream = reinterpret_cast<uv_stream_t*>(&pipe_);
  if (uv_is_closing(reinterpret_cast<uv_handle_t*>(&pipe_)) != 0) return;
  auto* write = new Write;
  write->text = std::move(text);
  write->request.data = write;
  const uv_buf_t buffer =
      uv_buf_init(write->text.data(), static_cast<unsigned>(write->text.size()));
  ++writes_;
  const int error =
      uv_write(&write->request, stream, &buffer, 1, [](uv_write_t* request, int failed) {
        Connection* connection = owner(reinterpret_cast<uv_handle_t*>(request->handle));
        delete static_cast<Write*>(request->data);
        connection->written(failed);
      });
  if (error != 0) {
    delete write;
    --writes_;
    close();
  }
}

void Connection::written(int failed) {
  --writes_;
  active_ = clock_.turn_began();
  // A part of the answer is lost, and the client would wait for it, so we close the connection.
  if (failed != 0) return close();
  if (closing_when_sent_ && writes_ == 0 && !file_) close();
  if (file_) write_some();
  const auto* stream = reinterpret_cast<uv_stream_t*>(&pipe_);
  if (!resting_ || uv_is_closing(reinterpret_cast<uv_handle_t*>(&pipe_)) != 0 ||
      uv_stream_get_write_queue_size(stream) > enough_waiting)
    return;
  resting_ = false;
  if (!closing_when_sent_ && !waiting_) listen();
  serve();
}

void Connection::close_when_sent() {
  closing_when_sent_ = true;
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&pipe_));
  if (writes_ == 0 && !file_) close();
}

void Connection::close() {
  auto* handle = reinterpret_cast<uv_handle_t*>(&pipe_);
  if (uv_is_closing(handle) != 0) return;
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
  uv_close(handle, [](uv_handle_t* closed) {
    Connection* connection = owner(closed);
    if (connection->on_closed_) connection->on_closed_(*connection);
    delete connection;
  });
}

namespace {

using std::chrono::milliseconds;

// The limit for one trusted client.
constexpr std::size_t most_unread = std::size_t{1} << 30;

bool is_trusted(std::uint32_t uid) {
  return uid == 0 || uid == geteuid();
}
bool is_trusted(const Connection& client) {
  return is_trusted(client.peer().uid);
}

}  // namespace

Clients::Clients(Clock& clock, const settings::Limits& limits, std::chrono::nanoseconds idle_limit,
                 Accounts& accounts)
    : clock_(clock),
      limits_(limits),
      idle_limit_(std::chrono::ceil<milliseconds>(idle_limit)),
      accounts_(accounts),
      accept_timer_(clock.timer([this] {
        accepted_ = 0;
        accept_one();
      })),
      idle_timer_(clock.timer([this] { end_idle(); })) {}

void Clients::serve(uv_stream_t* server, Connection::OnLine on_line) {
  server_ = server;
  on_line_ = std::move(on_line);
}

// libuv calls this as long as a client waits to be accepted, so a client that connects again and
// again could keep the loop here. Leaving one connection unaccepted stops libuv: the timer accepts
// the rest after all other clients have been served.
void Clients::accept() {
  constexpr int most_at_once = 16;
  if (++accepted_ <= most_at_once) return accept_one();
  accept_timer_->start(milliseconds(0));
}

void Clients::accept_one() {
  Connection* client = Connection::accept(
      server_, clock_, on_line_, [this](Connection& connection) { connected_.erase(&connection); },
      [this](const Connection& each, std::size_t bytes) { return may_wait(each, bytes); });
  if (client != nullptr) {
    connected_.insert(client);
    accounts_.look_again();
    refuse_if_too_many(*client);
  }
  if (!idle_timer_->runs()) end_idle_in_time();
}

void Clients::refuse_if_too_many(Connection& client) const {
  if (is_trusted(client)) return;
  // A refused client that still gets its refusal doesn't count, nor does one that has hung up
  // unnoticed by the loop. Asking the kernel about a hang-up takes a system call for each client,
  // so we ask only if that could change the result.
  const auto too_many = [&](std::uint32_t most, const auto& counts) {
    const auto stays = [&](const Connection* each) { return counts(*each) && !each->closes(); };
    return std::cmp_greater(std::ranges::count_if(connected_, stays), most) &&
           std::cmp_greater(std::ranges::count_if(connected_,
                                                  [&](const Connection* each) {
                                                    return stays(each) && !each->is_left();
                                                  }),
                            most);
  };
  const auto refuse = [&](const std::string& why) {
    client.send(protocol::encode_refusal(why));
    client.close_when_sent();
  };
  if (too_many(limits_.connections_of_user,
               [&](const Connection& each) { return is_same(each, client.peer().uid); }))
    return refuse(fmt::format("you already have {} connections to stabd: close some",
                              limits_.connections_of_user));
  if (too_many(limits_.connections, [](const Connection& each) { return !is_trusted(each); }))
    refuse("stabd has too many clients: try again later");
}

bool Clients::may_wait(const Connection& client, std::size_t bytes) const {
  if (is_trusted(client)) return client.unread() + bytes <= most_unread;
  std::size_t unread = bytes;
  for (const Connection* each : connected_)
    if (is_same(*each, client.peer().uid)) unread += each->unread();
  if (unread <= limits_.unread_of_user) return true;
  spdlog::warn(
      "the connection to process {} of user {} is closed, because the user's clients left {} of "
      "answers unread",
      client.peer().pid, client.peer().uid, format_bytes(unread));
  return false;
}

Result<void> Clients::may_send(const Connection& client, std::size_t bytes) const {
  if (is_trusted(client)) return {};
  if (!limits_.import_bytes_of_user)
    return fail(
        "only root and stabd's own user may import an archive, because an archive may come from an "
        "untrusted source: ask the administrator to allow your imports with "
        "limits.import_bytes_of_user");
  std::uint64_t sent = bytes;
  for (const Connection* each : connected_)
    if (each->spool && is_same(*each, client.peer().uid)) sent += each->spool->bytes();
  if (sent <= *limits_.import_bytes_of_user) return {};
  return fail(
      fmt::format("the archives that you send at once would take up {}, but the limit is {}: send "
                  "one archive after another, or ask for a higher limits.import_bytes_of_user",
                  format_bytes(sent), format_bytes(*limits_.import_bytes_of_user)));
}

bool Clients::may_be_answered(std::uint32_t uid) const {
  if (is_trusted(uid)) return true;
  std::uint64_t unread = 0;
  for (const Connection* each : connected_)
    if (is_same(*each, uid)) unread += each->unread_in_file();
  return unread < limits_.unread_of_user;
}

void Clients::close_all() {
  for (Connection* client : std::set<Connection*>(connected_)) client->close();
}

void Clients::use_idle_limit(std::chrono::nanoseconds limit) {
  idle_limit_ = std::chrono::ceil<milliseconds>(limit);
  idle_timer_->stop();
  if (!connected_.empty()) end_idle_in_time();
}

void Clients::end_idle_in_time() {
  if (idle_limit_.count() > 0) idle_timer_->start(idle_limit_, (idle_limit_ + milliseconds(3)) / 4);
}

// The timer stops while nobody is connected, so that an idle daemon does not wake up.
void Clients::end_idle() {
  for (Connection* client : std::set<Connection*>(connected_))
    if (!is_trusted(*client) && client->watched == 0 && client->idle() >= idle_limit_)
      client->close();
  if (connected_.empty()) idle_timer_->stop();
}

bool Clients::anyone_watches() const {
  return std::ranges::any_of(connected_, [](const Connection* each) { return each->watched != 0; });
}

void Clients::for_each_watcher(const std::function<void(Connection&)>& visit) {
  for (Connection* client : std::set<Connection*>(connected_))
    if (client->watched != 0) visit(*client);
}

}  // namespace stab::daemon
