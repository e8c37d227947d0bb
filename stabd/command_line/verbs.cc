// SPDX-License-Identifier: MIT

#include "client/verbs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/streams.h"
#include "base/text.h"
#include "client/web/web.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

void CommandLine::add_ab() {
  Arguments& a = arguments_;
  CLI::App* ab = verb(
      "ab", "Which version is faster? Measures two or more versions alternately, without a plan",
      [&a] {
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
  ab->add_option(
      "words", a.ab.words,
      "With --build: the revisions of this git repository to compare; . means the working tree. A "
      "single revision is compared with the working tree. Without any revisions, the working tree "
      "is compared with the commit at which this branch left its upstream branch or main. Without "
      "--build, the words after -- are the versions to compare, each as a command for /bin/sh. "
      "With --program, the words after -- are the arguments of each program");
  ab->add_option("--build", a.ab.build,
                 "Command for /bin/sh that builds each revision; $CC is szc and $CXX is szc++");
  ab->add_option("--run", a.ab.run,
                 "With --build: the command for /bin/sh to measure, in each revision's folder");
  ab->add_option(
      "--prepare", a.ab.prepare,
      "Command for /bin/sh to run before each trial, in the same folder; it is not measured");
  ab->add_option("--cleanup", a.ab.cleanup,
                 "Command for /bin/sh to run after each trial; it is not measured");
  ab->add_option("--share,--same", a.ab.same,
                 "With --build: a file or folder, such as the benchmark, to copy from the last "
                 "version into all other versions")
      ->expected(1)
      ->take_all();
  ab->add_option("--budget", a.ab.budget,
                 "How long to measure, at most 24h, not counting builds and the report. "
                 "'stabctl ab' runs at least 10 rounds. A further round begins only if it fits "
                 "into this time")
      ->capture_default_str();
  ab->add_option("--margin,--equivalence", a.ab.margin, "The smallest change that matters")
      ->capture_default_str();
  CLI::Option* const response =
      ab->add_option(
            "--metric,--response", a.ab.response,
            "The metric to compare: a time, max_rss, a region, code-size, or an event of 'stabctl "
            "counters'; smaller is better")
          ->type_name(
              "NAME:{wall,user,system,cpu,relative_cpu,max_rss,main_to_exit,region,code-size}")
          ->capture_default_str();
  ab->add_flag_callback(
        "--beside", [&a] { client::ab::run_beside(a.ab); },
        "For noisy machines: during each trial, also run the first version on the same CPU, and "
        "compare the ratios of the two CPU times. If the machine gets slower, both runs get slower")
      ->excludes(response);
  ab->add_option("--exit-codes", a.ab.exit_codes,
                 "Exit codes that count as success, separated by commas; a trial that exits with "
                 "any other code has failed")
      ->type_name("CODES")
      ->capture_default_str();
  ab->add_option("--cpu", a.ab.cpus,
                 "CPU or CPUs for the trials, such as 2 or 2-3; by default, a quiet CPU is chosen")
      ->type_name("CPUS");
  machines_option(ab, a.ab.machines);
  ab->add_option(
        "--env", a.ab.env,
        "NAME or NAME=VALUE: an environment variable to pass to the versions, besides PATH")
      ->expected(1)
      ->take_all();
  CLI::Option* heap = ab->add_flag_callback(
      "--heap", [&a] { a.ab.heap = client::ab::Heap::always; },
      "Require random addresses for small heap blocks. A layer above each version's own allocator "
      "provides these addresses. The default is to use the layer if it works and costs little");
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
      "Leave out the control, which is a second measurement of the first version. The control "
      "shows how much two measurements of one version may differ; only larger changes count as "
      "faster or slower");
  // This is the default, so --help leaves the option out. With both options the control is
  // measured.
  ab->add_flag_callback("--control", [&a] { a.ab.control = true; })->group("");
  ab->add_flag_callback(
      "--no-cost", [&a] { a.ab.cost = false; },
      "Do not measure what random layouts themselves cost. By default, one round in five also runs "
      "the first version without random layouts, as its users run it");
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
                        "program's speed. The program runs in fixed layouts and in random layouts",
                        [&a] {
                          a.demo.json = a.common.json;
                          return client::ab::demonstrate(a.demo);
                        });
  demo->add_option("--seed", a.demo.seed, "Seed of the order in which the programs run")
      ->capture_default_str();
  json_flag(demo);
}

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
  check->add_option(
      "--noise,--sd", a.sd,
      "Compute the smallest change that the experiment can detect if trials have this "
      "relative standard deviation, for example 2%. By default, the deviation comes from "
      "the daemon's latest finished experiment of the same name");
  json_flag(check);

  CLI::App* keys = verb("keys", "List all keys of a plan with their values, meanings and defaults",
                        [&a] { return client::keys(a.common, a.quantities); });
  keys->add_flag("--quantities", a.quantities,
                 "Instead of the keys, print the quantities that rules of [[exclude]] may use");
  json_flag(keys);
}

