// SPDX-License-Identifier: MIT
// A log of changes to the machine. It is on disk before the machine is changed, so that the changes
// can be reverted even if this process is killed.
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

}  // namespace stab::machine
