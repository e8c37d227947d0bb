// SPDX-License-Identifier: MIT
#include "client/verbs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "base/text.h"
#include "base/time.h"
#include "client/client.h"
#include "client/follow.h"
#include "client/plan_file.h"
#include "client/run_folder.h"
#include "client/streams.h"

namespace stab::client {
namespace {

template <class Request>
Result<typename Request::Reply> ask(const Common& common, const Request& request) {
  auto client = Client::connect(common.sockets);
  if (!client) return std::unexpected(client.error());
  return client->ask(request);
}

bool names_one(const protocol::CompareRequest& request) {
  return !request.ids.empty();
}
template <class Request>
bool names_one(const Request& request) {
  return request.id != 0;
}

// Asks the database that the user names, or else a daemon.
template <class Request>
Result<typename Request::Reply> look_up(const Common& common, const Request& request) {
  if (!common.state.empty()) return answer_stored(common.state, request);
  if (!names_one(request))
    return fail(
        "name an experiment by its number ('stabctl list' shows the numbers). For an experiment "
        "of 'stabctl run' or 'stabctl ab', give its folder with --folder ('stabctl runs' lists "
        "the folders)");
  return ask(common, request);
}

Result<int> print_json(const std::string& text) {
  if (auto printed = write_json(text); !printed) return std::unexpected(printed.error());
  return exit_ok;
}

// The remark behind an experiment's name in the list.
std::string remark(const protocol::Summary& row) {
  std::string text;
  if (row.place)
    text += *row.place == 1 ? "next" : fmt::format("{} are ahead of it", *row.place - 1);
  if (row.priority != 0)
    text += fmt::format("{}priority {}", text.empty() ? "" : ", ", row.priority);
  if (!row.reason.empty()) text += (text.empty() ? "" : ", ") + one_line(row.reason, 100);
  return text.empty() ? "" : "  (" + text + ")";
}

}  // namespace

Result<int> exit_code_of(const Common& common, std::int64_t id) {
  const auto report = ask(common, protocol::ReportRequest{.id = id, .format = "json"});
  if (!report) return std::unexpected(report.error());
  return exit_code(ending_of(*report), common.fail_on);
}

Result<int> submit(const Common& common, const std::string& plan_path, std::int64_t priority,
                   bool wait) {
  const auto plan = read_plan_file(plan_path, common.machines);
  if (!plan) return std::unexpected(plan.error());
  tell_plan_warnings(*plan);
  const auto text = with_chosen_nodes(*plan);
  if (!text) return std::unexpected(text.error());
  const auto answer = ask(common, protocol::SubmitRequest{.plan = *text,
                                                          .directory = plan->directory,
                                                          .file = plan->path,
                                                          .priority = priority,
                                                          .branch = plan->branch,
                                                          .commit = plan->commit});
  if (!answer) return std::unexpected(answer.error());
  const std::int64_t id = answer->id;
  if (common.json)
    fmt::print("{}\n", fmt::format("{{\"id\":{}}}", id));
  else
    fmt::print("experiment {} is queued; follow it with 'stabctl watch {}'\n", id, id);
  if (auto printed = flush_output(); !printed) return std::unexpected(printed.error());
  return wait ? watch(common, id) : exit_ok;
}

Result<int> list(const Common& common) {
  const auto answer = ask(common, protocol::ListRequest{});
  if (!answer) return std::unexpected(answer.error());
  const std::vector<protocol::Summary>& experiments = answer->experiments;
  if (common.json) {
    return print_json(protocol::to_text(experiments, 2));
  }
  if (experiments.empty())
    fmt::print("there are no experiments: submit a plan with 'stabctl submit plan.toml'\n");
  for (const protocol::Summary& row : experiments)
    fmt::print("{:>5}  {:<10} {:>8} trials {:>10}  {}  {}{}\n", row.id, for_terminal(row.state),
               row.trials, row.bytes ? about_bytes(*row.bytes) : "", local_time(row.submitted_ns),
               one_line(row.name, 100), remark(row));
  if (answer->queue_paused)
    fmt::print("the queue is paused: 'stabctl resume --queue' resumes it\n");
  return exit_ok;
}

Result<int> status(const Common& common, std::int64_t id) {
  const auto answer = ask(common, protocol::StatusRequest{.id = id});
  if (!answer) return std::unexpected(answer.error());
  if (common.json) {
    return print_json(protocol::to_text(*answer, 2));
  }
  fmt::print("experiment {}: {}\n", id, one_line(answer->experiment.name, 100));
  fmt::print("{}\n", progress_text(answer->progress, 1000));
  for (const store::Event& event : answer->events)
    fmt::print("{}  {:<8} {}\n", local_time(event.at_ns), event.kind, for_terminal(event.text));
  return exit_ok;
}

Result<int> status_of_daemon(const Common& common) {
  const auto answer = ask(common, protocol::VersionRequest{});
  if (!answer) return std::unexpected(answer.error());
  if (common.json) return print_json(protocol::to_text(*answer, 2));
  fmt::print("stabd {}, process {}, state in {}\n", one_line(answer->version, 100), answer->pid,
             for_terminal(answer->state));
  fmt::print(
      "stabd's event loop ran {} times; 99.9 % of its rounds took at most {} of CPU time, and the "
      "longest round took {}\n",
      answer->loop_turns, format_duration(answer->loop_computes),
      format_duration(answer->loop_computes_longest));
  fmt::print(
      "in 99.9 % of the event loop's rounds, the wait for disks and other processes took at most "
      "{}; the longest wait took {}\n",
      format_duration(answer->loop_waits), format_duration(answer->loop_waits_longest));
  return exit_ok;
}

Result<int> watch(const Common& common, std::int64_t id) {
  auto watching = start_watching(common.sockets, id);
  if (!watching) return std::unexpected(watching.error());
  const SignalFd signals;
  const auto followed = follow(*watching, signals);
  if (!followed) return std::unexpected(followed.error());
  return end_of_watch(common, id, *followed);
}

Result<int> end_of_watch(const Common& common, std::int64_t id, const Followed& followed) {
  if (followed.signal != 0) {
    tell(fmt::format("experiment {} continues; follow it with 'stabctl watch {}'", id, id));
    return exit_interrupted + followed.signal;
  }
  if (common.json) {
    if (auto printed = print_json(protocol::to_text(followed.progress, -1)); !printed)
      return printed;
  } else {
    fmt::print("experiment {}: {}\n", id, progress_text(followed.progress, 1000));
    tell(fmt::format("'stabctl report {}' shows the result", id));
  }
  return exit_code_of(common, id);
}

Result<int> cancel(const Common& common, std::int64_t id) {
  const auto answer = ask(common, protocol::CancelRequest{.id = id});
  if (!answer) return std::unexpected(answer.error());
  auto watching = start_watching(common.sockets, id);
  if (!watching) return std::unexpected(watching.error());
  const SignalFd signals;
  const auto followed = follow(*watching, signals);
  if (!followed) return std::unexpected(followed.error());
  if (followed->signal != 0) {
    tell(fmt::format("experiment {} is being cancelled; its processes may still be alive", id));
    return exit_interrupted + followed->signal;
  }
  fmt::print("experiment {} is {}; its trials so far are kept\n", id,
             one_line(followed->progress.state, 20));
  return exit_ok;
}

Result<int> report(const Common& common, std::int64_t id, const std::string& format,
                   const std::string& output, const std::optional<FailOn>& fail_on) {
  const std::string wanted = common.json ? "json" : format;
  const auto answer = look_up(
      common, protocol::ReportRequest{.id = id,
                                      .format = wanted,
                                      .colour = output.empty() && wants_colour(),
                                      .full = common.full,
                                      .response = common.response,
                                      .better = common.better,
                                      .width = output.empty() ? terminal_width() : std::nullopt});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, output, Colours::ours); !written)
    return std::unexpected(written.error());
  return fail_on ? exit_code(ending_of(*answer), *fail_on) : exit_ok;
}