void CommandLine::add_experiment_verbs() {
  Arguments& a = arguments_;
  const auto with_id = [&](CLI::App* added) {
    added->add_option("id", a.id, "Number of the experiment (see 'stabctl list')")->required();
    return added;
  };
  json_flag(verb("runs",
                 "List the folders that 'stabctl run' and 'stabctl ab' made because no --folder "
                 "was given. To continue an unfinished run, repeat its command",
                 [&a] { return client::runs(a.common); }));
  json_flag(verb("list", "List all experiments", [&a] { return client::list(a.common); }));
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
      "Pause an experiment so that others can run. When the experiment is resumed, its interrupted "
      "trial is measured again",
      "Pause the whole queue: the running experiment continues, but no other begins. Only root and "
      "stabd's own user may pause the queue",
      client::pause);
  on_queue("resume", "Resume a paused experiment, or the queue",
           "Resume the whole queue. Only root and stabd's own user may resume the queue",
           client::resume);
  CLI::App* retry =
      verb("retry",
           "Measure the unsuccessful trials of an ended experiment again. If the experiment failed "
           "or was cancelled, its remaining trials are measured, too",
           [&a] { return client::retry(a.common, a.ids); });
  retry->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  json_flag(retry);

  CLI::App* remove = verb(
      "rm", "Permanently remove experiments that have ended, with everything stored about them",
      [&a] { return client::remove(a.common, a.ids, a.dry); });
  remove->add_option("ids", a.ids, "Numbers of experiments (see 'stabctl list')")->required();
  remove->add_option(
      "--folder,--state", a.common.state,
      "Remove experiments from the database in a folder that 'stabctl run' made (see 'stabctl "
      "runs'), instead of asking a daemon; no stabd may use the folder meanwhile");
  remove->add_flag("--dry-run", a.dry, "Only show what would be removed");
  json_flag(remove);
}

namespace {

Result<int> report_and_judge(const Arguments& a, bool judges) {
  if (a.common.json && a.report_format == "html")
    return wrong_call("--json and --format html cannot be used together: leave one of them out");
  std::optional<FailOn> fail_on;
  if (judges) {
    const auto given = read_fail_on(a.report_fail_on);
    if (!given) return std::unexpected(given.error());
    fail_on = *given;
  }
  return client::report(a.common, a.id, a.report_format, a.output, fail_on);
}

}  // namespace

