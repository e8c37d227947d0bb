// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "base/streams.h"
#include "client/verbs.h"
#include "client/web/web.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

void CommandLine::add_ab() {
  Arguments& a = arguments_;
  CLI::App* ab = verb(
      "ab", "Which version is faster? Measures two or more versions in turn, without a plan", [&a] {
        a.ab.json = a.common.json;
        a.ab.full = a.common.full;
        mark_redirected_output();
        if (auto page = follow_by_page(a.web, a.ab.follow); !page)
          return Result<int>(std::unexpected(page.error()));
        return client::ab::compare_versions(a.ab);
      });
  ab->add_option("--program", a.ab.programs,
                 "The programs to compare; each is compared with the first program")
      ->expected(2, 100);
  ab->add_option("words", a.ab.words,
                 "With --build: revisions of this git repository; . is the working tree. A single "
                 "revision is compared with the working tree. Without any revisions, the working "
                 "tree is compared with the commit at which this branch left its upstream branch "
                 "or main. After --: if --program is given, the arguments of each program; "
                 "otherwise the versions to compare, as commands for /bin/sh");
  ab->add_option("--build", a.ab.build,
                 "Command for /bin/sh that builds each revision; $CC is szc and $CXX is szc++");
  ab->add_option("--run", a.ab.run,
                 "With --build: the command to measure, in each revision's folder");
  ab->add_option(
      "--prepare", a.ab.prepare,
      "Command for /bin/sh to run before each trial, in the same folder; it is not measured");
  ab->add_option("--cleanup", a.ab.cleanup,
                 "Command for /bin/sh to run after each trial; it is not measured");
  ab->add_option("--share,--same", a.ab.same,
                 "With --build: a file or folder (for example, the benchmark) that is copied from "
                 "the last version to every version")
      ->expected(1)
      ->take_all();
  ab->add_option("--budget", a.ab.budget,
                 "How long to measure, not counting builds and the report. At least 10 rounds run; "
                 "after that, no round begins if it would exceed this time")
      ->capture_default_str();
  ab->add_option("--margin,--equivalence", a.ab.margin, "The smallest change that matters")
      ->capture_default_str();
  CLI::Option* const response =
      ab->add_option("--metric,--response", a.ab.response,
                     "The response to compare: a time, max_rss, a region, code-size, or an event "
                     "of 'stabctl "
                     "counters'; smaller is better")
          ->type_name(
              "NAME:{wall,user,system,cpu,relative_cpu,max_rss,main_to_exit,region,code-size}")
          ->capture_default_str();
  ab->add_flag_callback(
        "--beside", [&a] { client::ab::run_beside(a.ab); },
        "For noisy machines: run the first version at the same time as each trial, on the same "
        "CPU, and compare CPU times relative to that run. If the machine gets slower, both runs "
        "get slower")
      ->excludes(response);
  ab->add_option("--exit-codes", a.ab.exit_codes,
                 "Exit codes that count as success, separated by commas; a trial that exits with "
                 "any other code has failed")
      ->type_name("CODES")
      ->capture_default_str();
  ab->add_option("--cpu", a.ab.cpus,
                 "The CPU that trials run on, as in 2, or several CPUs, as in 2-3; by default, a "
                 "quiet CPU is chosen")
      ->type_name("CPUS");
  machines_option(ab, a.ab.machines);
  ab->add_option(
        "--env", a.ab.env,
        "NAME or NAME=VALUE: an environment variable to pass to the versions, besides PATH")
      ->expected(1)
      ->take_all();
  CLI::Option* heap = ab->add_flag_callback(
      "--heap", [&a] { a.ab.heap = client::ab::Heap::always; },
      "Require that small heap blocks get random addresses from a layer above each version's own "
      "allocator. The default is to use the layer if it works and costs little");
  ab->add_flag_callback(
        "--no-heap", [&a] { a.ab.heap = client::ab::Heap::never; },
        "Do not randomize the heap of any version")
      ->excludes(heap);
  CLI::Option* stack = ab->add_flag_callback(
      "--stack", [&a] { a.ab.pads = client::ab::Pads::always; },
      "Require pads of random sizes in the stack frames of all versions. The default is to use "
      "pads if szc built all versions");
  ab->add_flag_callback(
        "--no-stack", [&a] { a.ab.pads = client::ab::Pads::never; },
        "Do not randomize the stack frames of any version")
      ->excludes(stack);
  ab->add_flag_callback(
      "--no-control", [&a] { a.ab.control = false; },
      "Do not measure the first version a second time as a control. With the control, a version "
      "counts as faster or slower only if the change is larger than the difference that may appear "
      "between two measurements of the first version");
  // This is the default, so --help leaves the option out. With both options the control is
  // measured.
  ab->add_flag_callback("--control", [&a] { a.ab.control = true; })->group("");
  ab->add_option("--seed", a.ab.seed, "Seed of every random choice")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  ab->add_option("--save", a.ab.save, "Write the plan to this file, for use with 'stabctl run'");
  ab->add_option("--folder,--state", a.ab.state_directory, "Folder of the database");
  fail_on_option(ab);
  ab->add_flag("--markdown", a.ab.markdown,
               "Print a table for a pull request instead of the report");
  ab->add_option("--html", a.ab.html, "Also write the report to this file, as a web page");
  web_flag(ab);
  full_flag(ab);
  json_flag(ab);

  CLI::App* demo = verb("demo",
                        "Show in 20 seconds how the order of functions in memory affects a "
                        "program, in fixed and in random layouts",
                        [&a] {
                          a.demo.json = a.common.json;
                          return client::ab::demonstrate(a.demo);
                        });
  demo->add_option("--seed", a.demo.seed, "Seed of the order in which the programs run")
      ->capture_default_str();
  json_flag(demo);
}

