// SPDX-License-Identifier: MIT
// What stabctl does, a function a verb. Each prints to stdout and returns the process's exit code.
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
  std::vector<std::string> sockets;  // of daemons, in the order in which they are tried
  std::string state;  // report, compare, export, logs: the folder of a database; "": ask a daemon
  bool json = false;
  bool full = false;     // reports as text: all tables
  std::string response;  // report, compare: of which number, and
  std::string better;    // which of it is better; "": as the plan has it
  FailOn fail_on{};
};

Result<int> submit(const Common& common, const std::string& plan_path, std::int64_t priority,
                   bool wait);
Result<int> list(const Common& common);
Result<int> status(const Common& common, std::int64_t id);
Result<int> status_of_daemon(const Common& common);
Result<int> watch(const Common& common, std::int64_t id);
// What it says of an experiment that it followed, and its exit code.
Result<int> end_of_watch(const Common& common, std::int64_t id, const Followed& followed);
// By the experiment's end, as `watch` and others exit.
Result<int> exit_code_of(const Common& common, std::int64_t id);
Result<int> cancel(const Common& common, std::int64_t id);
// These experiments, or the whole queue.
Result<int> pause(const Common& common, const std::vector<std::int64_t>& ids, bool queue);
Result<int> resume(const Common& common, const std::vector<std::int64_t>& ids, bool queue);
// Those that failed or were cancelled go on; what did not succeed is measured once more.
Result<int> retry(const Common& common, const std::vector<std::int64_t>& ids);
// `id` may be 0, and `ids` empty, if a folder is named that holds one experiment. Without `fail_on`
// what the report says is no failure.
Result<int> report(const Common& common, std::int64_t id, const std::string& format,
                   const std::string& output, const std::optional<FailOn>& fail_on);
// One experiment: its verdicts. Two: the same benchmarks in both, the second against the first.
Result<int> compare(const Common& common, const std::vector<std::int64_t>& ids);
struct ExportOptions {
  std::string format = "csv";
  bool samples = false;  // of the trials, in place of these
  std::string cell{};    // with the format coz: of this one alone
  std::string output{};
};
Result<int> export_rows(const Common& common, std::int64_t id, const ExportOptions& options);

struct ProfileOptions {
  std::int64_t id = 0;
  std::optional<std::uint32_t> position{};
  std::optional<std::uint32_t> attempt{};
  std::vector<std::string> cells{};  // two in place of a position
};
// Where the time of a trial went, or which functions differ between two cells.
Result<int> profile(const Common& common, const ProfileOptions& options);

// No daemon needed.
// `sd`: the relative standard deviation of trials, as in "2%"; within subjects that of a
// treatment's change between benchmarks. "": an earlier experiment of the same name tells it, if
// there is one.
Result<int> check(const Common& common, const std::string& plan_path, const std::string& sd = "");

// All keys of a plan: what each may be, what holds without it, what it means; or the quantities that
// its rules may look at. Text is a table of doc/plans.md.
Result<int> keys(const Common& common, bool quantities);

struct RunOptions {
  std::string plan_path;
  std::string state_directory;  // "": a new private one
  std::string calibrations;     // file that carries them from run to run; "": the user's own
  std::string format = "text";
  std::string html;    // file for the report as a page; "": none
  bool full = false;   // as in Common
  bool again = false;  // measure, whatever there is of this plan
  FailOn fail_on{};
  Follower follow{};  // none: on the terminal alone
  // What is unfinished in the folder is cancelled if it is of another plan; else that is an error.
  bool cancel_others = false;
  // Is told the database's folder before anything is measured.
  std::function<Result<void>(const std::string& folder)> begin{};
};
// The runs that `run` has left where it keeps them if no folder is named.
Result<int> runs(const Common& common);

// The same folders for a shell that completes one, the newest first: "FOLDER", a tab and what it holds.
std::vector<std::string> completed_folders(const std::string& beginning);

// With a daemon of its own, which ends with it. A signal pauses the experiment; the same call goes
// on.
Result<int> run(const RunOptions& options);

}  // namespace stab::client