void CommandLine::add_result_verbs() {
  Arguments& a = arguments_;
  const auto state_option = [&](CLI::App* added) {
    added->add_option(
        "--folder,--state", a.common.state,
        "Read the results in a folder that 'stabctl run' made (see 'stabctl runs'), without a "
        "daemon. If the folder holds a single experiment, its number can be left out");
  };
  const auto response_options = [&](CLI::App* added) {
    CLI::Option* response =
        added->add_option("--metric,--response", a.common.response,
                          "The metric to report: wall, user, code-size, ... or a reading of the "
                          "trials. The default is the metric that the plan compares");
    added
        ->add_option("--better", a.common.better,
                     "Whether lower or higher values are better. The default is the plan's choice. "
                     "If the plan makes no choice, lower values are better")
        ->needs(response)
        ->check(CLI::IsMember({"lower", "higher"}));
  };
  const auto one_id = [&](CLI::App* added) {
    added->add_option("id", a.id, "Number of the experiment (see 'stabctl list')")
        ->check(CLI::PositiveNumber);
    state_option(added);
    return added;
  };
  CLI::App* report =
      one_id(verb("report", "Show the result of an experiment, even while it runs",
                  [this] { return report_and_judge(arguments_, report_judges_->count() > 0); }));
  report
      ->add_option("--format", a.report_format, "text, json, or html (a single page with pictures)")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json", "html"}));
  report->add_option("-o,--output", a.output, "File to write; by default stdout");
  report_judges_ =
      report
          ->add_option(
              "--fail-on", a.report_fail_on,
              "Make the exit code nonzero for these findings, separated by commas; 'none' ignores "
              "all findings. With this option, the exit code is 5 if the experiment failed, was "
              "cancelled or has not ended; without it, the exit code is always 0")
          ->type_name("LIST:{trials,regressed,unsure,none}");
  response_options(report);
  full_flag(report);
  json_flag(report);

  CLI::App* logs =
      one_id(verb("logs",
                  "Show in chronological order what happened in an experiment. This includes the "
                  "last part of the builds' output and of the trials' stderr",
                  [&a] { return client::logs(a.common, a.id, a.follow); }));
  CLI::Option* follow = logs->add_flag(
      "-f,--follow", a.follow,
      "Follow the experiment until it ends; the exit codes are the same as for 'stabctl watch'");
  fail_on_option(logs)->needs(follow);
  json_flag(logs);

  CLI::App* compare =
      verb("compare",
           "Show the verdicts of an experiment, or the changes from one experiment to another. The "
           "machine may have changed between two experiments. So a difference between their "
           "measured numbers is never a verdict, and --fail-on regressed ignores it",
           [&a] { return client::compare(a.common, a.ids); });
  compare
      ->add_option("ids", a.ids,
                   "Numbers of one or two experiments; with two, each benchmark of the second "
                   "experiment is compared with the same benchmark of the first")
      ->expected(1, 2)
      ->check(CLI::PositiveNumber);
  state_option(compare);
  response_options(compare);
  fail_on_option(compare);
  full_flag(compare);
  json_flag(compare);

  CLI::App* rows = one_id(verb("export",
                               "Export the trials as a table or in the format of another tool, or "
                               "export a whole experiment as an archive",
                               [&a] {
                                 return a.archive.empty()
                                            ? export_rows(a.common, a.id, a.rows)
                                            : export_archive(a.common, a.id, a.archive);
                               }));
  CLI::Option* archive = rows->add_option(
      "--archive", a.archive, "File to write the whole experiment to; it must not exist yet");
  rows->add_option(
          "--format", a.rows.format,
          "With csv and json, all attempts are exported. With hyperfine and benchstat, the "
          "measurements are exported in the formats of hyperfine --export-json and of Go's "
          "benchmarks. With coz, the runs of a causal plan are exported, for coz's viewer")
      ->capture_default_str()
      ->check(CLI::IsMember({"csv", "json", "hyperfine", "benchstat", "coz"}))
      ->excludes(archive);
  rows->add_option("--cell", a.rows.cell,
                   "With --format coz: the name of the cell to export, if there are several cells. "
                   "Reports show the names")
      ->excludes(archive);
  rows->add_flag("--samples", a.rows.samples, "Export each trial's samples, one per row")
      ->excludes(archive);
  rows->add_option("-o,--output", a.rows.output, "File to write; by default stdout")
      ->excludes(archive);
  json_flag(rows);
}

void CommandLine::add_profile() {
  Arguments& a = arguments_;
  CLI::App* profile =
      verb("profile",
           "Show in which functions a trial spent its time, or which functions take longer in one "
           "cell than in another. The plan must set measure.profile",
           [&a] { return client::profile(a.common, a.profile); });
  profile->add_option("id", a.profile.id, "Number of the experiment (see 'stabctl list')")
      ->required()
      ->check(CLI::PositiveNumber);
  CLI::Option* position = profile->add_option(
      "position", a.profile.position, "Position of the trial, as 'stabctl export' shows it");
  profile
      ->add_option("--attempt", a.profile.attempt,
                   "Number of the attempt at the trial; by default, the last attempt")
      ->needs(position);
  profile
      ->add_option("--cells", a.profile.cells,
                   "Compare the second of these two cells with the first. Name the cells as "
                   "reports do, for example 'sort opt=O2'")
      ->expected(2)
      ->excludes(position);
  profile->add_option("--folder,--state", a.common.state,
                      "Read the database in a folder that 'stabctl run' made (see 'stabctl runs'), "
                      "instead of asking a daemon");
  json_flag(profile);
}

