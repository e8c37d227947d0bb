// SPDX-License-Identifier: MIT
// What the daemon asks of a reader, which answers one request. The request stands in a file that
// the answer, one line, replaces.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "store/records.h"

namespace stab::store {

BOOST_DESCRIBE_STRUCT(Experiment, (),
                      (id, name, plan, directory, uid, gid, state, reason, submitted_ns, started_ns,
                       ended_ns, trials, machine, duration_ns, priority, held_by, stopped_by,
                       trial_cpus))
BOOST_DESCRIBE_STRUCT(Damage, (), (table, row, problem))

}  // namespace stab::store

namespace stab::protocol {

template <>
inline constexpr Field field<&store::Experiment::plan>{.most = plan::max_plan_bytes};

enum class Reading {
  report,   // ReportReply
  compare,  // ReportReply
  results,  // ResultsReply
  rows,     // ExportReply, in `format` (results::write_export)
  replay,   // ReplayReply
  profile,  // ProfileReply
  logs,     // LogsReply
  look,     // LookReply
  archive,  // ExportReply
  import,   // FindingsReply without findings; the parts are in the spool (stabd/archive)
  finish,   // FindingsReply, of one experiment
  verify,   // FindingsReply, of the database
  plan  // PlanReply; the line that submits the plan stands behind this one, and the plan behind the answer
};

struct ReadRequest {
  static constexpr Tag tag{.key = "kind", .value = "read"};
  std::uint32_t protocol = version;
  std::string database{};  // its path
  Reading reading = Reading::verify;
  std::vector<store::Experiment> experiments{};  // as they are shown, whatever their rows say
  std::string format{};                          // "text" or "json", or of rows
  std::string cell{};                            // of rows, as results::write_export has it
  bool colour = false;
  bool full = false;
  std::string response{};  // of a report, a comparison or results, as Asked of results/trials.h
  std::string better{};
  std::optional<std::uint32_t> width{};
  std::uint32_t blocks = 0;  // of a look
  // Of a trial that is to be run again.
  std::string cache{};  // of the builds
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};
  std::optional<ProfileRequest> profile{};  // of a profile
  LogPlace after{};                         // of a log
  // Of an archive.
  std::string file{};
  std::string parts{};
  std::string name{};  // of the file where its user has it
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool believed = false;
  // Of a plan: what its user may do. "": they may.
  std::chrono::nanoseconds turn{0};  // as limits.turn
  bool goes_first = false;           // a priority above 0
  std::string may_not_quiesce{};
  std::string may_not_move{};  // processes of others
};
BOOST_DESCRIBE_STRUCT(ReadRequest, (),
                      (protocol, database, reading, experiments, format, cell, colour, full,
                       response, better, width, blocks, cache, position, attempt, profile, after,
                       file, parts, name, uid, gid, believed, turn, goes_first, may_not_quiesce,
                       may_not_move))

// A plan that may be submitted, for those who do not read plans.
struct PlanReply {
  static constexpr Tag tag = ok;
  std::string name{};
  std::string directory{};
  std::int64_t priority = 0;
  std::string branch{};
  std::string commit{};
  std::uint64_t trials = 0;
  // Whether they are there only the machine can tell.
  std::vector<std::vector<std::string>> counters{};
  std::vector<std::vector<std::string>> rotated{};
  std::string profile{};
};
BOOST_DESCRIBE_STRUCT(PlanReply, (),
                      (name, directory, priority, branch, commit, trials, counters, rotated,
                       profile))

// What the plan's stopping rule says.
struct LookReply {
  static constexpr Tag tag = ok;
  std::string error{};     // "" if it could be asked
  bool temporary = false;  // the error passes
  bool stop = false;
  std::string words{};
  std::vector<Change> changes{};
};
BOOST_DESCRIBE_STRUCT(LookReply, (), (error, temporary, stop, words, changes))
template <>
inline constexpr Field field<&LookReply::changes>{.most = most_changes, .may_lack = true};

struct FindingsReply {
  static constexpr Tag tag = ok;
  std::string error{};
  bool temporary = false;
  std::vector<store::Damage> damage{};             // the first ones
  std::uint64_t damaged = 0;                       // rows
  std::vector<store::Calibration> calibrations{};  // to be kept; without experiment and machine
};
BOOST_DESCRIBE_STRUCT(FindingsReply, (), (error, temporary, damage, damaged, calibrations))
inline constexpr std::size_t most_damage_shown = 1000;

// Why a reader does not answer a daemon of another version.
std::string reader_mismatch();

}  // namespace stab::protocol
