// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <chrono>

#include "base/text.h"
#include "client/client.h"
#include "client/database/database_verbs.h"
#include "client/follow.h"
#include "client/output.h"
#include "client/stored.h"

namespace stab::client {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds between_looks{1};

// The words before an entry's text.
std::string heading(const protocol::LogEntry& entry) {
  if (entry.kind == "build") return fmt::format("build of {}", entry.what);
  if (entry.kind != "trial") return fmt::format("{}  {:<8}", local_time(entry.at_ns), entry.kind);
  const auto attempt = entry.attempt.value_or(0);
  return fmt::format("{}  trial    {} ({}{})", local_time(entry.at_ns), entry.position.value_or(0),
                     entry.what, attempt == 0 ? "" : fmt::format(", attempt {}", attempt));
}

Result<void> print(const protocol::LogEntry& entry, bool json) {
  if (json) return write_json(protocol::to_text(entry, -1));
  std::string text = for_terminal(entry.text);
  while (text.ends_with('\n')) text.pop_back();
  const bool is_event = entry.kind != "build" && entry.kind != "trial";
  fmt::print("{}{}", one_line(heading(entry), 200), is_event ? " " : "\n    ");
  for (const char c : text) fmt::print("{}", c == '\n' ? std::string("\n    ") : std::string(1, c));
  fmt::print("\n");
  return {};
}

// Prints all entries after the request's place, and moves the place forward.
template <class Ask>
Result<void> print_new(protocol::LogsRequest& request, bool json, const Ask& ask) {
  for (bool more = true; more;) {
    const auto reply = ask(request);
    if (!reply) return std::unexpected(reply.error());
    for (const protocol::LogEntry& entry : reply->entries)
      if (auto printed = print(entry, json); !printed) return printed;
    request.after = reply->next;
    more = reply->more;
  }
  return flush_output();
}

Result<int> follow_logs(const Common& common, protocol::LogsRequest request) {
  auto asking = Client::connect(common.sockets);
  if (!asking) return std::unexpected(asking.error());
  const auto look = [&] {
    return print_new(request, common.json,
                     [&](const protocol::LogsRequest& each) { return asking->ask(each); });
  };
  auto watching = start_watching(common.sockets, request.id);
  if (!watching) return std::unexpected(watching.error());
  const SignalFd signals;
  auto looked_at = steady_clock::time_point();
  for (bool final = false; !final;) {
    const auto progress = watching->listen(signals.fd());
    if (!progress) return std::unexpected(progress.error());
    if (!*progress) {
      tell(fmt::format("experiment {0} continues; 'stabctl logs -f {0}' follows it again",
                       request.id));
      return exit_interrupted + signals.take();
    }
    final = (*progress)->final;
    if (!final && steady_clock::now() - looked_at < between_looks) continue;
    if (auto looked = look(); !looked) return std::unexpected(looked.error());
    looked_at = steady_clock::now();
  }
  return exit_code_of(common, request.id);
}

}  // namespace

Result<int> logs(const Common& common, std::int64_t id, bool follow) {
  protocol::LogsRequest request{.id = id};
  if (!common.state.empty() && follow)
    return fail("'-f' follows an experiment of a daemon: leave out either --folder or -f");
  if (common.state.empty() && id == 0)
    return fail("name an experiment by its number ('stabctl list' shows the numbers)");
  if (follow) return follow_logs(common, request);
  if (!common.state.empty()) {
    auto printed = print_new(request, common.json, [&](const protocol::LogsRequest& each) {
      return answer_stored(common.state, each);
    });
    return printed ? Result<int>(exit_ok) : std::unexpected(printed.error());
  }
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  auto printed = print_new(request, common.json,
                           [&](const protocol::LogsRequest& each) { return client->ask(each); });
  return printed ? Result<int>(exit_ok) : std::unexpected(printed.error());
}

}  // namespace stab::client
