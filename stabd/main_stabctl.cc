// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>

#include "stabd/client/analyze.h"
#include "stabd/client/database/database_verbs.h"
#include "stabd/client/machine/machine_verbs.h"
#include "stabd/client/output.h"
#include "stabd/client/replay/replay.h"
#include "stabd/client/verbs.h"
#include "stabd/paths.h"

namespace {

using namespace stab::client;
using stab::Result;

constexpr const char* exit_codes =
    "Exit codes of run, watch, logs -f, submit --wait, compare and analyze: 0 same or improved, 1 "
    "wrong "
    "usage "
    "or the tool failed, 5 trials failed or the experiment did not end well, 2 regressed, 3 "
    "unsure; "
    "where several hold, the first of that order. --fail-on chooses which are failures. Other "
    "verbs: 0 it worked, 1 it did not; backup and recover: 5 it worked, but the copy is damaged, "
    "or "
    "something is, or may be, lost. 128 and the number of a signal: interrupted.";

struct Arguments {
  Common common;
  std::string socket;
  std::string plan;
  std::string sd;
  std::string fail_on = "trials,regressed,unsure";
  std::int64_t id = 0;
  stab::client::ReplayOptions replay;
  std::vector<std::int64_t> ids;
  std::int64_t priority = 0;
  bool wait = false;
  bool queue = false;
  bool dry = false;
  bool follow = false;
  std::string report_format = "text";
  std::string export_format = "csv";
  std::string output;
  std::string from;
  std::string archive;
  RunOptions run;
  AnalyzeOptions analyze;
  MachineOptions machine;
};

class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", "stabctl " STAB_VERSION);
    app_.add_option("--socket", arguments_.socket,
                    "Unix socket of stabd; else those are tried: " +
                        fmt::format("{}", fmt::join(stab::sockets_of_daemons(), ", ")));
    app_.require_subcommand(1);
    app_.footer(exit_codes);
    add_plan_verbs();
    add_experiment_verbs();
    add_replay();
    add_analyze();
    add_machine_verbs();
    add_database_verbs();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? exit_ok : exit_error;
    }
    const auto fail_on = read_fail_on(arguments_.fail_on);
    if (!fail_on) return tell(fail_on.error());
    arguments_.common.sockets = arguments_.socket.empty()
                                    ? stab::sockets_of_daemons()
                                    : std::vector<std::string>{arguments_.socket};
    arguments_.common.fail_on = arguments_.run.fail_on = arguments_.analyze.fail_on = *fail_on;
    const auto code = action_();
    return code ? *code : tell(code.error());
  }

 private:
  using Action = std::function<Result<int>()>;

  static int tell(const stab::Error& error) {
    stab::client::tell("stabctl: " + error.message);
    return exit_error;
  }

  CLI::App* verb(const char* name, const char* help, Action action) {
    CLI::App* added = app_.add_subcommand(name, help);
    added->fallthrough();
    added->callback([this, action = std::move(action)] { action_ = action; });
    return added;
  }

  // The last one counts, so that scripts can have a default of their own.
  void fail_on_option(CLI::App* verb) {
    verb->add_option("--fail-on", arguments_.fail_on,
                     "What exits with another code than 0: a list of trials, regressed, unsure; or "
                     "none")
        ->capture_default_str()
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void full_flag(CLI::App* verb) {
    verb->add_flag("--full", arguments_.common.full,
                   "Text: all tables; else the answer, the changes and what must be known of the "
                   "rest");
  }

  void json_flag(CLI::App* verb) { verb->add_flag("--json", arguments_.common.json, "Print JSON"); }

  void add_plan_verbs() {
    Arguments& a = arguments_;
    CLI::App* run = verb(
        "run",
        "Run a plan with a daemon of its own, show progress, print the report; Ctrl-C pauses it",
        [&a] {
          a.run.plan_path = a.plan;
          a.run.format = a.common.json ? "json" : "text";
          a.run.full = a.common.full;
          return stab::client::run(a.run);
        });
    run->add_option("plan", a.plan, "The plan, a TOML file")->required();
    run->add_option(
        "--state", a.run.state_directory,
        "Folder of the database: an unfinished run of this plan in there goes on, a finished one "
        "shows its report");
    run->add_option("--calibrations", a.run.calibrations,
                    "File that carries what calibrations found from run to run");
    run->add_flag("--again", a.run.again,
                  "Begin anew: neither show a finished run nor go on with an interrupted one");
    fail_on_option(run);
    full_flag(run);
    json_flag(run);

    CLI::App* submit = verb("submit", "Queue a plan", [&a] {
      return stab::client::submit(a.common, a.plan, a.priority, a.wait);
    });
    submit->add_option("plan", a.plan, "The plan, a TOML file")->required();
    submit
        ->add_option("--priority", a.priority,
                     "More goes first; above 0 is for root and the user of stabd")
        ->capture_default_str()
        ->check(CLI::Range(-100, 100));
    submit->add_flag("--wait", a.wait, "Follow it to its end");
    fail_on_option(submit);
    json_flag(submit);

    CLI::App* check = verb("check", "Validate a plan and print its design",
                           [&a] { return stab::client::check(a.common, a.plan, a.sd); });
    check->add_option("plan", a.plan, "The plan, a TOML file")->required();
    check->add_option("--sd", a.sd,
                      "Relative standard deviation of trials, as in 2%, for the smallest change "
                      "that the plan can see; else an earlier experiment of its name tells it");
    json_flag(check);

    json_flag(verb("keys", "All keys of a plan: what each may be, its default, what it means",
                   [&a] { return stab::client::keys(a.common); }));
  }

  void add_experiment_verbs() {
    Arguments& a = arguments_;
    const auto with_id = [&](CLI::App* added) {
      added->add_option("id", a.id, "Number of the experiment, see 'stabctl list'")->required();
      return added;
    };
    json_flag(verb("runs", "What 'stabctl run' has left: what has ended, what goes on",
                   [&a] { return stab::client::runs(a.common); }));
    json_flag(verb("list", "All experiments", [&a] { return stab::client::list(a.common); }));
    json_flag(with_id(verb("status", "Where an experiment is and what happened to it",
                           [&a] { return stab::client::status(a.common, a.id); })));
    CLI::App* watch =
        with_id(verb("watch", "Follow an experiment to its end; Ctrl-C leaves it running",
                     [&a] { return stab::client::watch(a.common, a.id); }));
    fail_on_option(watch);
    json_flag(watch);
    with_id(verb("cancel",
                 "End an experiment and wait until all of it has ended; what was measured is kept",
                 [&a] { return stab::client::cancel(a.common, a.id); }));

    const auto on_queue = [&](const char* name, const char* help, auto what) {
      CLI::App* added = verb(name, help, [&a, what] { return what(a.common, a.ids, a.queue); });
      added->add_option("ids", a.ids, "Numbers of experiments, see 'stabctl list'");
      added->add_flag("--queue", a.queue,
                      "The whole queue: what runs goes on, no other experiment begins");
      json_flag(added);
    };
    on_queue("pause",
             "Let others pass: an experiment waits until 'resume'; its trial under way is measured "
             "again then",
             stab::client::pause);
    on_queue("resume", "Let a paused experiment, or the queue, go on", stab::client::resume);
    CLI::App* retry = verb("retry",
                           "Go on with an experiment that failed or was cancelled, and measure "
                           "once more what did not succeed",
                           [&a] { return stab::client::retry(a.common, a.ids); });
    retry->add_option("ids", a.ids, "Numbers of experiments, see 'stabctl list'")->required();
    json_flag(retry);

    CLI::App* remove = verb("rm",
                            "Remove experiments that have ended, with all that is stored of them: "
                            "it is gone for good",
                            [&a] { return stab::client::remove(a.common, a.ids, a.dry); });
    remove->add_option("ids", a.ids, "Numbers of experiments, see 'stabctl list'")->required();
    remove->add_option("--state", a.common.state,
                       "Folder of a 'stabctl run', see 'stabctl runs': needs no daemon");
    remove->add_flag("--dry-run", a.dry, "Only say what would go");
    json_flag(remove);

    const auto state_option = [&](CLI::App* added) {
      added->add_option("--state", a.common.state,
                        "Folder of a 'stabctl run', see 'stabctl runs': needs no daemon, and no "
                        "number where it holds one experiment");
    };
    const auto one_id = [&](CLI::App* added) {
      added->add_option("id", a.id, "Number of the experiment, see 'stabctl list'")
          ->check(CLI::PositiveNumber);
      state_option(added);
      return added;
    };
    CLI::App* report =
        one_id(verb("report", "The analysis, also of an experiment that still runs", [&a] {
          return stab::client::report(a.common, a.id, a.report_format, a.output);
        }));
    report->add_option("--format", a.report_format, "text or json")
        ->capture_default_str()
        ->check(CLI::IsMember({"text", "json"}));
    report->add_option("-o,--output", a.output, "File to write; stdout if there is none");
    full_flag(report);
    json_flag(report);

    CLI::App* logs = one_id(
        verb("logs",
             "What builds and trials printed (the end of their stderr) and what happened, by time",
             [&a] { return stab::client::logs(a.common, a.id, a.follow); }));
    logs->add_flag("-f,--follow", a.follow, "Go on to the experiment's end; exits as watch does");
    fail_on_option(logs);
    json_flag(logs);

    CLI::App* compare =
        verb("compare",
             "The verdicts of an experiment; or the changes from one experiment to another, which "
             "are no "
             "verdicts: what changed on the machine in between cannot be told from them",
             [&a] { return stab::client::compare(a.common, a.ids); });
    compare
        ->add_option("ids", a.ids,
                     "One experiment; or two: the same benchmarks in the second against the first")
        ->expected(1, 2)
        ->check(CLI::PositiveNumber);
    state_option(compare);
    fail_on_option(compare);
    full_flag(compare);
    json_flag(compare);

    CLI::App* rows = one_id(
        verb("export", "All trials, a row each; or all of an experiment as an archive", [&a] {
          return a.archive.empty() ? export_rows(a.common, a.id, a.export_format, a.output)
                                   : export_archive(a.common, a.id, a.archive);
        }));
    rows->add_option("--archive", a.archive,
                     "File for the whole experiment, which must not be there yet; for root and the "
                     "user of stabd, or with --state");
    rows->add_option("--format", a.export_format, "csv or json")
        ->capture_default_str()
        ->check(CLI::IsMember({"csv", "json"}));
    rows->add_option("-o,--output", a.output, "File to write; stdout if there is none");
    json_flag(rows);
  }

  void add_replay() {
    Arguments& a = arguments_;
    CLI::App* replay = verb("replay",
                            "Run a stored trial again as it was run, with its seed, variables and "
                            "address space: for debuggers and profilers",
                            [&a] { return stab::client::replay(a.common, a.replay); });
    replay->add_option("id", a.replay.id, "Number of the experiment, see 'stabctl list'")
        ->required()
        ->check(CLI::PositiveNumber);
    replay->add_option("position", a.replay.position, "Of the trial, as 'stabctl export' has it")
        ->required();
    replay->add_option("before", a.replay.before,
                       "Words before the trial's command, after --: perf stat; then stdin is yours "
                       "unless the plan names a file");
    replay->add_option("--attempt", a.replay.attempt, "Which one; else the last");
    replay->add_flag("--print", a.replay.print, "Print the command for a shell, run nothing");
    replay->add_option("--state", a.common.state,
                       "Folder of a 'stabctl run', see 'stabctl runs': needs no daemon");
    json_flag(replay);
  }

  void add_analyze() {
    AnalyzeOptions& a = arguments_.analyze;
    CLI::App* analyze =
        verb("analyze", "Analysis of variance of a CSV file; needs no daemon", [this] {
          arguments_.analyze.json = arguments_.common.json;
          arguments_.analyze.full = arguments_.common.full;
          return stab::client::analyze(arguments_.analyze);
        });
    analyze->add_option("file", a.file, "CSV with a header and a row for each trial; - is stdin")
        ->required();
    analyze
        ->add_option("--response", a.response,
                     "Column of what was measured; less is better, or see --higher-is-better")
        ->required();
    analyze->add_option("--factors", a.factors, "Columns of the treatments, with commas: a,b")
        ->delimiter(',');
    analyze->add_option("--block", a.block, "Column of the blocks (rounds) of the trials");
    analyze->add_option("--subject", a.subject,
                        "Column of the subject (program): y ~ a + Error(subject/a)");
    analyze->add_option("--random", a.random,
                        "Column of a random factor within the treatments (layout seeds): y ~ a + "
                        "Error(a:seed)");
    analyze->add_option(
        "--order", a.order,
        "Column that says when a row was measured: a time (number or ISO 8601) or a running number "
        "over all rows. Rows are sorted by it, and only then is tested whether neighbours in time "
        "are alike (independence); what stabctl export wrote has started_ns, which is known");
    analyze->add_option("--baseline", a.baselines,
                        "factor=level to compare with; else the first in order");
    CLI::Option* log = analyze->add_flag_callback(
        "--log", [&a] { a.scale = "log"; }, "Analyse logarithms: geometric means and ratios");
    analyze->add_flag_callback(
               "--raw", [&a] { a.scale = "raw"; }, "Analyse the numbers (default)")
        ->excludes(log);
    analyze->add_option("--alpha", a.alpha, "Level of the tests")
        ->capture_default_str()
        ->check(CLI::Range(1e-6, 0.499));
    analyze->add_option("--equivalence", a.equivalence,
                        "Smallest change that matters, as in 1%; makes 'same' a verdict");
    analyze->add_option("--type", a.sums_of_squares, "Sums of squares of type 2 or 3")
        ->capture_default_str()
        ->check(CLI::IsMember({2, 3}));
    analyze
        ->add_option("--method", a.method,
                     "standard, or stabilizer: the procedure of Curtsinger and Berger (2013)")
        ->capture_default_str()
        ->check(CLI::IsMember({"standard", "stabilizer"}));
    analyze
        ->add_option("--error", a.error,
                     "own: each comparison against how it varies from block to block itself; "
                     "pooled: against the residuals of y ~ block + a")
        ->capture_default_str()
        ->check(CLI::IsMember({"own", "pooled"}));
    analyze
        ->add_option("--programs", a.programs,
                     "With --subject, what the answer is about: these programs, or programs like "
                     "these (both are shown)")
        ->capture_default_str()
        ->check(CLI::IsMember({"these", "like-these"}));
    analyze->add_option("--pairs", a.pairs, "Compare each level with the baseline, or all pairs")
        ->capture_default_str()
        ->check(CLI::IsMember({"baseline", "all"}));
    analyze->add_flag("--higher-is-better", a.higher_is_better,
                      "More of the response is better, as of a throughput");
    analyze->add_option("--unit", a.unit, "ns or bytes, if the response is such")
        ->check(CLI::IsMember({"ns", "bytes"}));
    analyze->add_option("-o,--output", a.output, "File to write; stdout if there is none");
    fail_on_option(analyze);
    full_flag(analyze);
    json_flag(analyze);
  }

  void add_database_verbs() {
    Arguments& a = arguments_;
    CLI::App* backup = verb("backup", "Copy the database to a file, also while stabd works with it",
                            [&a] { return stab::client::backup(a.common, a.output); });
    backup->add_option("file", a.output, "The copy; must not be there yet")->required();
    backup->add_option("--state", a.common.state,
                       "Folder of the database: needs no daemon; else that of the daemon");
    json_flag(backup);
    CLI::App* import = verb("import",
                            "Add the experiment of an archive to the database of a folder, under a "
                            "number of its own; stabd must not run with it",
                            [&a] { return stab::client::import_archive(a.common, a.archive); });
    import->add_option("file", a.archive, "What 'stabctl export ID --archive' wrote")->required();
    import->add_option("--state", a.common.state, "Folder of the database; made if it is not there")
        ->required();
    json_flag(import);
    CLI::App* recover = verb(
        "recover",
        "Make a whole database of what can still be read of a damaged one, which stays as it is; "
        "stabd must not run with it",
        [&a] { return stab::client::recover(a.common, a.from, a.output); });
    recover->add_option("from", a.from, "The damaged database, or its folder")->required();
    recover->add_option("to", a.output, "The new one, or a folder for it; must not be there yet")
        ->required();
    json_flag(recover);
  }

  Action on_machine(Result<int> (*what)(const MachineOptions&)) {
    return [this, what] {
      arguments_.machine.json = arguments_.common.json;
      return what(arguments_.machine);
    };
  }

  void machine_options(CLI::App* verb) {
    MachineOptions& m = arguments_.machine;
    verb->add_option(
        "--root", m.root,
        "A folder that stands for /: its proc and sys are read and written, for trying "
        "it out; the CPUs are those of this machine");
    json_flag(verb);
  }

  void add_machine_verbs() {
    MachineOptions& m = arguments_.machine;
    machine_options(verb("doctor",
                         "What this machine can and cannot do for measurements, and what would "
                         "mend it; changes nothing",
                         on_machine(stab::client::doctor)));
    CLI::App* quiesce = app_.add_subcommand(
        "quiesce", "Make this machine quiet for measurements, and put back what was changed");
    quiesce->require_subcommand(1);
    quiesce->fallthrough();
    const auto part = [&](const char* name, const char* help,
                          Result<int> (*what)(const MachineOptions&)) {
      CLI::App* added = quiesce->add_subcommand(name, help);
      added->fallthrough();
      added->callback([this, action = on_machine(what)] { action_ = action; });
      added->add_option("--log", m.log, "The log of changes; else that of this machine");
      machine_options(added);
      return added;
    };
    const auto knobs_option = [&](CLI::App* added) {
      added->add_option("--knobs", m.knobs, "Only these, with commas; else the standard ones")
          ->delimiter(',');
      added->add_option("--trial-cpus", m.trial_cpus, "How many CPUs trials use")
          ->capture_default_str();
      return added;
    };
    knobs_option(part("status", "Which settings are quiet", quiesce_status));
    knobs_option(
        part("apply", "Change those that are not; 'restore' puts them back", quiesce_apply))
        ->add_flag("--strict", m.strict,
                   "All or nothing: put back what was changed if one is refused");
    part("restore", "Put back what was changed, also by a run that was killed", quiesce_restore);
  }

  CLI::App app_{"stabctl gives plans to stabd and shows what came out."};
  Arguments arguments_;
  Action action_;
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    stab::client::tell(std::string("stabctl: ") + error.what());
    return exit_error;
  }
}
