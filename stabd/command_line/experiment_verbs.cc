// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "client/database.h"
#include "client/web/web.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

void CommandLine::add_experiment_verbs() {
  Arguments& a = arguments_;
  const auto with_id = [&](CLI::App* added) {
    added->add_option("id", a.id, "Number of the experiment (see 'stabctl list')")->required();
    return added;
  };
  json_flag(verb("runs",
                 "List the folders of 'stabctl run': runs that have ended, and runs that the same "
                 "command would continue",
                 [&a] { return client::runs(a.common); }));
  json_flag(verb("list", "All experiments", [&a] { return client::list(a.common); }));
  CLI::App* status = verb(
      "status", "Show the state and events of an experiment, or the state of the daemon", [&a] {
        return a.daemon ? client::status_of_daemon(a.common) : client::status(a.common, a.id);
      });
  CLI::Option* of = status->add_option("id", a.id, "Number of the experiment (see 'stabctl list')");
  status
      ->add_flag("--daemon", a.daemon,
                 "Show the daemon instead: its version, process and folder, and how long its event "
                 "loop keeps clients waiting")
      ->excludes(of);
  status->parse_complete_callback([&a, of] {
    if (!a.daemon && of->count() == 0) throw CLI::RequiredError("id");
  });
  json_flag(status);
  CLI::App* watch =
      with_id(verb("watch", "Follow an experiment to its end; Ctrl-C leaves it running", [&a] {
        return a.web.empty() ? client::watch(a.common, a.id)
                             : client::web::watch(a.common, a.id, a.web);
      }));
  web_flag(watch);
  fail_on_option(watch);
  json_flag(watch);
  with_id(verb(
      "cancel",
      "End an experiment, and wait until all its processes have ended; completed trials are kept",
      [&a] { return client::cancel(a.common, a.id); }));

  const auto on_queue = [&](const char* name, const char* help, auto what) {
    CLI::App* added = verb(name, help, [&a, what] { return what(a.common, a.ids, a.queue); });
    added->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')");
    added->add_flag("--queue", a.queue,
                    "Pause the whole queue: the running experiment continues, but no other begins");
    json_flag(added);
  };
  on_queue(
      "pause",
      "Pause an experiment so that others can run; 'resume' measures its interrupted trial again",
      client::pause);
  on_queue("resume", "Resume a paused experiment, or the queue", client::resume);
  CLI::App* retry = verb(
      "retry",
      "Continue an experiment that failed or was cancelled, and measure its failed trials again",
      [&a] { return client::retry(a.common, a.ids); });
  retry->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  json_flag(retry);

  CLI::App* remove = verb(
      "rm", "Permanently remove experiments that have ended, with everything stored about them",
      [&a] { return client::remove(a.common, a.ids, a.dry); });
  remove->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  remove->add_option("--folder,--state", a.common.state,
                     "Folder of a 'stabctl run' (see 'stabctl runs'); needs no daemon");
  remove->add_flag("--dry-run", a.dry, "Only show what would be removed");
  json_flag(remove);
}

}  // namespace stab::command_line