void CommandLine::add_history() {
  Arguments& a = arguments_;
  CLI::App* history =
      verb("history",
           "Show the results of one benchmark in chronological order, and where they changed. The "
           "list has all finished experiments that are comparable with the latest one",
           [&a] { return client::show_history(a.common, a.history); });
  history->add_option("benchmark", a.history.benchmark, "Benchmark, as reports name it")
      ->required();
  history->add_option("--experiment", a.history.experiment, "Only experiments of this name");
  CLI::Option* response = history->add_option(
      "--metric,--response", a.common.response,
      "Metric to follow; the default is the metric that the latest experiment compares");
  history
      ->add_option("--better", a.common.better,
                   "Whether lower or higher values are better. The default is the choice of the "
                   "latest experiment's plan. If the plan makes no choice, lower values are better")
      ->needs(response)
      ->check(CLI::IsMember({"lower", "higher"}));
  history->add_option("--last", a.history.last, "How many of the latest experiments to examine")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  history
      ->add_option("--alpha", a.history.alpha,
                   "Probability that any change is reported although no series has changed. The "
                   "probability of any false alarm is at most the same")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  history->add_flag("--pool", a.history.pool,
                    "Compare experiments on any nodes of a cluster that have the same hardware as "
                    "the nodes of the latest experiment");
  history->add_option("--html", a.history.html,
                      "File for a web page with a picture of each series");
  history->add_option("--seed", a.history.seed, "Seed of the permutation tests")
      ->capture_default_str();
  history->add_option("--folder,--state", a.common.state,
                      "Read the database in a folder that 'stabctl run' made (see 'stabctl runs'), "
                      "instead of asking a daemon");
  json_flag(history);
}

void CommandLine::add_replay() {
  Arguments& a = arguments_;
  CLI::App* replay = verb("replay",
                          "Run a stored trial again with the same seed, variables and address "
                          "space, for example under a debugger or profiler",
                          [&a] { return client::replay(a.common, a.replay); });
  replay->add_option("id", a.replay.id, "Number of the experiment (see 'stabctl list')")
      ->required()
      ->check(CLI::PositiveNumber);
  replay
      ->add_option("position", a.replay.position,
                   "Position of the trial, as 'stabctl export' shows it")
      ->required();
  replay->add_option(
      "before", a.replay.before,
      "After --: a prefix, such as perf stat, for the trial's command. The trial reads stdin from "
      "the terminal unless the plan names a file. The plan's prepare command runs first, but its "
      "cleanup command does not run. The trial can use the network");
  replay->add_option("--attempt", a.replay.attempt,
                     "Number of the attempt at the trial; by default, the last attempt");
  replay->add_flag("--print", a.replay.print,
                   "Print the command in the syntax of a shell instead of running it");
  replay->add_option("--folder,--state", a.common.state,
                     "Read the database in a folder that 'stabctl run' made (see 'stabctl runs'), "
                     "instead of asking a daemon");
  json_flag(replay);
}

namespace {

// Accepts the averages, and also quantiles, because analyze() refuses those with a reason.
CLI::Validator an_average() {
  return {[](const std::string& text) -> std::string {
            if (is_quantile(text)) return "";
            return CLI::IsMember({"mean", "typical", "median"})(text);
          },
          "{mean,typical,median}"};
}

}  // namespace

