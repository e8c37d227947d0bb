// SPDX-License-Identifier: MIT
// Writes an experiment to a file, which is a database of stabd with nothing else in it, and reads
// such a file. So an archive has each column that the store has (store/rows/row.cc). An archive
// that a client sends arrives in a Spool. A reader takes it apart, and an Intake imports the parts,
// so the daemon opens no database that others made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "protocol/lines.h"
#include "store/reader.h"
#include "store/records.h"
#include "store/rows/row.h"
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

// Verifies a file from an untrusted source and writes the rows of its experiment to `parts`, a file
// that does not exist yet, which is removed when its rows have been imported.
// If there is a `confine`, it is called before the file's content is read. After that nothing is
// opened, and nobody else may use the file.
Result<void> take_apart(const std::string& file, const Receiver& receiver, const std::string& parts,
                        const store::Reader::Confine& confine = nullptr);

// The parts of an archive are lines of JSON, of at most protocol::most_decoded bytes each:
//   {"table":"trial","row":{"position":0,"attempt":0}}    a row
//   {"table":"trial","column":"causal","text":"[0,1]"}    a piece of a text of the next row
//   {"end":true}                                          the last line
//
// Invariants
//  P1  The order is: the machine, if there is one, the experiment, its builds, its trials by
//      position and attempt, its events, the machine's calibrations, the end.
//  P2  A row has the columns of its table in the store (store/rows/row.h). It has no column that is
//      NULL, and no id of any row: the order says what belongs together.
//  P3  The pieces of a text come in their order and right before their row. Together they are not
//      longer than their column allows (store/rows/bounds.h).

// Imports the parts of an archive into a store that is in use, a few rows at a time.
//
// Invariants
//  I1  Nobody sees the experiment before it is complete (S7 of store.h). If the import is given up,
//      or its stabd is killed, a removal takes its rows away. The machine's calibrations come last,
//      because a removal would leave them.
//  I2  The parts give nobody any rights, even if the archive took over the process that made them:
//      the receiver decides to whom the rows belong and which ones are believed, and each row is
//      checked before it is stored: to_row() must make the same row of its record.
//  I3  Forged parts hold up others for one step at most, and a step is short: it decodes few lines
//      and stores few rows, whatever the parts are. Their first error ends the import.
class Intake {
 public:
  // Whether the receiver may store so many bytes in addition; the error is the import's.
  using MayStore = std::function<Result<void>(std::uint64_t bytes)>;

  // Opens a file that take_apart() made.
  static store::Outcome<Intake> open(const std::string& parts, Receiver receiver);

  // Reads the next rows and adds them in small transactions, if `may_store` permits that or is
  // empty. Returns false when the experiment is complete. After a temporary error, which only `to`
  // can have, it may be called again.
  store::Outcome<bool> step(store::Store& to, const MayStore& may_store = {});
  // The experiment's id in the store; 0 before its row is stored.
  [[nodiscard]] store::Id id() const { return row_.id; }
  [[nodiscard]] const std::string& name() const { return row_.name; }

 private:
  Intake(Fd file, std::uint64_t bytes, Receiver receiver);
  // The functions below throw.
  void read_some();
  std::string next_line();
  void take_line(const std::string& line);
  void take_table(std::string_view name);
  void begin_table(std::size_t place);
  void take_row(const nlohmann::json& columns);
  // Refuses the row if it or the current table is too large.
  void count(const store::Row& row);
  void take_experiment(store::Experiment experiment);
  void take_trial(store::Trial trial);
  void store_what_waits(store::Store& to);

  // The rows of a table that were read so far.
  struct Sum {
    std::int64_t rows = 0;
    std::int64_t bytes = 0;  // of the texts
  };
  // Rows that were read and are not stored yet.
  struct Waiting {
    std::vector<store::Build> builds{};
    std::vector<store::Trial> trials{};
    std::vector<store::Event> events{};
    std::size_t rows = 0;     // of all kinds
    std::uint64_t bytes = 0;  // about so many in the store
  };

  Fd file_;
  std::uint64_t bytes_;      // the size of the file
  std::uint64_t taken_ = 0;  // the size of the lines that were taken
  protocol::LineBuffer lines_;
  Receiver receiver_;
  std::size_t table_ = 0;                       // the current table's place in the order of P1
  Sum sum_{};                                   // of the current table
  std::map<std::string, std::string> texts_{};  // of the next row, as far as they came in pieces
  std::optional<store::Machine> machine_{};
  store::Experiment row_{};
  std::string state_{};  // the state that the experiment gets with the last step
  // The position and attempt of the last trial, and the last position that has the mark `last`.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> trial_{};
  std::optional<std::uint32_t> marked_{};
  std::vector<store::Calibration> calibrations_{};
  Waiting waiting_{};
  bool has_ended_ = false;  // the last line was taken
};

}  // namespace stab::archive
