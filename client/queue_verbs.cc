// SPDX-License-Identifier: MIT
// The verbs that stop and restart experiments and the queue: pause, resume and retry.
#include <fmt/format.h>

#include "client/client.h"
#include "client/output.h"
#include "client/verbs.h"

namespace stab::client {
namespace {

// Sends a request for each id, and stops at the first that is refused.
template <class Request, class Said>
Result<int> for_each(const Common& common, const std::vector<std::int64_t>& ids, Said said) {
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  for (const std::int64_t id : ids) {
    const auto reply = client->ask(Request{.id = id});
    if (!reply) return std::unexpected(reply.error());
    fmt::print("{}\n", common.json ? protocol::to_text(*reply, -1) : said(*reply));
    if (auto printed = flush_output(); !printed) return std::unexpected(printed.error());
  }
  return exit_ok;
}

template <class Request>
Result<int> whole_queue(const Common& common, std::string_view said) {
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  const auto reply = client->ask(Request{});
  if (!reply) return std::unexpected(reply.error());
  fmt::print("{}\n", common.json ? protocol::to_text(*reply, -1) : said);
  return exit_ok;
}

Result<void> one_or_the_other(const std::vector<std::int64_t>& ids, bool queue) {
  if (ids.empty() != queue)
    return fail("name one or more experiments, or use --queue for the whole queue");
  return {};
}

}  // namespace

Result<int> pause(const Common& common, const std::vector<std::int64_t>& ids, bool queue) {
  if (auto right = one_or_the_other(ids, queue); !right) return std::unexpected(right.error());
  if (queue)
    return whole_queue<protocol::PauseRequest>(
        common, "no more experiments start; 'stabctl resume --queue' resumes the queue");
  return for_each<protocol::PauseRequest>(common, ids, [](const protocol::PauseReply& reply) {
    return fmt::format("experiment {0} is paused; 'stabctl resume {0}' resumes it", *reply.id);
  });
}

Result<int> resume(const Common& common, const std::vector<std::int64_t>& ids, bool queue) {
  if (auto right = one_or_the_other(ids, queue); !right) return std::unexpected(right.error());
  if (queue) return whole_queue<protocol::ResumeRequest>(common, "the queue is running again");
  return for_each<protocol::ResumeRequest>(common, ids, [](const protocol::PauseReply& reply) {
    return fmt::format("experiment {} is in the queue again", *reply.id);
  });
}

Result<int> retry(const Common& common, const std::vector<std::int64_t>& ids) {
  return for_each<protocol::RetryRequest>(common, ids, [](const protocol::RetryReply& reply) {
    return reply.trials == 0 ? fmt::format("experiment {} is in the queue again", reply.id)
                             : fmt::format(
                                   "experiment {} is in the queue again: {} trials that did not "
                                   "succeed are measured again",
                                   reply.id, reply.trials);
  });
}

}  // namespace stab::client
