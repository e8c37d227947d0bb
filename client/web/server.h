// SPDX-License-Identifier: MIT
// Serves one path to browsers on this machine and nowhere else: the address, the small part of HTTP
// that a page needs, the connections and the server.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client::web {

// A1: an address is always a loopback address.
class Address {
 public:
  // Reads "8080", "127.0.0.1:8080", "localhost:8080" or "[::1]:8080"; port 0 means any free port.
  static Result<Address> read(const std::string& text);
  // Returns a nonblocking socket that listens at the address.
  [[nodiscard]] Result<Fd> listen() const;

 private:
  sockaddr_storage address_{};
  socklen_t size_ = 0;
  std::string text_;
};

// The address at which this socket listens: "127.0.0.1:41234".
std::string place_of(const Fd& listening);

// Whether a request's Host is this machine itself, with any port, because a tunnel has its own
// port. This keeps a page whose foreign host name resolves to this machine from reading ours.
bool is_own_host(std::string_view host);

// The most bytes that a request's head may have.
inline constexpr std::size_t most_request = std::size_t{8} << 10;

// H1: the status is 200 only for a GET or HEAD of our path whose host is this machine.
struct Request {
  int status = 400;           // the answer's status; 200 means that the page is wanted
  bool without_body = false;  // for HEAD
  std::string known{};        // If-None-Match: the version that the browser has
};

// Returns nothing until the whole request has arrived. `path`: the only path that exists.
std::optional<Request> read_request(std::string_view bytes, std::string_view path);

// The head of an answer with a body of this size, including the empty line. `version`: the page's
// version, or "".
std::string head_of(int status, std::size_t bytes, std::string_view version);

// The text that a browser shows for a refused request.
std::string_view words_of(int status);

using Clock = std::chrono::steady_clock;

struct Answer {
  std::string head{};
  std::shared_ptr<const std::string> body{};
  bool last = false;  // whether the page will not change any more
};
using Answers = std::function<Answer(const Request&)>;

// The limits for the whole request, for a pause in which the browser takes nothing of the answer,
// and for the whole connection.
inline constexpr std::chrono::seconds time_to_ask{5};
inline constexpr std::chrono::seconds time_to_take{20};
inline constexpr std::chrono::minutes time_in_all{5};

// A connection of one browser, which makes one request and gets one answer. It never blocks, and
// its time is limited.
class Connection {
 public:
  Connection(Fd socket, Clock::time_point now);
  // Does everything that is possible without waiting. `path`: the only path that exists.
  void go_on(const Answers& answers, std::string_view path, Clock::time_point now);
  [[nodiscard]] bool is_over() const { return !socket_; }
  // Whether the final page was sent completely.
  [[nodiscard]] bool took_last() const { return took_last_; }

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] short events() const;
  [[nodiscard]] Clock::time_point until() const { return until_; }

 private:
  void read_some(const Answers& answers, std::string_view path, Clock::time_point now);
  void write_some(Clock::time_point now);
  void drain();
  [[nodiscard]] std::string_view rest() const;

  enum class Stage { asking, taking, leaving };
  Fd socket_;
  Stage stage_ = Stage::asking;
  Clock::time_point until_;
  Clock::time_point end_;
  std::string asked_{};
  Answer answer_{};
  std::size_t sent_ = 0;
  bool took_last_ = false;
};

// Further connections wait until one of these ends.
inline constexpr std::size_t most_connections = 16;

// Serves one path. Each server draws a new random path, so that other users of the machine, who can
// connect, do not know it.
class Server {
 public:
  // `where`: an address that Address::read accepts.
  static Result<Server> open(const std::string& where);
  // "http://127.0.0.1:41234/3f.../".
  [[nodiscard]] std::string url() const;

  // The descriptors that poll() should wait for, and the latest time to wait until.
  void add_to(std::vector<pollfd>& fds) const;
  [[nodiscard]] Clock::time_point until() const;
  void go_on(const Answers& answers, Clock::time_point now);
  // Whether the final page was sent completely to some browser.
  [[nodiscard]] bool last_was_taken() const { return last_was_taken_; }

 private:
  Server(Fd listening, std::string path);
  Fd listening_;
  std::string path_;
  std::vector<Connection> connections_{};
  bool last_was_taken_ = false;
};

}  // namespace stab::client::web