void CommandLine::add_analyze() {
  AnalyzeOptions& a = arguments_.analyze;
  CLI::App* analyze = verb(
      "analyze", "Analyze a CSV file, or results of hyperfine or Google Benchmark; needs no daemon",
      [this] {
        arguments_.analyze.json = arguments_.common.json;
        arguments_.analyze.full = arguments_.common.full;
        return client::analyze(arguments_.analyze);
      });
  analyze
      ->add_option("files", a.files,
                   "CSV with a header and one row per trial, or JSON from either hyperfine "
                   "(--export-json) or Google Benchmark (--benchmark_out_format=json); use - for "
                   "stdin. If there are several files, each file is a level of a factor")
      ->required();
  analyze->add_option(
      "--metric,--response", a.response,
      "Column of the measured values; lower is better unless you give --higher-is-better. Not "
      "needed for JSON: hyperfine's time or Google Benchmark's real_time is used");
  analyze
      ->add_option("--input-format", a.format,
                   "auto (detect from the files), csv, hyperfine or google-benchmark")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "csv", "hyperfine", "google-benchmark"}));
  analyze->add_option("--factor", a.file_factor,
                      "Names for the factor and for the level of each file, for example "
                      "version=old,new. By default, the "
                      "factor is named 'file' and each level is named like its file");
  analyze
      ->add_option("--factors", a.factors,
                   "Columns of the treatments, separated by commas, for example a,b")
      ->delimiter(',');
  analyze->add_option("--block", a.block, "Column with each trial's block (round)");
  analyze->add_option(
      "--subject", a.subject,
      "Column with each trial's subject (program); the model is y ~ a + Error(subject/a)");
  analyze->add_option("--machine", a.machine,
                      "Column with the machine that each trial ran on. Blocks of different "
                      "machines count as different blocks, and all machines have the same weight");
  analyze->add_option(
      "--machine-kind", a.machine_kind,
      "With --machine: column with the kind of machine. A machine is left out as faulty if it is "
      "much slower than the others of its kind in three blocks in a row and in most of the later "
      "blocks. At least two other machines of this kind are needed");
  analyze
      ->add_option("--answer", a.answer,
                   "With --machine: whether the main answer is about these machines only, or about "
                   "machines like these. The report shows both answers")
      ->capture_default_str()
      ->check(CLI::IsMember({"these", "like-these"}));
  analyze->add_option(
      "--random", a.random,
      "Column of a random factor, such as the layout seed; the model is y ~ a + Error(a:seed)");
  analyze->add_option(
      "--order", a.order,
      "Column that shows when each row was measured: a time (a number or ISO 8601) or a sequence "
      "number. Rows are sorted by this column. The correlation between neighboring rows is tested "
      "only if this option is given, and only for a single file. Two kinds of files do not need "
      "this option: files from stabctl export have a column started_ns, and hyperfine's files are "
      "already in order");
  analyze
      ->add_option("--seeds", a.seeds,
                   "With --random: use nested if each cell has its own seeds, and crossed if the "
                   "same seed means the same layout in all cells. auto means nested, but is an "
                   "error if cells share a seed")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "nested", "crossed"}));
  analyze
      ->add_option(
          "--generators", a.generators,
          "Generators of a fractional design, separated by commas, for example d=a:b:c. By "
          "default, stabctl finds the generators if all treatments have two levels and "
          "the cells in the table are a regular fraction of all cells")
      ->delimiter(',');
  analyze
      ->add_option("--average,--estimand", a.estimand,
                   "The average that decides the verdicts: mean (over all blocks), typical (the "
                   "mean without the lowest and the highest fifth of the blocks) or median (the "
                   "change that half of the blocks exceed). All three averages are shown")
      ->capture_default_str()
      ->check(an_average());
  analyze->add_flag("--independent-blocks", a.independent_blocks,
                    "Assume that blocks are not correlated with their neighbors in time. The "
                    "intervals become narrower, but are wrong if the assumption is false");
  analyze->add_flag(
      "--order-drawn", a.order_drawn,
      "Declare that the trials ran in random order (within each block, if there are "
      "blocks). With this option, a verdict also needs a randomization test. With --block block or "
      "--random, a file from stabctl export does not need this option");
  analyze->add_option("--random-seed", a.seed, "Seed of the randomization tests")
      ->capture_default_str();
  analyze
      ->add_option("--losses", a.losses,
                   "The assumption about lost trials. With 'extremes', a lost trial may have any "
                   "value that its limits permit. With 'monotone', the level with more losses also "
                   "loses every trial that the other level loses (Lee's bounds). With 'random', "
                   "losses do not depend on the levels")
      ->capture_default_str()
      ->check(CLI::IsMember({"extremes", "monotone", "random"}));
  analyze->add_option(
      "--lost-at-least", a.lost_at_least,
      "For failed trials and rows without a value: the smallest value that the trial may have had, "
      "such as the timeout that ended the trial");
  analyze->add_option(
      "--lost-at-most", a.lost_at_most,
      "For failed trials and rows without a value: the largest value that the trial may have had");
  analyze
      ->add_option("--resolution", a.resolution,
                   "Resolution of the clock, in the unit of the values; intervals take the "
                   "resolution into account, and 0 means that the values are exact. Without this "
                   "option, the resolution is detected from repeated values")
      ->check(CLI::NonNegativeNumber);
  analyze->add_option("--baseline", a.baselines,
                      "The level to compare with, as factor=level; by default the first level");
  CLI::Option* log = analyze->add_flag_callback(
      "--log", [&a] { a.scale = "log"; },
      "Analyze the logarithms of the values, and show geometric means and ratios");
  analyze
      ->add_flag_callback(
          "--raw", [&a] { a.scale = "raw"; }, "Analyze the values themselves (default)")
      ->excludes(log);
  analyze->add_option("--alpha", a.alpha, "Significance level of the tests")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 0.499));
  analyze->add_option("--margin,--equivalence", a.equivalence,
                      "Smallest change that matters, for example 1%; without this option, no "
                      "verdict can be 'the same'");
  analyze
      ->add_option(
          "--type", a.sums_of_squares,
          "Use sums of squares of type 2 or 3; with --block, this option needs --error pooled")
      ->capture_default_str()
      ->check(CLI::IsMember({2, 3}));
  analyze
      ->add_option("--method", a.method,
                   "standard, or stabilizer (the procedure of Curtsinger and Berger, 2013)")
      ->capture_default_str()
      ->check(CLI::IsMember({"standard", "stabilizer"}));
  analyze
      ->add_option("--error", a.error,
                   "With 'own', each comparison is tested against its own variation from block to "
                   "block. With 'pooled', all comparisons are tested against the residuals of "
                   "y ~ block + a")
      ->capture_default_str()
      ->check(CLI::IsMember({"own", "pooled"}));
  analyze
      ->add_option("--programs", a.programs,
                   "With --subject: whether the main answer is about these programs only, or about "
                   "programs like these. The report shows both answers")
      ->capture_default_str()
      ->check(CLI::IsMember({"these", "like-these"}));
  analyze
      ->add_option("--pairs", a.pairs,
                   "Compare each level with the baseline, or compare all pairs of levels")
      ->capture_default_str()
      ->check(CLI::IsMember({"baseline", "all"}));
  analyze->add_flag("--higher-is-better", a.higher_is_better,
                    "Treat higher values as better, as with throughput");
  analyze->add_option("--unit", a.unit, "Unit of the values, ns or bytes")
      ->check(CLI::IsMember({"ns", "bytes"}));
  analyze->add_option("-o,--output", a.output, "File to write; by default stdout");
  fail_on_option(analyze);
  full_flag(analyze);
  json_flag(analyze);
}

