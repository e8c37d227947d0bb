// SPDX-License-Identifier: MIT
#include "stabd/daemon/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

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

Connection* Connection::accept(uv_stream_t* server, OnLine on_line, OnClosed on_closed,
                               MayWait may_wait) {
  auto* connection = new Connection;
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
  connection->active_ms_ = uv_now(server->loop);
  connection->listen();
  return connection;
}

std::chrono::milliseconds Connection::idle() const {
  if (awaiting_ && !file_) return {};
  return std::chrono::milliseconds(uv_now(pipe_.loop) - active_ms_);
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
  active_ms_ = uv_now(pipe_.loop);
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
  active_ms_ = uv_now(pipe_.loop);
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
  active_ms_ = uv_now(pipe_.loop);
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

}  // namespace stab::daemon