using namespace client;

void CommandLine::add_plan_verbs() {
  Arguments& a = arguments_;
  CLI::App* run = verb(
      "run", "Run a plan with its own daemon and print the report; Ctrl-C pauses the run", [&a] {
        a.run.plan_path = a.plan;
        a.run.format = a.common.json ? "json" : "text";
        a.run.full = a.common.full;
        if (a.dry) {
          a.common.machines = a.run.machines;
          return client::show_slurm_commands(a.common, a.plan);
        }
        mark_redirected_output();
        if (auto page = follow_by_page(a.web, a.run.follow); !page)
          return Result<int>(std::unexpected(page.error()));
        return client::run(a.run);
      });
  run->add_option("plan", a.plan, "The plan, a TOML file")->required();
  machines_option(run, a.run.machines);
  CLI::Option* dry = dry_run_flag(run);
  run->add_option("--folder,--state", a.run.state_directory,
                  "Folder of the database. If the folder contains an unfinished run of this plan, "
                  "the run continues; if it contains a finished run, the report is shown");
  run->add_option("--calibrations", a.run.calibrations,
                  "File that keeps the results of calibrations for later runs");
  run->add_option("--html", a.run.html, "Also write the report to this file, as a web page")
      ->excludes(dry);
  web_flag(run)->excludes(dry);
  run->add_flag("--again", a.run.again,
                "Measure again instead of showing a finished run or continuing an interrupted one")
      ->excludes(dry);
  fail_on_option(run);
  full_flag(run);
  json_flag(run);

  CLI::App* submit = verb("submit", "Queue a plan", [&a] {
    return a.dry ? client::show_slurm_commands(a.common, a.plan)
                 : client::submit(a.common, a.plan, a.priority, a.wait);
  });
  submit->add_option("plan", a.plan, "The plan, a TOML file")->required();
  machines_option(submit, a.common.machines);
  CLI::Option* only_shown = dry_run_flag(submit);
  submit
      ->add_option(
          "--priority", a.priority,
          "Higher priorities run first; only root and stabd's own user may use priorities above 0")
      ->capture_default_str()
      ->check(CLI::Range(-100, 100));
  CLI::Option* wait = submit->add_flag("--wait", a.wait, "Follow the experiment to its end");
  wait->excludes(only_shown);
  fail_on_option(submit)->needs(wait);
  json_flag(submit);

  CLI::App* check = verb("check", "Validate a plan and print its design",
                         [&a] { return client::check(a.common, a.plan, a.sd); });
  check->add_option("plan", a.plan, "The plan, a TOML file")->required();
  machines_option(check, a.common.machines);
  check->add_option("--noise,--sd", a.sd,
                    "Assume this relative standard deviation of trials, as in 2%, to compute the "
                    "smallest change that the plan can detect; by default, the value comes from "
                    "the daemon's latest finished experiment of the same name");
  json_flag(check);

  CLI::App* keys = verb("keys", "List all keys of a plan with their values, meanings and defaults",
                        [&a] { return client::keys(a.common, a.quantities); });
  keys->add_flag("--quantities", a.quantities,
                 "Print the quantities that rules of [[exclude]] may use, instead of the keys");
  json_flag(keys);
}