namespace {

void add_run_options(CLI::App* causal, client::causal::CausalOptions& of) {
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* help) {
    causal->add_option(name, values, help)->expected(1)->take_all();
  };
  repeated("--scope", of.scope,
           "Only try lines of source files whose paths match this pattern (default: all files "
           "below the current directory)");
  repeated("--binary", of.binaries,
           "Also try lines of other binaries (libraries) whose paths match this pattern");
  repeated("--progress", of.progress,
           "For programs without progress points: count each sample in this line (FILE:LINE) as a "
           "visit to a progress point");
  causal->add_option("--line", of.line, "FILE:LINE: try only this line");
  causal->add_flag(
      "--end-to-end", of.end_to_end,
      "Treat each run as one experiment, and the end of the run as a visit to the progress point");
  causal->add_option(
      "--speedup", of.speedup,
      "With --end-to-end and --line: virtual speedup of the line, for example 25%. Every "
      "second run has this speedup");
  causal->add_option(
      "--arrival-speedup", of.arrival_speedup,
      "Time that a thread saves at each visit to STAB_ARRIVAL in relation to the other threads, "
      "which pause, for example 250us");
  causal->add_option(
      "--load", of.load,
      "Load at STAB_ARRIVAL relative to the normal load, for example 1.25x. Several loads "
      "are separated by commas, for example 1x,1.5x");
  causal->add_option("--runs", of.runs, "How many times the program runs at each load")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  causal->add_option("--sample-period", of.sample_period, "CPU time between samples")
      ->capture_default_str();
  causal
      ->add_option("--experiment", of.experiment,
                   "How long the first experiment of a run lasts; later experiments get longer "
                   "until each has some visits to a progress point")
      ->capture_default_str();
  causal->add_option(
      "--timeout", of.timeout,
      "Time limit of a run, for example 5min; by default, runs have no time limit. A run "
      "that takes longer is ended and left out of the results");
}

void add_verify_options(CLI::App* verify, client::causal::VerifyOptions& of) {
  verify->add_option("id", of.id, "Number of the experiment with the causal profile")
      ->required()
      ->check(CLI::PositiveNumber);
  verify
      ->add_option("plan", of.plan,
                   "Plan file that compares the program before and after the change")
      ->required();
  verify->add_option(
      "--cell", of.cell,
      "Use the causal profile of the cell with this name. Reports show the names of cells");
  verify->add_option("--line", of.line,
                     "FILE:LINE that was changed; by default, the line that helps most");
  verify
      ->add_option("--speedup", of.speedup,
                   "How much of the line's time the change saves, for example 40%")
      ->capture_default_str();
}

// Options of 'stabctl causal' may also stand behind 'verify', which uses only --json.
Result<void> refuse_unused_by_verify(const CLI::App& causal) {
  for (const CLI::Option* each : causal.get_options()) {
    if (each->count() == 0 || each->check_name("--json")) continue;
    if (!each->nonpositional())
      return wrong_call(fmt::format("'stabctl causal verify' does not take '{}'",
                                    one_line(each->results().front(), 60)));
    return wrong_call(fmt::format(
        "{} of 'stabctl causal' has no effect with 'verify': leave it out", each->get_name()));
  }
  return {};
}

}  // namespace

