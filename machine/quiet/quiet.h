// SPDX-License-Identifier: MIT
// Makes a machine quiet and reverts the changes. A log of the changes is on disk before the machine
// is changed, so that they can be reverted even if this process is killed. The Keeper does this for
// experiments.
//
// Invariants:
//   1. A change is in the log, and the log is on disk, before the machine is changed.
//   2. A restored setting gets the value that the log has for it, and only if the machine still has
//      the value that was set.
//   3. The log forgets a change only after it was reverted or somebody else changed the setting.
//   4. A log of another boot is ignored, because the machine has lost the changes.
//   5. We write only to files of knobs, whatever a line of the log says.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/quiet/knobs.h"

namespace stab::machine {

struct Change {
  std::string knob;
  std::string file;
  std::string found;
  std::string set;
  Form form = Form::word;
  bool operator==(const Change&) const = default;
};

// The log of changes to the machine.
class UndoLog {
 public:
  // Opens the log, and creates it and its folder if needed. Fails if another process has it open.
  static Result<UndoLog> open(const std::string& path, const std::string& root = "");

  // The changes in the log, oldest first. damaged() counts lines that are unreadable, whose changes
  // can't be reverted.
  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  [[nodiscard]] std::size_t damaged() const { return damaged_; }

  // Returns when the changes are on disk.
  Result<void> add(std::span<const Change> changes);
  Result<void> clear();
  // Removes changes from the log; the order must be newest first.
  Result<void> forget(std::span<const Change> changes);
  // A position in the log. back_to() drops everything after it.
  struct Mark {
    std::size_t changes = 0;
    off_t size = 0;
  };
  [[nodiscard]] Mark mark() const;
  Result<void> back_to(Mark mark);
  // Copies the log to a file in the same folder, for people to read, and returns its path.
  Result<std::string> set_aside() const;

 private:
  UndoLog(Fd fd, std::string path, std::string boot)
      : fd_(std::move(fd)), path_(std::move(path)), boot_(std::move(boot)) {}
  Result<void> read();
  Result<void> append(const std::string& lines);
  void drop_newest_of(const std::string& file);

  Fd fd_;
  std::string path_;
  std::string boot_;
  std::vector<Change> changes_;
  std::size_t damaged_ = 0;
};

// The outcome for one file of a knob, or for a knob without files on this machine.
struct Outcome {
  enum class What {
    changed,   // it has the quiet value now
    quiet,     // it had the quiet value already
    refused,   // it can't be read or written, or reads back differently; it is unchanged
    absent,    // this machine does not have the knob
    restored,  // it has its earlier value again
    foreign,   // somebody else has changed it since; it stays as it is
  };
  std::string knob;
  std::string file;
  What what = What::absent;
  std::string found;   // the earlier value
  std::string value;   // the current value
  std::string reason;  // for refused, absent and foreign
};

std::string_view to_string(Outcome::What what);

// The knobs with the given names, or the standard knobs if `names` is empty. The error names an
// unknown knob and the most similar one.
Result<std::vector<const Knob*>> choose_knobs(std::span<const std::string> names);

// The outcome for a knob that must not be changed.
Outcome refusal(std::string knob, std::string reason);

bool moves_processes(std::span<const Knob* const> knobs);

// Files of knobs whose value is valid only while they are open. The kernel closes them when the
// process is killed, so they are not in any log.
class Held {
 public:
  // Opens the setting's file, writes the quiet value, and keeps the file open.
  Result<void> hold(const Setting& setting, std::string_view knob, const std::string& root);
  // Closes all files and returns the outcomes.
  std::vector<Outcome> let_go();

 private:
  struct One {
    Fd fd;
    Outcome outcome;
  };
  std::vector<One> held_;
};

// Sets the knobs to their quiet values. Continues if a knob fails, and reports that in its outcome.
// Without `held`, refuses knobs whose files must stay open. Returns an error only if the log can't
// be written; then it stops changing settings. Earlier changes stay in the log.
Result<std::vector<Outcome>> quiesce(UndoLog& log, std::span<const Knob* const> knobs,
                                     const CpuChoice& cpus, const std::string& root = "",
                                     Held* held = nullptr);

// Reverts the changes since `from`, newest first. The log forgets them, except for changes that
// could not be reverted (`refused`), which can be tried again.
Result<std::vector<Outcome>> restore(UndoLog& log, const std::string& root = "",
                                     UndoLog::Mark from = {});

// The paths of the two logs in the folder of the machine's logs.
std::string log_by_hand(const std::string& folder);
std::string log_of_experiments(const std::string& folder);

// Reverts the changes that an experiment left behind when its daemon was killed. Fails if another
// experiment has the machine now.
Result<std::vector<Outcome>> recover(const std::string& folder, const std::string& root = "");

// Keeps the machine quiet for experiments, one at a time, besides changes that users make by hand
// (`stabctl quiet`).
//
// All daemons of a machine use the same two logs in one folder: one for changes by hand and one for
// changes by experiments. While an experiment has the machine both logs are locked, so that nobody
// else changes knobs. Changes by hand stay in place when the experiment ends.
class Keeper {
 public:
  // `root` is a prefix for /proc and /sys, for tests.
  explicit Keeper(std::string folder, std::string root = "")
      : folder_(std::move(folder)), root_(std::move(root)) {}

  // Makes the machine quiet, after reverting what a killed daemon left. After an error nothing is
  // changed.
  Result<std::vector<Outcome>> quiesce(std::span<const Knob* const> knobs, const CpuChoice& cpus);
  // The settings that were quiet after quiesce() but are no longer, because somebody else changed
  // them. Each change is returned once. Settings of CPUs that are offline don't count.
  std::vector<Outcome> disturbed();
  // Reverts the changes of the last quiesce(), if that has not been done. Changes that can't be
  // reverted stay in the log for the next recover().
  Result<std::vector<Outcome>> restore();

 private:
  struct Logs {
    UndoLog by_hand;  // locked but not changed
    UndoLog experiment;
  };
  std::string folder_;
  std::string root_;
  std::optional<Logs> logs_;  // set while the machine is ours
  Held held_;
  std::vector<Outcome> quiet_;  // the settings that were quiet at the last look
};

// A knob that is still not quiet after quiesce().
struct Loud {
  std::string knob;
  std::string reason;
};
std::vector<Loud> still_loud(std::span<const Outcome> outcomes);
// Finds the knobs that are not quiet now, and changes nothing.
std::vector<Loud> loud_now(std::span<const Knob* const> knobs, const CpuChoice& cpus,
                           const std::string& root = "");
// "smt: the reason; ksm: the reason"
std::string to_text(std::span<const Loud> loud);

}  // namespace stab::machine
