// SPDX-License-Identifier: MIT
// Writes an experiment to a file, which is a database of stabd with nothing else in it, and reads
// such a file. So an archive has each column that the store has (store/rows/row.cc). An archive
// that a client sends arrives in a Spool, and an Intake imports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "store/reader.h"
#include "store/records.h"
#include "store/store.h"

namespace stab::archive {

// The number of bytes that are freed at once. The owner answers others between two pieces.
inline constexpr std::int64_t piece_of_file = std::int64_t{4} << 20;

// A private folder for files in transit, which is removed with its last user.
class Spool {
 public:
  // Takes over a large file that has no name any more, and frees it in pieces with shrink().
  // Without this function files are freed at once.
  using Leave = std::function<void(Fd file)>;

  // If there is a `leave`, nobody else may read the spool's files when it is destroyed, because
  // they are cut.
  static Result<std::shared_ptr<Spool>> make(const std::string& state_folder, Leave leave = {});
  // Removes the spools of killed processes.
  static void remove_left(const std::string& state_folder, const Leave& leave = {});
  // Frees the last piece of the file. Returns false if at most one piece is left, or if the file
  // can't be freed in pieces.
  static bool shrink(const Fd& file);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Appends a piece that a client sent to file().
  Result<void> add(std::string_view piece);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] std::string file() const { return folder_ + "/archive"; }
  [[nodiscard]] std::string parts() const { return folder_ + "/parts"; }

 private:
  Spool(std::string folder, Leave leave) : folder_(std::move(folder)), leave_(std::move(leave)) {}

  std::string folder_;
  Leave leave_;
  Fd file_;
  std::uint64_t bytes_ = 0;
};

// Writes an experiment that has ended to a file that must not exist yet. Somebody else may write to
// the database meanwhile.
Result<void> write(const std::string& database, store::Id id, const std::string& file);

// The user to whom an imported experiment belongs.
struct Receiver {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // If true, the archive's data about its machine and the machine's calibrations are added to the
  // same machine here. Otherwise the experiment gets a machine of its own, without calibrations.
  bool believed = false;  // for Intake
  std::string name{};     // the file's name in messages
};

// Verifies a file from an untrusted source and splits its experiment into parts. `parts`
// is a database that does not exist yet. No other file in its folder may begin with its name, and
// the folder is removed when the parts have been imported.
// If there is a `confine`, it is called before the file's content is read. After that nothing is
// opened, and nobody else may use the file. The files of `parts` are open before.
Result<void> take_apart(const std::string& file, const Receiver& receiver, const std::string& parts,
                        const store::Reader::Confine& confine = nullptr);

// The form of an experiment in a database of its own. The functions throw Refused.
//
// Invariants
//  P1  The row with the id 1 is the experiment. This row and each row after it stands for a part,
//      whose trials, builds and events belong to the experiment and follow those of the previous
//      part.
//  P2  An archive has one part.

struct Refused : std::runtime_error {
  explicit Refused(const std::string& why, bool passes = false)
      : std::runtime_error(why), temporary(passes) {}
  bool temporary;  // see StoreError
};

[[noreturn]] inline void refuse(const std::string& why) {
  throw Refused(why);
}

template <class T>
T value_of(store::Outcome<T> outcome) {
  if (!outcome) throw Refused(outcome.error().message, outcome.error().temporary);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

// The limits of a part.
struct Most {
  std::size_t trials = std::numeric_limits<std::size_t>::max();
  std::size_t others = std::numeric_limits<std::size_t>::max();  // for builds and for events
  // The bytes of texts, for trials, builds and events separately. A larger row is a part by itself.
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
};

inline constexpr store::Id whole = 1;

// Copies the machine's row, and returns its id in `to`. A row that `to` has already stays as it is.
store::Id copy_machine(store::Reader& from, store::Id machine, store::Store& to);
// Adds these calibrations to a machine of `to`. Rows that `to` has already stay as they are. The
// new rows have no experiment, so they count for every user (results/calibrations.h).
void add_calibrations(std::vector<store::Calibration> calibrations, store::Id machine,
                      store::Store& to);

// Imports an experiment into a store that is in use, one part at a time.
//
// Invariants
//  I1  Nobody sees the experiment before it is complete (S7 of store.h). If the import is given up,
//      or its stabd is killed, a removal takes its rows away. The machine's calibrations come last,
//      because a removal would leave them.
//  I2  The parts give nobody any rights, even if the archive took over the process that made them:
//      the receiver decides to whom the rows belong and which ones are believed, and each row is
//      checked before it is stored.
//  I3  Forged parts hold up others for one step at most, and a step is short: the parts have limits
//      (Most, TableBound, the size of their file), and so has the CPU time for reading them. The
//      first error of the parts ends the import.
class Intake {
 public:
  // Opens a database that take_apart() made. Nobody may have it open.
  static store::Outcome<Intake> open(const std::string& parts, Receiver receiver);

  // Adds a piece of the experiment in one small transaction (Most). Returns false when
  // the experiment is complete. After a temporary error, which only `to` can have, it may be called
  // again.
  store::Outcome<bool> step(store::Store& to);
  // The experiment's id in the store; 0 before the first step.
  [[nodiscard]] store::Id id() const { return row_.id; }
  [[nodiscard]] const std::string& name() const { return row_.name; }

 private:
  Intake(std::string parts, std::unique_ptr<store::Reader> from, std::uint64_t bytes,
         store::Experiment row, Receiver receiver);
  // These throw Refused.
  // Counts a row of the parts. Refuses a row, or the sum of all rows, beyond the limits.
  void count(std::string_view table, const store::Row& row);
  void begin(store::Store& to);
  void add_trials(store::Store& to);
  void add_others(store::Store& to);
  bool go_on(store::Store& to);

  // The counts of the rows that were read so far.
  struct Seen {
    struct Table {
      std::int64_t rows = 0;
      std::int64_t bytes = 0;  // of the texts
    };
    std::map<std::string_view, Table> tables{};
    std::uint64_t bytes = 0;              // of the texts of all tables
    std::optional<std::uint32_t> marked;  // the position of the last attempt with the mark `last`
  };

  // The next step of the current part.
  enum class Stage { row, trials, others, end_of_part };

  std::string parts_;  // the path
  std::unique_ptr<store::Reader> from_;
  std::uint64_t bytes_;  // the size of the parts' file
  Receiver receiver_;
  store::Experiment row_;
  store::Id machine_;  // the machine's id in the parts' database
  std::string state_;  // the state that the experiment gets with the last step
  store::Id part_;     // the current part
  Stage stage_ = Stage::row;
  Seen seen_{};
};

}  // namespace stab::archive
