// SPDX-License-Identifier: MIT
// Makes a machine quiet and puts back what it changed. The rules are those of undo_log.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "machine/quiet/knobs.h"
#include "machine/quiet/undo_log.h"

namespace stab::machine {

// What became of one file of a knob, or of a knob that has no file here.
struct Outcome {
  enum class What {
    changed,   // it holds the quiet value now
    quiet,     // it did already
    refused,   // it cannot be read or written, or reads back as something else; it is as it was
    absent,    // this machine has no such knob
    restored,  // it holds again what was found
    foreign,   // somebody else has set it since; it is left alone
  };
  std::string knob;
  std::string file;
  What what = What::absent;
  std::string found;   // before
  std::string value;   // now
  std::string reason;  // of refused, absent and foreign
};

std::string_view to_string(Outcome::What what);

// The names of the standard knobs, or those given; an error names one that is none, and the nearest.
Result<std::vector<const Knob*>> choose_knobs(std::span<const std::string> names);

// Of a knob that is not to be changed.
Outcome refusal(std::string knob, std::string reason);

bool moves_processes(std::span<const Knob* const> knobs);

// Files of knobs that are in force while they are open. The kernel closes them for whoever is killed, so
// no log has them.
class Held {
 public:
  // Writes the quiet value.
  Result<void> hold(const Setting& setting, std::string_view knob, const std::string& root);
  // Outcomes of what is let go.
  std::vector<Outcome> let_go();

 private:
  struct One {
    Fd fd;
    Outcome outcome;
  };
  std::vector<One> held_;
};

// Without `held` knobs that are in force while they are open are refused.
// Never stops at one that fails: the outcomes say which. An error only if the log cannot be written; then nothing more was
// changed. What the log holds already stays in it.
Result<std::vector<Outcome>> quiesce(UndoLog& log, std::span<const Knob* const> knobs,
                                     const CpuChoice& cpus, const std::string& root = "",
                                     Held* held = nullptr);

// Newest first, those since `from`. The log forgets them, unless something could not be put back
// (`refused`): then it can be tried again.
Result<std::vector<Outcome>> restore(UndoLog& log, const std::string& root = "",
                                     UndoLog::Mark from = {});

}  // namespace stab::machine
