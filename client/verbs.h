// SPDX-License-Identifier: MIT
// The verbs of stabctl, one function each, and their options. The functions print to stdout and
// return the process's exit code. Verbs that need more have headers of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "client/follow.h"

namespace stab::client {

struct Common {
  std::vector<std::string> sockets;  // of daemons, tried in this order
  std::string state;  // report, compare, export, logs: the folder of a database; "": ask a daemon
  bool json = false;
  bool full = false;     // reports as text: all tables
  std::string response;  // report, compare: the number to analyse; "": the plan's response
  std::string better;    // likewise, and history: whether lower or higher is better; "": as planned
  std::string machines;  // submit, check: as in read_plan_file()
  FailOn fail_on{};
};

Result<int> submit(const Common& common, const std::string& plan_path, std::int64_t priority,
                   bool wait);
Result<int> list(const Common& common);
Result<int> status(const Common& common, std::int64_t id);
Result<int> status_of_daemon(const Common& common);
Result<int> watch(const Common& common, std::int64_t id);
// Prints how the followed experiment ended, and returns the exit code of `watch`.
Result<int> end_of_watch(const Common& common, std::int64_t id, const Followed& followed);
// The exit code of `watch` and other verbs for an experiment that has ended.
Result<int> exit_code_of(const Common& common, std::int64_t id);
Result<int> cancel(const Common& common, std::int64_t id);
// Pauses or resumes these experiments, or the whole queue.
Result<int> pause(const Common& common, const std::vector<std::int64_t>& ids, bool queue);
Result<int> resume(const Common& common, const std::vector<std::int64_t>& ids, bool queue);
// Measures again what did not succeed in experiments that have ended. Experiments that failed or
// were cancelled also continue with the trials that they have not run.
Result<int> retry(const Common& common, const std::vector<std::int64_t>& ids);
// Prints the output of builds and trials and the events, for any user who may see the experiment.
// `follow`: until the experiment ends, which needs a daemon.
Result<int> logs(const Common& common, std::int64_t id, bool follow);
// Here and below, `id` may be 0, and `ids` empty, if Common::state names a folder with one
// experiment. Without `fail_on`, no finding of the report is a failure.
Result<int> report(const Common& common, std::int64_t id, const std::string& format,
                   const std::string& output, const std::optional<FailOn>& fail_on);
// Shows the verdicts of one experiment, or compares the benchmarks of a second experiment with
// those of the first.
Result<int> compare(const Common& common, const std::vector<std::int64_t>& ids);
struct ExportOptions {
  std::string format = "csv";
  bool samples = false;  // export the samples within the trials instead of the trials
  std::string cell{};    // with the format coz: only this cell
  std::string output{};
};
Result<int> export_rows(const Common& common, std::int64_t id, const ExportOptions& options);

struct ProfileOptions {
  std::int64_t id = 0;
  std::optional<std::uint32_t> position{};
  std::optional<std::uint32_t> attempt{};
  std::vector<std::string> cells{};  // two cells to compare, instead of a position
};
// Shows where a trial spent its time, or which functions differ between two cells.
Result<int> profile(const Common& common, const ProfileOptions& options);

// Needs no daemon. `sd` is the relative standard deviation of trials, as in "2%"; within subjects,
// it is that of a treatment's change between benchmarks. If it is "", an earlier experiment of the
// same name provides it, if there is one.
Result<int> check(const Common& common, const std::string& plan_path, const std::string& sd = "");

// Prints the commands of Slurm that an experiment of this plan would call, and calls none of them.
Result<int> show_slurm_commands(const Common& common, const std::string& plan_path);

// Prints all keys of a plan with their values, defaults and meanings, or the quantities that its
// rules may use. The text is a table of doc/plans.md.
Result<int> keys(const Common& common, bool quantities);

struct RunOptions {
  std::string plan_path;
  std::string machines{};       // as in read_plan_file()
  std::string state_directory;  // "": that of an interrupted run of this plan, or a new one
  std::string calibrations;     // file that keeps them between runs; "": calibrations_file()
  std::string format = "text";
  std::string html;    // file for the report as a page; "": no page
  bool full = false;   // as in Common
  bool again = false;  // measure even if there are results of this plan
  FailOn fail_on{};
  Follower follow{};  // empty: only on the terminal
  Notice notice{};
  // Cancels unfinished experiments of other plans in the folder; otherwise they are an error.
  bool cancel_others = false;
  // Is called with the database's folder before anything is measured.
  std::function<Result<void>(const std::string& folder)> begin{};
};
// Lists the runs that `run` and `ab` left in folder_of_runs().
Result<int> runs(const Common& common);

// The folders of runs below `runs` for a shell's completion, newest first: "FOLDER", a tab, and its
// experiment. Reads no trials, because completion must be fast.
std::vector<std::string> completed_folders(const std::string& runs, const std::string& beginning);

// Measures with a daemon of its own, which ends with this call. A signal pauses the experiment, and
// the same call continues it.
Result<int> run(const RunOptions& options);

// The verbs about the database. Most of them work on the whole file, and need a user who may read
// it: root or stabd's own user.

// A folder means the stabd.db in it.
std::string database_named(const std::string& path);

// The database in `common.state`, or else the daemon's.
Result<std::string> database_of(const Common& common);

// Writes an experiment that has ended to a file, which must not exist.
Result<int> export_archive(const Common& common, std::int64_t id, const std::string& file);
// Adds the experiment in such a file to the daemon's database, or to the database in
// `common.state`, which no daemon may have open.
Result<int> import_archive(const Common& common, const std::string& file);

// Copies the daemon's database, or the one in `common.state`, to a file that must not exist. The
// daemon may write to the database meanwhile. Exits with 5 if the copy is damaged because the
// original is.
Result<int> backup(const Common& common, const std::string& file);

// Saves the readable rows of `from` to the new database `to`. No daemon may have `from` open; it is
// not changed. Exits with 5 if anything is lost.
Result<int> recover(const Common& common, const std::string& from, const std::string& to);

// Removes experiments that have ended, with all their rows, from the daemon's database or from the
// one in `common.state`, which no daemon may have open. `dry`: only prints what would be removed.
Result<int> remove(const Common& common, const std::vector<std::int64_t>& ids, bool dry);

struct SqlOptions {
  std::string statement;
  std::string database;  // a file; "" means `common.state`, or else this user's daemon
  bool csv = false;
  int seconds = 10;
};
// Runs one SELECT on a database that the caller may read. It asks no daemon and changes nothing.
Result<int> sql(const Common& common, const SqlOptions& options);

// Prints the machines that ran trials of the database, which the caller may read: the daemon's own
// and nodes of a cluster.
Result<int> machines(const Common& common);

// The verbs that look at or change the machine on which stabctl runs. They need no daemon.

struct MachineOptions {
  std::vector<std::string> knobs;  // empty means the standard knobs
  unsigned trial_cpus = 1;
  bool strict = false;  // for `apply`: change all knobs or nothing
  bool json = false;
  std::vector<std::string> programs{};  // for `doctor`: programs whose layout to look at
  bool machines = false;                // for `doctor`: look at the cluster instead
  std::string root;                     // comes before /proc and /sys in paths
  std::string log;                      // "" means the machine's log
};

struct CounterOptions {
  std::string pattern;  // part of a name, or a glob; "" means a short list of all
  bool json = false;
};
// Prints the events that each trial can count on this machine.
Result<int> counters(const CounterOptions& options);

struct CompilerOptions {
  // A clang to add the pass to; nothing means to list the compilers that have it.
  std::optional<std::string> added{};
  bool json = false;
};
// Runs szc, which knows the compilers.
Result<int> compilers(const CompilerOptions& options);

Result<int> doctor(const MachineOptions& options);
Result<int> quiesce_status(const MachineOptions& options);
Result<int> quiesce_apply(const MachineOptions& options);
Result<int> quiesce_restore(const MachineOptions& options);

struct ReplayOptions {
  std::int64_t id = 0;
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};  // nothing means the last attempt
  bool print = false;                      // print the command instead of running it
  std::vector<std::string> before{};       // words before the command: {"perf", "stat"}
};

// Runs a stored trial again in the foreground, in the same way as before, for debuggers and
// profilers. Replaces this process with the trial's program, with the trial's stdin, variables,
// seed and address space. Returns only if that fails or if it only prints.
Result<int> replay(const Common& common, const ReplayOptions& options);

}  // namespace stab::client