void CommandLine::add_causal() {
  Arguments& a = arguments_;
  CLI::App* causal = verb("causal",
                          "Run a program, or read existing causal profiles, to find the line that "
                          "is worth making faster",
                          [this, &a]() -> Result<int> {
                            if (!a.verify.plan.empty()) {
                              const CLI::App* of = app_->get_subcommand("causal");
                              if (auto used = refuse_unused_by_verify(*of); !used)
                                return std::unexpected(used.error());
                              return client::causal::verify(a.common, a.verify);
                            }
                            a.causal.json = a.common.json;
                            return client::causal::show_causal(a.causal);
                          });
  CLI::Option* read =
      causal
          ->add_option("--read", a.causal.read,
                       "Read profiles of one program from these files, in coz's format; - is stdin")
          ->expected(1, 1000);
  add_run_options(causal, a.causal);
  // These options are about runs, and profiles that exist need none.
  for (CLI::Option* each : causal->get_options())
    if (each != read && each != causal->get_help_ptr()) each->excludes(read);
  causal->add_option("program", a.causal.command,
                     "After --: the program to profile, and its arguments");
  causal->add_option("--coz", a.causal.coz,
                     "Write all runs to one file, for coz's viewer; - is stdout");
  causal->add_option(
      "--output", a.causal.output,
      "Write the answer to this file; by default, it is printed after the program's own output");
  causal->add_option("--alpha", a.causal.alpha, "Probability that an interval or finding is wrong")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  causal->add_option("--seed", a.causal.seed, "Seed of every random choice")->capture_default_str();
  json_flag(causal);
  CLI::App* verify = causal->add_subcommand(
      "verify", "Check whether a real change gains as much as a causal profile predicted");
  add_verify_options(verify, a.verify);
  verify->add_option("--folder,--state", a.common.state,
                     "Folder with the profile's database, for example one that 'stabctl run' made; "
                     "no daemon is needed");
}

