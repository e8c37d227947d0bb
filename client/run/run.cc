// SPDX-License-Identifier: MIT
#include "client/run/run.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "client/calibrations.h"
#include "client/client.h"
#include "client/follow.h"
#include "client/output.h"
#include "client/plan_file.h"
#include "client/run/embedded.h"
#include "client/run/folder.h"
#include "client/run/page.h"
#include "client/stored.h"
#include "client/verbs.h"
#include "plan/reading/reader.h"
#include "toml/problems.h"

namespace stab::client {
namespace {

bool is_final(const std::string& state) {
  return state == "done" || state == "failed" || state == "cancelled";
}

struct Earlier {
  std::int64_t id = 0;
  bool ended = false;
};

// Finds the last experiment of this plan in the folder. An unfinished experiment of another plan is
// an error, or is cancelled if `cancel_others` is set.
Result<std::optional<Earlier>> earlier(Client& client, const PlanFile& plan, bool cancel_others) {
  const auto answer = client.ask(protocol::ListRequest{});
  if (!answer) return std::unexpected(answer.error());
  std::optional<Earlier> found;
  for (const protocol::Summary& row : answer->experiments) {
    const auto status = client.ask(protocol::StatusRequest{.id = row.id});
    if (!status) continue;  // it is damaged
    const bool ended = is_final(row.state);
    if (plan::without_defaults(status->plan) == plan::without_defaults(plan.text) &&
        status->experiment.directory == plan.directory)
      found = {.id = row.id, .ended = ended};
    else if (!ended && cancel_others) {
      if (auto gone = client.ask(protocol::CancelRequest{.id = row.id}); !gone)
        return std::unexpected(gone.error());
    } else if (!ended)
      return fail(
          fmt::format("the folder holds an unfinished experiment of another plan, '{}': run that "
                      "plan, or choose another folder with --folder",
                      row.name));
  }
  return found;
}

Result<std::int64_t> submit_or_resume(Client& client, const PlanFile& plan, bool again,
                                      bool cancel_others) {
  const auto known = earlier(client, plan, cancel_others);
  if (!known) return std::unexpected(known.error());
  if (*known && !(*known)->ended && again) {
    if (auto ended = client.ask(protocol::CancelRequest{.id = (*known)->id}); !ended)
      return std::unexpected(ended.error());
  } else if (*known && !(*known)->ended) {
    tell(fmt::format("experiment {} continues where it was interrupted", (*known)->id));
    return (*known)->id;
  }
  if (*known && !again) {
    tell(fmt::format("experiment {} has ended; use --again to measure again", (*known)->id));
    return (*known)->id;
  }
  const auto answer = client.ask(protocol::SubmitRequest{.plan = plan.text,
                                                         .directory = plan.directory,
                                                         .file = plan.path,
                                                         .branch = plan.branch,
                                                         .commit = plan.commit});
  if (!answer) return std::unexpected(answer.error());
  return answer->id;
}

Result<Followed> follow_on_terminal(const std::vector<std::string>& sockets, std::int64_t id,
                                    const SignalFd& signals) {
  auto watching = start_watching(sockets, id);
  if (!watching) return std::unexpected(watching.error());
  return follow(*watching, signals);
}

}  // namespace

Result<Ran> run_to_end(const PlanFile& file, const RunOptions& options) {
  const auto plan = plan::read_plan(file.text);
  if (!plan) return fail(toml::describe(plan.error(), file.path));
  const auto folder = choose_folder(
      options.state_directory,
      {.experiment = plan->name, .plan = file.text, .directory = file.directory}, options.again);
  if (!folder) return std::unexpected(folder.error());

  if (options.begin)
    if (auto begun = options.begin(folder->path); !begun) return std::unexpected(begun.error());

  const SignalFd signals;
  const auto daemon = EmbeddedDaemon::start(folder->path);
  if (!daemon) return std::unexpected(daemon.error());
  auto client = Client::connect({daemon->socket_path()});
  if (!client) return std::unexpected(client.error());
  const std::string known =
      options.calibrations.empty() ? calibrations_file() : options.calibrations;
  if (auto told = tell_calibrations(*client, known); !told)
    tell("earlier calibrations are not used: " + told.error().message);
  const auto id = submit_or_resume(*client, file, options.again, options.cancel_others);
  if (!id) return std::unexpected(id.error());
  const auto follow_it = options.follow ? options.follow : Follower(follow_on_terminal);
  const auto followed = follow_it({daemon->socket_path()}, *id, signals);
  if (!followed) return std::unexpected(followed.error());
  const Ran ran{.state = folder->path, .id = *id, .signal = followed->signal};
  if (ran.signal != 0) return ran;
  mark_ended(*folder);
  if (plan->design.kind == plan::DesignKind::calibration)
    if (auto kept = keep_calibrations(*client, known); !kept)
      tell("later runs will not use this calibration: " + kept.error().message);
  return ran;
}

Result<int> run(const RunOptions& options) {
  if (auto good = check_page(options.html); !good) return std::unexpected(good.error());
  const auto file = read_plan_file(options.plan_path);
  if (!file) return std::unexpected(file.error());
  tell_shell_warnings(*file);
  const auto ran = run_to_end(*file, options);
  if (!ran) return std::unexpected(ran.error());
  if (ran->signal != 0) {
    // The daemon ends the running trial, which runs again when the user repeats the command.
    tell(fmt::format("paused; to continue: stabctl run --folder {} {}", shell_quote(ran->state),
                     shell_quote(options.plan_path)));
    return exit_interrupted + ran->signal;
  }
  const auto analysed = analyse_stored(ran->state, ran->id);
  if (!analysed) return std::unexpected(analysed.error());
  const auto answer = analysed->as({.format = options.format,
                                    .colour = wants_colour(),
                                    .full = options.full,
                                    .width = terminal_width()});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, "", Colours::ours); !written)
    return std::unexpected(written.error());
  if (auto page = write_page(*analysed, options.html); !page) return std::unexpected(page.error());
  tell(fmt::format("the database is {}/stabd.db", ran->state));
  return exit_code(ending_of(*answer), options.fail_on);
}

}  // namespace stab::client