void CommandLine::add_experiment_verbs() {
  Arguments& a = arguments_;
  const auto with_id = [&](CLI::App* added) {
    added->add_option("id", a.id, "Number of the experiment (see 'stabctl list')")->required();
    return added;
  };
  json_flag(verb("runs",
                 "List the folders that 'stabctl run' and 'stabctl ab' made when no --folder was "
                 "given: runs that have ended, and runs that the same command would continue",
                 [&a] { return client::runs(a.common); }));
  json_flag(verb("list", "All experiments", [&a] { return client::list(a.common); }));
  CLI::App* status = verb(
      "status", "Show the state and events of an experiment, or the state of the daemon", [&a] {
        return a.daemon ? client::status_of_daemon(a.common) : client::status(a.common, a.id);
      });
  CLI::Option* of = status->add_option("id", a.id, "Number of the experiment (see 'stabctl list')");
  status
      ->add_flag(
          "--daemon", a.daemon,
          "Show the state of the daemon: its version, process and folder, and how long its "
          "event loop keeps clients waiting. 'stabctl status' without a number shows the same")
      ->excludes(of);
  status->parse_complete_callback([&a, of] { a.daemon = of->count() == 0; });
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

  const auto on_queue = [&](const char* name, const char* help, const char* queue, auto what) {
    CLI::App* added = verb(name, help, [&a, what] { return what(a.common, a.ids, a.queue); });
    added->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')");
    added->add_flag("--queue", a.queue, queue);
    json_flag(added);
  };
  on_queue(
      "pause",
      "Pause an experiment so that others can run; 'resume' measures its interrupted trial again",
      "Pause the whole queue: the running experiment continues, but no other begins. Only root and "
      "stabd's own user may do this",
      client::pause);
  on_queue("resume", "Resume a paused experiment, or the queue",
           "Resume the whole queue. Only root and stabd's own user may do this", client::resume);
  CLI::App* retry = verb("retry",
                         "Measure the unsuccessful trials of an ended experiment again and, if the "
                         "experiment failed or was cancelled, its remaining trials",
                         [&a] { return client::retry(a.common, a.ids); });
  retry->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  json_flag(retry);

  CLI::App* remove = verb(
      "rm", "Permanently remove experiments that have ended, with everything stored about them",
      [&a] { return client::remove(a.common, a.ids, a.dry); });
  remove->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  remove->add_option(
      "--folder,--state", a.common.state,
      "Remove experiments from the database in this folder, which 'stabctl run' wrote (see "
      "'stabctl runs'), instead of asking a daemon; no stabd may use the folder meanwhile");
  remove->add_flag("--dry-run", a.dry, "Only show what would be removed");
  json_flag(remove);
}

}  // namespace stab::command_line
