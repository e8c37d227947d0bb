// SPDX-License-Identifier: MIT
// What was changed on the machine, on disk before it is changed, so that it can be put back whoever ends first.
//
// Invariants:
//   1. A change is in the log, and the log is on disk, before the machine is changed.
//   2. What is put back is what the log found, and only where the machine still holds what was set.
//   3. The log forgets a change when it was put back or is somebody else's, not before.
//   4. A log of another boot changes nothing: the machine has forgotten what was set.
//   5. No line of a log makes us write to a file that is not a knob's.
#pragma once

#include <sys/types.h>

#include <cstddef>
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

class UndoLog {
 public:
  // Makes it if there is none, with its folder. Fails if another process has it open.
  static Result<UndoLog> open(const std::string& path, const std::string& root = "");

  // What the log holds, oldest first. `damaged`: lines that are not ours, whose changes nobody can put back.
  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  [[nodiscard]] std::size_t damaged() const { return damaged_; }

  // On disk when it returns.
  Result<void> add(std::span<const Change> changes);
  Result<void> clear();
  // Of what it holds, newest first.
  Result<void> forget(std::span<const Change> changes);
  // What the log held at some time, and how to make it hold no more than that.
  struct Mark {
    std::size_t changes = 0;
    off_t size = 0;
  };
  [[nodiscard]] Mark mark() const;
  Result<void> back_to(Mark mark);
  // Copies the log to a file beside it, whose name it returns, for people to read.
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

}  // namespace stab::machine
