// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <optional>

#include "client/database.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

namespace {

Result<int> report_and_judge(const Arguments& a, bool judges) {
  if (a.common.json && a.report_format == "html")
    return fail("--json and --format html are two formats: choose one");
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
    added->add_option("--folder,--state", a.common.state,
                      "Folder of a 'stabctl run' (see 'stabctl runs'). Needs no daemon, and no "
                      "number if it holds a single experiment");
  };
  const auto response_options = [&](CLI::App* added) {
    CLI::Option* response = added->add_option("--metric,--response", a.common.response,
                                              "Response to report instead of the plan's: wall, "
                                              "user, code-size, ... or a reading of the trials");
    added
        ->add_option("--better", a.common.better,
                     "Whether lower or higher is better; by default as in the plan, else lower")
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
      ->add_option("--format", a.report_format, "text, json, or html, a single page with pictures")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json", "html"}));
  report->add_option("-o,--output", a.output, "File to write; by default stdout");
  report_judges_ =
      report
          ->add_option("--fail-on", a.report_fail_on,
                       "Findings that make the exit code nonzero, separated by commas, or none. "
                       "With this option the exit code is 5 if the experiment did not end well; "
                       "without it the exit code is always 0")
          ->type_name("LIST:{trials,regressed,unsure,none}");
  response_options(report);
  full_flag(report);
  json_flag(report);

  CLI::App* logs = one_id(verb("logs",
                               "Show what builds and trials printed (the end of their stderr) and "
                               "what happened, in chronological order",
                               [&a] { return client::logs(a.common, a.id, a.follow); }));
  logs->add_flag("-f,--follow", a.follow,
                 "Follow the experiment until it ends; exit codes are those of watch");
  fail_on_option(logs);
  json_flag(logs);

  CLI::App* compare = verb(
      "compare",
      "Show the verdicts of an experiment, or the changes from one experiment to another. Changes "
      "between two experiments are never verdicts, because the machine may have changed in between",
      [&a] { return client::compare(a.common, a.ids); });
  compare
      ->add_option("ids", a.ids,
                   "One experiment, or two: benchmarks in the second are compared with the first")
      ->expected(1, 2)
      ->check(CLI::PositiveNumber);
  state_option(compare);
  response_options(compare);
  fail_on_option(compare);
  full_flag(compare);
  json_flag(compare);

  CLI::App* rows = one_id(verb("export",
                               "Export all trials, one per row or in the format of another tool, "
                               "or a whole experiment as an archive",
                               [&a] {
                                 return a.archive.empty()
                                            ? export_rows(a.common, a.id, a.rows)
                                            : export_archive(a.common, a.id, a.archive);
                               }));
  CLI::Option* archive = rows->add_option(
      "--archive", a.archive, "File to write the whole experiment to; it must not exist yet");
  rows->add_option("--format", a.rows.format,
                   "csv or json: all attempts; hyperfine or benchstat: the measurements, as "
                   "written by hyperfine --export-json and by Go's benchmarks; coz: the runs of a "
                   "causal plan, for coz's viewer")
      ->capture_default_str()
      ->check(CLI::IsMember({"csv", "json", "hyperfine", "benchstat", "coz"}));
  rows->add_option("--cell", a.rows.cell,
                   "With --format coz: the cell to export if there are several, as reports name it")
      ->excludes(archive);
  rows->add_flag("--samples", a.rows.samples, "Export the samples within the trials, one per row")
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
  CLI::Option* position = profile->add_option("position", a.profile.position,
                                              "Position of the trial, as in 'stabctl export'");
  profile
      ->add_option("--attempt", a.profile.attempt, "Attempt at the trial; by default the last one")
      ->needs(position);
  profile
      ->add_option("--cells", a.profile.cells,
                   "Two cells as reports name them, as in 'sort opt=O2': the second is compared "
                   "with the first")
      ->expected(2)
      ->excludes(position);
  profile->add_option("--folder,--state", a.common.state,
                      "Folder of a 'stabctl run' (see 'stabctl runs'); needs no daemon");
  json_flag(profile);
}

void CommandLine::add_history() {
  Arguments& a = arguments_;
  CLI::App* history = verb("history",
                           "Show one benchmark in all experiments that measured it, in "
                           "chronological order, and where it changed",
                           [&a] { return client::show_history(a.common, a.history); });
  history->add_option("benchmark", a.history.benchmark, "Benchmark, as reports name it")
      ->required();
  history->add_option("--experiment", a.history.experiment, "Only experiments of this name");
  history->add_option("--metric,--response", a.common.response,
                      "Response to follow instead of the latest experiment's response");
  history->add_option("--last", a.history.last, "How many of the latest experiments to examine")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  history
      ->add_option("--alpha", a.history.alpha,
                   "Probability of finding a change in a series that has none")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  history->add_option("--html", a.history.html,
                      "File for a web page with a picture of each series");
  history->add_option("--seed", a.history.seed, "Seed of the permutation tests")
      ->capture_default_str();
  history->add_option("--folder,--state", a.common.state,
                      "Folder of a 'stabctl run' (see 'stabctl runs'); needs no daemon");
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
  replay->add_option("position", a.replay.position, "Position of the trial, as in 'stabctl export'")
      ->required();
  replay->add_option("before", a.replay.before,
                     "After --: words to put before the trial's command, such as perf stat. stdin "
                     "is the terminal's unless the plan names a file");
  replay->add_option("--attempt", a.replay.attempt,
                     "Attempt at the trial; by default the last one");
  replay->add_flag("--print", a.replay.print, "Print the command for a shell, and run nothing");
  replay->add_option("--folder,--state", a.common.state,
                     "Folder of a 'stabctl run' (see 'stabctl runs'); needs no daemon");
  json_flag(replay);
}

}  // namespace stab::command_line