Result<int> compare(const Common& common, const std::vector<std::int64_t>& ids) {
  const auto answer =
      look_up(common, protocol::CompareRequest{.ids = ids,
                                               .format = common.json ? "json" : "text",
                                               .colour = wants_colour(),
                                               .full = common.full,
                                               .response = common.response,
                                               .better = common.better,
                                               .width = terminal_width()});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, "", Colours::ours); !written)
    return std::unexpected(written.error());
  return exit_code(ending_of(*answer), common.fail_on);
}

Result<int> profile(const Common& common, const ProfileOptions& options) {
  const auto answer =
      look_up(common, protocol::ProfileRequest{.id = options.id,
                                               .position = options.position,
                                               .attempt = options.attempt,
                                               .cells = options.cells,
                                               .format = common.json ? "json" : "text",
                                               .colour = wants_colour()});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, "", Colours::ours); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

Result<int> export_rows(const Common& common, std::int64_t id, const ExportOptions& options) {
  const bool is_of_others = options.format != "csv" && options.format != "json";
  if (common.json && is_of_others)
    return wrong_call(fmt::format(
        "--json and --format {} contradict each other: leave one of them out", options.format));
  std::string wanted = common.json ? "json" : options.format;
  if (options.samples && wanted != "csv" && wanted != "json")
    return wrong_call(
        fmt::format("--samples exports rows: use --format csv or json, not {}", wanted));
  if (options.samples) wanted = wanted == "json" ? "samples-json" : "samples";
  const auto answer = look_up(
      common, protocol::ExportRequest{.id = id, .format = std::move(wanted), .cell = options.cell});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, options.output, Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

// The verbs that stop and restart experiments and the queue: pause, resume and retry.

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
    return wrong_call("name one or more experiments, or use --queue for the whole queue");
  return {};
}

}  // namespace

Result<int> pause(const Common& common, const std::vector<std::int64_t>& ids, bool queue) {
  if (auto right = one_or_the_other(ids, queue); !right) return std::unexpected(right.error());
  if (queue)
    return whole_queue<protocol::PauseRequest>(
        common, "no more experiments will start; 'stabctl resume --queue' resumes the queue");
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
                                   "succeed will be measured again",
                                   reply.id, reply.trials);
  });
}

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
    return wrong_call("'-f' follows an experiment of a daemon: leave out either --folder or -f");
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
