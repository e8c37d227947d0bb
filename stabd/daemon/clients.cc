// SPDX-License-Identifier: MIT
#include "stabd/daemon/clients.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "protocol/messages.h"

namespace stab::daemon {
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
    : limits_(limits),
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
      server_, on_line_, [this](Connection& connection) { connected_.erase(&connection); },
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
  spdlog::warn("the connection to process {} of user {} is closed: {} of answers were not read",
               client.peer().pid, client.peer().uid, format_bytes(unread));
  return false;
}

Result<void> Clients::may_send(const Connection& client, std::size_t bytes) const {
  if (is_trusted(client)) return {};
  if (!limits_.import_bytes_of_user)
    return fail(
        "only root and stabd's own user may import an archive, because anybody may have written "
        "it: ask for limits.import_bytes_of_user to be set");
  std::uint64_t sent = bytes;
  for (const Connection* each : connected_)
    if (each->spool && is_same(*each, client.peer().uid)) sent += each->spool->bytes();
  if (sent <= *limits_.import_bytes_of_user) return {};
  return fail(
      fmt::format("you would send {} of archives at once, but {} are allowed: send one after "
                  "another, or ask for a higher limits.import_bytes_of_user",
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
