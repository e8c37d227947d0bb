// SPDX-License-Identifier: MIT
// Makes a machine quiet and reverts the changes, according to the invariants of undo_log.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/quiet/knobs.h"
#include "machine/quiet/undo_log.h"

namespace stab::machine {

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

}  // namespace stab::machine