void CommandLine::add_database_verbs() {
  Arguments& a = arguments_;
  CLI::App* backup = verb("backup", "Copy the database to a file, even while stabd uses it",
                          [&a] { return client::backup(a.common, a.output); });
  backup->add_option("file", a.output, "File for the copy; it must not exist yet")->required();
  backup->add_option(
      "--folder,--state", a.common.state,
      "Copy the database in this folder, without a daemon; by default, copy the daemon's database");
  json_flag(backup);
  CLI::App* import = verb("import",
                          "Add the experiment in an archive to the daemon's database or to a "
                          "folder's database. The experiment gets a new number",
                          [&a] { return client::import_archive(a.common, a.archive); });
  import->add_option("file", a.archive, "Archive from 'stabctl export ID --archive'")->required();
  import->add_option("--folder,--state", a.common.state,
                     "Import into the database in this folder, without a daemon. The folder is "
                     "created if it is missing, and no daemon may use it");
  json_flag(import);
  CLI::App* recover =
      verb("recover",
           "Make a new database from everything that is readable in a damaged database. The "
           "damaged database stays as it is; stabd must not use it meanwhile",
           [&a] { return client::recover(a.common, a.from, a.output); });
  recover->add_option("from", a.from, "The damaged database, or its folder")->required();
  recover
      ->add_option(
          "to", a.output,
          "Where to put the new database: a file that does not exist yet, or an existing folder")
      ->required();
  json_flag(recover);
  CLI::App* machines = verb("machines",
                            "List the machines and nodes that trials ran on: their hardware and "
                            "kernel, when they were used last, the compilers of the last "
                            "experiment, their noise floor, and their state in a Slurm cluster",
                            [&a] { return client::machines(a.common); });
  machines->add_option("--folder,--state", a.common.state,
                       "Read the database in this folder, without a daemon. The default is the "
                       "daemon's database, if you have the right to read it");
  json_flag(machines);
  CLI::App* sql = verb(
      "sql",
      "Run one SELECT over a database of stabd; doc/store.md lists its tables. Nothing is changed",
      [&a] { return client::sql(a.common, a.sql); });
  sql->add_option("select", a.sql.statement, "The SELECT, quoted as one word")->required();
  CLI::Option* state =
      sql->add_option("--folder,--state", a.common.state,
                      "Query the database in this folder (see 'stabctl runs'); by default, query "
                      "your own daemon's database or, for root, the system daemon's database");
  sql->add_option("--database", a.sql.database, "File of the database, for example a backup")
      ->excludes(state);
  sql->add_option("--time-limit", a.sql.seconds, "Stop the query after this many seconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  CLI::Option* csv = sql->add_flag("--csv", a.sql.csv, "Print CSV");
  json_flag(sql)->excludes(csv);
}

CommandLine::Action CommandLine::on_machine(Result<int> (*what)(const MachineOptions&)) {
  return [this, what] {
    arguments_.machine.json = arguments_.common.json;
    return what(arguments_.machine);
  };
}

void CommandLine::machine_options(CLI::App* verb) {
  MachineOptions& m = arguments_.machine;
  verb->add_option("--root", m.root,
                   "For trying things out: stabctl uses the folders proc and sys in this folder "
                   "instead of /proc and /sys. The CPUs are still the CPUs of this machine");
  json_flag(verb);
}

void CommandLine::add_machine_verbs() {
  MachineOptions& m = arguments_.machine;
  CLI::App* doctor =
      verb("doctor",
           "Check how well this machine can measure, and suggest improvements; nothing is changed",
           on_machine(client::doctor));
  machine_options(doctor);
  doctor->add_option("program", m.programs,
                     "Also check whether these programs can have random layouts");
  doctor
      ->add_flag("--machines", m.machines,
                 "Check the Slurm cluster instead of this machine; scontrol must work here. This "
                 "shows how the cluster's settings affect measurements on its nodes, and which "
                 "lines in slurm.conf would help")
      ->excludes("program", "--root");
  CLI::App* counters = verb("counters",
                            "List the events that trials can count on this machine, and explain "
                            "why other events can't be counted",
                            [this] {
                              arguments_.counters.json = arguments_.common.json;
                              return client::counters(arguments_.counters);
                            });
  counters->add_option("pattern", arguments_.counters.pattern,
                       "List only events whose names contain this text. If the text contains * or "
                       "?, it must match the whole name");
  json_flag(counters);
  CLI::App* compiler = app_->add_subcommand(
      "compiler", "List or add compilers that szc can use to put random pads into stack frames");
  compiler->require_subcommand(1);
  compiler->fallthrough();
  const auto about_compilers = [&](const char* name, const char* help) {
    CLI::App* added = compiler->add_subcommand(name, help);
    added->fallthrough();
    added->callback([this] {
      action_ = [this] {
        arguments_.compiler.json = arguments_.common.json;
        return client::compilers(arguments_.compiler);
      };
    });
    json_flag(added);
    return added;
  };
  about_compilers("list",
                  "List the versions of clang that szc supports, and the compilers that you added");
  about_compilers("add",
                  "Build szc's pass for another version of clang, for example a clang that you "
                  "built from LLVM's sources. To use that clang, call szc --stab-cc=CLANG, set CC "
                  "= \"szc --stab-cc=CLANG\" in a plan, or call stabctl ab --env STAB_CC=CLANG")
      ->add_option("clang", arguments_.compiler.added, "Path of the clang")
      ->required();
  CLI::App* quiet = app_->add_subcommand(
      "quiet", "Make this machine quiet for measurements, or put back what was changed");
  quiet->alias("quiesce");
  quiet->require_subcommand(1);
  quiet->fallthrough();
  const auto part = [&](const char* name, const char* help,
                        Result<int> (*what)(const MachineOptions&)) {
    CLI::App* added = quiet->add_subcommand(name, help);
    added->fallthrough();
    added->callback([this, action = on_machine(what)] { action_ = action; });
    added->add_option("--log", m.log,
                      "Log file of the changed settings; by default, this machine's log");
    machine_options(added);
    return added;
  };
  const auto knobs_option = [&](CLI::App* added) {
    added
        ->add_option("--knobs", m.knobs,
                     "Check or change only these settings, separated by commas; by default, the "
                     "standard settings")
        ->delimiter(',');
    added->add_option("--trial-cpus", m.trial_cpus, "How many CPUs trials use")
        ->capture_default_str();
    return added;
  };
  knobs_option(part("status", "Show which settings are quiet", quiesce_status));
  knobs_option(part("apply",
                    "Change the settings that disturb measurements; 'restore' puts them back",
                    quiesce_apply))
      ->add_flag("--strict", m.strict,
                 "Change either all settings or none of them: if one change is refused, put the "
                 "other settings back");
  part("restore",
       "Put back all settings that were changed, even if the run that changed them was killed",
       quiesce_restore);
}

}  // namespace stab::command_line
